"""How soon what is added to owned hardware has saved its price."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dse.model.arrays import Array, ArrayLike
from dse.model.money import WATT_PER_KILOWATT
from dse.model.ownership import HOURS_PER_MONTH, payback_months, saved_usd_per_hour
from dse.pricing import power, stock
from dse.pricing.drawn_points import drawn_quantities
from dse.pricing.problem import Problem
from dse.pricing.uncertainty import INTERVAL
from dse.report import rents
from dse.report.design_point import Payback
from dse.report.document import RunDocument
from dse.report.words import percent, shown, significant
from dse.search.best_software import best_software
from dse.study import Value

Values = Mapping[str, Value | None]
_NONE_TRAINS = "no owned machines can train without something being added"
_NO_NETWORK = (
    "the study does not say what network joins the owned machines; add inter_node to the entry "
    "under owned"
)
_NAMES = ("capital", "hourly", "power", "speedup")


def of_point(problem: Problem, values: Values) -> Payback | None:
    """Of what a point adds; None where the study owns nothing, or its price is not known."""
    if not problem.standing:
        return None
    point = _numbers(problem, values)
    added = point["capital"]
    if not math.isfinite(added):
        return None
    if added == 0:
        return Payback(added_usd=0.0, months=0.0)
    found = _stands(problem)
    if found is None:
        return Payback(added_usd=added, missing=_NO_NETWORK if _loose(problem) else _NONE_TRAINS)
    title, own_values = found
    own = _numbers(problem, own_values)
    price = problem.prices.electricity_usd_per_kwh.value
    usd_per_wh = math.nan if price is None else price / WATT_PER_KILOWATT
    use = problem.study.ownership.utilisation
    saved = float(_saved(problem, point, own, usd_per_wh).item())
    sold = resale_usd(problem, values)
    months = float(payback_months(max(added - (sold or 0.0), 0.0), saved, use).item())
    missing = "" if math.isfinite(point["hourly"]) else "the rent of such machines is not known"
    if not missing and math.isnan(saved):
        missing = "a power or the price of electricity is not known"
    return Payback(
        added_usd=added,
        stands=title,
        times=_finite(point["speedup"] / own["speedup"]),
        term=problem.study.rental.term,
        rent_usd_per_hour=_finite(point["hourly"]),
        electricity_usd_per_hour=_finite(point["power"] * usd_per_wh),
        owned_electricity_usd_per_hour=_finite(own["power"] * usd_per_wh),
        utilisation=use,
        saved_usd_per_month=_finite(saved * HOURS_PER_MONTH * use),
        months=_finite(months),
        interval=None if missing else _interval(problem, values, own_values, months, sold or 0.0),
        missing=missing,
        resale_usd=sold,
    )


def resale_usd(problem: Problem, values: Values) -> float | None:
    """What the owned machines that a point does not use would sell for; None where the study has no
    such price.

    Of each entry ``count resale (1 - used / owned)``, with what is used and owned of all entries of
    the same machine: which of several are sold is not known.
    """
    entries = [*zip(problem.study.owned, problem.standing, strict=True)]
    if all(entry.resale_usd is None for entry, _ in entries):
        return None
    points = problem.points_at(values)
    used = float(np.ravel(points.bill.accelerators - points.bill_to_buy.accelerators)[0])
    machine = str(values.get("node") or values.get("accelerator"))
    owned = sum(stands.accelerators for entry, stands in entries if entry.machine == machine)
    return sum(
        entry.count * (entry.resale_usd or 0.0)
        * (1 - used / owned if entry.machine == machine else 1.0)
        for entry, _ in entries
    )  # fmt: skip


def _saved(
    problem: Problem,
    point: Mapping[str, ArrayLike],
    own: Mapping[str, ArrayLike],
    usd_per_wh: ArrayLike,
) -> Array:
    """USD an hour in use, see :func:`.saved_usd_per_hour`."""
    return saved_usd_per_hour(
        np.asarray(point["speedup"]) / own["speedup"],
        np.asarray(point["hourly"]) / problem.rental.billing.in_use,
        np.asarray(point["power"]) * usd_per_wh,
        np.asarray(own["power"]) * usd_per_wh,
    )


def _interval(
    problem: Problem, values: Values, own: Values, best: float, sold_usd: float
) -> tuple[float | None, float | None]:
    """90 % of the months, both points in the same draws; None where nothing is saved."""
    drawn = drawn_quantities(problem, [values, own], _NAMES)
    first, second = ({name: drawn[name][:, at] for name in _NAMES} for at in (0, 1))
    use = problem.study.ownership.utilisation
    usd_per_wh = power.electricity(problem).drawn(len(first["capital"])) / WATT_PER_KILOWATT
    added = np.maximum(first["capital"] - sold_usd, 0.0)
    months = payback_months(added, _saved(problem, first, second, usd_per_wh), use)
    low, high = np.percentile(months, INTERVAL, method="nearest")  # never lies between
    return _finite(min(float(low), best)), _finite(max(float(high), best))


def _stands(problem: Problem) -> tuple[str, Values] | None:
    """The fastest of what stands there, with the best software of the study for it, and its name;
    None where none of it trains by itself, or what joins its machines is not known."""
    titles = stock.titles(problem.study, problem.standing)
    alone = [(title, entry.values) for title, entry in zip(titles, problem.standing, strict=True)]
    if not _loose(problem):  # of such machines the baseline may have but a few
        alone.append(("the baseline", problem.study.baseline.values))
    found: list[tuple[float, str, Values]] = []
    for title, own in alone:
        if own is None or _numbers(problem, own)["capital"] != 0:
            continue
        best = best_software(problem, own) or own
        speed = _numbers(problem, best)["speedup"]
        if math.isfinite(speed):
            found.append((speed, title, best))
    if not found:
        return None
    _, title, values = max(found, key=lambda one: one[0])
    return title, values


def _loose(problem: Problem) -> bool:
    """Whether machines stand there of which the study does not say what joins them, and which need
    something for that."""
    return any(
        entry.inter_node is None
        and stands.values is not None
        and _numbers(problem, stands.values)["capital"] != 0
        for entry, stands in zip(problem.study.owned, problem.standing, strict=True)
    )


def _numbers(problem: Problem, values: Values) -> dict[str, float]:
    evaluation = problem.point(values)
    return {name: float(np.ravel(evaluation[name])[0]) for name in _NAMES}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def said(found: Payback) -> str:
    """In how many months, and against what."""
    if found.added_usd == 0:
        return "Nothing is added, so nothing has to pay back."
    added = f"adding costs {shown(found.added_usd, 'USD')}"
    if found.resale_usd:
        added += (
            f", {shown(found.resale_usd, 'USD')} come back for owned machines that it does not "
            f"use, sold at the study's price,{' which is no less,' * (found.months == 0)}"
        )
    if found.missing or found.times is None or found.saved_usd_per_month is None:
        return f"Payback is not computed: {found.missing or 'a speed is not known'}."
    work = f"the same work with what is owned ({found.stands})"
    if found.times > 1:
        rent = shown(found.rent_usd_per_hour, "USD/hour")
        work += (
            f", which has {percent(1 / found.times)} of its speed, and the rest on such machines "
            f"rented {rents.term(found.term)} at {rent}"
        )
    use = f", in use {percent(found.utilisation)} of all hours"
    if found.months is None:
        return f"No payback: {added} and saves nothing against {work}{use}."
    saves = f"saves {shown(found.saved_usd_per_month, 'USD')} a month against {work}{use}"
    when = f"in {_months(found.months)}" if found.months else "at once"
    return f"Payback {when}{_range(found)}: {added} and {saves}."


def _months(value: float) -> str:
    text = significant(value, 2)
    return f"{text} month{'s' * (text != '1')}"


def _range(found: Payback) -> str:
    low, high = found.interval or (None, None)
    if low is None:
        return ""
    end = "never" if high is None else significant(high, 2)
    return f" (90 % range: {significant(low, 2)} to {end})"


BESIDE_RENT = (
    "Purchase is here the price of what is added, and rent that of the whole cluster, owned "
    "machines included."
)


def said_of(document: RunDocument) -> list[str]:
    """The payback of the recommended point; nothing where nothing is owned."""
    return [] if document.payback is None else [said(document.payback)]
