"""Whether a fleet's purchase outlives the move of jobs that buys nothing, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dse.fleet.intervals import AFTER_MOVE
from dse.report import fleet_models
from dse.report.fleet_ranges import money_band, probability, usd
from dse.report.words import shown
from dse.spelling import enumerated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dse.fleet.document import (
        ByModel,
        FleetDocument,
        PortWorth,
        UpgradeWorth,
        WorthAfterMove,
    )


def recommended(document: FleetDocument) -> PortWorth | None:
    """The move that frees most, where that is worth more than the best upgrade leaves, or where it
    changes what to buy; None where there is none."""
    ports = document.money.ports if document.money is not None else ()
    best = max(ports, key=lambda port: port.saved_usd_per_year, default=None)
    row = fleet_models.worthwhile(document)
    least = (row.net_usd_per_year or 0.0) if row is not None else 0.0
    if best is None or (best.saved_usd_per_year <= least and not _another(document)):
        return None
    return best


def comes_first(document: FleetDocument) -> PortWorth | None:
    """The move after which one would buy something else, or nothing; None where none is."""
    return recommended(document) if _another(document) else None


def after(document: FleetDocument, name: str) -> WorthAfterMove | None:
    """What an upgrade does after the move, by the fleet's own model; None where nobody asked."""
    rows = document.money.upgrades if document.money is not None else ()
    return next((row.after_move for row in rows if row.name == name), None)


def best_after(document: FleetDocument) -> UpgradeWorth | None:
    """The upgrade that leaves most after the move; None where none pays then."""
    rows = document.money.upgrades if document.money is not None else ()
    return max((row for row in rows if _left(row) > 0), key=_left, default=None)


def _another(document: FleetDocument) -> bool:
    """Whether one would buy something else after the move than with jobs as they are, or nothing,
    or something only then."""
    rows = document.money.upgrades if document.money is not None else ()
    if all(row.after_move is None for row in rows):
        return False
    best = fleet_models.worthwhile(document)
    before = None if fleet_models.doubts(document) else best
    return before is not bought_after(document)


def bought_after(document: FleetDocument) -> UpgradeWorth | None:
    """The upgrade to buy after the move: which leaves most by every model, and is likelier to save
    than to lose; None where there is none."""
    best = best_after(document)
    if best is None or any(_leader(rows) != best.name for rows in fleet_models.each(document)):
        return None
    band = money_band(document, AFTER_MOVE, best.name)
    if band is not None and band.pays is not None and band.pays < fleet_models.EVEN:
        return None
    return None if band is not None and (band.mean_net_usd_per_year or 0.0) < 0 else best


def _leader(rows: Iterable[ByModel]) -> str:
    """The upgrade that leaves most after the move by one model; empty where none pays."""
    best = max((row for row in rows if _left(row) > 0), key=_left, default=None)
    return best.upgrade if best is not None else ""


def _left(row: UpgradeWorth | ByModel) -> float:
    """USD a year that an upgrade leaves after the move; 0 where its price is not known."""
    if row.after_move is None or row.net_usd_per_year is None:
        return 0.0
    return row.after_move.net_usd_per_year or 0.0


def outcome(document: FleetDocument, name: str) -> str:
    """``100 Gbps Ethernet loses USD 6.05 M a year net by the formula without overlap and USD 8.59 M
    in dse's own model``, after the move; empty where that is not known."""
    parts, before = list[str](), ""
    for model, net in _nets(document, name):
        does = f"{'leaves' if net > 0 else 'loses'} "
        amount = f"{shown(abs(net), 'USD')}{'' if parts else ' a year net'}"
        parts.append(f"{does if does != before else ''}{amount} {model}")
        before = does
    return f"{name} {enumerated(parts)}" if parts else ""


def _nets(document: FleetDocument, name: str) -> Iterator[tuple[str, float]]:
    found = after(document, name)
    if found is None or found.net_usd_per_year is None:
        return
    yield fleet_models.formula(document), found.net_usd_per_year
    for row in fleet_models.of(document, name):
        if row.after_move is not None and row.after_move.net_usd_per_year is not None:
            yield fleet_models.SHORT[row.model], row.after_move.net_usd_per_year


def odds(document: FleetDocument, name: str) -> str:
    """With what probability an upgrade pays after the move; empty where that is not known."""
    band = money_band(document, AFTER_MOVE, name)
    if band is None or band.pays is None:
        return ""
    return f"the probability that it saves more than it costs is then {probability(band.pays)}"


def limit(document: FleetDocument, name: str) -> str:
    """Up to which price, or from which worth of a GPU-hour on, an upgrade pays after the move, as a
    sentence; empty where nobody asked."""
    found = after(document, name)
    if found is None or recommended(document) is None:
        return ""
    if found.worth_usd_per_gpu <= 0:
        return "After the move it pays at no price."
    hour = hour_usd(document, name)
    also = f", or where a GPU-hour is worth {usd(hour)} or more" if hour is not None else ""
    return f"After the move it pays below {usd(found.worth_usd_per_gpu)} per GPU{also}."


def hour_usd(document: FleetDocument, name: str) -> float | None:
    """What a GPU-hour has to be worth for an upgrade to pay after the move, which is proportional
    to it; None where it saves nothing then, or has no price."""
    found, money = after(document, name), document.money
    if found is None or money is None or found.net_usd_per_year is None:
        return None
    if found.saved_usd_per_year <= 0:
        return None
    cost = found.saved_usd_per_year - found.net_usd_per_year
    return money.gpu_hour_usd * cost / found.saved_usd_per_year
