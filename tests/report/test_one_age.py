"""dse.report.one_age: the answer where the prices that it compares are of one time."""

from __future__ import annotations

import datetime
import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report import one_age
from dse.report.design_point import Baseline, Recommended
from dse.report.document import RunDocument
from dse.report.points import describe
from dse.report.recommendation import recommended
from dse.search.run import FrontPoint
from tests.pricing import priced, studies
from tests.report.documents import document

TEXT = studies.SMALL.replace("v100-sxm2-16gb]", "a100-sxm4-40gb, a10]").replace(
    "capital <= 200 kUSD", "capital <= 900 kUSD"
)


def front_of(problem: Problem, *accelerators: str) -> list[FrontPoint]:
    found = []
    for name in accelerators:
        values = priced.point(problem, accelerator=name, aggregation="ring-mpi")
        at = problem.point(values)
        gain, cost = (float(np.ravel(at[key])[0]) for key in ("speedup", "capital"))
        found.append(FrontPoint(values, {}, gain, cost, cost, 0, ()))
    return sorted(found, key=lambda point: point.cost)


def document_of(problem: Problem, rule: str, *accelerators: str) -> RunDocument:
    front = front_of(problem, *accelerators)
    points = tuple(describe(problem, point.values) for point in front)
    best = recommended(front, rule)
    return replace(
        document(),
        front=points,
        recommended=Recommended(**vars(points[best]), rule=rule, why=""),
        baseline=Baseline(**vars(describe(problem, problem.study.baseline.values))),
        one_age=one_age.of_one_age(problem, front, best, rule),
    )


def said(problem: Problem, rule: str, *accelerators: str) -> list[str]:
    return one_age.said(document_of(problem, rule, *accelerators))


def test_sums_are_told_at_prices_of_one_time(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, TEXT))
    (line,) = said(problem, "fastest", "a100-sxm4-40gb")
    mine, theirs = (
        float(text.replace(",", "")) for text in re.findall(r"USD ([\d,]+)", line)
    )  # 4 A100 at 12,500 and 4 P100 at 1,100, both of July 2022, and a host each
    assert (mine, theirs) == (4 * 12_500 + 20_000, 4 * 1_100 + 20_000)
    assert "around 2022-05" in line
    assert "2.9 times as much instead of 1.4 times; it stays the recommended point." in line


def test_the_rule_is_applied_to_the_front_again(tmp_path: Path) -> None:
    old = load(studies.written(tmp_path, TEXT))
    (line,) = said(old, "cheapest-within-5%", "a100-sxm4-40gb", "p100-sxm2-16gb")
    assert "it stays the recommended point" in line


def test_used_prices_of_that_time_need_no_word(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, TEXT + "market: used\n"))
    assert said(problem, "fastest", "a100-sxm4-40gb") == []


def test_accelerators_without_a_price_of_that_time_are_named(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, TEXT))
    (line,) = said(problem, "fastest", "a10", "a100-sxm4-40gb")
    assert line.endswith("No price of that time is known of a10.")


def test_prices_of_one_time_need_no_word(tmp_path: Path) -> None:
    own = "prices: {accelerators: {p100-sxm2-16gb: {purchase: {value: 900 USD, date: 2023}}}}\n"
    assert said(load(studies.written(tmp_path, TEXT + own)), "fastest", "a100-sxm4-40gb") == []
    rent = TEXT.replace("minimize: capital", "minimize: hourly")
    assert said(load(studies.written(tmp_path, rent, "b.yaml")), "fastest", "a100-sxm4-40gb") == []


def test_prices_of_another_year_replace_no_offer_of_today(tmp_path: Path) -> None:
    """Nor does the year's price of what stands there matter."""
    listed = load(studies.written(tmp_path, TEXT))
    assert document_of(listed, "fastest", "a100-sxm4-40gb").one_age is not None
    day = (listed.prices.as_of or datetime.date.today()).isoformat()
    own = "prices: {accelerators: {a100-sxm4-40gb: {purchase: {value: 9310 USD, date: %s%s}}}}\n"
    offered = load(studies.written(tmp_path, TEXT + own % (day, ""), "b.yaml"))
    assert document_of(offered, "fastest", "a100-sxm4-40gb").one_age is None
    memory = load(studies.written(tmp_path, TEXT + own % (day, ", status: unverified"), "e.yaml"))
    assert document_of(memory, "fastest", "a100-sxm4-40gb").one_age is not None, "no offer"
    past = ", valid_until: 2022-12-31"
    expired = load(studies.written(tmp_path, TEXT + own % ("2022-07-01", past), "c.yaml"))
    assert document_of(expired, "fastest", "a100-sxm4-40gb").one_age is not None
    ours = "owned: {accelerator: p100-sxm2-16gb, gpus: 4, gpus_per_node: 4}\n"
    stands = load(studies.written(tmp_path, TEXT + ours, "d.yaml"))
    assert document_of(stands, "fastest", "a100-sxm4-40gb").one_age is None
