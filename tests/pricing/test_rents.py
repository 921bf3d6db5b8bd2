"""What an answer of rents must be read with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dse.pricing import rents
from dse.pricing.load import load
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
    assert "discount: 0" in first
    for terms in (
        "",
        "rental: {term: spot, discount: 0}\n",
        "rental: {term: spot, discount: 0.5}\n",
    ):
        said = load(studies.written(tmp_path, RENTED + own + terms))
        assert not any("Your USD" in note for note in rents.notes(said, said.study.baseline.values))
    others = load(studies.written(tmp_path, RENTED + "rental: spot\n"))
    assert not any("Your" in note for note in rents.notes(others, others.study.baseline.values))


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
