"""What an answer of rents must be read with."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from dse.pricing import rents
from dse.pricing.bill_of_rent import bill_of_rent
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report.check import checked
from dse.study import Value
from tests.pricing import studies

RENTED = studies.SMALL.replace("minimize: capital", "minimize: hourly").replace(
    '"capital <= 200 kUSD", ', ""
)


@pytest.mark.parametrize(
    ("gpus", "said"),
    [(16, "machines with 4 each and with a network that joins them so are let"),
     (4, "machines with 4 each are let")],
)  # fmt: skip
def test_a_rent_by_the_accelerator_asks_for_the_machine(
    tmp_path: Path, gpus: int, said: str
) -> None:
    problem = load(studies.written(tmp_path, RENTED))
    (note,) = rents.notes(problem, {**problem.study.baseline.values, "gpus": gpus})
    assert said in note


def test_a_machine_comes_with_its_network(tmp_path: Path) -> None:
    text = RENTED.replace(
        "accelerator: [p100-sxm2-16gb, v100-sxm2-16gb]", "node: [aws-p3.16xlarge]"
    )
    text = text.replace("  gpus_per_node: [1, 4]\n", "").replace("gpus_per_node: 4, ", "")
    problem = load(
        studies.written(
            tmp_path, text.replace("accelerator: p100-sxm2-16gb", "node: aws-p3.16xlarge")
        )
    )
    assert rents.notes(problem, problem.study.baseline.values) == []


def test_who_buys_is_told_nothing_of_rents(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, studies.SMALL))
    assert rents.notes(problem, problem.study.baseline.values) == []


def test_an_own_price_on_demand_is_told_where_a_discount_is_taken_off(tmp_path: Path) -> None:
    own = "prices: {accelerators: {p100-sxm2-16gb: {hourly: 3.10 USD/hour}}}\n"
    problem = load(studies.written(tmp_path, RENTED + own + "rental: spot\n"))
    first, *_ = rents.notes(problem, problem.study.baseline.values)
    assert "Your USD 3.10 an hour for NVIDIA Tesla P100" in first
    assert "the bill has 42 % of it, USD 1.30, for the term spot" in first
    assert first.endswith("say so in the price list (term: spot).")
    stated = own.replace("3.10 USD/hour", "{value: 3.10 USD/hour, term: on-demand}")
    told = load(studies.written(tmp_path, RENTED + stated + "rental: spot\n", "stated.yaml"))
    said, *_ = rents.notes(told, told.study.baseline.values)
    assert "Tesla P100 SXM2 16 GB is a price on demand, so the bill has 42 % of it" in said
    assert said.endswith("for the term spot.")
    for terms in (
        "",
        "rental: {term: spot, discount: 0}\n",
        "rental: {term: spot, discount: 0.5}\n",
    ):
        said = load(studies.written(tmp_path, RENTED + own + terms))
        assert not any("Your USD" in note for note in rents.notes(said, said.study.baseline.values))
    others = load(studies.written(tmp_path, RENTED + "rental: spot\n"))
    assert not any("Your" in note for note in rents.notes(others, others.study.baseline.values))


TERMS = """\
prices:
  accelerators:
    p100-sxm2-16gb:
      hourly: [{value: 3 USD/hour}, {value: 2 USD/hour, term: 1-year, vendor: Acme}]
    v100-sxm2-16gb: {hourly: {value: 1 USD/hour, term: 3-year}}
"""


def test_a_rent_of_the_term_is_paid_whole_and_certain(tmp_path: Path) -> None:
    """By hand: 4 P100 for a year at USD 2, whatever others take off; on demand at USD 3, of which
    45 % are paid for three years."""

    def rented(term: str) -> tuple[Problem, dict[str, Value | None]]:
        text = f"{RENTED}{TERMS}rental: {term}\n"
        problem = load(studies.written(tmp_path, text, f"{term}.yaml"))
        return problem, {**problem.study.baseline.values}

    for term, each, certain in (("1-year", 2.0, True), ("on-demand", 3.0, True),
                                ("3-year", 3 * 0.45, False)):  # fmt: skip
        problem, values = rented(term)
        hourly = problem.point(values)["hourly"]
        item, *_ = bill_of_rent(problem, values)
        assert item.usd == pytest.approx(4 * each), term
        assert item.unit_usd == pytest.approx(each)
        whole = float(np.ravel(hourly)[0])
        drawn = np.ravel(problem.sampled.point(values, speedup=False)["hourly"])
        spread = float(drawn.std()) / whole
        assert (spread < 0.1) is certain, term
        notes = rents.notes(problem, values)
        assert any("counts as a price on demand" in note for note in notes) is not certain
    problem, values = rented("3-year")
    v100 = {**values, "accelerator": "v100-sxm2-16gb"}
    item, *_ = bill_of_rent(problem, v100)
    assert (item.usd, item.price_class) == (4.0, "quote")


def test_a_rent_for_another_term_alone_is_not_used_and_that_is_said(tmp_path: Path) -> None:
    text = f"{RENTED}{TERMS}rental: 1-year\n"
    problem = load(studies.written(tmp_path, text))
    without = load(studies.written(tmp_path, f"{RENTED}rental: 1-year\n", "without.yaml"))
    values = {**problem.study.baseline.values, "accelerator": "v100-sxm2-16gb"}
    item, listed = (bill_of_rent(one, values)[0] for one in (problem, without))
    assert item == listed, "the catalogue's"
    said = (
        "The rent of v100-sxm2-16gb in study.yaml is for 3-year alone, and the study rents 1-year: "
        "it is not used."
    )
    assert said in rents.notes(problem, problem.study.baseline.values)
    assert said in checked(problem).caveats
    bought = load(studies.written(tmp_path, f"{studies.SMALL}{TERMS}", "bought.yaml"))
    assert said not in checked(bought).caveats


def test_what_others_ask_is_compared_on_the_same_term(tmp_path: Path) -> None:
    text = RENTED.replace("v100-sxm2-16gb]", "h100-sxm]")
    at = {"accelerator": "h100-sxm", "gpus": 8, "gpus_per_node": 4}
    said = []
    for terms in ("", "rental: {term: 1-year, discount: 0.5}\n"):
        problem = load(studies.written(tmp_path, text + terms))
        notes = rents.notes(problem, {**problem.study.baseline.values, **at})
        said.append(next(note for note in notes if note.startswith("The bill's rent")))
    usual, half = said
    prices = [[float(price) for price in re.findall(r"USD ([\d.]+)", note)] for note in said]
    assert prices[1] == pytest.approx([usd / 2 for usd in prices[0]], abs=0.005)
    assert "each at 50 % of its price on demand" in half
    assert "on demand" not in usual
