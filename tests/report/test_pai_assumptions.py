"""dse.report.pai_assumptions: what is said of the PAI paper's model."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report import provenance
from dse.report.assumptions import assumptions
from dse.report.design_point import Explained
from dse.report.explain import lines
from dse.report.json_form import text
from dse.report.points import describe
from tests.model.test_pai import E, parts
from tests.pricing import studies


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    return load(studies.written(tmp_path, studies.CLOSED))


def test_explain_shows_the_terms_of_the_paper(problem: Problem) -> None:
    point = describe(problem, problem.study.baseline.values)
    told = "\n".join(lines(Explained(**vars(point))))
    data_s, _, exchanged = parts()
    assert f"T_d input over PCIe      {1e3 * data_s:10.3f} ms" in told
    assert f"T_w over Ethernet        {1e3 * exchanged / (3.125e9 * E):10.3f} ms" in told
    assert "(model pai, ps-worker: T_d + T_c + T_w)" in told
    assert text(point)


def test_the_report_says_what_it_rests_on(problem: Problem) -> None:
    told = " ".join(assumptions(problem))
    assert "closed model of Wang et al." in told
    assert "The model leaves out latency" in told
    assert "prefetched" not in told
    notes = {row.name: row.note for row in provenance.transports(problem)}
    assert notes["grpc"] == "model pai does not distinguish transports"
