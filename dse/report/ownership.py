"""Buying beside renting a point, in a document and in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dse.model.money import WATT_PER_KILOWATT
from dse.model.ownership import HOURS_PER_YEAR, break_even_utilisation, most_utilisation
from dse.pricing.problem import Problem
from dse.pricing.rents import asked
from dse.report import payback, rents
from dse.report.design_point import Owned, OwnedYears
from dse.report.document import RunDocument
from dse.report.words import UNKNOWN, duration, percent, shown, significant
from dse.spelling import enumerated
from dse.study import Value
from dse.study.rental import COMMITMENTS, SPOT, StudyRental

YEARS = (3, 4)  # over which the total is shown
LEAST_PART = 0.01  # of what a run is billed; less is not worth a word


def of_point(problem: Problem, values: Mapping[str, Value | None]) -> Owned | None:
    """What owning and renting a point cost; None where its price or power is not known."""
    points = problem.point(values)
    resold = float(np.ravel(points.cost.hardware_usd)[0]) * problem.study.ownership.residual_value
    capital, rent, power = (
        float(np.ravel(points[name])[0]) for name in ("capital", "hourly", "power")
    )
    prices, own = problem.prices, problem.study.ownership
    price, years = prices.electricity_usd_per_kwh.value, prices.amortisation_years.value
    electricity = power / WATT_PER_KILOWATT * (math.nan if price is None else price)
    if years is None or not math.isfinite(capital + electricity):
        return None
    committed = problem.study.rental.committed
    same_work = rent * _held_hours(problem, values, problem.rental.awaited)
    kept_work = rent * _held_hours(problem, values, False) if problem.rental.awaited else math.nan

    def even(usd_per_hour: float) -> float | None:
        pays = break_even_utilisation(capital, electricity, usd_per_hour, years, resold)
        return _known(float(pays.item()))

    worked, kept = _known(same_work), _known(kept_work)
    return Owned(
        years=years,
        residual_value=own.residual_value,
        utilisation=own.utilisation,
        term=problem.study.rental.term,
        rent_usd_per_hour=_known(rent),
        same_work_usd_per_hour=None if same_work == rent else worked,
        break_even_utilisation=None if committed else even(same_work),
        kept_usd_per_hour=kept,
        kept_break_even_utilisation=even(kept_work),
        paid_idle=committed or None,
        rent_price=asked(problem, values) or None,
        beside_training=_beside_training(problem, values) or None,
        pays_up_to_utilisation=_known(
            float(most_utilisation(capital, electricity, rent, years, resold).item())
        )
        if committed
        else None,
        totals=tuple(
            OwnedYears(
                years=float(many),
                purchase_usd=spent,
                electricity_usd=electricity * hours,
                residual_usd=resold,
                own_usd=spent - resold + electricity * hours,
                rent_usd=None if worked is None else worked * (rented if committed else hours),
                kept_rent_usd=None if kept is None else kept * hours,
            )
            for many in YEARS
            for rented in (many * HOURS_PER_YEAR,)
            for hours in (rented * own.utilisation,)
            for spent in (_capital(problem, values, float(many)),)
        ),
    )


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _capital(problem: Problem, values: Mapping[str, Value | None], years: float) -> float:
    """USD to buy a point, with what is paid by the year for so many years."""
    lasting = replace(problem.prices.amortisation_years, value=years)
    priced = replace(problem, prices=replace(problem.prices, amortisation_years=lasting))
    return float(np.ravel(priced.point(values)["capital"])[0])


def _held_hours(problem: Problem, values: Mapping[str, Value | None], anew: bool) -> float:
    """Hours of rent that the work of an owned hour takes: more than 1 where machines are taken away
    (spot), and, where they are rented anew, as each run to the study's target waits for them."""
    if problem.study.rental.term != SPOT and not anew:
        return 1.0
    kept = replace(problem, study=replace(problem.study, rental=StudyRental()))
    own, rented = (one.point(values) for one in (kept, problem))
    if anew:
        return float(np.ravel(rented.billed_s / own.running_s)[0])
    return float(np.ravel(own.running.share * rented.running.held / rented.running.share)[0])


def _beside_training(problem: Problem, values: Mapping[str, Value | None]) -> tuple[str, ...]:
    """Why a run to the target pays for more hours than those in which it holds its machines, in
    words; what is less than LEAST_PART of them is left out."""
    held_s, billed_s = (
        float(np.ravel(seconds)[0])
        for point in (problem.point(values),)
        for seconds in (point.held_s, point.billed_s)
    )
    billing = problem.rental.billing
    started_s = held_s + float(np.ravel(billing.start_up_s)[0])
    if problem.study.rental.committed or not math.isfinite(billed_s):  # no target
        return ()
    if started_s < billing.minimum_s * (1 - LEAST_PART):  # the start is in it
        return (f"is billed at least {duration(billing.minimum_s)}",)
    found = []
    if started_s - held_s >= LEAST_PART * billed_s:
        found.append(f"waits {duration(started_s - held_s)} for its machines to start")
    if billed_s - started_s >= LEAST_PART * billed_s:
        found.append(f"is billed in whole units of {duration(billing.unit_s)}")
    return tuple(found)


def said(owned: Owned) -> str:
    """From which use on buying pays, in a sentence."""
    if owned.rent_usd_per_hour is None:
        return (
            "Whether buying pays cannot be said, nor what a rented run costs: nobody knows what "
            f"such machines rent for {rents.term(owned.term)}. Give their rent in a price list "
            "(hourly)."
        )
    rent = f"renting {rents.term(owned.term)} at {shown(owned.rent_usd_per_hour, 'USD/hour')}"
    rent += f" ({owned.rent_price})" * bool(owned.rent_price)
    billed, anew = owned.beside_training or (), owned.kept_usd_per_hour is not None
    if owned.same_work_usd_per_hour is not None:
        work = shown(owned.same_work_usd_per_hour, "USD")
        rent += f", which is {work} for the work of an owned hour"
        because = ["spot machines are taken away"] * (owned.term == SPOT)
        if billed and anew:
            because.append(f"each run {enumerated(billed)}")
        rent += f", as {' and '.join(because)}" * bool(because)
    over = f"over {significant(owned.years)} years"
    if owned.paid_idle:
        pays = _against_a_commitment(owned.pays_up_to_utilisation, over, rent)
        return f"{pays}{_past_its_terms(owned)}"
    share, kept = owned.break_even_utilisation, ""
    if billed and not anew:
        kept = f" To rent for a single run costs more than its hours, as it {enumerated(billed)}."
    if anew:
        kept = (
            "Against machines that are kept from run to run, at "
            f"{shown(owned.kept_usd_per_hour, 'USD/hour')} in use, "
        )
        most = owned.kept_break_even_utilisation
        pays = "it does not pay" if _never(most) else f"it pays from {percent(most or 0.0)} on"
        kept = f" {kept}{pays}."
    if _never(share):
        return f"Buying does not pay against {rent}, even in use around the clock {over}.{kept}"
    return f"Buying pays from {percent(share or 0.0)} utilisation on {over}, against {rent}.{kept}"


def _against_a_commitment(most: float | None, over: str, rent: str) -> str:
    """most: the use up to which buying pays."""
    rent += ", which is paid in all hours"
    if not most:
        return f"Buying does not pay at any utilisation {over}, against {rent}."
    if most >= 1:
        return f"Buying pays at any utilisation {over}, against {rent}."
    return (
        f"Buying pays up to {percent(most)} utilisation {over}, against {rent}; in more use, its "
        "electricity makes it dearer."
    )


def _past_its_terms(owned: Owned) -> str:
    """That years are counted which no whole number of terms has, with a blank before it."""
    term = COMMITMENTS[owned.term]
    for row in owned.totals:
        whole = math.ceil(row.years / term) * term
        if whole > row.years:
            return (
                f" Of {row.years:g} years, the last is counted at the price of the {term}-year "
                f"commitment, though another term commits to {whole} years in all."
            )
    return ""


def _never(share: float | None) -> bool:
    """Whether buying pays at no utilisation."""
    return share is None or share > 1


def lines(owned: Owned) -> list[str]:
    """For `dse explain`: the sentence, and the totals over years."""
    return [
        f"buy or rent      {said(owned)}",
        *(
            f"  {row.years:g} years in use {percent(owned.utilisation)}: to own "
            f"{_usd(row.own_usd)} (purchase {_usd(row.purchase_usd)}, electricity "
            f"{_usd(row.electricity_usd)}, resale {_usd(row.residual_usd)}), to rent "
            f"{_usd(row.rent_usd)}{_or_kept(row)}"
            for row in owned.totals
        ),
    ]


def _or_kept(row: OwnedYears) -> str:
    """What it is to rent machines that are kept from run to run, where that is another sum."""
    if row.kept_rent_usd is None:
        return ""
    return f" anew for every run, {_usd(row.kept_rent_usd)} kept from run to run"


def if_busy(document: RunDocument) -> str:
    """What a cost of owning takes for granted: for how much of the years that their price is spread
    over the machines are in use."""
    found = document.ownership
    if found is None:
        return "if the machines are busy for all the years that their price is spread over"
    years = f"{significant(found.years)} year{'s' * (found.years != 1)}"
    if found.utilisation == 1:
        return f"if the machines are busy for all {years}"
    return f"if the machines are busy {percent(found.utilisation)} of {years}"


def section(document: RunDocument) -> dict[str, Any] | None:
    """What the report's section says of the recommended point; None where nothing is known."""
    owned = document.ownership
    if owned is None:
        return None
    kept = owned.kept_usd_per_hour is not None
    rent = f"To rent, {owned.term}"
    heads = [f"{rent}, anew for every run", f"{rent}, kept from run to run"] if kept else [rent]
    rows = [
        (f"{row.years:g} years", *map(_usd, (row.purchase_usd, row.electricity_usd,
         row.residual_usd, row.own_usd, row.rent_usd)),
         *([_usd(row.kept_rent_usd)] if kept else []))
        for row in owned.totals
    ]  # fmt: skip
    added = [payback.BESIDE_RENT] if document.owned else []
    return {"said": said(owned), "rows": rows, "use": percent(owned.utilisation),
            "rents": heads, "payback": [*added, *payback.said_of(document)]}  # fmt: skip


def _usd(value: float | None) -> str:
    return UNKNOWN if value is None else f"USD {value:,.0f}"
