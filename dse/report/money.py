"""Own or rent: what both cost and when owning pays, and the bill and terms of a rent in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from dse import catalog
from dse.catalog.facts import Fact
from dse.model.arrays import scalar
from dse.model.money import HOURS_PER_YEAR, WATT_PER_KILOWATT, break_even_utilisation
from dse.pricing.bill_of_materials import Item, Rent
from dse.pricing.problem import Problem
from dse.pricing.rental import Rental
from dse.report.design_point import Owned, OwnedYears
from dse.report.document import RunDocument
from dse.report.json_form import number
from dse.report.words import UNKNOWN, duration, many, percent, shown, significant
from dse.spelling import enumerated
from dse.study import Value
from dse.study.axes import AXES, RENTAL
from dse.study.quantities import RENT, SECONDS_PER_HOUR, facts_of
from dse.study.terms import ON_DEMAND, SPOT, StudyRental

YEARS = (3, 4)  # over which the total is shown
_MONTHS = 12  # of a year
_LEAST_S = 0.5  # a shorter part of the time is not worth a word
_DIGITS = 6  # of hours, so that the sum can be checked


def of_point(problem: Problem, values: Mapping[str, Value | None]) -> Owned | None:
    """The cost of owning and of renting a point; None where its price or power is not known."""
    points, own, prices = problem.point(values), problem.study.ownership, problem.prices
    (rental,) = problem.points_at(values).rentals
    hardware = scalar(points.cost.hardware_usd)
    resold, run_usd = hardware * own.residual_value, hardware * (prices.operation_share.value or 0)
    capital, rent, power = (scalar(points[name]) for name in ("capital", "hourly", "power"))
    price, years = prices.electricity_usd_per_kwh.value, prices.amortisation_years.value
    electricity = power / WATT_PER_KILOWATT * (math.nan if price is None else price)
    if years is None or not math.isfinite(capital + electricity):
        return None
    committed = rental.study.committed
    same_work = rent * _held_hours(problem, values, rental)
    in_use = same_work / (own.utilisation if committed else 1.0)
    spent = capital + run_usd * years
    share = float(break_even_utilisation(spent, electricity, in_use, years, resold).item())
    totals = []
    for many_years in YEARS:
        hours, spent = many_years * HOURS_PER_YEAR, _capital(problem, values, float(many_years))
        fed = electricity * hours * own.utilisation
        totals.append(
            OwnedYears(
                years=float(many_years),
                purchase_usd=spent,
                electricity_usd=fed,
                operation_usd=run_usd * many_years,
                residual_usd=resold,
                own_usd=spent - resold + fed + run_usd * many_years,
                rent_usd=number(same_work * hours * (1 if committed else own.utilisation)),
            )
        )
    return Owned(
        years=years,
        residual_value=own.residual_value,
        utilisation=own.utilisation,
        term=rental.study.term,
        rent_usd_per_hour=number(rent),
        same_work_usd_per_hour=None if same_work == rent else number(same_work),
        break_even_utilisation=None if committed else number(share),
        break_even_months=number(share * years * _MONTHS / own.utilisation),
        paid_idle=committed or None,
        totals=tuple(totals),
    )


def _capital(problem: Problem, values: Mapping[str, Value | None], years: float) -> float:
    """USD to buy a point, with what is paid by the year for so many years."""
    lasting = replace(problem.prices.amortisation_years, value=years)
    priced = replace(problem, prices=replace(problem.prices, amortisation_years=lasting))
    return scalar(priced.point(values)["capital"])


def _held_hours(problem: Problem, values: Mapping[str, Value | None], rental: Rental) -> float:
    """Hours of rent that the work of an owned hour takes: more than 1 where machines are taken away
    (spot), and where each run to the study's target waits for them."""
    if rental.study.term != SPOT and not rental.awaited:
        return 1.0
    own, rented = problem.point({**values, RENTAL: ON_DEMAND}), problem.point(values)
    if rental.awaited:
        return scalar(rented.billed_s / own.running_s)
    return scalar(own.running.share * rented.running.held / rented.running.share)


def said(owned: Owned) -> str:
    """After how long buying pays, and from which use on."""
    if owned.rent_usd_per_hour is None:
        return (
            f"Nobody knows what such machines rent for {term(owned.term)}: give their rent in a "
            "price list (hourly)."
        )
    rent = f"renting {term(owned.term)} at {shown(owned.rent_usd_per_hour, 'USD/hour')}"
    if owned.paid_idle:
        rent += ", paid in all hours"
    if owned.same_work_usd_per_hour is not None:
        rent += f" ({shown(owned.same_work_usd_per_hour, 'USD')} for the work of an owned hour)"
    use = f"in use {percent(owned.utilisation)} of all hours"
    months, share = owned.break_even_months, owned.break_even_utilisation
    if months is None or months > owned.years * _MONTHS:
        pays = f"Buying does not pay within {significant(owned.years)} years {use}, against {rent}."
    else:
        pays = f"Buying pays after {significant(months, 2)} months {use}, against {rent}."
    if share is None or share > 1:
        return pays
    over = f"{significant(owned.years)} years"
    return f"{pays} Over {over} it pays from {percent(share)} utilisation on."


def lines(owned: Owned) -> list[str]:
    """For `dse explain`: the sentence, and the totals over years."""
    return [
        f"buy or rent      {said(owned)}",
        *(
            f"  {row.years:g} years in use {percent(owned.utilisation)}: to own "
            f"{_usd(row.own_usd)} (purchase {_usd(row.purchase_usd)}, electricity "
            f"{_usd(row.electricity_usd)}, operation {_usd(row.operation_usd)}, resale "
            f"{_usd(row.residual_usd)}), to rent "
            f"{_usd(row.rent_usd)}"
            for row in owned.totals
        ),
    ]


def section(document: RunDocument) -> dict[str, Any] | None:
    """What the report's section says of the recommended point; None where nothing is known."""
    owned = document.ownership
    if owned is None:
        return None
    rows = [
        (f"{row.years:g} years", *map(_usd, (row.purchase_usd, row.electricity_usd,
         row.operation_usd, row.residual_usd, row.own_usd, row.rent_usd)))
        for row in owned.totals
    ]  # fmt: skip
    return {"said": said(owned), "rows": rows, "use": percent(owned.utilisation),
            "rent": f"To rent, {owned.term}", "adds": document.owned is not None}  # fmt: skip


def _usd(value: float | None) -> str:
    return UNKNOWN if value is None else f"USD {value:,.0f}"


def term(name: str) -> str:
    """A term of renting in words: ``on demand``, ``for one year``."""
    return AXES[RENTAL].said.get(name, name).removeprefix("rented ")


def sum_of(rent: Rent | None) -> str:
    """The title of a bill's sum."""
    if rent is None:
        return "Purchase price"
    return "Rent of an hour" if rent.training_hours is None else "Cost of a run"


def hours(value: float | None) -> str:
    """``2.61194 h``."""
    return UNKNOWN if value is None else f"{significant(value, _DIGITS)} h"


def billed(rent: Rent | None) -> str:
    """Which hours are paid, in a sentence; empty where nothing is rented, or just for an hour."""
    if rent is None or rent.training_hours is None or rent.hours is None:
        return ""
    parts = {
        "of training": rent.training_hours,
        "lost to failures and checkpoints": rent.lost_hours,
        "of start-up": rent.start_up_hours,
        "to the least or next whole amount that is billed": rent.rounding_hours,
        "not in use, which a commitment pays, too": rent.idle_hours,
    }
    told = [
        f"{duration(value * SECONDS_PER_HOUR)} {what}"
        for what, value in parts.items()
        if value is not None and value * SECONDS_PER_HOUR >= _LEAST_S
    ]
    return f"Paid: {duration(rent.hours * SECONDS_PER_HOUR)}, of which {enumerated(told)}."


def rented(items: Iterable[Item], config: Mapping[str, str]) -> list[str]:
    """``8 machines for 23.9 min at USD 44.00 an hour each, on demand, from Nebius``, of a bill of
    rent; nothing where all is bought. config: of the point that it is the bill of."""
    for item in items:
        rent = item.rent
        if rent is None or item.unit_usd is None:
            continue
        lasts = ""
        if rent.training_hours is not None and rent.hours is not None:
            lasts = f" for {duration(rent.hours * SECONDS_PER_HOUR)}"
        what = many(item.quantity, "accelerator" if config.get("accelerator") else "machine")
        each = " each" * (item.quantity > 1)
        seller = f", from {item.terms.vendor}" if item.terms and item.terms.vendor else ""
        at = f"USD {item.unit_usd:,.2f} an hour{each}, {term(rent.term)}"
        return [f"{what}{lasts} at {at}{seller}"]
    return []


def terms(rental: Rental, price: Fact | None = None) -> str:
    """For `dse explain`: the term, what it costs of a price, how a run is billed."""
    billing, share = rental.billing, scalar(rental.share_of(price))
    off = "" if share == 1 else f", {percent(share)} of what is priced on demand"
    start_s, least_s = scalar(billing.start_up_s), scalar(billing.minimum_s)
    parts = [f"{duration(start_s)} of start-up"] if start_s else []
    parts += [f"at least {duration(least_s)}"] if least_s else []
    if (unit_s := scalar(billing.unit_s)) > 1:
        parts.append(f"whole units of {duration(unit_s)}")
    run = f"; a run is billed {' and '.join(parts)}" * bool(parts)
    return f"{rental.study.term}{off}{run}"


def assumed(problem: Problem) -> Iterator[str]:
    """The terms and facts that rents rest on; nothing where nobody asks for them."""
    study, said = problem.study, problem.study.rental
    rents = RENT in facts_of(objective.name for objective in study.objectives)
    if not rents and said == StudyRental():
        return
    facts = [fact.name for fact in catalog.rental_facts().facts if fact.status == "unverified"]
    names = [rental.study.term for rental in problem.rentals]
    for rental, name in zip(problem.rentals, names, strict=True):
        yield f"Rented: {terms(rental)}."
        if name not in said.discounts and any(name in fact for fact in facts):
            yield f"The discount of {name} was not checked: give your own (discount)."
    if SPOT in names and "spell" not in said.given:
        yield "How long spot machines stay is known of V100s of 2022 and 2023 alone (spell)."
