"""Profiles: the fit's results, prediction, files, and what bad files get."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from dse.calibration import Profile, fit_measurements, predict, profile_data, read_profile
from dse.calibration.experiment import read_experiment, sha256_of, write_experiment
from dse.calibration.node_cost import on_cores_s
from dse.errors import MeasurementError, OutsideCalibration, StudyError
from tests.calibration import synthetic
from tests.calibration.synthetic import GAMMA, PLANTED, SWITCH_S


def test_profile_states_what_it_was_fitted_on(profile: Profile, measurements_file: Path) -> None:
    assert profile.measurements_sha256 == sha256_of(measurements_file)
    assert profile.ranks == (2, 8)
    assert profile.message_bytes == (synthetic.SIZES[0], synthetic.SIZES[-1])
    assert profile.step_bytes == (8, synthetic.SIZES[-1])
    assert profile.max_nodes == 1
    assert profile.split == "assumed"
    assert profile.measured_algorithms == synthetic.ALGORITHMS
    assert profile.gamma_s_per_byte == GAMMA


def test_every_algorithm_has_held_out_errors(profile: Profile) -> None:
    for algorithm in (*synthetic.ALGORITHMS, "tree"):
        assert 0 < profile.error(algorithm) <= profile.error_p90(algorithm) < 1
    points = len(synthetic.ALGORITHMS) * 4 * len(synthetic.SIZES)
    assert len(profile.points) == points


def test_unmeasured_algorithms_get_the_pooled_cost(profile: Profile) -> None:
    assert profile.fit("tree").step() == profile.fit("hierarchical").step()
    assert profile.fit("ring").step() != profile.fit("tree").step()


@pytest.mark.parametrize("algorithm", synthetic.ALGORITHMS)
def test_predictions_meet_the_planted_machine(profile: Profile, algorithm: str) -> None:
    sizes = np.array([512, 32768, 2**20, 2**23])
    for ranks in (2, 4, 6):
        truth = on_cores_s(algorithm, ranks, sizes, max(1, ranks / 4), PLANTED, GAMMA, SWITCH_S)
        seconds, low, high, inside = predict(profile, algorithm, ranks, sizes)
        assert seconds == pytest.approx(truth, rel=0.15)
        assert ((low <= truth) & (truth <= high)).all()
        assert inside.all()


def test_predictions_broadcast_and_grow_with_the_message(profile: Profile) -> None:
    sizes = 2.0 ** np.arange(6, 24)
    seconds, *_ = predict(profile, "ring", np.array([[2], [4]]), sizes)
    assert seconds.shape == (2, sizes.size)
    assert (np.diff(seconds, axis=1) >= 0).all()


def test_outside_the_range_is_flagged_and_wider(profile: Profile) -> None:
    ranks = np.array([8, 64, 1024])
    seconds, low, high, inside = predict(profile, "ring", ranks, 2**20)
    assert inside.tolist() == [True, False, False]
    assert (np.diff(high / low) > 0).all()
    assert (seconds > 0).all()
    assert not predict(profile, "tree", 4, 2**20)[3]


def test_one_node_tells_nothing_of_several(profile: Profile) -> None:
    with pytest.raises(
        OutsideCalibration, match="measured on one node, so it cannot price a link between nodes"
    ):
        predict(profile, "ring", [4, 16], 2.0**20, 4)
    assert predict(profile, "ring", 1000, 2.0**20).seconds > 0  # all on one node, and flagged


def test_an_unknown_algorithm_is_refused(profile: Profile) -> None:
    with pytest.raises(OutsideCalibration, match="butterfly"):
        predict(profile, "butterfly", 2, 64)


def test_files_round_trip(profile: Profile, profile_file: Path, measurements_file: Path) -> None:
    again = read_profile(profile_file)
    assert again == profile
    assert again.content_hash == profile.content_hash
    made = synthetic.experiment(noise=0.02, runs=2)
    assert read_experiment(measurements_file) == made


BROKEN = {
    "format: dse-profile/1": ("format: dse-profile/2", r":1:9: format 'dse-profile/2' is another"),
    "gamma_s_per_byte: 1.0e-10": ("gamma_s_per_byte: -1", r"gamma_s_per_byte: .*greater than"),
    "ranks: [2, 8]": ("ranks: [8, 2]", r"ranks: the range 8 .. 2 is inverted"),
    "cores: 4\n": ("cores: four\n", r"cores: .*integer"),
    "split: assumed\n": ("", r"the key 'split' is missing"),
    "transport: mpi\n": ("transport: mpi\ncolour: red\n", r":\d+:1: unknown key 'colour'; remove"),
    "  any:\n": ("  other:\n", r"has no fit 'any'"),
    "max_nodes: 1\n": ("max_nodes: 1\nmax_nodes: 1\n", r"duplicate key 'max_nodes'"),
    "message_bytes: [": ("message_bytes: [.nan, ", r"message_bytes"),
    "copy_s_per_byte: 5.0e-11": ("copy_s_per_byte: 1.0e+300", r"copy_s_per_byte: .*less than"),
}


@pytest.mark.parametrize("old", BROKEN)
def test_a_bad_profile_gets_one_clear_line(profile_file: Path, tmp_path: Path, old: str) -> None:
    new, expected = BROKEN[old]
    text = profile_file.read_text()
    assert old in text
    path = tmp_path / "bad.yaml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(StudyError, match=expected) as caught:
        read_profile(path)
    assert re.match(re.escape(str(path)) + r":\d+:\d+: \S", str(caught.value))
    assert "\n" not in str(caught.value)


def test_all_mistakes_of_a_profile_are_told_in_order_of_place(
    profile_file: Path, tmp_path: Path
) -> None:
    text = profile_file.read_text()
    changes = {
        "library: ": "libary: ", "cores: 4": "cores: four", "split: assumed\n": "",
        "ranks: [2, 8]": "ranks: [8]", "max_nodes: 1\n": "max_nodes: 0\nspokes: 9\n",
    }  # fmt: skip
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(StudyError) as caught:
        read_profile(path)
    told = caught.value.mistakes
    assert [one.line for one in told] == sorted(one.line for one in told)
    assert {one.problem.partition(":")[0] for one in told} >= {
        "cores", "max_nodes", "the key 'ranks.1' is missing", "the key 'split' is missing",
        "unknown key 'libary'", "unknown key 'spokes'",
    }  # fmt: skip


def test_all_that_does_not_fit_together_is_told(profile_file: Path, tmp_path: Path) -> None:
    text = profile_file.read_text().replace("ranks: [2, 8]", "ranks: [8, 2]", 1)
    path = tmp_path / "bad.yaml"
    path.write_text(text.replace("  any:\n", "  other:\n", 1))
    with pytest.raises(StudyError) as caught:
        read_profile(path)
    assert [one.problem for one in caught.value.mistakes] == [
        "ranks: the range 8 .. 2 is inverted", "has no fit 'any'"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", "- 1\n", "hello\n", "a: [1\n", "\tx: 1\n", "format: other/1\n"]
)
def test_not_a_profile_at_all(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(StudyError):
        read_profile(path)
    with pytest.raises(StudyError):
        fit_measurements([path])


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="no such file"):
        read_profile(tmp_path / "none.yaml")


def test_files_of_different_machines_are_not_mixed(measurements_file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    write_experiment(synthetic.experiment(cores=2), other)
    with pytest.raises(MeasurementError, match="different machines"):
        fit_measurements([measurements_file, other])


def test_two_files_of_one_machine_are_more_runs(measurements_file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    write_experiment(synthetic.experiment(noise=0.02, seed=2), other)
    both = fit_measurements([measurements_file, other], "both")
    assert both.name == "both"
    assert both.measurements_sha256 == sha256_of(measurements_file, other)


def test_too_little_to_fit(tmp_path: Path) -> None:
    path = tmp_path / "few.json"
    write_experiment(synthetic.experiment(ranks=(2,)), path)
    with pytest.raises(MeasurementError, match="two or more rank counts"):
        fit_measurements([path])


def test_show_as_data_is_json_with_intervals(profile: Profile) -> None:
    data = json.loads(json.dumps(profile_data(profile)))
    low, high = data["fits"]["ring"]["intervals_90"]["latency_s"]
    assert low <= data["fits"]["ring"]["latency_s"] * 1.05
    assert high > low
    assert "draws" not in data["fits"]["ring"]
