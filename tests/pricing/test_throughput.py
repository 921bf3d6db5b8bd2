"""dse.pricing.throughput: a study that names rates of the user's own is priced by them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse import catalog
from dse.calibration import Profile
from dse.calibration.fitting.profile import silent_profile
from dse.calibration.throughput_part import Throughput
from dse.errors import DseError
from dse.pricing import anchors, throughput
from dse.pricing.draws import DRAWS
from dse.pricing.problem import Problem
from dse.pricing.whole_steps import WholeSteps
from dse.report.assumptions import assumptions
from dse.report.design_point import Point
from tests.calibration.importers.reference import reference
from tests.pricing import priced

STUDY = """\
study: small
workload: resnet50
space:
  accelerator: [a100-sxm4-40gb, h100-sxm]
  gpus: [1, 8]
  gpus_per_node: [8]
  inter_node: [100gbe]
  batch_per_gpu: [128]
  precision: [fp16]
  aggregation: [ring-nccl]
baseline: {accelerator: a100-sxm4-40gb, gpus: 1}
objectives: {maximize: throughput, minimize: capital}
"""
OURS = Throughput("resnet50", "a100-sxm4-40gb", "fp16", "vendor", 128.0, 1500.0)


def profile(*rates: Throughput, name: str = "ours", **changes: Any) -> Profile:
    fields: Mapping[str, Any] = {
        "name": name, "library": "training rates of", "version": "ours.csv", "machine": {},
        "cores": 1, "background_cores": 0.0, "date": "2026-01-01", "source": "made up",
        "measurements_sha256": "0" * 64, "gamma_s_per_byte": 0.0, "copy_s_per_byte": 0.0,
    }  # fmt: skip
    return silent_profile(**{**fields, **changes}, throughput=rates)


def at(problem: Problem, accelerator: str = "a100-sxm4-40gb") -> Point:
    return priced.at(problem, accelerator=accelerator)


def rate(problem: Problem, accelerator: str = "a100-sxm4-40gb") -> float:
    return 128.0 / (at(problem, accelerator).step_s or np.nan)


def width(problem: Problem, **values: Any) -> float:
    interval = priced.at(problem, accelerator="a100-sxm4-40gb", **values).interval
    assert interval is not None
    low, high = interval.step_s
    return float(np.log(high / low))


@pytest.fixture
def plain(tmp_path: Path) -> Problem:
    return priced.problem_of(tmp_path, STUDY)


def problem_of(folder: Path, *rates: Throughput) -> Problem:
    return priced.problem_of(folder, STUDY, profile(*rates))


def test_the_measured_kind_moves_to_its_rate_and_its_interval_shrinks(
    tmp_path: Path, plain: Problem
) -> None:
    mine = problem_of(tmp_path, OURS)
    before, after = rate(plain), rate(mine)
    assert abs(after / 1500 - 1) < 0.3 * abs(before / 1500 - 1)
    assert width(mine) < 0.8 * width(plain)
    # Others follow, as the same people's code runs there.
    assert rate(mine, "h100-sxm") / rate(plain, "h100-sxm") == pytest.approx(
        after / before, rel=0.1
    )


def test_a_rate_that_was_expected_moves_nothing(tmp_path: Path, plain: Problem) -> None:
    # Of computing alone: a study of one accelerator has nothing beside it.
    mine = problem_of(tmp_path, replace(OURS, samples_per_s=rate(plain)))
    assert rate(mine) == pytest.approx(rate(plain), rel=0.02)
    assert rate(mine, "h100-sxm") == pytest.approx(rate(plain, "h100-sxm"), rel=0.02)


def test_repetitions_count_once_and_several_accelerators_less(
    tmp_path: Path, plain: Problem
) -> None:
    once, thrice = problem_of(tmp_path, OURS), problem_of(tmp_path, OURS, OURS, OURS)
    assert rate(thrice) == rate(once)
    faster = replace(OURS, samples_per_s=1.2 * OURS.samples_per_s)
    assert rate(problem_of(tmp_path, OURS, OURS, faster)) == rate(once)  # their median
    assert rate(problem_of(tmp_path, OURS, faster)) > rate(once)
    eight = problem_of(tmp_path, replace(OURS, gpus=8, samples_per_s=8 * 1500.0))
    nodes = problem_of(tmp_path, replace(OURS, gpus=16, samples_per_s=16 * 1500.0))
    assert rate(once) < rate(eight) < rate(nodes) < rate(plain)
    assert throughput.noise_of(OURS) == 0.0


def in_a_node(problem: Problem, **values: Any) -> float:
    """Samples/s of eight A100."""
    point = priced.at(problem, accelerator="a100-sxm4-40gb", **{"gpus": 8, **values})
    return 8 * 128.0 / (point.step_s or np.nan)


def test_a_rate_of_the_machine_that_is_asked_for_is_believed(
    tmp_path: Path, plain: Problem
) -> None:
    """Where it says how gradients were summed; else its communication stands in the way."""
    expected = in_a_node(plain)
    measured = replace(OURS, gpus=8, samples_per_s=0.9 * expected)
    stated = replace(measured, aggregation="ring-nccl")
    unsaid, said = problem_of(tmp_path, measured), problem_of(tmp_path, stated)
    assert in_a_node(said) == pytest.approx(0.9 * expected, rel=0.03)
    assert in_a_node(said) < in_a_node(unsaid)
    assert width(said, gpus=8) < 0.7 * width(plain, gpus=8)
    # Two such nodes follow, and one accelerator less, for some of it may have been communication.
    two, one = (
        np.log(in_a_node(said, gpus=many) / in_a_node(plain, gpus=many)) for many in (16, 1)
    )
    assert two == pytest.approx(np.log(0.9), abs=0.03)
    assert np.log(0.9) < one < -0.02


def test_what_is_mostly_communication_says_little_of_computing(tmp_path: Path) -> None:
    """Gradients that pass through hosts take most of the step."""
    study = STUDY.replace("resnet50", "vgg16").replace("128", "32")
    plain = priced.problem_of(tmp_path, study)
    expected = in_a_node(plain, aggregation="ring-mpi") / 4
    stated = replace(
        OURS, workload="vgg16", batch_per_gpu=32.0, gpus=8, samples_per_s=expected / 1.6,
        aggregation="ring-mpi",
    )  # fmt: skip
    said = priced.problem_of(tmp_path, study, profile(stated))
    assert in_a_node(said, aggregation="ring-mpi") / 4 == pytest.approx(expected / 1.6, rel=0.05)
    assert in_a_node(said, gpus=1) == pytest.approx(in_a_node(plain, gpus=1), rel=0.03)
    # NCCL's rings are not MPI's, and yet the machines are the same.
    assert in_a_node(said) == pytest.approx(in_a_node(plain), rel=0.1)


def test_where_communication_is_nothing_it_is_a_rate_of_computing(
    tmp_path: Path, plain: Problem
) -> None:
    many = {"accumulation": 10_000.0}
    expected = 1e4 * in_a_node(plain, **many)
    row = replace(OURS, gpus=8, samples_per_s=0.8 * expected, accumulation=10_000)
    said = problem_of(tmp_path, replace(row, aggregation="ring-nccl"))
    alone = problem_of(tmp_path, replace(OURS, samples_per_s=0.8 * rate(plain)))
    assert in_a_node(said, gpus=1) == pytest.approx(in_a_node(alone, gpus=1), rel=0.05)


def test_of_small_batches_a_whole_step_tells_how_long_launches_take(tmp_path: Path) -> None:
    """Where the host decides, a rate of one accelerator corrects nothing."""
    study = STUDY.replace("resnet50", "bert-large-s128").replace("128]", "8]")
    row = replace(OURS, workload="bert-large-s128", batch_per_gpu=8.0, gpus=8)
    plain = priced.problem_of(tmp_path, study)
    step = {many: priced.at(plain, gpus=many).step_s or np.nan for many in (1, 8)}
    stated = replace(row, samples_per_s=64 / (1.2 * step[8]), aggregation="ring-nccl")
    said = priced.problem_of(tmp_path, study, profile(stated))
    assert priced.at(said, gpus=8).step_s == pytest.approx(1.2 * step[8], rel=0.03)
    assert priced.at(said, gpus=1).step_s == pytest.approx(1.2 * step[1], rel=0.06)
    assert width(said, gpus=8) < 0.3 * width(plain, gpus=8)
    # Large batches hide them.
    large = {"batch_per_gpu": 256, "gpus": 8}
    ratio = (priced.at(said, **large).step_s or 0) / (priced.at(plain, **large).step_s or 1)
    assert ratio == pytest.approx(1.0, abs=0.03)


def test_given_shares_of_the_peaks_are_not_corrected(tmp_path: Path) -> None:
    study = f"{STUDY}efficiency: {{compute: 0.5, memory: 0.7}}\n"
    stated = replace(OURS, gpus=8, samples_per_s=3000.0, aggregation="ring-nccl")
    plain, said = (priced.problem_of(tmp_path, study, *given) for given in ((), (profile(stated),)))
    assert in_a_node(said) == in_a_node(plain)


def test_rates_that_say_it_and_others_count_together(tmp_path: Path, plain: Problem) -> None:
    slow = 0.85 * in_a_node(plain)
    stated = replace(OURS, gpus=8, samples_per_s=slow, aggregation="ring-nccl")
    nodes = replace(stated, gpus=16, samples_per_s=2 * slow, inter_node="100gbe")
    alone = replace(OURS, samples_per_s=0.85 * rate(plain))
    both = problem_of(tmp_path, stated, alone, nodes)
    assert in_a_node(both) == pytest.approx(slow, rel=0.05)
    assert rate(both) == pytest.approx(alone.samples_per_s, rel=0.05)


def test_intervals_hold_and_errors_fall(tmp_path: Path, plain: Problem) -> None:
    """Of machines whose computing and whose communication err as the model says that they may."""
    priced_alone = WholeSteps(plain)
    stated = replace(OURS, gpus=8, aggregation="ring-nccl")
    kind = throughput.kind_of(
        plain.workload, catalog.accelerator(OURS.accelerator), OURS.precision, OURS.stack
    )
    expected, batches = anchors.log_factor(plain.anchors, kind), 0.06
    names, _ = priced_alone.unsure_of(stated, plain.workload, expected)
    spread = float(np.std(np.log(plain.computing.errors(
        plain.points_at(plain.study.baseline.values).machines, "fp16", plain.stack("vendor"),
        DRAWS,
    ))))  # fmt: skip
    drawn = np.random.default_rng(0)
    found = []
    for _ in range(24):
        computing = expected + np.sqrt(spread**2 - batches**2) * drawn.standard_normal()
        errors = {name: np.full(2, drawn.standard_normal()) for name in names}
        measured, true = priced_alone.seconds(
            stated, plain.workload, computing + batches * drawn.standard_normal(2), errors
        )
        row = replace(stated, samples_per_s=8 * 128.0 / measured)
        said, unsaid = (
            problem_of(tmp_path, row),
            problem_of(tmp_path, replace(row, aggregation=None)),
        )
        point = priced.at(said, gpus=8)
        assert point.interval is not None
        low, high = point.interval.step_s
        off, off_unsaid, off_before = (
            abs(np.log(8 * 128.0 / in_a_node(problem) / true)) for problem in (said, unsaid, plain)
        )
        found.append((low <= true <= high, off, off_unsaid, off_before))
    inside, *off = np.mean(found, axis=0)
    assert inside >= 0.75  # of 24: fewer is likely in one of a hundred such samples
    assert off[0] < off[1] < off[2]


def test_several_usually_take_longer_than_one() -> None:
    """As NVIDIA publishes: configurations alike but for their number, 1 and 8."""
    rates: dict[tuple[str, ...], dict[str, list[float]]] = {}
    path = reference("measurements", "nvidia_training_throughput.csv")
    with Path(path).open(newline="", encoding="utf-8") as file:
        for cells in csv.DictReader(file):
            count, value = cells.pop("n_gpus"), float(cells.pop("value"))
            del cells["line"]
            rates.setdefault(tuple(cells.values()), {}).setdefault(count, []).append(value)
    longer = np.array([
        np.log(8 * np.median(of["1.0"]) / np.median(of["8.0"]))
        for of in rates.values() if {"1.0", "8.0"} <= set(of)
    ])  # fmt: skip
    assert len(longer) == 151
    usual = np.median(longer)
    assert usual == pytest.approx(throughput.TOGETHER, abs=5e-4)
    around = np.sqrt(np.mean((longer - usual) ** 2))
    assert around == pytest.approx(throughput.WITHIN_NODE, abs=1e-3)


def test_accumulation_shares_the_update() -> None:
    network = catalog.workload("bert-large-s128")
    row = replace(OURS, workload=network.name, batch_per_gpu=8.0, optimizer="adam")
    seconds = [
        throughput.modelled_s(replace(row, accumulation=count), network, ())
        for count in (1, 4, 1000)
    ]
    assert seconds[0] > seconds[1] > seconds[2]


def test_a_block_is_modelled_by_its_own_layers() -> None:
    network = catalog.workload("bert-large-s128")
    block = tuple(name for name in network.layer_names if name.startswith("layer0."))
    row = replace(OURS, workload=network.name, layers=block)
    whole = throughput.modelled_s(replace(row, layers=network.layer_names), network, ())
    assert throughput.modelled_s(row, network, ()) == pytest.approx(whole / 24, rel=0.1)
    assert throughput.noise_of(row) == 0.15


def test_a_rate_that_is_in_two_profiles_counts_once(tmp_path: Path) -> None:
    fast = replace(OURS, samples_per_s=1700.0)
    once = priced.problem_of(tmp_path, STUDY, profile(OURS, fast))
    twice = priced.problem_of(tmp_path, STUDY, profile(OURS, fast), profile(OURS, name="again"))
    assert rate(twice) == rate(once)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"workload": "resnt50"}, "resnt50: no such workload; did you mean resnet50"),
        ({"stack": "mine"}, "no stack 'mine'; write plain, vendor or tuned"),
        ({"precision": "fp8"}, "a100-sxm4-40gb has no peak in fp8"),
        ({"layers": ("nowhere",)}, "resnet50 has no layer 'nowhere'"),
        (
            {"gpus": 8, "aggregation": "ring"},
            "over ring: no aggregation is called 'ring'",
        ),
        (
            {"gpus": 8, "aggregation": "ring-nccl", "intra_node": "rope"},
            "over ring-nccl, rope: intra_node 'rope' is not in the catalogue",
        ),
        (
            {"gpus": 16, "aggregation": "ring-nccl"},
            "16 a100-sxm4-40gb over ring-nccl: its step cannot be priced",
        ),
    ],
)
def test_what_the_catalogue_lacks_is_one_line(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(DseError, match=said):
        rate(problem_of(tmp_path, replace(OURS, **changes)))


def test_a_rate_that_the_host_decided_corrects_nothing(tmp_path: Path, plain: Problem) -> None:
    """Two images at once: launches take longer than what they start."""
    slow = replace(OURS, batch_per_gpu=2.0, samples_per_s=60.0)
    found = problem_of(tmp_path, slow)
    assert rate(found) == rate(plain)
    said = [line for line in assumptions(found, found.study.baseline.values) if "launches" in line]
    assert any(line.startswith("In all of your training rates") for line in said)
