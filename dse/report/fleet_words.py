"""The answer to a fleet study in sentences, and a fleet's numbers with their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from dse.report.words import count, many, percent, shown
from dse.spelling import enumerated

if TYPE_CHECKING:
    from dse.fleet.document import (
        Band,
        FleetDocument,
        LogSummary,
        MoneyBand,
        Port,
        UpgradeSpeedup,
        UpgradeWorth,
    )

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


def within(ends: str) -> str:
    """An interval in brackets after a number; empty where there is none."""
    return f" (90 %: {ends})" if ends else ""


def band(document: FleetDocument, kind: str, of: str, way: str) -> Band | None:
    """The interval of one number; None where the document has none."""
    rows = document.intervals.numbers if document.intervals is not None else ()
    return next((row for row in rows if (row.kind, row.of, row.way) == (kind, of, way)), None)


def money_band(document: FleetDocument, name: str) -> MoneyBand | None:
    """The intervals of what an upgrade or a port is worth."""
    rows = document.intervals.money if document.intervals is not None else ()
    return next((row for row in rows if row.name == name), None)


def share_within(document: FleetDocument, kind: str, of: str, way: str) -> str:
    """The interval of a share of one in brackets."""
    found = band(document, kind, of, way)
    return within("" if found is None else between([percent(found.low), percent(found.high)]))


def speedup_within(document: FleetDocument, upgrade: str) -> str:
    """The interval of an upgrade's speedup by GPU-hours in brackets."""
    found = band(document, "upgrade", upgrade, "gpu_hours")
    return within("" if found is None else between([times(found.low), times(found.high)]))


def answer_lines(document: FleetDocument) -> list[str]:
    """The answer: what to buy, where time goes, gains of an upgrade and a move, what a log told."""
    lines = []
    if document.classes:
        lines = [_decision(document), _of_time(document)]
        if (most := most_gaining(document)) is not None:
            lines.append(_of_upgrade(document, most))
        lines += [_of_port(document, row) for row in document.ports[:1]]
    return lines if document.log is None else [*lines, *log_lines(document, document.log)]


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


def _decision(document: FleetDocument) -> str:
    """The decision, and why."""
    best, most, money = worthwhile(document), most_gaining(document), document.money
    if best is not None:
        found = money_band(document, best.name)
        net = found.net_usd_per_year if found is not None else None
        sure = "" if net is None else between([usd(end) for end in net])
        return (
            f"Upgrade to {best.name}: it saves {usd(best.net_usd_per_year)} a year net"
            f"{within(sure)}, costs {usd(best.capital_usd)} and is paid back in "
            f"{years(best.payback_years)}."
        )
    if money is not None and any(row.net_usd_per_year is not None for row in money.upgrades):
        return "Keep the hardware: no upgrade whose price is known saves more than it costs."
    if most is not None:
        known = "give price_per_gpu" if money is not None else "add money to the study"
        return f"{most.name} gains the most; whether it pays is not known: {known}."
    if document.upgrades:
        return "Keep the hardware: no upgrade lets the fleet do noticeably more work."
    return "No upgrade was asked about."


def _of_time(document: FleetDocument) -> str:
    """Every part of the fleet's time once, the largest first."""
    means = document.all_jobs.levels.cnode.mean
    shares = {part: sum(means[name] for name in names) for part, names in PARTS.items()}
    said = [
        f"{part} with {percent(share)}{share_within(document, 'time', BANDS[part], 'cnode')}"
        for part, share in sorted(shares.items(), key=lambda item: -item[1])
        if share > 0
    ]
    return (
        f"By the Alibaba-PAI paper's formula, counted by {document.population.counted_by}, time "
        f"goes to {enumerated(said)}."
    )


def _of_upgrade(document: FleetDocument, row: UpgradeSpeedup) -> str:
    ways = row.speedup[document.whole]
    return (
        f"With {row.name} the fleet does {times(ways.gpu_hours)} the work in the same GPU-hours"
        f"{speedup_within(document, row.name)}; the mean job runs {times(ways.mean_of_ratios)} as "
        "fast."
    )


def _of_port(document: FleetDocument, row: Port) -> str:
    jobs = many(row.jobs, f"{CLASSES[row.source]} job")
    sure = share_within(document, "port", row.target, "gain_throughput")
    text = (
        f"{CLASSES[row.target]} trains more samples per second for {percent(row.gain_throughput)} "
        f"of {jobs}{sure}, and more per cNode for {percent(row.gain_per_cnode)}"
    )
    if row.cannot:
        text += f"; {percent(row.cannot)} cannot move, since their state does not fit in memory"
    return f"{text}."


def log_lines(document: FleetDocument, log: LogSummary) -> Iterator[str]:
    """Sentences on the log: what it told and did not, and which of its jobs are priced."""
    held = f"The log ({log.form}) has {many(log.jobs, 'job')} that held {log.gpus:,.4g} GPUs"
    yield f"{held}{'' if log.gpu_hours is None else f', for {log.gpu_hours:,.1f} GPU-hours'}."
    reasons = [f"{many(number, 'job')} {reason}" for reason, number in log.left_out.items()]
    reasons += [f"{many(number, 'row')} {what}" for what, number in log.no_jobs.items()]
    if reasons:
        yield f"Left out: {'; '.join(reasons)}."
    if log.unmatched.jobs:
        names = [f"{name} ({count(jobs)})" for name, jobs in log.unmatched_names.items()]
        more = ", .." * (len(names) > _MOST_NAMED)
        yield (
            f"Not priced: {many(log.unmatched.jobs, 'job')} with {percent(log.unmatched.share)} of "
            f"the {'GPUs' if log.gpu_hours is None else 'GPU-hours'}, whose names match no pattern "
            f"under workloads: {', '.join(names[:_MOST_NAMED])}{more}."
        )
    for name, tells in log.unread.items():
        yield (
            f"'{name}' looks like {tells} and is not read: name it in the study, columns: "
            f"{{{tells}: {name}}}."
        )
    if log.gpu_hours is None:
        yield "The log has no times, so jobs count by their GPUs, as if all ran equally long."
    if "nodes" not in log.columns:
        yield "The log tells no servers: jobs are priced on as few as they fit into."
    if log.failed is not None and log.failed.jobs:
        yield (
            f"Failed or cancelled, and counted: {many(log.failed.jobs, 'job')} with "
            f"{percent(log.failed.share)} of what is held (failed_jobs: leave out)."
        )
    if log.without_batch:
        yield (
            f"No batch is told of {many(log.without_batch, 'job')}: each GPU takes "
            f"{log.batch_per_gpu:g} samples a step (batch_per_gpu)."
        )
    if document.classes:
        yield "All jobs train in fp32 on the study's hardware, whatever they ran on."
    else:
        yield 'Say what jobs do, by their names: workloads: {"bert-*": bert-large-s512}.'


def parts_of_step(means: Mapping[str, float]) -> list[str]:
    """The share of each component."""
    return [percent(means[name]) for name in COMPONENTS]
