"""dse.pricing.bill_of_rent: what is rented, for how long, at what price; sums by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.decision.remarks import BY_NAME, Answer, Side
from dse.pricing.bill_of_materials import Item
from dse.pricing.bill_of_rent import RENTED, bill_of_rent, bills, for_other_terms
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report.remarks import of_study
from dse.study import Value
from tests.pricing import studies
from tests.pricing.priced import point

GENERATIONS = Path(__file__).parents[2] / "benchmarks/search/studies/gpu-generations.yaml"
ACCELERATORS = (
    studies.SMALL.replace("[p100-sxm2-16gb, v100-sxm2-16gb]", "[p100-sxm2-16gb, h100-sxm]")
    + "target: {samples: 1e8}\n"
)


def rented(folder: Path, least: str, more: str = "") -> Problem:
    text = ACCELERATORS.replace("minimize: capital", f"minimize: {least}")
    return load(studies.written(folder, text + more))


def total(items: tuple[Item, ...]) -> float:
    return sum(np.nan if item.usd is None else item.usd for item in items)


@pytest.mark.parametrize(
    ("node", "gpus", "machines", "an_hour"),
    [
        ("aws-p3.16xlarge", 8, 1, 24.48),
        ("dgx-b200", 64, 8, 8 * 14.1208),
        ("aws-p4d.24xlarge", 128, 16, 21.957642),
        ("aws-p5.48xlarge", 256, 32, 55.04),
    ],
)
def test_the_sum_of_a_bill_of_rent_is_the_cost_of_the_run_to_the_cent(
    node: str, gpus: int, machines: int, an_hour: float
) -> None:
    problem = load(GENERATIONS)
    values = point(problem, node=node, gpus=gpus)
    (item,) = bill_of_rent(problem, values)
    priced = problem.point(values)
    hours = float(np.ravel(priced.billed_s)[0]) / 3600
    assert (item.quantity, item.unit_usd, item.unit) == (machines, an_hour, "USD/hour")
    assert item.rent is not None
    assert item.rent.hours == pytest.approx(hours)
    assert item.usd == pytest.approx(machines * an_hour * hours, abs=0.005)
    assert item.usd == pytest.approx(float(np.ravel(priced["per_run"])[0]), abs=0.005)
    assert bills(problem, values) == {"": (item,)}


def test_the_hours_that_are_paid_are_training_failures_start_and_rounding(tmp_path: Path) -> None:
    terms = "rental: {minimum: 2 h, billing_unit: 1 h, start_up: 30 min}\n"
    problem = rented(tmp_path, "per_run", terms)
    values = point(problem)
    (item,) = bill_of_rent(problem, values)
    rent, priced = item.rent, problem.point(values)
    assert rent is not None
    parts = (rent.training_hours, rent.lost_hours, rent.start_up_hours, rent.rounding_hours)
    assert sum(part or 0.0 for part in parts) == pytest.approx(rent.hours)
    assert rent.hours % 1 == 0
    assert rent.start_up_hours == 0.5
    trains = float(np.ravel(priced["samples_to_target"] / priced["throughput"])[0])
    assert rent.training_hours == pytest.approx(trains / 3600)
    lost = float(np.ravel(priced["time_to_target"])[0]) - trains - 1800
    assert rent.lost_hours == pytest.approx(lost / 3600)
    assert 0 <= (rent.rounding_hours or 0.0) < 1


def test_the_bill_of_a_commitment_holds_the_hours_between_runs(tmp_path: Path) -> None:
    problem = rented(tmp_path, "per_run", "rental: 1-year\nownership: {utilisation: 0.4}\n")
    values = point(problem)
    (item,) = bill_of_rent(problem, values)
    rent = item.rent
    assert rent is not None
    parts = (rent.training_hours, rent.lost_hours, rent.idle_hours)
    assert sum(part or 0.0 for part in parts) == pytest.approx(rent.hours)
    assert rent.idle_hours == pytest.approx(0.6 * (rent.hours or 0.0))
    assert (rent.start_up_hours, rent.rounding_hours) == (0, 0)
    exact = float(np.ravel(problem.point(values)["per_run"])[0])
    assert item.usd == pytest.approx(exact, abs=0.005)


@pytest.mark.parametrize(
    ("hours", "years", "usd"),
    [(2.0, 1, 70_080), (13_140.0, 1, 140_160), (17_520.0, 1, 140_160), (17_521.0, 1, 210_240),
     (17_520.0, 3, 210_240), (35_040.0, 3, 420_480)],
)  # fmt: skip
def test_a_run_longer_than_a_commitment_takes_several(
    tmp_path: Path, hours: float, years: int, usd: int
) -> None:
    """By hand: 2 machines at USD 4.00 an hour are USD 70,080 a year."""
    found = rented(tmp_path, "per_run", "rental: 1-year\n")
    values = point(found)
    (item,) = bill_of_rent(found, values)
    assert item.rent is not None
    rent = replace(item.rent, hours=hours, training_hours=hours, committed_hours=8_760.0 * years)
    bill = (replace(item, quantity=2, unit_usd=4.0, rent=rent),)
    side = Side(values=values, evaluation=found.point(values), bill=bill, computing="",
                extrapolated=False)  # fmt: skip
    answer = Answer(problem=found, recommended=side, baseline=side)
    (facts,) = BY_NAME["commitment"].finder(answer)
    assert facts["usd"] == usd


def test_accelerators_are_rented_in_whole_machines(tmp_path: Path) -> None:
    problem = rented(tmp_path, "hourly")
    values = point(problem, accelerator="h100-sxm", gpus=8, gpus_per_node=4,
                   aggregation="ring-mpi")  # fmt: skip
    (item,) = bill_of_rent(problem, values)
    assert (item.item, item.quantity, item.idle) == (
        "NVIDIA H100 SXM5 80 GB, rented in machines of 8", 16, 8,
    )  # fmt: skip
    assert item.rent is not None
    assert item.rent.hours == 1.0
    assert item.usd == pytest.approx(16 * (item.unit_usd or 0.0))
    assert item.terms is not None
    assert item.terms.vendor == "4 hyperscalers"
    assert item.usd == pytest.approx(float(np.ravel(problem.point(values)["hourly"])[0]))


def test_servers_are_bought_and_their_price_is_spread_over_their_years(tmp_path: Path) -> None:
    problem = rented(tmp_path, "hourly")
    values = point(problem, gpus=8, gpus_per_node=1, aggregation="ps-grpc", ps_servers=2)
    machine, server = bill_of_rent(problem, values)
    assert server.item == "Host for a parameter server, its price spread over 4 years"
    assert (server.quantity, server.unit_usd) == (2, pytest.approx(85_000 / (4 * 8760)))
    exact = float(np.ravel(problem.point(values)["hourly"])[0])
    assert total((machine, server)) == pytest.approx(exact)


@pytest.mark.parametrize("term", ["1-year", "3-year", "spot"])
def test_a_term_is_a_discount_off_the_price_on_demand(tmp_path: Path, term: str) -> None:
    problem = rented(tmp_path, "per_run", f"rental: {term}\n")
    values = point(problem)
    (item,) = bill_of_rent(problem, values)
    (listed,) = bill_of_rent(rented(tmp_path, "per_run"), values)
    assert item.rent is not None
    assert item.rent.term == term
    assert item.terms is not None
    assert item.terms.list_usd == listed.unit_usd
    assert item.unit_usd == pytest.approx((listed.unit_usd or 0.0) * (1 - item.terms.discount))
    exact = float(np.ravel(problem.point(values)["per_run"])[0])
    assert item.usd == pytest.approx(exact, abs=0.005)


def test_a_price_that_nobody_knows_leaves_the_sum_open(tmp_path: Path) -> None:
    text = ACCELERATORS.replace("h100-sxm", "mi250x").replace(
        "minimize: capital", "minimize: power"
    )
    text = text.replace("capital <= 350 kUSD", "gpus <= 64")
    problem = load(studies.written(tmp_path, text))
    (item,) = bill_of_rent(problem, point(problem, accelerator="mi250x", gpus=1, gpus_per_node=1))
    assert (item.unit_usd, item.usd) == (None, None)


def test_a_study_of_purchase_and_rent_has_both_bills(tmp_path: Path) -> None:
    both = bills(problem := rented(tmp_path, "[capital, per_run]"), point(problem))
    assert sorted(both) == ["", RENTED]
    priced = problem.point(point(problem))
    for kind, name in (("", "capital"), (RENTED, "per_run")):
        assert total(both[kind]) == pytest.approx(float(np.ravel(priced[name])[0]), abs=0.005)
    bought = rented(tmp_path, "capital")
    assert list(bills(bought, point(bought))) == [""]


def test_a_run_of_unknown_length_has_no_sum() -> None:
    """A V100 does not compute in bf16."""
    problem = load(GENERATIONS)
    (item,) = bill_of_rent(problem, point(problem, node="aws-p3.16xlarge", precision="bf16"))
    assert item.rent is not None
    assert (item.rent.hours, item.unit_usd, item.usd) == (None, 24.48, None)


HOURLY = studies.SMALL.replace("minimize: capital", "minimize: hourly").replace(
    '"capital <= 350 kUSD", ', ""
)
TERMS = """\
prices:
  accelerators:
    p100-sxm2-16gb:
      hourly: [{value: 3 USD/hour}, {value: 2 USD/hour, term: 1-year, vendor: Acme}]
    v100-sxm2-16gb: {hourly: {value: 1 USD/hour, term: 3-year}}
"""


def test_a_rent_of_the_term_is_paid_whole_and_certain(tmp_path: Path) -> None:
    """By hand: 4 P100 for a year at USD 2, whatever others take off; on demand at USD 3, of which
    hyperscalers take 44 % for three years."""

    def rented(term: str) -> tuple[Problem, dict[str, Value | None]]:
        text = f"{HOURLY}{TERMS}rental: {term}\n"
        problem = load(studies.written(tmp_path, text, f"{term}.yaml"))
        return problem, {**problem.study.baseline.values}

    for term, each, certain in (("1-year", 2.0, True), ("on-demand", 3.0, True),
                                ("3-year", 3 * 0.44, False)):  # fmt: skip
        problem, values = rented(term)
        hourly = problem.point(values)["hourly"]
        item, *_ = bill_of_rent(problem, values)
        assert item.usd == pytest.approx(4 * each), term
        assert item.unit_usd == pytest.approx(each)
        whole = float(np.ravel(hourly)[0])
        drawn = np.ravel(problem.sampled.point(values, speedup=False)["hourly"])
        spread = float(drawn.std()) / whole
        assert (spread < 0.1) is certain, term
    problem, values = rented("3-year")
    v100 = {**values, "accelerator": "v100-sxm2-16gb"}
    item, *_ = bill_of_rent(problem, v100)
    assert (item.usd, item.price_class) == (4.0, "quote")


def test_a_rent_for_another_term_alone_is_not_used_and_that_is_said(tmp_path: Path) -> None:
    text = f"{HOURLY}rental: 1-year\nrent_class: neocloud\n"
    problem = load(studies.written(tmp_path, text + TERMS))
    without = load(studies.written(tmp_path, text, "without.yaml"))
    values = {**problem.study.baseline.values, "accelerator": "v100-sxm2-16gb"}
    item, listed = (bill_of_rent(one, values)[0] for one in (problem, without))
    assert item == listed, "the catalogue's"
    assert for_other_terms(problem) == {("3-year",): ["v100-sxm2-16gb"]}
    (said,) = [one for one in of_study(problem) if one.name == "rent for another term"]
    assert said.facts["term"] == "1-year"
    bought = load(studies.written(tmp_path, f"{studies.SMALL}{TERMS}", "bought.yaml"))
    assert for_other_terms(bought) == {}
