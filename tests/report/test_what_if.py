"""What each value of an axis is worth, against points priced by themselves; and that points which
are not on the front change neither this nor the rest of the answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.pricing.load import load
from dse.report import what_if
from dse.report.answer import answer
from dse.report.document import RunDocument
from dse.report.json_form import parsed, plain
from dse.report.page import render_markdown, render_page
from dse.search import best_software
from dse.search.run import Outcome, run
from tests.evidence import beyond
from tests.pricing import studies
from tests.report import brief

ASKED = studies.SMALL + "what_if: inter_node\n"
RULES = ("fastest", "speed-per-dollar", "cheapest-within-5%")


def searched(folder: Path, text: str) -> Outcome:
    problem = load(studies.written(folder, text))
    return run(problem, "exhaustive", None, None, lambda *_: None, 6000, 0)


def written(outcome: Outcome) -> RunDocument:
    return brief.build(outcome)


def test_every_value_has_a_row(tmp_path: Path) -> None:
    outcome = searched(tmp_path, ASKED)
    found = written(outcome)
    problem, rows = outcome.problem, found.what_if
    assert rows is not None
    axis = problem.study.axis("inter_node")
    assert axis is not None
    assert [row.value for row in rows.rows] == list(axis.labels)
    assert [row.baseline for row in rows.rows] == [True, False]
    base = problem.study.baseline.values
    for row, value in zip(rows.rows, axis.values, strict=True):
        alone = problem.point({**base, "inter_node": value})
        assert row.alone.speedup == pytest.approx(alone["speedup"].item(), rel=1e-12)
        assert row.alone.cost == pytest.approx(alone["capital"].item(), rel=1e-12)
        assert row.best_software is not None
        assert row.best_software.cost == row.alone.cost
        assert (row.best_software.speedup or 0) >= (row.alone.speedup or 0)
        assert row.best_software.config["inter_node"] == row.value


def test_it_is_shown_and_kept(tmp_path: Path) -> None:
    found = written(searched(tmp_path, ASKED))
    assert plain(parsed(RunDocument, plain(found))) == plain(found)
    assert 'id="what-if-table"' in render_page(found)
    assert render_markdown(found).count("(baseline)") == 1
    assert [baseline for _, baseline, _ in what_if.rows(found, found.what_if)] == [True, False]
    assert all(len(cells) == 6 for *_, cells in what_if.rows(found, found.what_if))


def test_a_baseline_outside_of_the_axis_has_a_row_of_its_own(tmp_path: Path) -> None:
    text = ASKED.replace("inter_node: 10gbe,", "inter_node: 100gbe,")
    found = written(searched(tmp_path, text)).what_if
    assert found is not None
    first = found.rows[0]
    assert (first.value, first.baseline) == ("100gbe", True)
    assert first.alone.speedup == pytest.approx(1.0)


def test_without_buying_costs_what_the_baseline_costs(tmp_path: Path) -> None:
    text = studies.SMALL.replace("gpus: 4, gpus_per_node: 4", "gpus: 16, gpus_per_node: 4")
    found = written(searched(tmp_path, text))
    point = found.without_buying
    assert point is not None
    assert point.costs == found.baseline.costs
    assert point.objectives["capital"] == found.baseline.objectives["capital"]
    assert (point.speedup or 0) > 1
    assert point.gpus == found.baseline.gpus


def test_too_many_ways_of_training_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = searched(tmp_path, studies.SMALL)
    assert written(outcome).without_buying is not None
    monkeypatch.setattr(best_software, "MOST_POINTS", 10)
    assert written(outcome).without_buying is None


@pytest.mark.parametrize("seed", beyond([0], range(6)))
def test_points_off_the_front_change_nothing(tmp_path: Path, seed: int) -> None:
    """Values of axes that no point of the front has, in any number, among those that it has.

    The rule is given, since whether a budget binds hangs on points beyond it.
    """
    study = studies.SMALL + f"recommend: {RULES[seed % len(RULES)]}\n"
    generator = np.random.default_rng(seed)
    kept = {"batch_per_gpu": ["32", "64", "256"], "gpus": ["1", "2", "3", "4", "8", "16"],
            "gpus_per_node": ["1", "4"], "precision": ["fp32", "fp16"],
            "bucket": ["4 MiB", "25 MiB"]}  # fmt: skip
    every = searched(tmp_path, study)
    labels = [front for point in every.front for front in (point.labels, *point.tied)]
    base = every.problem.study.baseline.labels
    text = study
    for axis, values in kept.items():
        needed = {one[axis] for one in labels} | {base[axis]}
        idle = [value for value in values if value not in needed]
        dropped = set(generator.permutation(idle)[: generator.integers(0, len(idle) + 1)])
        old, new = (", ".join(v for v in values if v not in out) for out in (set(), dropped))
        text = text.replace(f"  {axis}: [{old}]", f"  {axis}: [{new}]")
    full, less = written(every), written(searched(tmp_path, text))
    assert less.counts.points < full.counts.points or text == study
    assert [p.config for p in less.front] == [p.config for p in full.front]
    assert less.choices == full.choices
    assert less.waterfall == full.waterfall
    assert less.recommended == full.recommended
    same = replace(less, without_buying=full.without_buying)  # of points that are off the front
    assert answer(same) == answer(full)


def test_the_recommended_hardware_with_another_aggregation(tmp_path: Path) -> None:
    """Of servers as many as are best; only what is not recommended is slower."""
    text = studies.SMALL.replace("gpus: [1, 2, 3, 4, 8, 16]", "gpus: [8, 16]")
    found = written(searched(tmp_path, text + "what_if: aggregation\nrecommend: fastest\n"))
    assert found.what_if is not None
    for row in found.what_if.rows:
        same = row.value == found.recommended.config["aggregation"]
        assert row.recommended is not None
        assert row.recommended.config["aggregation"] == row.value
        assert (row.recommended.gain or 0) <= (found.recommended.objectives["speedup"] or 0)
        assert same == (f"{row.value} " not in what_if.worth(found)[0])
