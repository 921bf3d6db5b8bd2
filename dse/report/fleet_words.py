"""The answer to a fleet study in sentences, and a fleet's numbers with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dse.report.templating import filled
from dse.report.words import count, many, percent, shown

if TYPE_CHECKING:
    from dse.fleet.document import FleetDocument, MoneyBand, UpgradeSpeedup, UpgradeWorth

COMPONENTS = {"data": "input", "flops": "compute-bound work", "memory": "memory-bound work",
              "weights": "weights and gradients"}  # fmt: skip
RESOURCES = {"gpu": "GPU FLOP/s", "memory": "GPU memory", "pcie": "PCIe",
             "ethernet": "Ethernet", "nvlink": "NVLink"}  # fmt: skip
CLASSES = {"1w1g": "1w1g", "1wng": "1wng", "ps-worker": "PS/Worker",
           "allreduce-local": "AllReduce-Local", "allreduce-cluster": "AllReduce-Cluster",
           "pearl": "PEARL", "all": "All jobs"}  # fmt: skip
# What a step is made of, each named once -> the components of it; how intervals name these parts.
PARTS = {"input": ("data",), "computing": ("memory", "flops"),
         "weights and gradients": ("weights",)}  # fmt: skip
BANDS = {"input": "data", "computing": "computing", "weights and gradients": "weights"}
NOTICED = 1.005  # times the work; less shows as 1.00x
NOTHING = "–"
_MOST_NAMED = 5


def times(value: float) -> str:
    """``1.68x``, always with two digits behind the point, so that columns can be compared."""
    return f"{value:,.2f}x"


def usd(value: float | None) -> str:
    """A sum of money, also a loss; a dash for one that is not known."""
    if value is None:
        return NOTHING
    return shown(value, "USD") if value >= 0 else f"−{shown(-value, 'USD')}"


def years(value: float | None) -> str:
    """``1.2 years``; never where it is None."""
    return "never" if value is None else f"{value:.1f} years"


def between(ends: Sequence[str]) -> str:
    """``56 to 68 %``: both ends of an interval, one where they read alike."""
    low, high = ends
    unit = high.rpartition(" ")[2]
    if low == high:
        return low
    return f"{low.removesuffix(f' {unit}') if unit in ('%', 'years') else low} to {high}"


def money_band(document: FleetDocument, name: str) -> MoneyBand | None:
    """The intervals of what an upgrade or a port is worth."""
    rows = document.intervals.money if document.intervals is not None else ()
    return next((row for row in rows if row.name == name), None)


def answer_lines(document: FleetDocument) -> list[str]:
    """The answer: what to buy, where time goes, gains of an upgrade and a move, what a log told."""
    said = {"count": count, "many": many, "percent": percent, "times": times, "usd": usd}
    facts = {**said, **_gains(document), **_logged(document), "years": years, "classes": CLASSES}
    text = filled("fleet_answer.txt.j2", {**facts, "d": document, "priced": document.classes})
    return [line for line in text.splitlines() if line]


def _gains(document: FleetDocument) -> dict[str, object]:
    """What the answer says of upgrades, of time, the largest part first, and of a port."""
    if not document.classes:
        return {}
    best, most, money = worthwhile(document), most_gaining(document), document.money
    found = None if best is None else money_band(document, best.name)
    net = () if found is None else found.net_usd_per_year or ()
    means, port = document.all_jobs.levels.cnode.mean, next(iter(document.ports), None)
    shares = {part: sum(means[name] for name in names) for part, names in PARTS.items()}
    time = [
        {"name": part, "share": share,
         "ends": _ends(document, "time", BANDS[part], "cnode", percent)}
        for part, share in sorted(shares.items(), key=lambda item: -item[1])
        if share > 0
    ]  # fmt: skip
    return {
        "best": best,
        "net": between([usd(end) for end in net]) if net else "",
        "net_known": money and any(row.net_usd_per_year is not None for row in money.upgrades),
        "most": most,
        "faster": _ends(document, "upgrade", most.name, "gpu_hours", times) if most else "",
        "time": time,
        "port": port,
        "moved": _ends(document, "port", port.target, "gain_throughput", percent) if port else "",
    }


def _ends(
    document: FleetDocument, kind: str, of: str, way: str, text: Callable[[float], str]
) -> str:
    """The interval of one number in words; empty where the document has none."""
    rows = document.intervals.numbers if document.intervals is not None else ()
    found = [row for row in rows if (row.kind, row.of, row.way) == (kind, of, way)]
    return between([text(found[0].low), text(found[0].high)]) if found else ""


def _logged(document: FleetDocument) -> dict[str, object]:
    """What the answer says of a log: what was left out of it, the commonest unknown names."""
    log = document.log
    if log is None:
        return {"log": None}
    names = list(log.unmatched_names.items())
    return {"log": log, "names": names[:_MOST_NAMED], "more": len(names) > _MOST_NAMED}


def worthwhile(document: FleetDocument) -> UpgradeWorth | None:
    """The upgrade that leaves most money a year after its own cost; None where none leaves any."""
    rows = document.money.upgrades if document.money is not None else ()
    saving = [row for row in rows if (row.net_usd_per_year or 0.0) > 0]
    return max(saving, key=lambda row: row.net_usd_per_year or 0.0, default=None)


def most_gaining(document: FleetDocument) -> UpgradeSpeedup | None:
    """The upgrade that gains the fleet most GPU-hours; None where none gains more than the digits
    of the report can show."""

    def gained(row: UpgradeSpeedup) -> float:
        return row.speedup[document.whole].gpu_hours

    gaining = [row for row in document.upgrades if gained(row) >= NOTICED]
    return max(gaining, key=gained, default=None)
