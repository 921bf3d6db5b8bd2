"""Where the time of a step goes, by the names of the model that priced it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dse.model.terms import TERMS, Term
from dse.pricing.load import load
from dse.report import assembly, figures, front_columns, page, terms
from dse.report.design_point import Point
from dse.report.document import RunDocument
from dse.report.style import VERMILION
from dse.search.run import run
from tests.pricing import studies
from tests.report import documents
from tests.report.pages import Page

STUDY = """\
study: closed
workload: vgg16
model: pai
space:
  accelerator: p100-sxm2-16gb
  gpus: [1, 4, 8]
  gpus_per_node: 4
  inter_node: 10gbe
  batch_per_gpu: [8, 16]
  aggregation: [ring-nccl, ps-grpc]
  overlap: {overlap}
baseline: {{gpus: 8, batch_per_gpu: 16, aggregation: ps-grpc}}
objectives: {{maximize: speedup, minimize: capital}}
"""
HEADS = ["Data loading T_d", "Computation T_c", "Weights T_w"]


def made(folder: Path, overlap: str) -> RunDocument:
    problem = load(studies.written(folder, STUDY.format(overlap=overlap)))
    outcome = run(problem, "exhaustive", None, None, lambda *_: None, 0, 0)
    return assembly.build(outcome, "dse run closed", 0, 1.0, {})


def by_name(point: Point) -> dict[str, float]:
    return {term.name: value for term, value in terms.seconds(point).items()}


def drawn(found: RunDocument) -> dict[str, list[float]]:
    return {bar["name"]: bar["x"] for bar in json.loads(figures.time_figure(found))["data"]}


@pytest.mark.parametrize("overlap", ["none", "ideal"])
def test_a_report_by_the_closed_model_names_its_terms(tmp_path: Path, overlap: str) -> None:
    found = made(tmp_path, overlap)
    assert list(drawn(found)) == HEADS
    for text in (page.render_markdown(found), page.render_page(found)):
        assert all(head in text.replace("\\", "") for head in HEADS)
        assert "Backward" not in text


def test_terms_that_do_not_overlap_sum_to_the_step(tmp_path: Path) -> None:
    found = made(tmp_path, "none")
    for point in (found.baseline, *found.front):
        assert sum(terms.seconds(point).values()) == pytest.approx(point.step_s)
        assert terms.added(point) == terms.seconds(point)
    assert found.baseline.pai is not None
    base = by_name(found.baseline)
    assert base["data_s"] == found.baseline.pai.terms["data_s"]
    assert base["weights_s"] == pytest.approx(found.baseline.comm_s)
    assert terms.note(found) == ""


def test_of_terms_that_all_overlap_the_longest_is_the_step(tmp_path: Path) -> None:
    found = made(tmp_path, "ideal")
    for point in (found.baseline, *found.front):
        assert max(terms.seconds(point).values()) == pytest.approx(point.step_s)
        assert sum(terms.added(point).values()) == pytest.approx(point.step_s)
        assert min(terms.added(point).values()) >= 0
    for bars in zip(*drawn(found).values(), strict=True):
        assert sum(bars) == pytest.approx(1)
    assert terms.note(found) in " ".join(Page(page.render_page(found)).text.split())
    assert "the longest of its terms" in terms.note(found)


def test_other_reports_keep_theirs() -> None:
    found = documents.document()
    assert [term.name for term in terms.terms(found)] == [
        "forward_s", "backward_s", "exposed_s", "optimizer_s", "stalled_s",
    ], "a term of zero at every point is not shown"  # fmt: skip
    for point in (found.baseline, *found.front):
        assert by_name(point) == point.terms


def test_a_new_term_is_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bar, table, sentence, and columns of a term that only its row names."""
    row = Term("idle_s", "idle stages", "vermilion")
    monkeypatch.setitem(TERMS, row.name, row)  # type: ignore[arg-type]
    run = documents.written()
    for point in (run["baseline"], run["recommended"], *run["front"]):
        point["terms"]["idle_s"] = 0.0
    assert row.heading not in drawn(documents.read(run))
    run["recommended"]["terms"]["idle_s"] = 1e3
    found = documents.read(run)
    assert any(column.name == row.name for column in front_columns.front_columns(found))
    assert "| Idle stages |" in page.render_markdown(found)
    bar = next(bar for bar in json.loads(figures.time_figure(found))["data"]
               if bar["name"] == row.heading)  # fmt: skip
    assert bar["marker"]["color"] == VERMILION
