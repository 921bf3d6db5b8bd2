"""dse.pricing.market: what is sold new, and what only used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dse.catalog.facts import USED
from dse.catalog.rents import HYPERSCALER, NEOCLOUD
from dse.pricing import constraints
from dse.pricing.bill_of_materials import bill_of_materials
from dse.pricing.load import load
from dse.pricing.problem import Problem
from tests.pricing import priced, studies

BOTH = studies.SMALL.replace("[p100-sxm2-16gb, v100-sxm2-16gb]", "[p100-sxm2-16gb, a10]").replace(
    "capital <= 350 kUSD", "capital <= 300 kUSD"
)


def problem_of(tmp_path: Path, text: str, more: str = "") -> Problem:
    return load(studies.written(tmp_path, text + more))


def sold(problem: Problem, accelerator: str) -> bool | None:
    """Whether a point with it may be recommended; None where that is no demand."""
    found = dict(constraints.built_in(problem.point(priced.point(problem, accelerator=accelerator)),
                                      problem.study))  # fmt: skip
    return bool(np.all(found[constraints.SOLD])) if constraints.SOLD in found else None


def test_what_is_no_longer_sold_new_is_not_recommended(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, BOTH)
    assert (sold(problem, "p100-sxm2-16gb"), sold(problem, "a10")) == (False, True)


def test_it_is_still_priced_and_may_be_the_baseline(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, BOTH)
    device, *_ = bill_of_materials(problem.points_at(problem.study.baseline.values))
    assert (device.unit_usd, device.remark) == (7_400, "no longer sold new (until 2021)")


def test_where_nothing_else_is_asked_for_all_may_be_recommended(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, studies.SMALL)
    assert sold(problem, "p100-sxm2-16gb") is None


def test_used_hardware_may_be_admitted_at_its_own_price(tmp_path: Path) -> None:
    text = BOTH.replace("p100-sxm2-16gb, a10", "p100-sxm2-16gb, v100-sxm2-16gb, a10")
    problem = problem_of(tmp_path, text, "market: used\n")
    assert sold(problem, "p100-sxm2-16gb") is None
    device, *_ = bill_of_materials(problem.points_at(problem.study.baseline.values))
    assert (device.unit_usd, device.price_class) == (1_100, USED)


def test_a_share_of_a_machine_is_a_module_when_it_is_used(tmp_path: Path) -> None:
    text = BOTH.replace("p100-sxm2-16gb", "v100-sxm2-32gb")
    used = problem_of(tmp_path, text, "market: used\n")
    items = bill_of_materials(used.points_at(used.study.baseline.values))
    bought = [item.unit_usd for item in items if item.unit_usd]
    assert bought == [2_500, 85_000], "its host is bought apart"


@pytest.mark.parametrize(
    "own",
    [
        "prices: {accelerators: {p100-sxm2-16gb: {purchase: 900 USD}}}\n",
        "prices: {accelerators: {p100-sxm2-16gb: {sold_until: 2030}}}\n",
        "prices: {accelerators: {p100-sxm2-16gb: {sold_until: unknown}}}\n",
    ],
)
def test_who_has_a_seller_may_buy(tmp_path: Path, own: str) -> None:
    problem = problem_of(tmp_path, BOTH, own)
    assert sold(problem, "p100-sxm2-16gb") is None


def test_what_is_rented_need_not_be_sold(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, BOTH.replace("minimize: capital", "minimize: hourly"))
    assert sold(problem, "p100-sxm2-16gb") is None


def test_what_has_a_rent_of_ones_own_decides_no_class_of_sellers(tmp_path: Path) -> None:
    """An own accelerator is of no market, and so is one that the buyer has a rent of."""
    text = BOTH.replace("p100-sxm2-16gb, a10", "NAME, h100-sxm").replace("p100-sxm2-16gb", "NAME")
    text = text.replace("minimize: capital", "minimize: hourly")
    text = text.replace("capital <= 300 kUSD", "hourly <= 900 USD/hour")
    own = (
        "prices: {accelerators: {NAME: {hourly: {value: 2 USD/hour, term: spot}}}}\nrental: spot\n"
    )
    mine = "accelerators: {mine: {memory: 80 GB, memory_bandwidth: 3 TB/s, host_link: pcie5-x16, "
    mine += "peak: {fp32: 60 TFLOP/s}}}\n"
    for name, more, kind in (("mine", mine + own, NEOCLOUD), ("mi355x", own, NEOCLOUD),
                             ("mi355x", "", HYPERSCALER)):  # fmt: skip
        found = problem_of(tmp_path, (text + more).replace("NAME", name))
        assert found.prices.rent_class == kind, name
