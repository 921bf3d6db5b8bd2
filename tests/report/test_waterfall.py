"""The way from the baseline to a point: its factors, its order, what cannot stand alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from math import prod
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.pricing import constraints
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report import waterfall
from dse.report.document import RunDocument
from dse.report.json_form import parsed, plain
from dse.report.page import render_page
from dse.search.run import run
from dse.study import Value
from dse.study.axes import SOFTWARE
from tests.pricing import studies
from tests.report.brief import build

NODES = """\
study: nodes
workload: bert-large-s512
space:
  node: [aws-p3.16xlarge, dgx-b200]
  gpus: [8, 16]
  gpus_per_node: [1, 8, 16]
  batch_per_gpu: [4, 64]
  precision: [fp16, fp8]
  optimizer: adam
  aggregation: [auto-nccl, ring-gloo]
  bucket: [25 MiB, 100 MiB]
baseline: {node: aws-p3.16xlarge, gpus: 8, gpus_per_node: 8, batch_per_gpu: 4, precision: fp16,
           aggregation: ring-gloo, bucket: 25 MiB}
objectives: {maximize: speedup, minimize: hourly}
"""

QUALITY = studies.SMALL + "target: {quality: mlperf-resnet50}\n"  # speedup is of times, not rates


@cache
def problem_of(text: str, folder: Path) -> Problem:
    return load(studies.written(folder, text))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("studies")


def at_baseline(problem: Problem, values: Mapping[str, Value | None]) -> Problem:
    """The same problem, measured from another point."""
    base = replace(problem.study.baseline, values=values)
    return replace(problem, study=replace(problem.study, baseline=base))


def able(problem: Problem, values: Mapping[str, Value | None]) -> bool:
    checks = constraints.built_in(problem.point(values), problem.study)
    return all(mask.all() for _, mask in checks)


@settings(max_examples=60)
@given(st.data(), st.sampled_from([studies.SMALL, studies.CONDITIONAL_BUCKET, NODES, QUALITY]))
def test_factors_multiply_to_the_speedup(folder: Path, data: st.DataObject, text: str) -> None:
    problem = problem_of(text, folder)
    points = []
    for _ in range(2):
        index = data.draw(st.integers(0, problem.space.size - 1).filter(
            lambda at: able(problem, problem.space.point(at))))  # fmt: skip
        points.append(problem.space.point(index))
    base, best = points
    measured = at_baseline(problem, {k: v for k, v in base.items() if v is not None})
    steps = waterfall.waterfall(measured, best)
    speedup = measured.point(best)["speedup"].item()
    factors = [step.factor for step in steps]
    assert None not in factors
    assert prod(f for f in factors if f is not None) == pytest.approx(speedup, rel=1e-12)
    if steps:
        least = measured.study.objectives[1].name
        assert steps[-1].speedup == pytest.approx(speedup, rel=1e-12)
        assert steps[-1].cost == pytest.approx(measured.point(best)[least].item(), rel=1e-12)
    parts = [step.software for step in steps]
    assert parts == sorted(parts, reverse=True)  # software before hardware
    for step in steps:
        if step.software:
            assert {change.axis for change in step.changes} <= {*SOFTWARE}
    # No axis changes twice, but for the gradients' format, which others decide.
    axes = [change.axis for step in steps for change in step.changes if change.axis != "gradient"]
    assert len(axes) == len(set(axes))


def test_what_cannot_stand_alone_is_made_with_what_makes_it_possible(folder: Path) -> None:
    problem = problem_of(NODES, folder)
    best = {**dict.fromkeys(problem.space.names), **problem.study.baseline.values,
            "node": "dgx-b200", "precision": "fp8", "batch_per_gpu": 64}  # fmt: skip
    (step,) = waterfall.waterfall(problem, best)
    assert {change.axis for change in step.changes} == {"node", "precision", "batch_per_gpu"}
    assert not step.software


def test_more_accelerators_than_a_node_holds_wait_for_the_node(folder: Path) -> None:
    problem = problem_of(NODES, folder)
    base = {**problem.study.baseline.values, "node": "aws-p3.16xlarge", "gpus": 16}
    best = {**dict.fromkeys(problem.space.names), **base, "node": "dgx-b200", "gpus_per_node": 16}
    with_more = waterfall._Way(problem, base, best)
    assert waterfall._LACKS in with_more._failing({**base, "gpus_per_node": 16})
    steps = waterfall.waterfall(at_baseline(problem, base), best)
    assert [change.axis for step in steps for change in step.changes][-1] == "gpus_per_node"


def test_conditional_axes_go_with_what_decides_on_them(folder: Path) -> None:
    problem = problem_of(studies.SMALL, folder)
    servers = {**problem.study.baseline.values, "gpus": 16, "gpus_per_node": 1, "ps_servers": 2}
    ring = problem.study.values("aggregation")[0]
    best = {**servers, "bucket": 4 * 2.0**20}
    base = {k: v for k, v in servers.items() if k != "ps_servers"} | {"aggregation": ring}
    steps = waterfall.waterfall(at_baseline(problem, base), best)
    assert [[change.axis for change in step.changes] for step in steps] == [
        ["aggregation", "ps_servers"], ["bucket"]
    ]  # fmt: skip
    assert all(step.software for step in steps)
    away = waterfall.waterfall(at_baseline(problem, best), {**base, "ps_servers": None})
    assert [[change.axis for change in step.changes] for step in away] == [
        ["aggregation"], ["bucket"]  # without servers their number does not matter
    ]  # fmt: skip


def test_what_does_not_matter_at_the_end_is_no_step(folder: Path) -> None:
    problem = problem_of(studies.SMALL, folder)
    base = {**problem.study.baseline.values, "gpus": 16, "gpus_per_node": 4}
    other = next(v for v in problem.study.values("inter_node") if v != base["inter_node"])
    best = {**base, "inter_node": other, "gpus": 4, "batch_per_gpu": 64}
    steps = waterfall.waterfall(at_baseline(problem, base), best)
    named = [change.axis for step in steps for change in step.changes]
    assert named == ["batch_per_gpu", "gpus"]
    assert not waterfall.waterfall(problem, problem.study.baseline.values)


@pytest.fixture(scope="module")
def found(folder: Path) -> RunDocument:
    problem = problem_of(studies.SMALL, folder)
    outcome = run(problem, "exhaustive", None, None, lambda *_: None, 0, 0)
    return build(outcome)


def test_the_document_has_it_and_the_page_shows_it(found: RunDocument) -> None:
    assert plain(parsed(RunDocument, plain(found))) == plain(found)
    assert plain(found)["waterfall"][0]["changes"]
    total = prod(step.factor or 0.0 for step in found.waterfall)
    assert total == pytest.approx(found.recommended.speedup, rel=1e-12)
    software = [step.factor or 0.0 for step in found.waterfall if step.software]
    assert waterfall.software_factor(found) == pytest.approx(prod(software), rel=1e-12)
    rows = waterfall.rows(found)
    assert [row.software for row in rows] == [step.software for step in found.waterfall]
    page = render_page(found).replace("\u00a0", " ")
    assert all(row.change in page for row in rows)
