"""The upgrade that is worth most, by every model side by side, for jobs as they are and after the
move that buys nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dse.report import fleet_models
from dse.report.fleet_ranges import band, times, times_text, usd
from dse.report.fleet_words import CLASSES
from dse.spelling import enumerated

if TYPE_CHECKING:
    from dse.fleet.document import ByModel, FleetDocument, UpgradeWorth

HEADS = ("Model", "Speedup", "Net a year", "Paid back in")
AFTER_HEADS = ("Speedup after the move", "Net a year after it")


def heads(document: FleetDocument) -> list[str]:
    """The heads of the columns of :func:`rows`."""
    best = fleet_models.worthwhile(document)
    moved = best is not None and best.after_move is not None
    return [*HEADS, *(AFTER_HEADS if moved else ())]


def rows(document: FleetDocument) -> list[list[str]]:
    """The upgrade that is worth most by every model, a row each: its speedup, what it leaves a year
    and when it is paid back, for jobs as they are, and after the move where one was asked about."""
    best = fleet_models.worthwhile(document)
    if best is None or not fleet_models.of(document, best.name):
        return []
    speedup = next(one for one in document.upgrades if one.name == best.name)
    first = speedup.speedup[document.whole].gpu_hours
    said: list[tuple[str, float, UpgradeWorth | ByModel]] = [
        (fleet_models.formula(document), first, best)
    ]
    said += [
        (fleet_models.called(row.model), row.speedup, row)
        for row in fleet_models.of(document, best.name)
    ]
    out = []
    for name, gained, row in said:
        then, years = row.after_move, fleet_models.payback_years(best, row)
        moved = [] if then is None else [times(then.speedup), usd(then.net_usd_per_year)]
        back = "never" if years is None else f"{years:.1f} years"
        heading = name[:1].upper() + name[1:]
        out.append([heading, times(gained), usd(row.net_usd_per_year), back, *moved])
    return out


def about(document: FleetDocument) -> tuple[str, str]:
    """Of what :func:`rows` is, and whose the intervals are."""
    best = fleet_models.worthwhile(document)
    if best is None:
        return "", ""
    moved = ""
    if best.after_move is not None:
        moved = f" and after a move to {CLASSES[best.after_move.target]}"
    return f"{best.name}, for jobs as they are{moved}", _whose(document, best.name)


def lines(document: FleetDocument) -> list[str]:
    """The rows as lines for a terminal."""
    found, (of_what, note) = rows(document), about(document)
    if not found:
        return []
    out = [f"{of_what}:"]
    for name, speedup, net, back, *then in found:
        after = f"; after the move {then[0]}, {then[1]} a year net" if then else ""
        paid = "never paid back" if back == "never" else f"paid back in {back}"
        out.append(f"  {name}: {speedup}, {net} a year net, {paid}{after}")
    return [*out, *filter(None, [note])]


def _whose(document: FleetDocument, upgrade: str) -> str:
    """Whose the 90 % intervals are, and what they miss, in a sentence; empty where no other model
    was asked."""
    found = band(document, "upgrade", upgrade, "gpu_hours")
    if found is None or not fleet_models.of(document, upgrade):
        return ""
    missed = [
        f"the {times(row.speedup)} {fleet_models.SHORT[row.model]}"
        for row in fleet_models.outside(document, upgrade)
    ]
    text = "All 90 % intervals are of the first model alone"
    if missed:
        text += f": its {times_text(found.low, found.high)} does not hold {enumerated(missed)}"
    return f"{text}."
