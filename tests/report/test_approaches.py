"""What is said of points that an approach aggregates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dse import catalog
from dse.pricing.aggregations import tensorwise
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report import explain, provenance
from dse.report.design_point import Explained
from dse.report.points import describe, explained
from dse.study import Value
from tests.pricing import priced, studies


@pytest.fixture
def paper(tmp_path: Path) -> Problem:
    return load(studies.written(tmp_path, studies.PAPER))


def at(problem: Problem, **values: Value) -> dict[str, Value | None]:
    return priced.point(problem, **values)


def test_what_a_term_costs_can_be_read_off(paper: Problem) -> None:
    values = at(paper, aggregation="horovod-mpi", gpus=64, batch_per_gpu=16)
    points = paper.points_at(values)
    facts = catalog.approach("horovod-mpi")
    added = explained(paper, values).approach
    assert added is not None
    step = float(points.step_time().step_s[0])
    cached = float(points.summed_by(tensorwise(replace(facts, queries=0.0))).step_time().step_s[0])
    assert added["driver queries"] == step - cached > 0
    assert added["sums"] > 0
    values = at(paper, aggregation="horovod-mpi-opt", gpus=64, batch_per_gpu=16)
    better = explained(paper, values).approach
    assert better is not None
    assert 0 <= better["driver queries"] < (step - cached) / 5
    assert explained(paper, at(paper, aggregation="ring-mpi")).approach is None


def test_the_report_names_what_an_approach_rests_on(paper: Problem) -> None:
    rows = provenance.sources(paper)
    for name in catalog.names("approaches"):
        mine = [row for row in rows if row.item == f"approach {name}"]
        assert len(mine) == len(catalog.approach(name).facts) > 3
        assert any(row.status == "unverified" for row in mine)
    carried = {row.name: row for row in provenance.transports(paper)}
    assert set(carried) == set(catalog.names("approaches"))
    assert not any(row.calibrated for row in carried.values())
    assert "unverified" in carried["grpc"].note
    point = Explained(**vars(describe(paper, at(paper, aggregation="grpc", gpus=12))))
    assert "nobody measured here: grpc" in "\n".join(explain.lines(point))
