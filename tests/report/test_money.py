"""dse.report.money: what owning and renting cost, when owning pays, and a study's terms."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dse
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report import bills, money
from dse.report.design_point import Owned
from dse.report.document_files import read_document
from tests.pricing import studies
from tests.report.brief import briefly

TARGET = "target: {samples: 1e8}\n"
RENTED = studies.SMALL.replace("minimize: capital", "minimize: per_run") + TARGET


def problem(folder: Path, more: str = "", text: str = studies.SMALL + TARGET) -> Problem:
    return load(studies.written(folder, text + more))


def owned(of: Problem) -> Owned:
    found = money.of_point(of, of.study.baseline.values)
    assert found is not None
    return found


@pytest.mark.parametrize("left", [0.0, 0.3])
def test_the_break_even_is_where_both_totals_meet(tmp_path: Path, left: float) -> None:
    sold = f"residual_value: {left}"
    usual = owned(problem(tmp_path, f"ownership: {{{sold}}}\n"))
    share, months = usual.break_even_utilisation, usual.break_even_months
    assert share is not None
    assert 0 < share < 1
    assert months == pytest.approx(48 * share)
    # Over the four years of amortisation, at that utilisation.
    even = owned(problem(tmp_path, f"ownership: {{{sold}, utilisation: {share!r}}}\n"))
    four = even.totals[1]
    assert four.years == even.years == 4
    assert four.own_usd == pytest.approx(four.rent_usd, rel=1e-9)
    spent = four.purchase_usd + four.electricity_usd + four.operation_usd
    assert four.own_usd == pytest.approx(spent - four.residual_usd)
    assert four.operation_usd == pytest.approx(0.4 * four.purchase_usd), "10 % a year"
    assert even.break_even_months == pytest.approx(48)


def test_support_and_installation_are_not_sold_again(tmp_path: Path) -> None:
    left = "ownership: {residual_value: 0.3}\n"
    extras = "prices: {extras: {support: 10 %/year, installation: 100 kUSD}}\n"
    alone, beside = (owned(problem(tmp_path, left + text)) for text in ("", extras))
    for bare, whole in zip(alone.totals, beside.totals, strict=True):
        support = bare.purchase_usd * 0.1 * whole.years
        assert whole.purchase_usd == pytest.approx(bare.purchase_usd + support + 1e5)
        assert whole.residual_usd == bare.residual_usd == pytest.approx(0.3 * bare.purchase_usd)


def test_a_spot_machine_is_compared_by_what_it_trains(tmp_path: Path) -> None:
    spot = problem(tmp_path, "rental: {term: spot, spell: 4 h, wait: 2 h}\n")
    values, found = spot.study.baseline.values, owned(spot)
    assert found.rent_usd_per_hour is not None
    assert found.same_work_usd_per_hour is not None
    own = problem(tmp_path).point(values).running.share
    held = spot.point(values).running
    hours = float(np.ravel(own / (held.share / held.held))[0])
    assert hours > 1
    assert found.same_work_usd_per_hour == pytest.approx(found.rent_usd_per_hour * hours)
    assert found.totals[0].rent_usd == pytest.approx(found.same_work_usd_per_hour * 3 * 8760)
    assert "for the work of an owned hour" in money.said(found)
    assert owned(problem(tmp_path)).same_work_usd_per_hour is None


def test_a_rented_run_is_compared_with_its_start(tmp_path: Path) -> None:
    """An own machine is there; a rented one is paid from its start on."""
    found = problem(tmp_path, "rental: {start_up: 5 h}\nfailures: ideal\n", RENTED)
    rented = owned(found)
    assert rented.rent_usd_per_hour is not None
    run_h = float(np.ravel(found.point(found.study.baseline.values)["time_to_target"])[0]) / 3600
    work = rented.rent_usd_per_hour * run_h / (run_h - 5)
    assert rented.same_work_usd_per_hour == pytest.approx(work, rel=1e-4)  # whole seconds
    assert rented.totals[1].rent_usd == pytest.approx(work * 4 * 8760, rel=1e-4)
    bought = owned(problem(tmp_path))
    assert (rented.break_even_utilisation or 1.0) < (bought.break_even_utilisation or 0.0)


def test_a_rent_that_is_never_more_is_not_beaten(tmp_path: Path) -> None:
    found = owned(problem(tmp_path, "rental: {discount: 0.95}\n"))
    assert (found.break_even_utilisation or 2.0) > 1
    assert "Buying does not pay within 4 years" in money.said(found)
    nobody = replace(found, rent_usd_per_hour=None, break_even_months=None)
    assert "price list (hourly)" in money.said(nobody)


def test_a_commitment_is_paid_around_the_clock_whatever_the_use(tmp_path: Path) -> None:
    found = owned(problem(tmp_path, "rental: 3-year\nownership: {utilisation: 0.3}\n"))
    assert found.rent_usd_per_hour is not None
    for row in found.totals:
        assert row.rent_usd == pytest.approx(found.rent_usd_per_hour * row.years * 8760)
        assert row.electricity_usd < row.rent_usd
    assert "paid in all hours" in money.said(found)
    assert found.break_even_utilisation is None
    # At the rent where half of the hours break even, the totals of half of the hours are the same.
    usual = owned(problem(tmp_path))
    assert usual.rent_usd_per_hour is not None
    four = usual.totals[1]
    lasting = four.purchase_usd + four.operation_usd
    meets = (lasting + four.electricity_usd / 2) / (4 * 8760)
    even = f"rental: {{term: 3-year, discount: {1 - meets / usual.rent_usd_per_hour!r}}}\n"
    half = owned(problem(tmp_path, even + "ownership: {utilisation: 0.5}\n"))
    assert half.break_even_months == pytest.approx(48)
    assert half.totals[1].own_usd == pytest.approx(half.totals[1].rent_usd)


def test_who_minimizes_purchase_and_rent_is_told_of_both(tmp_path: Path) -> None:
    """By hand: a commitment pays 8,760 hours a year."""
    text = studies.SMALL.replace("minimize: capital", "minimize: [capital, hourly]")
    with briefly():
        dse.run(studies.written(tmp_path, text + "rental: {term: 1-year}\n"),
                out=tmp_path / "out", executor="local")  # fmt: skip
    rows = csv.DictReader((tmp_path / "out" / "bom.csv").read_text("utf-8").splitlines())
    (rent, *_) = (row for row in rows if row["point"] == "recommended_rented")
    assert rent["term"] == "1-year"
    found = read_document(tmp_path / "out")
    (told,) = (one for one in found.remarks if one.name == "commitment")
    an_hour = float(rent["quantity"]) * float(rent["unit_usd"])
    assert told.facts["usd"] == pytest.approx(8760 * an_hour)
    assert any(table.rented for table in bills.tables(found))
