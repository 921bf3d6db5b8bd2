"""dse.report.one_age: the answer where the prices that it compares are of one time."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np

from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report import one_age
from dse.report.document import OneAge
from dse.report.recommendation import recommended
from dse.search.run import FrontPoint
from tests.pricing import priced, studies

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


def aged(problem: Problem, rule: str, *accelerators: str) -> OneAge | None:
    front = front_of(problem, *accelerators)
    return one_age.of_one_age(problem, front, recommended(front, rule), rule)


def test_sums_are_told_at_prices_of_one_time(tmp_path: Path) -> None:
    """4 A100 at 12,500 and 4 P100 at 1,100, both of July 2022, and a host each."""
    found = aged(load(studies.written(tmp_path, TEXT)), "fastest", "a100-sxm4-40gb")
    assert found is not None
    assert found.capital == 4 * 12_500 + 20_000
    assert found.baseline_capital == 4 * 1_100 + 20_000
    assert (found.month, found.instead, found.missing) == ("2022-05", None, ())


def test_the_rule_is_applied_to_the_front_again(tmp_path: Path) -> None:
    old = load(studies.written(tmp_path, TEXT))
    found = aged(old, "cheapest-within-5%", "a100-sxm4-40gb", "p100-sxm2-16gb")
    assert found is not None
    assert found.instead is None


def test_accelerators_without_a_price_of_that_time_are_named(tmp_path: Path) -> None:
    found = aged(load(studies.written(tmp_path, TEXT)), "fastest", "a10", "a100-sxm4-40gb")
    assert found is not None
    assert found.missing == ("a10",)


def test_prices_of_one_time_need_no_word(tmp_path: Path) -> None:
    own = "prices: {accelerators: {p100-sxm2-16gb: {purchase: {value: 900 USD, date: 2023}}}}\n"
    rent = TEXT.replace("minimize: capital", "minimize: hourly")
    for name, text in (("used", TEXT + "market: used\n"), ("own", TEXT + own), ("rent", rent)):
        problem = load(studies.written(tmp_path, text, f"{name}.yaml"))
        assert aged(problem, "fastest", "a100-sxm4-40gb") is None, name


def test_prices_of_another_year_replace_no_offer_of_today(tmp_path: Path) -> None:
    """Nor does the year's price of what stands there matter."""
    listed = load(studies.written(tmp_path, TEXT))
    assert aged(listed, "fastest", "a100-sxm4-40gb") is not None
    day = (listed.prices.as_of or datetime.date.today()).isoformat()
    own = "prices: {accelerators: {a100-sxm4-40gb: {purchase: {value: 9310 USD, date: %s%s}}}}\n"
    offered = load(studies.written(tmp_path, TEXT + own % (day, ""), "b.yaml"))
    assert aged(offered, "fastest", "a100-sxm4-40gb") is None
    memory = load(studies.written(tmp_path, TEXT + own % (day, ", status: unverified"), "e.yaml"))
    assert aged(memory, "fastest", "a100-sxm4-40gb") is not None, "no offer"
    past = ", valid_until: 2022-12-31"
    expired = load(studies.written(tmp_path, TEXT + own % ("2022-07-01", past), "c.yaml"))
    assert aged(expired, "fastest", "a100-sxm4-40gb") is not None
    ours = "owned: {accelerator: p100-sxm2-16gb, gpus: 4, gpus_per_node: 4}\n"
    stands = load(studies.written(tmp_path, TEXT + ours, "d.yaml"))
    assert aged(stands, "fastest", "a100-sxm4-40gb") is None
