"""dse.search.runners_up: runners-up, against a plain loop over every point."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.search import bounds, exhaustive, runners_up
from tests.evidence import beyond
from tests.pricing import studies
from tests.pricing.priced import feasible


@pytest.fixture(autouse=True)
def _screen_small_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "SCREENED_FROM", 1)


THREE = studies.SMALL.replace("minimize: capital", "minimize: [capital, power]")
RUNS = studies.SMALL.replace("minimize: capital", "minimize: [hourly, energy]").replace(
    "search:", "target: {samples: 1e7}\nsearch:"
)


def brute(problem: Problem, share: float, most: int) -> dict[int, list[int]]:
    """Runners-up by front point, each a list of indices."""
    front = exhaustive.search(problem, problem.space.boxes(10_000)).front
    columns = [column.tolist() for column in (front.gain, front.cost, front.other)]
    rows: dict[int, list[tuple[float, ...]]] = {}
    for index, (g, *costs) in feasible(problem):
        distances = [
            (max(1 - g / gain_f, *(c / f_c - 1 for c, f_c in paired)), f)
            for f, (gain_f, *costs_f) in enumerate(zip(*columns[: 1 + len(costs)], strict=True))
            if g >= (1 - share) * gain_f
            and (paired := list(zip(costs, costs_f, strict=True)))
            and all(c <= (1 + share) * f_c for c, f_c in paired)
        ]
        if not distances:
            continue
        distance, f = min(distances)
        if distance > 0:
            rows.setdefault(f, []).append((distance, g, *costs, index))
    kept = {}
    for f, found in rows.items():
        lowest: dict[tuple[float, ...], int] = {}
        for *values, index in sorted(found):
            lowest.setdefault(tuple(values), int(index))
        kept[f] = list(lowest.values())[:most]
    return kept


@pytest.mark.parametrize(("share", "most"), [(0.05, 5), (0.3, 2), (0.001, 3)])
@pytest.mark.parametrize("points", beyond([300], [1 << 21, 300]))
@pytest.mark.parametrize("text", [studies.SMALL, THREE, RUNS])
def test_runners_up_are_those_of_a_plain_loop(
    tmp_path: Path, share: float, most: int, points: int, text: str
) -> None:
    problem = load(studies.written(tmp_path, text))
    expected = brute(problem, share, most)
    boxes = list(problem.space.boxes(points))
    front = exhaustive.search(problem, boxes).front
    found = runners_up.nearest_points(problem, boxes, front, share, most)
    rows: dict[int, list[int]] = {}
    for f, index in zip(found.of.tolist(), found.index.tolist(), strict=True):
        rows.setdefault(f, []).append(index)
    assert rows == expected
    assert rows or share < 0.01
    assert np.all((found.distance > 0) & (found.distance <= share * (1 + 1e-12)))


def test_where_communication_decides_every_point_is_looked_at(tmp_path: Path) -> None:
    text = studies.SMALL.replace('"global_batch <= 2048"', '"global_batch <= 2048", "step <= 9 s"')
    problem, plain = (
        load(studies.written(tmp_path, text)),
        load(studies.written(tmp_path, name="p")),
    )
    boxes = list(problem.space.boxes(1 << 21))
    front = exhaustive.search(problem, boxes).front
    found, expected = (
        runners_up.nearest_points(p, boxes, front, 0.05, 5) for p in (problem, plain)
    )
    assert found.index.tolist() == expected.index.tolist()
    assert len(found.index) > 0
