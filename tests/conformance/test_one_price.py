"""A point has one price: alone, in any company, and in a grid; whatever sums its gradients."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse import catalog
from dse.errors import StudyError
from dse.pricing.load import known_names, load
from dse.pricing.problem import Problem
from dse.study import Value
from tests.evidence import beyond
from tests.pricing import studies

# The P100 and the K80 know no bf16: their points have no price. The rest asks for corners.
STUDY = """\
study: company
workload: {workload}
space:
  accelerator: [p100-sxm2-16gb, a100-sxm4-80gb, k80-die, h100-sxm]
  gpus: [1, 2, 3, 8, 16, 96]
  gpus_per_node: [1, 4, 8]
  inter_node: [10gbe, ib-hdr]
  batch_per_gpu: [1, 64]
  accumulation: [1, 4]
  precision: [fp32, bf16]
  gradient: [fp32, bf16]
  aggregation: [{aggregation}]
{more}
baseline: {{accelerator: a100-sxm4-80gb, gpus: 4, gpus_per_node: 4, batch_per_gpu: 64,
           precision: fp32}}
objectives: {{maximize: speedup, minimize: capital}}
calibration: [{calibration}]
"""
BUCKETS = "  bucket: [1 MiB, 25 MiB]"
PROFILES = "h100-node, polaris-ofi"
QUANTITIES = ("step", "comm", "exposed", "compute", "capital", "memory_slack", "speedup")


def problem(folder: Path, aggregation: str, model: str = "", calibration: str = "") -> Problem:
    """A study of one aggregation; of servers with several numbers of them."""
    approach = aggregation in catalog.names("approaches")
    more = "" if approach else BUCKETS
    if aggregation.startswith("ps-") or aggregation.startswith("grpc"):
        more += "\n  ps_servers: [1, 3, 16]\n  ps_placement: [dedicated, colocated]"
    text = STUDY.format(
        workload="vgg16", aggregation=aggregation, more=more, calibration=calibration
    )
    return load(studies.written(folder, text + model))


def prices(found: Any, where: int, count: int) -> tuple[float, ...]:
    """What is said of one of ``count`` points."""
    columns = [np.broadcast_to(found[name], (count,))[where] for name in QUANTITIES]
    return (*map(float, columns), float(np.broadcast_to(found.grade, (count,))[where]))


def company(problem: Problem, points: list[Mapping[str, Value | None]]) -> list[tuple[float, ...]]:
    """Prices of points that are handed over together."""
    result: list[tuple[float, ...]] = [()] * len(points)
    for where, found in problem.rows(points):
        for row, position in enumerate(where):
            result[int(position)] = prices(found, row, len(where))
    return result


def in_grid(problem: Problem) -> list[tuple[float, ...]]:
    """Prices of all points of the space, by index."""
    result: list[tuple[float, ...]] = []
    for box in problem.space.boxes(1 << 20):
        found = problem.box(box)
        columns = [np.broadcast_to(found[name], box.shape).ravel() for name in QUANTITIES]
        columns.append(np.broadcast_to(found.grade, box.shape).ravel().astype(float))
        result += [tuple(map(float, row)) for row in zip(*columns, strict=True)]
    return result


def check(problem: Problem, seed: int) -> None:
    """Some points alone, in two companies with one of them twice, and in the grid."""
    draw = np.random.default_rng(seed)
    picked = draw.choice(problem.space.size, 24, replace=False)
    points = [problem.space.point(int(index)) for index in picked]
    alone = [company(problem, [point])[0] for point in points]
    together = company(problem, points)
    mixed = company(problem, [*reversed(points[:7]), points[0]])
    grid = in_grid(problem)
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(mixed, [*reversed(alone[:7]), alone[0]])
    np.testing.assert_array_equal([grid[int(index)] for index in picked], alone)


AGGREGATIONS = tuple(known_names().aggregations)


def known_over(aggregation: str) -> bool:
    """Whether rules tell what the library takes, where it chooses."""
    rules = {"auto": ("mpi", "mpi-gdr", "nccl", "nccl-tcp"), "auto-openmpi": ("mpi", "mpi-gdr"),
             "auto-mpich": ("mpi", "mpi-gdr")}  # fmt: skip
    return not aggregation.startswith("auto") or any(
        aggregation == f"{name}-{transport}" for name, over in rules.items() for transport in over
    )


@pytest.mark.parametrize("aggregation", beyond(AGGREGATIONS[::3], AGGREGATIONS))
def test_of_every_aggregation(tmp_path: Path, aggregation: str) -> None:
    if not known_over(aggregation):
        with pytest.raises(StudyError, match=r"neither rules nor a profile|does not choose over"):
            problem(tmp_path, aggregation)
        return
    found = problem(tmp_path, aggregation)
    check(found, seed=1)


@pytest.mark.parametrize("aggregation", ["auto-nccl", "ring-nccl", "ring-mpi", "auto-mpi"])
def test_as_measured(tmp_path: Path, aggregation: str) -> None:
    check(problem(tmp_path, aggregation, calibration=PROFILES), seed=2)


@pytest.mark.parametrize("aggregation", ["ring-nccl", "ps-grpc"])
def test_by_the_closed_model(tmp_path: Path, aggregation: str) -> None:
    text = "model: pai\n"
    found = problem(tmp_path, aggregation, text)
    check(found, seed=3)


def test_a_grid_of_many_kinds_is_its_points(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, studies.APPROACHES))
    for box in problem.space.boxes(1 << 20):
        grid = problem.box(box)
        chosen = np.linspace(0, box.size - 1, 40).astype(np.int64)
        points = [problem.space.point(box.first + int(index)) for index in chosen]
        for where, rows in problem.rows(points):
            for name in ("step", "exposed", "comm", "capital", "speedup"):
                column = np.broadcast_to(grid[name], box.shape).ravel()[chosen[where]]
                # == and not nearly: fronts must not depend on how a space is cut
                assert column.tolist() == np.broadcast_to(rows[name], len(where)).tolist()
