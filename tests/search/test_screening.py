"""Screening by bounds: the same answer, counts and ties as when every point is priced."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.search import bounds, cells, exhaustive, pareto, screening
from dse.search.tally import Tally, total
from tests.evidence import beyond
from tests.pricing import studies

WIDE = """\
study: wide
workload: bert-large-s128
space:
  accelerator: [p100-sxm2-16gb, v100-sxm2-16gb, a100-sxm4-80gb, t4]
  gpus: [1, 2, 3, 4, 8, 12, 16, 64, 100]
  gpus_per_node: [1, 3, 4, 8]
  nics_per_node: [1, 2]
  inter_node: [10gbe, ib-hdr]
  intra_node: [nvlink2, nvlink3]
  batch_per_gpu: [1, 4, 8, 32]
  precision: [fp32, bf16]
  optimizer: [sgd, adam]
  aggregation: [ring-nccl, hierarchical-mpi, auto-mpi, ps-grpc]
  bucket: [25 MiB, 400 MiB]
  overlap: [none, bucketed]
when:
  - {axis: ps_servers, values: [1, 3], if: {aggregation: ps-grpc}}
  - {axis: ps_placement, values: [dedicated, colocated], if: {aggregation: ps-grpc}}
baseline: {accelerator: v100-sxm2-16gb, gpus: 4, gpus_per_node: 4, inter_node: 10gbe,
           batch_per_gpu: 4, precision: fp32, aggregation: ring-nccl}
constraints: [fits_memory, "capital <= 2 MUSD", "global_batch <= 1024"]
objectives: {maximize: speedup, minimize: capital}
target: {samples: 1e7}
"""
RENTED = """\
study: rented
workload: bert-large-s512
space:
  node: [aws-p3.16xlarge, aws-p4d.24xlarge, aws-p5.48xlarge, gcp-a3-highgpu-8g]
  gpus: [8, 16, 20, 32, 64, 128]
  batch_per_gpu: [1, 2, 4, 8, 16]
  precision: [fp32, fp16, fp8]
  optimizer: adam
  aggregation: [ring-nccl, auto-nccl, ring-gloo]
  bucket: [1 MiB, 100 MiB]
baseline: {node: aws-p3.16xlarge, gpus: 8, batch_per_gpu: 4, precision: fp16,
           aggregation: ring-nccl, bucket: 1 MiB}
constraints: [fits_memory, "global_batch <= 1024"]
objectives: {maximize: throughput, minimize: per_run}
target: {samples: 2.3e6}
"""

# Runs that spot machines interrupt, that some never finish, billed by whole hours.
INTERRUPTED = f"""{RENTED}failures: {{per_accelerator_month: 10, recover: 20 min}}
rental: {{term: spot, minimum: 3 h, billing_unit: 1 h}}
"""

# Hosts that decode too slowly for some points, enough for others, or are not known.
DECODED = """\
study: decoded
workload: resnet50
space:
  node: [dgx-1-v100, dgx-a100-80gb, dgx-h100, dgx-b200, mi300x-8]
  gpus: [4, 8, 16, 24, 64]
  batch_per_gpu: [32, 64, 128]
  accumulation: [1, 4]
  precision: [fp32, fp16]
  stack: [plain, vendor, tuned]
  aggregation: [ring-nccl, auto-nccl, ring-gloo]
  bucket: [1 MiB, 100 MiB]
  overlap: [bucketed, none]
baseline: {node: dgx-1-v100, gpus: 8, batch_per_gpu: 64, precision: fp16, stack: plain,
           aggregation: ring-nccl, bucket: 1 MiB}
constraints: [fits_memory, "global_batch <= 4096"]
objectives: {maximize: throughput, minimize: [capital, step]}
"""


@pytest.fixture(autouse=True)
def _screen_small_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "SCREENED_FROM", 1)


def priced_whole(problem: Problem) -> Tally:
    """Every point priced, in boxes as small as a unit of work may be cut."""
    front, tallies = pareto.empty_front(), []
    for box in problem.space.boxes(10_000):
        tallies.append(screening.whole_box(problem, box, front))
        front = pareto.merge([front, tallies[-1].front])
    return total(tallies)


def test_small_boxes_are_priced_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load(studies.written(tmp_path))
    monkeypatch.setattr(bounds, "SCREENED_FROM", problem.space.size)
    found = screened(problem, 1 << 21)
    assert found.priced == problem.space.size
    same(found, priced_whole(problem))


def screened(problem: Problem, points: int) -> Tally:
    return exhaustive.search(problem, problem.space.boxes(points))


def same(found: Tally, expected: Tally) -> None:
    assert (found.points, found.feasible) == (expected.points, expected.feasible)
    assert found.rejected == expected.rejected
    assert found.front.gain.tolist() == expected.front.gain.tolist()
    assert found.front.cost.tolist() == expected.front.cost.tolist()
    assert found.front.other.tolist() == expected.front.other.tolist()
    assert found.front.ties.tolist() == expected.front.ties.tolist()
    assert [i.tolist() for i in found.front.indices] == [i.tolist() for i in expected.front.indices]


@settings(deadline=None)
@given(st.data())
def test_what_masks_have_in_common_is_counted_without_the_whole_grid(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 4), max_size=5)))
    chance = np.random.default_rng(data.draw(st.integers(0, 99)))
    masks = [
        chance.random([length if wide else 1 for length, wide in zip(shape, axes, strict=True)])
        < 0.8
        for axes in data.draw(
            st.lists(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)), max_size=4)
        )
    ]
    whole = np.ones(shape, dtype=bool)
    for mask in masks:
        whole = whole & mask
    assert screening.common(masks, shape) == np.count_nonzero(whole)


def test_masks_of_a_hundred_billion_points_are_counted() -> None:
    """As batches and layouts are: no array of all points could be made."""
    few, many = np.arange(100).reshape(-1, 1, 1) < 30, np.arange(10**5).reshape(1, 1, -1) % 2 == 0
    both = np.arange(100).reshape(-1, 1, 1) < np.arange(10**4).reshape(1, -1, 1)
    found = screening.common([few, many, both], (100, 10**4, 10**5))
    assert found == sum(10**4 - 1 - at for at in range(30)) * 5 * 10**4


def test_a_box_is_screened_in_grids_of_few_clusters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with all its batch sizes, so their points are no range of indices."""
    clusters = 150
    problem = load(studies.written(tmp_path, WIDE))
    monkeypatch.setattr(cells, "SCREENED_CLUSTERS", clusters)
    box = max(problem.space.boxes(1 << 21), key=lambda box: box.size)
    names = [axis.name for axis in problem.space.slabs[box.slab].axes]
    batches = box.shape[names.index("batch_per_gpu")]
    found = [
        cells.whole(problem, grid).index(np.arange(grid.size))
        for grid in cells.grids(problem, box, box.size)
    ]
    assert max(map(len, found)) <= clusters * batches * box.shape[names.index("optimizer")]
    indices = np.sort(np.concatenate(found))
    assert indices.tolist() == list(range(box.first, box.first + box.size))
    same(screened(problem, 1 << 21), priced_whole(problem))


def fewer_are_priced_for_the_same(problem: Problem) -> Tally:
    expected = priced_whole(problem)
    for points in (1 << 21, 5000):
        found = screened(problem, points)
        same(found, expected)
        assert found.priced < problem.space.size
    assert expected.priced == problem.space.size
    return expected


@pytest.mark.parametrize(
    "least",
    beyond(["tco", "per_run"], ["capital", "tco", "power", "per_run", "time_to_target", "step"]),
)
def test_every_pair_of_objectives_has_the_same_front(tmp_path: Path, least: str) -> None:
    text = WIDE.replace("minimize: capital", f"minimize: {least}")
    problem = load(studies.written(tmp_path, text))
    fewer_are_priced_for_the_same(problem)


@pytest.mark.parametrize(
    "least", beyond(["energy"], ["capital", "per_run", "time_to_target", "energy"])
)
def test_a_run_to_a_quality_has_the_same_front(tmp_path: Path, least: str) -> None:
    text = WIDE.replace("bert-large-s128", "bert-large-s512").replace("[1, 4, 8, 32]", "[1, 2, 4]")
    text = text.replace("{samples: 1e7}", "{quality: mlperf-bert}")
    text = text.replace("batch_per_gpu: 4,", "batch_per_gpu: 1,")
    problem = load(
        studies.written(tmp_path, text.replace("minimize: capital", f"minimize: {least}"))
    )
    fewer_are_priced_for_the_same(problem)


@pytest.mark.parametrize("text", [RENTED, INTERRUPTED, studies.SMALL, studies.CONDITIONAL_BUCKET,
                                  DECODED])  # fmt: skip
def test_other_studies_have_the_same_front(tmp_path: Path, text: str) -> None:
    problem = load(studies.written(tmp_path, text))
    same(screened(problem, 1 << 21), priced_whole(problem))


def test_a_known_front_spares_points_and_changes_nothing(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, WIDE))
    first = screened(problem, 1 << 21)
    again = exhaustive.search(problem, problem.space.boxes(1 << 21), first.front)
    same(again, first)
    assert again.priced < first.priced


@pytest.mark.parametrize(
    "text",
    [WIDE, studies.CLOSED, studies.APPROACHES, f"{DECODED}target: {{samples: 1e7}}\n",
     f"{DECODED}target: {{quality: mlperf-resnet50}}\n"],
)  # fmt: skip
def test_the_ideal_step_bounds_every_objective_in_floating_point(tmp_path: Path, text: str) -> None:
    problem = load(studies.written(tmp_path, text))
    for box in problem.space.boxes(1 << 21):
        ideal, real = bounds.ideal(problem.placed(box)), problem.box(box)
        for name in ("speedup", "throughput"):
            assert np.all((ideal[name] >= real[name]) | np.isnan(real[name]))
        for name in ("capital", "hourly", "tco", "power", "per_run", "time_to_target", "step",
                     "energy"):  # fmt: skip
            assert np.all((ideal[name] <= real[name]) | np.isnan(real[name]))


def test_what_communication_may_decide_is_priced_point_by_point(tmp_path: Path) -> None:
    text = studies.SMALL.replace('"global_batch <= 2048"', '"speedup >= 2"')
    problem = load(studies.written(tmp_path, text))
    assert bounds.steps_decide(problem.study) == ["speedup >= 2"]
    found = screened(problem, 1 << 21)
    assert found.priced == found.points
    same(found, priced_whole(problem))


def test_constraints_that_communication_may_decide_are_all_known(tmp_path: Path) -> None:
    """Every quantity that changes with the terms of communication is named as one that does."""
    problem = load(studies.written(tmp_path, WIDE))
    changed = set()
    for box in problem.space.boxes(1 << 21):
        ideal, real = bounds.ideal(problem.placed(box)), problem.box(box)
        for name in real:
            if not np.array_equal(*np.broadcast_arrays(ideal[name], real[name]), equal_nan=True):
                changed.add(name)
    own = {row.name for row in problem.quantities}
    assert changed & own == bounds.OF_THE_STEP & own


@pytest.mark.parametrize("text", [RENTED, studies.CLOSED])
def test_unknown_links_are_priced_point_by_point(tmp_path: Path, text: str) -> None:
    """A network whose numbers are not known prices some points NaN: no bound counts those."""
    problem = load(studies.written(tmp_path, text))
    box = next(problem.space.boxes(1 << 21))
    assert problem.placed(box).bounded()
    points = problem.placed(box)
    points.__dict__["rails"] = np.full_like(points.rails, np.nan)
    assert not points.bounded()


def test_the_nearest_to_feasible_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = load(studies.written(tmp_path, studies.IMPOSSIBLE))
    boxes = list(problem.space.boxes(1 << 21))
    found = exhaustive.least_violating(problem, boxes)
    monkeypatch.setattr(bounds, "SCREENED_FROM", 1 << 30)
    assert exhaustive.least_violating(problem, boxes) == found


def test_pieces_of_a_box_are_the_box(tmp_path: Path) -> None:
    space = load(studies.written(tmp_path, WIDE)).space
    for box in list(space.boxes(5000))[:3]:
        for largest in (1, 7, 100, 10**6):
            pieces = list(box.pieces(largest))
            ends = [piece.first + piece.size for piece in pieces]
            assert [piece.first for piece in pieces] == [box.first, *ends[:-1]]
            assert ends[-1] == box.first + box.size
            assert max(piece.size for piece in pieces) <= largest
            for piece in pieces[:: max(1, len(pieces) // 20)]:
                start = tuple(part.start for part in piece.slices)
                assert space.locate(piece.first) == (piece.slab, start)


@pytest.mark.parametrize(
    "least", beyond(["step"], ["capital", "step", "per_run", "capital, energy"])
)
def test_approaches_have_the_same_front(tmp_path: Path, least: str) -> None:
    text = studies.APPROACHES.replace("minimize: capital", f"minimize: [{least}]")
    found = fewer_are_priced_for_the_same(load(studies.written(tmp_path, text)))
    assert len(found.front) > 3


@pytest.mark.parametrize(
    "least", beyond(["[capital, energy]"], ["capital", "power", "step", "[capital, energy]"])
)
def test_the_closed_model_has_the_same_front(tmp_path: Path, least: str) -> None:
    text = studies.CLOSED.replace("minimize: capital", f"minimize: {least}")
    found = fewer_are_priced_for_the_same(load(studies.written(tmp_path, text)))
    assert len(found.front) > 3


@pytest.mark.parametrize(
    "least",
    ["capital, power", "power, capital", "tco, step", "per_run, time_to_target", "energy, hourly",
     "capital, energy", "step, time_to_target"],
)  # fmt: skip
@pytest.mark.evidence
def test_every_three_objectives_have_the_same_front(tmp_path: Path, least: str) -> None:
    was, text = ("per_run", RENTED) if "hourly" in least else ("capital", WIDE)
    text = text.replace(f"minimize: {was}", f"minimize: [{least}]")
    problem = load(studies.written(tmp_path, text))
    fewer_are_priced_for_the_same(problem)


@pytest.mark.evidence
def test_units_in_any_order_have_the_same_front(tmp_path: Path) -> None:
    text = WIDE.replace("minimize: capital", "minimize: [capital, energy]")
    problem = load(studies.written(tmp_path, text))
    boxes = list(problem.space.boxes(3000))
    expected = exhaustive.search(problem, boxes).front
    order = Random(3)
    for _ in range(3):
        order.shuffle(boxes)
        fronts = [exhaustive.search(problem, boxes[k::4]).front for k in range(4)]
        found = pareto.merge(fronts)
        assert [i.tolist() for i in found.indices] == [i.tolist() for i in expected.indices]
        assert found.ties.tolist() == expected.ties.tolist()


def test_no_step_of_an_approach_is_shorter_than_without_communication(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, studies.APPROACHES))
    for box in problem.space.boxes(1 << 20):
        points = problem.placed(box)
        assert points.bounded()
        assert np.all(bounds.ideal(points)["step"] <= points.step_time().step_s)


def test_the_step_without_weights_bounds_every_objective(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, studies.CLOSED))
    for box in problem.space.boxes(1 << 21):
        ideal, real = bounds.ideal(problem.placed(box)), problem.box(box)
        for name in ("speedup", "throughput"):
            assert np.all(ideal[name] >= real[name])
        for name in ("capital", "tco", "power", "per_run", "time_to_target", "step", "energy"):
            assert np.all(ideal[name] <= real[name])
