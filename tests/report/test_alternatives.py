"""The recommended point with another aggregation: all else equal, the best of what is its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.pricing import constraints
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report import alternatives, markdown, page
from dse.report.document import RunDocument
from dse.report.json_form import plain
from dse.search.run import Outcome, labels_of, run
from tests.pricing import studies
from tests.report import brief, documents
from tests.report.pages import Page

HEADING = "The recommended point with another aggregation"


def searched(problem: Problem, engine: str = "exhaustive") -> Outcome:
    return run(problem, engine, None, None, lambda *_: None, 300, 0)


def made(outcome: Outcome) -> RunDocument:
    """The document as a program reads it from the file."""
    return documents.read(plain(brief.build(outcome)))


@pytest.fixture
def small(tmp_path: Path) -> Problem:
    return load(studies.written(tmp_path))


def test_each_aggregation_is_the_best_of_those_that_differ_in_nothing_else(small: Problem) -> None:
    found = made(searched(small))
    best, rows = found.recommended, found.other_aggregations
    assert best.gpus > 1
    names = {row.config["aggregation"] for row in rows}
    assert names == {"ring-mpi", "halving-doubling-gloo", "ps-grpc"}
    assert [row.ratio for row in rows] == sorted((r.ratio for r in rows), reverse=True)
    for row in rows:
        same = {name for name in best.config if name not in ("aggregation", "ps_servers")}
        assert all(row.config[name] == best.config[name] for name in same)
        if row.config["aggregation"] == best.config["aggregation"]:
            assert (row.config, row.ratio) == (best.config, 1.0)
            assert row.missed == ()
        rivals = []
        for index in range(small.space.size):
            labels = labels_of(small, small.space.point(index))
            wanted = {**row.config, "ps_servers": labels["ps_servers"]}
            if labels == wanted:
                evaluation = small.point(small.space.point(index))
                passed = all(m.all() for _, m in constraints.checks(evaluation, small.study))
                rivals.append((passed, evaluation["speedup"].item()))
        assert len(rivals) == (2 if row.config["aggregation"] == "ps-grpc" else 1)
        assert (not row.missed, row.speedup) == max(rivals)
        assert row.ratio == pytest.approx(row.speedup / best.speedup)
        assert row.on_front == sum(
            any({**point.config, **config}["aggregation"] == row.config["aggregation"]
                for config in (point.config, *point.tied))
            for point in found.front if point.gpus > 1
        )  # fmt: skip


def test_what_meets_every_demand_comes_before_what_is_faster(tmp_path: Path) -> None:
    text = studies.SMALL.replace("fits_memory,", 'fits_memory, "ps_servers <= 1",')
    problem = load(studies.written(tmp_path, text.replace("values: [1, 2]", "values: [4, 1, 2]")))
    (row,) = [
        row for row in made(searched(problem)).other_aggregations
        if row.config["aggregation"] == "ps-grpc"
    ]  # fmt: skip
    assert (row.config["ps_servers"], row.missed) == ("1", ())


def test_a_demand_that_no_setting_meets_is_named(tmp_path: Path) -> None:
    text = studies.SMALL.replace("fits_memory,", 'fits_memory, "ps_servers <= 1",')
    text += "recommend: fastest\n"
    problem = load(studies.written(tmp_path, text.replace("values: [1, 2]", "values: [3, 2]")))
    found = made(searched(problem))
    (row,) = [row for row in found.other_aggregations if row.config["aggregation"] == "ps-grpc"]
    assert row.missed == ("ps_servers <= 1",)
    shown = alternatives.table(found)
    assert shown is not None
    assert any("ps_servers <= 1 is not met" in cells for _, cells in shown.rows)


def test_nothing_is_compared_where_there_is_nothing_to_compare(
    small: Problem, tmp_path: Path
) -> None:
    front = searched(small).front
    alone = {**front[0].values, "gpus": 1}
    assert alternatives.alternatives(small, front, alone) == ()
    text = studies.SMALL.replace("[ring-mpi, halving-doubling-gloo, ps-grpc]", "ring-mpi")
    text = text[: text.index("when:")] + text[text.index("baseline:") :]
    text = text.replace("ps-grpc, bucket: 25 MiB, ps_servers: 1", "ring-mpi")
    problem = load(studies.written(tmp_path, text, "one.yaml"))
    outcome = searched(problem)
    assert alternatives.alternatives(problem, outcome.front, outcome.front[-1].values) == ()
    html = page.render_page(made(outcome))
    assert HEADING not in html
    assert 'others-table"' not in html


@pytest.mark.parametrize("engine", ["exhaustive", "guided"])
def test_page_and_text_show_the_same_table(small: Problem, engine: str) -> None:
    found = made(searched(small, engine))
    shown = alternatives.table(found)
    assert shown is not None
    assert sum(recommended for recommended, _ in shown.rows) == 1
    text, html = markdown.render_markdown(found), Page(page.render_page(found)).text
    assert HEADING in html
    assert f"### {HEADING}" in text
    for recommended, cells in shown.rows:
        assert len(cells) == len(shown.heads)
        name = cells[0] + " (recommended)" * recommended
        line = " | ".join(markdown.escaped(cell) for cell in (name, *cells[1:]))
        assert f"| {line} |" in text
        assert cells[2] in html


@pytest.mark.evidence
def test_a_continuous_axis_keeps_its_value(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, studies.CONTINUOUS))
    rows = made(searched(problem, "guided")).other_aggregations
    assert len(rows) == 3
    assert len({row.numbers["inter_node_bytes_per_s"] for row in rows}) == 1
    assert all(np.isfinite(row.ratio) for row in rows)


def test_a_report_of_an_older_version_has_none() -> None:
    found = documents.document()
    assert alternatives.table(found) is None
    assert HEADING not in page.render_page(found)


def test_settings_of_servers_are_shown_where_several_nodes_need_them(small: Problem) -> None:
    found = made(searched(small, "exhaustive"))
    several = (replace(point, nodes=4, gpus=4, immaterial=()) for point in found.other_aggregations)
    shown = alternatives.table(replace(found, other_aggregations=tuple(several)))
    assert shown is not None
    assert any("PS servers" in cells[1] for _, cells in shown.rows)
