"""dse.report.ownership, goodput and rental: what a study's terms come to, in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dse
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report import explain, offers, ownership, rental
from dse.report.answer import answer
from dse.report.document_files import read_document
from dse.report.points import explained
from dse.report.sections import SECTIONS
from tests.pricing import studies
from tests.report.documents import document

TARGET = "target: {samples: 1e8}\n"


def problem(folder: Path, more: str = "") -> Problem:
    return load(studies.written(folder, studies.SMALL + TARGET + more))


def told(of: Problem) -> str:
    return "\n".join(explain.lines(explained(of, of.study.baseline.values)))


def test_explain_says_how_often_it_stops_and_from_when_buying_pays(tmp_path: Path) -> None:
    text = told(problem(tmp_path))
    assert "% of the time trains: a stop every" in text
    assert "on average, a checkpoint every" in text
    assert "Buying pays from" in text
    assert "3 years in use 100 %: to own USD" in text
    assert "all of the time trains (failures: ideal)" in told(
        problem(tmp_path, "failures: ideal\n")
    )


def test_the_break_even_is_where_both_totals_meet(tmp_path: Path) -> None:
    found = problem(tmp_path)
    values = found.study.baseline.values
    usual = ownership.of_point(found, values)
    assert usual is not None
    share = usual.break_even_utilisation
    assert share is not None
    assert 0 < share < 1
    # Over the four years of amortisation, at that utilisation.
    more = f"ownership: {{utilisation: {share!r}}}\n"
    even = ownership.of_point(problem(tmp_path, more), values)
    assert even is not None
    four = even.totals[1]
    assert four.years == even.years == 4
    assert four.own_usd == pytest.approx(four.rent_usd, rel=1e-9)
    assert four.own_usd == four.purchase_usd + four.electricity_usd - four.residual_usd


def test_support_and_installation_are_not_sold_again(tmp_path: Path) -> None:
    left = "ownership: {residual_value: 0.3}\n"
    extras = "prices: {extras: {support: 10 %/year, installation: 100 kUSD}}\n"
    plain, more = (problem(tmp_path, left + text) for text in ("", extras))
    alone, beside = (ownership.of_point(one, one.study.baseline.values) for one in (plain, more))
    assert alone is not None
    assert beside is not None
    for bare, whole in zip(alone.totals, beside.totals, strict=True):
        support = bare.purchase_usd * 0.1 * whole.years
        assert whole.purchase_usd == pytest.approx(bare.purchase_usd + support + 1e5)
        assert whole.residual_usd == bare.residual_usd == pytest.approx(0.3 * bare.purchase_usd)


def test_a_spot_machine_is_compared_by_what_it_trains(tmp_path: Path) -> None:
    spot = problem(tmp_path, "rental: {term: spot, spell: 4 h, wait: 2 h}\n")
    values = spot.study.baseline.values
    found = ownership.of_point(spot, values)
    assert found is not None
    assert found.rent_usd_per_hour is not None
    assert found.same_work_usd_per_hour is not None
    owned = problem(tmp_path).point(values).running.share
    held = spot.point(values).running
    hours = float(np.ravel(owned / (held.share / held.held))[0])
    assert hours > 1
    assert found.same_work_usd_per_hour == pytest.approx(found.rent_usd_per_hour * hours)
    assert found.totals[0].rent_usd == pytest.approx(found.same_work_usd_per_hour * 3 * 8760)
    assert "for the work of an owned hour" in ownership.said(found)
    usual = ownership.of_point(problem(tmp_path), values)
    assert usual is not None
    assert usual.same_work_usd_per_hour is None


def test_a_rented_run_is_compared_with_its_start(tmp_path: Path) -> None:
    """An own machine is there; a rented one is paid from its start on."""
    text = studies.SMALL.replace("minimize: capital", "minimize: per_run") + TARGET
    found = load(studies.written(tmp_path, text + "rental: {start_up: 5 h}\nfailures: ideal\n"))
    values = found.study.baseline.values
    owned = ownership.of_point(found, values)
    assert owned is not None
    assert owned.rent_usd_per_hour is not None
    run_h = float(np.ravel(found.point(values)["time_to_target"])[0]) / 3600
    work = owned.rent_usd_per_hour * run_h / (run_h - 5)
    assert owned.same_work_usd_per_hour == pytest.approx(work, rel=1e-4)  # whole seconds
    assert "as each run waits 5 h for its machines to start" in ownership.said(owned)
    # Kept from run to run they start once, and are compared by the rent of an hour.
    assert owned.kept_usd_per_hour == owned.rent_usd_per_hour
    years, rent = owned.totals[1], owned.rent_usd_per_hour
    assert years.kept_rent_usd == pytest.approx(rent * 4 * 8760)
    assert years.rent_usd == pytest.approx(work * 4 * 8760, rel=1e-4)
    spent, feed = years.purchase_usd, years.electricity_usd / (4 * 8760)
    assert owned.kept_break_even_utilisation == pytest.approx(spent / (4 * 8760 * (rent - feed)))
    share = f"{100 * (owned.kept_break_even_utilisation or 0):.0f} %"
    assert "Against machines that are kept from run to run" in ownership.said(owned)
    assert ownership.said(owned).endswith(f"it pays from {share} on.")
    assert any("kept from run to run" in line for line in ownership.lines(owned)[1:])
    bought = ownership.of_point(problem(tmp_path), values)
    assert bought is not None
    assert bought.kept_usd_per_hour is None
    assert "kept from run to run" not in told(problem(tmp_path))
    assert (owned.break_even_utilisation or 1.0) < (bought.break_even_utilisation or 0.0)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("", "if the machines are busy for all 4 years"),
        ("ownership: {utilisation: 0.6}\n", "if the machines are busy 60 % of 4 years"),
    ],
)
def test_the_cost_of_owning_a_run_says_for_how_long_machines_must_be_busy(
    tmp_path: Path, more: str, said: str
) -> None:
    written = studies.written(tmp_path, studies.SMALL + TARGET + more)
    dse.run(written, out=tmp_path / "out", executor="local")
    run = read_document(tmp_path / "out")
    (line,) = (one for one in answer(run) if one.startswith("Training on"))
    assert f" to own {said} (USD " in line
    assert line.count(said) == 1  # once, before the baseline's
    facts = {fact.label: fact for fact in offers.facts(run, run.recommended)}
    assert said in facts["Time of the run"].note
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert said in text
    assert ("over 60 % of all hours of 4 years" in text) == bool(more)


def test_a_rent_that_is_never_more_is_not_beaten(tmp_path: Path) -> None:
    cheap = problem(tmp_path, "rental: {discount: 0.95}\n")
    found = ownership.of_point(cheap, cheap.study.baseline.values)
    assert found is not None
    assert "Buying does not pay" in ownership.said(found)


def test_the_answer_says_that_spot_is_known_of_old_machines_alone(tmp_path: Path) -> None:
    (note,) = rental.spot_note(problem(tmp_path, "rental: spot\n"))
    assert "V100" in note
    assert not [*rental.spot_note(problem(tmp_path, "rental: {term: spot, spell: 2 h}\n"))]
    assert not [*rental.spot_note(problem(tmp_path))]
    spot = rental.said(problem(tmp_path, "rental: spot\n"))
    assert spot.startswith("spot, 42 % of what is priced on demand; ")
    hours = "rental: {minimum: 1 h, billing_unit: 1 h}\n"
    assert "at least 1 h and whole units of 1 h" in rental.said(problem(tmp_path, hours))


def test_a_document_of_an_older_version_has_no_totals() -> None:
    (section,) = (one for one in SECTIONS if one.name == "ownership")
    assert section.facts(document()) is None


def test_the_report_has_a_column_for_each_way_of_renting(tmp_path: Path) -> None:
    text = studies.SMALL.replace("minimize: capital", "minimize: per_run") + TARGET
    dse.run(studies.written(tmp_path, text), out=tmp_path / "out", executor="local")
    lines = (tmp_path / "out" / "report.md").read_text(encoding="utf-8").splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("| Over |"))
    assert "anew for every run | To rent, on-demand, kept from run to run |" in lines[at]
    assert len({line.count("|") for line in lines[at : at + 4]}) == 1
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "To rent, on-demand, kept from run to run</th>" in page


def test_a_commitment_is_paid_around_the_clock_whatever_the_use(tmp_path: Path) -> None:
    more = "rental: 3-year\nownership: {utilisation: 0.3}\n"
    found = problem(tmp_path, more)
    values = found.study.baseline.values
    owned = ownership.of_point(found, values)
    assert owned is not None
    assert owned.rent_usd_per_hour is not None
    for row in owned.totals:
        assert row.rent_usd == pytest.approx(owned.rent_usd_per_hour * row.years * 8760)
        assert row.electricity_usd < row.rent_usd
    assert "which is paid in all hours" in ownership.said(owned)
    assert ownership.said(owned).endswith(
        " Of 4 years, the last is counted at the price of the 3-year commitment, though another "
        "term commits to 6 years in all."
    )
    assert owned.break_even_utilisation is None
    # At the rent where half of the hours break even, the totals of half of the hours are the same.
    usual = ownership.of_point(problem(tmp_path), values)
    assert usual is not None
    assert usual.rent_usd_per_hour is not None
    four = usual.totals[1]
    meets = (four.purchase_usd + four.electricity_usd / 2) / (4 * 8760)
    even = f"rental: {{term: 3-year, discount: {1 - meets / usual.rent_usd_per_hour!r}}}\n"
    half = ownership.of_point(problem(tmp_path, even + "ownership: {utilisation: 0.5}\n"), values)
    assert half is not None
    assert half.pays_up_to_utilisation == pytest.approx(0.5)
    assert half.totals[1].own_usd == pytest.approx(half.totals[1].rent_usd)
    assert "Buying pays up to 50 % utilisation over 4 years" in ownership.said(half)
    cheap = ownership.of_point(
        problem(tmp_path, "rental: {term: 1-year, discount: 0.99}\n"), values
    )
    assert cheap is not None
    assert "Buying does not pay at any utilisation over 4 years" in ownership.said(cheap)
    assert "though another term" not in ownership.said(cheap), "four years are four terms of one"


@pytest.mark.parametrize(
    ("terms", "cause"),
    [
        ("{start_up: 5 h}", "as each run waits 5 h for its machines to start."),
        # The least bill holds the start, which alone makes nothing dearer.
        ("{start_up: 5 h, minimum: 900 d}", "as each run is billed at least 900 days."),
        (
            "{start_up: 0 s, billing_unit: 900 d}",
            "as each run is billed in whole units of 900 days.",
        ),
        (
            "{start_up: 100 d, billing_unit: 900 d}",
            "as each run waits 100 days for its machines to start and is billed in whole units of "
            "900 days.",
        ),
        (
            "{term: spot, billing_unit: 900 d}",
            "as spot machines are taken away and each run is billed in whole units of 900 days.",
        ),
    ],
)
def test_what_makes_the_work_of_an_owned_hour_dearer_is_named(
    tmp_path: Path, terms: str, cause: str
) -> None:
    text = studies.SMALL.replace("minimize: capital", "minimize: per_run") + TARGET
    more = f"rental: {terms}\nfailures: ideal\n"
    found = load(studies.written(tmp_path, text + more))
    owned = ownership.of_point(found, found.study.baseline.values)
    assert owned is not None
    assert cause in ownership.said(owned)


def test_who_buys_is_told_whose_rent_it_is_and_what_a_single_run_waits_for(tmp_path: Path) -> None:
    found = problem(tmp_path, "rental: {start_up: 5 h}\n")
    values = found.study.baseline.values
    owned = ownership.of_point(found, values)
    assert owned is not None
    said = ownership.said(owned)
    fact = found.prices.accelerator_hourly_usd[str(values["accelerator"])]
    assert fact.offer is not None
    assert f"(a price of {fact.offer.vendor} of {fact.date})" in said
    assert "costs more than its hours, as it waits 5 h for its machines to start." in said
    quick = ownership.of_point(problem(tmp_path, "rental: {start_up: 0 s}\n"), values)
    assert quick is not None
    assert "single run" not in ownership.said(quick)
    own = "{hourly: {value: 1.5 USD/hour, date: 2026-02-03}}"
    prices = f"prices: {{accelerators: {{p100-sxm2-16gb: {own}}}}}\n"
    mine = ownership.of_point(problem(tmp_path, prices), values)
    assert mine is not None
    assert "(your price of 2026-02-03)" in ownership.said(mine)
