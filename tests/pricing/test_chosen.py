"""Studies that leave the algorithm to the library, by a profile of what a library chose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.calibration import Profile, fit_measurements
from dse.calibration.experiment import write_experiment
from dse.calibration.hardware_names import same_device, same_kind
from dse.errors import OutsideCalibration, StudyError
from dse.model.aggregation.library_choice import LibraryCost
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report import assembly, provenance
from dse.report.assumptions import assumptions
from dse.report.sections import profile as shown
from dse.search.run import run
from tests.calibration import library_profiles, synthetic
from tests.pricing import studies
from tests.pricing.priced import at, comm_s, problem_of, width

STUDY = (
    studies.SMALL.replace("[p100-sxm2-16gb, v100-sxm2-16gb]", "[a100-sxm4-40gb, v100-sxm2-16gb]")
    .replace("accelerator: p100-sxm2-16gb", "accelerator: a100-sxm4-40gb")
    .replace("- 10gbe\n", "- 10gbe\n    - 200gbe\n    - ib-hdr\n")
    .replace("inter_node: 10gbe,", "inter_node: 200gbe,")
    .replace("[ring-mpi, halving-doubling-gloo, ps-grpc]", "[auto-nccl, ring-nccl, ps-grpc]")
    .replace("aggregation: ps-grpc, bucket: 25 MiB, ps_servers: 1", "aggregation: auto-nccl")
    .replace("gpus: 4, gpus_per_node: 4", "gpus: 8, gpus_per_node: 4")
    .replace("[1, 2, 3, 4, 8, 16]", "[1, 2, 4, 8, 16, 64]")
)
GLOO = STUDY.replace("auto-nccl", "auto-gloo")  # a library without rules of its own
WHEN = "when:\n  - {axis: ps_servers, values: [1, 2], if: {aggregation: ps-grpc}}\n"


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    return problem_of(tmp_path, STUDY, library_profiles.theirs())


@pytest.fixture
def forced(tmp_path: Path) -> Profile:
    """A profile of the named algorithms, over the same transport."""
    measured = tmp_path / "measured.json"
    write_experiment(synthetic.experiment(noise=0.02), measured)
    return replace(fit_measurements([measured], "forced"), transport="nccl")


def expected_s(problem: Problem, cost: LibraryCost, ranks: int, slower: float) -> float:
    """One message for the baseline's buckets, added up one by one."""
    from dse.model import overlap

    sizes = problem.layers.params * 4.0
    buckets = overlap.fuse(sizes, 4 * 2.0**20)
    return sum(float(cost(ranks, 4, bucket.message_bytes, slower)) for bucket in buckets)


@pytest.mark.parametrize(
    ("inter_node", "slower"), [("200gbe", 1.0), ("ib-hdr", 1.0), ("10gbe", 20.0), ("25 Gbps", 8.0)]
)
def test_a_point_takes_what_the_profile_says_scaled_to_its_network(
    problem: Problem, inter_node: str, slower: float
) -> None:
    axis = problem.study.axis("inter_node")
    assert axis is not None
    label = next(text for text in axis.labels if text.startswith(inter_node))
    value = axis.values[axis.labels.index(label)]
    cost = library_profiles.part().cost()
    found = comm_s(problem, inter_node=value, gpus=16, bucket=4 * 2.0**20)
    assert found == pytest.approx(expected_s(problem, cost, 16, slower), rel=1e-9)


def test_more_cards_of_a_node_share_the_bytes(problem: Problem) -> None:
    one = comm_s(problem, inter_node="200gbe", gpus=16)
    two = comm_s(problem, inter_node="200gbe", gpus=16, nics_per_node=2)
    assert one / 2 < two < one


def test_where_the_link_is_not_known_every_network_takes_the_same(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, STUDY, library_profiles.theirs(link_bytes_per_s=None))
    assert comm_s(problem, inter_node="10gbe") == comm_s(problem, inter_node="200gbe")
    assert at(problem, inter_node="200gbe").extrapolated is True
    (line,) = [text for text in assumptions(problem) if "auto-nccl" in text]
    assert "not known" in line
    assert "count as extrapolated" in line


@pytest.mark.parametrize(
    ("values", "outside"),
    [
        ({}, False),
        ({"gpus": 16}, False),
        ({"gpus": 1}, False),
        ({"gpus": 64}, True),  # ranks
        ({"gpus_per_node": 1}, True),  # ranks per node
        ({"inter_node": "10gbe"}, True),  # another speed
        ({"inter_node": "ib-hdr"}, True),  # another kind of network
        ({"precision": "fp16"}, True),  # another element
        ({"accelerator": "v100-sxm2-16gb"}, True),  # another device
        ({"bucket": 256.0}, True),  # smaller messages
        ({"aggregation": "ring-nccl"}, True),  # not what was measured
    ],
)
def test_what_differs_from_the_measured_counts_as_extrapolated(
    problem: Problem, values: dict[str, object], outside: bool
) -> None:
    assert at(problem, **values).extrapolated is outside


def test_the_link_inside_a_node_must_be_the_devices_own(tmp_path: Path) -> None:
    study = STUDY.replace("space:\n", "space:\n  intra_node: [nvlink3, pcie3-x16]\n")
    found = problem_of(tmp_path, study, library_profiles.theirs())
    assert at(found, intra_node="nvlink3").extrapolated is False
    assert at(found, intra_node="pcie3-x16").extrapolated is True


def test_intervals_come_from_the_profiles_own_spread(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dse.pricing import coverage

    monkeypatch.setattr(coverage, "COMPUTE_ERROR_MEDIAN", 0.0)

    part = library_profiles.part()
    inside = float(part.log_spread(np.array(8.0), np.array(4.0), np.array(0.0), 2.0**20))
    assert width(problem, gpus=8) == pytest.approx(2 * 1.645 * inside, rel=0.3)
    # 8 ranks were measured, 64 are beyond.
    assert width(problem, gpus=8) < width(problem, gpus=16) < width(problem, gpus=64)
    assert width(problem, gpus=8) < width(problem, gpus=8, inter_node="ib-hdr")


def test_named_algorithms_take_the_catalogues_price_and_the_report_says_so(
    problem: Problem, tmp_path: Path
) -> None:
    bare = load(studies.written(tmp_path, STUDY.replace("auto-nccl", "tree-nccl"), "bare.yaml"))
    assert comm_s(problem, aggregation="ring-nccl") == comm_s(bare, aggregation="ring-nccl")
    assert at(problem, aggregation="ring-nccl").interval is None
    rows = {row.name: row for row in provenance.transports(problem)}
    assert (rows["nccl"].calibrated, rows["nccl"].partly) == (False, True)
    assert (rows["grpc"].calibrated, rows["grpc"].partly) == (False, False)
    assert "ring: software costs from the catalogue" in rows["nccl"].note
    assert "the library's own choice, fitted on a public log" in rows["nccl"].note


@pytest.mark.parametrize("swapped", [False, True])
def test_two_profiles_of_a_transport_each_price_what_they_know(
    tmp_path: Path, forced: Profile, swapped: bool
) -> None:
    both = [library_profiles.theirs(), forced]
    found = problem_of(tmp_path, STUDY, *(reversed(both) if swapped else both))
    assert found.profile("ring", "nccl") == forced
    assert found.profile("auto", "nccl") == library_profiles.theirs()
    only = problem_of(tmp_path, STUDY, library_profiles.theirs())
    assert comm_s(found, aggregation="auto-nccl") == comm_s(only, aggregation="auto-nccl")
    assert comm_s(found, aggregation="ring-nccl") != comm_s(only, aggregation="ring-nccl")
    assert at(found, aggregation="ring-nccl").interval
    assert {row.name: row.calibrated for row in provenance.transports(found)}["nccl"]


def test_of_two_that_price_the_same_the_first_counts(tmp_path: Path) -> None:
    later = library_profiles.theirs("later", auto=library_profiles.part(error=0.5))
    found = problem_of(tmp_path, STUDY, library_profiles.theirs(), later)
    assert [profile.name for profile in found.profiles.values()] == ["their-cluster"]


@pytest.mark.parametrize(
    ("prices", "gpus", "line"),
    [
        (library_profiles.ONE_NODE, 8, "measured inside one node"),
        (library_profiles.SEVERAL_NODES, 4, "measured on several nodes only"),
    ],
)
def test_points_on_a_tier_that_was_not_measured_are_rejected(
    tmp_path: Path, prices: tuple[float, ...], gpus: int, line: str
) -> None:
    part = library_profiles.part(coefficients=prices)
    base = STUDY.replace("gpus: 8, gpus_per_node: 4", f"gpus: {12 - gpus}, gpus_per_node: 4")
    found = problem_of(tmp_path, base, library_profiles.theirs(auto=part))
    assert np.isnan(found.point({**found.study.baseline.values, "gpus": gpus})["step"]).all()
    assert any(line in text for text in assumptions(found))
    on_it = STUDY.replace("gpus: 8, gpus_per_node: 4", f"gpus: {gpus}, gpus_per_node: 4")
    with pytest.raises(StudyError, match="baseline cannot be priced"):
        problem_of(tmp_path, on_it, library_profiles.theirs(auto=part))


@pytest.mark.parametrize(
    ("study", "line"),
    [
        (GLOO, "aggregation: [auto-gloo"),
        (GLOO.replace("[auto-gloo, ring-nccl, ps-grpc]", "auto-gloo").replace(WHEN, ""),
         "aggregation: auto-gloo\n"),
        (GLOO.replace("[auto-gloo, ring-nccl", "[ring-nccl"), "batch_per_gpu: 32, precision"),
    ],
)  # fmt: skip
def test_without_such_a_profile_the_place_and_the_remedy_are_named(
    tmp_path: Path, study: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "calibrations").mkdir()
    theirs = library_profiles.theirs(transport="gloo")
    library_profiles.written(tmp_path / "calibrations", theirs)
    library_profiles.written(tmp_path / "calibrations", library_profiles.theirs("other"))
    (tmp_path / "calibrations" / "broken.yaml").write_text("nothing: 1\n")
    with pytest.raises(StudyError) as caught:
        load(studies.written(tmp_path, study))
    expected = next(at for at, text in enumerate(study.splitlines(), 1) if line.strip() in text)
    assert caught.value.line == expected
    assert "which algorithm gloo chooses" in caught.value.problem
    assert "their-cluster" in caught.value.remedy
    assert "other" not in caught.value.remedy


def test_a_point_asked_for_by_hand_is_refused_in_one_line(tmp_path: Path) -> None:
    bare = load(studies.written(tmp_path, studies.SMALL))
    with pytest.raises(OutsideCalibration, match=r"auto-gloo: neither rules nor a profile.*; "):
        bare.point({**bare.study.baseline.values, "aggregation": "auto-gloo"})


def test_the_report_shows_system_device_source_and_error(problem: Problem) -> None:
    outcome = run(problem, "exhaustive", None, None, lambda *_: None, 0, 0)
    (name,) = problem.profiles
    found = assembly.build(outcome, "dse run small", 0, 1.0, {name: Path("their-cluster.yaml")})
    (item,) = found.calibration
    table = shown(item)
    facts = dict(table.facts)
    assert facts["System"] == "their cluster"
    assert facts["Device"] == "NVIDIA A100-SXM4-40GB"
    assert facts["Source"] == "a public log"
    assert table.errors == (("auto (the library's own choice)", ("10 %", "30 %", "30 %")),)
    assert found.reproduce == ("dse run small",)  # a log is not measured again
    assert found.counts.points == problem.space.size
    by_size = replace(item.algorithms["auto"], held_out="sizes")
    rows = shown(replace(item, algorithms={"auto": by_size})).errors
    assert rows[0][0] == "auto (the library's own choice), judged on sizes left out"


@pytest.mark.parametrize(
    ("measured", "accelerator", "same"),
    [
        ("NVIDIA A100-SXM4-80GB", "a100-sxm4-40gb", True),
        ("a100_sxm", "a100-sxm4-80gb", True),
        ("A100", "a100-sxm4-40gb", True),  # the log does not tell the board,
        ("A100", "a100-pcie-80gb", False),  # but few such logs are of PCIe cards
        ("NVIDIA H100 80GB HBM3", "h100-sxm", True),
        ("NVIDIA H100 80GB HBM3", "h100-pcie", False),
        ("NVIDIA H100 PCIe", "h100-sxm", False),
        ("GH200", "h200-sxm", False),
        ("H100-SXM5", "h100-sxm", True),
        ("Tesla V100-SXM2-16GB", "v100-sxm2-32gb", True),
        ("l40s", "l40s", True),
        ("cpu", "a100-sxm4-40gb", False),
        ("", "h100-sxm", False),
    ],
)
def test_devices_are_matched_by_model_and_board(
    measured: str, accelerator: str, same: bool
) -> None:
    assert same_device(measured, accelerator) is same


@pytest.mark.parametrize(
    ("measured", "link", "same"),
    [
        ("edr-ib", "ib-edr", True),
        ("edr-ib", "100gbe", False),
        ("slingshot-cxi", "slingshot-11", True),
        ("EFA 4x100 Gbps", "aws-efa-v1", True),
        ("EFA 4x100 Gbps", "ib-hdr", False),
        ("tcp", "25gbe", True),  # tells nothing of the wire
        ("200 Gb Ethernet", "200gbe", True),
        ("200 Gb Ethernet", "", True),  # a link described in the study
    ],
)
def test_links_are_matched_by_kind(measured: str, link: str, same: bool) -> None:
    assert same_kind(measured, link) is same
