"""Owned hardware in the report: the bills, and what costs nothing."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.pricing.linear_cost import linear_cost
from dse.pricing.load import load
from dse.report import bills, choices, figures
from dse.report.assembly import build
from dse.report.differences import compared
from dse.report.document import RunDocument
from dse.report.page import render_markdown, render_page
from dse.search.run import run
from tests.pricing import priced, studies
from tests.pricing.test_owned import CABLE, GROW, HOST, NIC, OURS, V100
from tests.report.searched import searched

PAGE = Path(__file__).parents[2] / "docs" / "study.md"
ADDED = 64 * V100 + 8 * (HOST + NIC + CABLE)


def found(folder: Path, *more: str) -> RunDocument:
    return searched(folder, "".join((GROW, OURS, *more))).document


def test_an_axis_that_changes_nothing_tells_no_point_from_the_baseline(tmp_path: Path) -> None:
    document = found(tmp_path, 'recommend: cheapest\nconstraints: ["global_batch <= 4096"]\n')
    best = replace(document.recommended, immaterial=("bucket",))
    assert best.same_as(replace(best, config={**best.config, "bucket": "1 MiB"}))
    assert not best.same_as(replace(best, config={**best.config, "precision": "fp32"}))


def test_what_stands_there_is_recommended_where_it_is_cheapest(tmp_path: Path) -> None:
    document = found(tmp_path, "recommend: cheapest\n")
    assert document.owned == ("64 x NVIDIA Tesla V100 SXM2 16 GB in 8 nodes, 100 Gbps Ethernet",)
    assert document.recommended.objectives["capital"] == 0.0
    assert not re.findall(r"\b(?:inf|nan)\b", render_markdown(document), re.I)


def test_page_text_and_table_have_needed_owned_and_to_buy(tmp_path: Path) -> None:
    document = found(tmp_path, "market: used\n", "recommend: fastest\n",
                     "constraints: [gpus == 128]\n")  # fmt: skip
    assert "| Owned | To buy |" in render_markdown(document)
    assert ">To buy</th>" in render_page(document)
    rows = list(csv.DictReader(io.StringIO(bills.bills_csv(document))))
    base = [row for row in rows if row["point"] == "baseline" and row["price_class"] == "owned"]
    assert [(row["quantity"], row["owned"], row["to_buy"], row["usd"]) for row in base] == [
        (count, count, "0", "0.0") for count in ("64", "8", "8", "1", "8")
    ]
    assert sum(float(row["usd"]) for row in rows if row["point"] == "recommended") == (
        pytest.approx(document.recommended.objectives["capital"])
    )


def test_what_costs_nothing_is_a_choice_by_itself() -> None:
    gain, cost = np.array([1.0, 1.001, 2.0]), np.array([0.0, 10.0, 500.0])
    rows = choices.covered([gain, cost], 0.01, None)
    assert sorted(row.tolist() for row in rows) == [[0], [1], [2]]
    twice = choices.covered([gain[:2], np.zeros(2)], 0.01, 0)
    assert [row.tolist() for row in twice] == [[0, 1]]


def test_charts_of_what_costs_nothing_are_linear(tmp_path: Path) -> None:
    assert not figures.wide(0.0, 1e6)
    document = found(tmp_path, "market: used\n")
    assert document.front[0].objectives["capital"] == 0.0
    axis = json.loads(figures.front_figure(document))["layout"]["xaxis"]
    assert axis.get("type") != "log"
    assert axis["rangemode"] == "tozero"
    assert ">nan<" not in render_page(document).lower()


def test_runs_before_and_after_buying_are_compared(tmp_path: Path) -> None:
    plain, ours = searched(tmp_path, GROW).document, found(tmp_path)
    capital, again = (
        next(line for line in compared(one, ours, ("A", "B")).answer if line.name == "capital")
        for one in (plain, found(tmp_path, "recommend: cheapest\n"))
    )
    assert not capital.comparable  # the one is of all, the other of what is added
    assert (again.value, again.change) == (0.0, "up from 0")


def test_what_the_page_prices_from_is_what_is_bought(tmp_path: Path) -> None:
    extras = "prices: {rack: 3 kUSD, extras: {installation: 20 kUSD, management: 300 USD/node}}\n"
    problem = load(studies.written(tmp_path, GROW + OURS + extras))
    added, stands = (priced.point(problem, **more) for more in ({"gpus": 128}, {}))
    form = linear_cost(problem, [added, stands], "capital")
    assert form is not None
    hardware = sum(price.usd * form.quantities[at, 0] for at, price in enumerate(form.prices))
    capital = [problem.point(values)["capital"].item() for values in (added, stands)]
    assert capital == [pytest.approx(hardware + 20_000 + 8 * 300), 0.0]
    assert not form.quantities[:, 1].any()


def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    (example,) = [text for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.S)
                  if "owned:" in text]  # fmt: skip
    problem = load(studies.written(tmp_path, example))
    outcome = run(problem, "exhaustive", None, None, lambda *_: None, 1000, 0)
    document = build(outcome, "dse run", 0, 1.0, {})
    assert document.front[0].objectives["capital"] == 0.0
    values = priced.point(problem, gpus=128)
    assert float(np.ravel(problem.point(values)["capital"])[0]) == ADDED == 1_367_984


def test_of_what_costs_nothing_the_second_cost_decides_with_a_confidence_too(
    tmp_path: Path,
) -> None:
    text = GROW.replace("minimize: capital", "minimize: [capital, energy]")
    text += f"{OURS}target: {{samples: 1e8}}\nconstraints: [time_to_target <= 2 h]\n"
    likely, sure = (searched(tmp_path, text + more).document for more in ("", "confidence: 0.5\n"))
    assert likely.recommended.rule == sure.recommended.rule == "cheapest"
    assert likely.recommended.objectives["capital"] == 0.0
    assert sure.recommended.config == likely.recommended.config
