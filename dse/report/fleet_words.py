"""The answer to a fleet study in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dse.model.pai import PS_WORKER
from dse.report import fleet_log, fleet_models, fleet_moves
from dse.report.fleet_models import worthwhile
from dse.report.fleet_ranges import (
    band,
    money_band,
    probability,
    shares_text,
    times,
    times_text,
    usd,
    usd_text,
    years_text,
)
from dse.report.words import count, many, percent, shown, title
from dse.spelling import enumerated

if TYPE_CHECKING:
    from dse.fleet.document import (
        Breakdown,
        FleetDocument,
        Port,
        PortWorth,
        Speedup,
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
MEANINGS = {
    "1w1g": "jobs on one accelerator",
    "1wng": "several in one server",
    "ps-worker": "gradients go to parameter servers",
    "allreduce-local": "exchanged over NVLink in one server",
    "allreduce-cluster": "exchanged between servers by allreduce",
    "pearl": "as AllReduce, with embedding tables split among the accelerators",
}
# What a step is made of, each named once -> the components of it.
PARTS = {"input": ("data",), "computing": ("memory", "flops"),
         "weights and gradients": ("weights",)}  # fmt: skip
# Of these parts, how intervals name them.
BANDS = {"input": "data", "weights and gradients": "weights"}
BOUND = {"memory": "memory-bound", "flops": "compute-bound"}
NOTICED = 1.005  # times the work; less shows as 1.00x
UNUSED = ("the calibration profiles are not used here; they matter only with --facts, and for "
          "named jobs that use parameter servers, or NCCL within one server")  # fmt: skip
FEW = 100  # jobs; below, a number of jobs is printed instead of a percentage
WAYS = {"mean_of_ratios": "mean of ratios", "aggregate": "aggregate",
        "gpu_hours": "by GPU-hours"}  # fmt: skip


def rests_on_profiles(document: FleetDocument) -> bool:
    """Whether any number comes from the profiles that the study names."""
    if any(row.extrapolated is not None for row in document.models or ()):
        return True
    return any(job.own_model.measured for job in document.named)


def all_first(document: FleetDocument) -> list[Breakdown]:
    """The breakdowns of the classes, that of all jobs before them."""
    return sorted(document.classes, key=lambda row: row.architecture != document.whole)


def single(document: FleetDocument) -> bool:
    """Whether there is one job: however it is counted, the numbers are the same."""
    return document.population.jobs == 1


def ways(row: Breakdown) -> Mapping[str, str]:
    """The ways to sum up the speedups of a class, with their names; of one job there is one."""
    return {"gpu_hours": "speedup"} if row.jobs == 1 else WAYS


def speedup_by(speedup: Speedup, way: str) -> float:
    """A speedup summed up in one of WAYS."""
    return {"mean_of_ratios": speedup.mean_of_ratios, "aggregate": speedup.aggregate,
            "gpu_hours": speedup.gpu_hours}[way]  # fmt: skip


def parts(means: Mapping[str, float]) -> dict[str, float]:
    """Share of each of PARTS, the largest first: together the whole, and nothing twice."""
    sums = {part: sum(means[name] for name in names) for part, names in PARTS.items()}
    return dict(sorted(sums.items(), key=lambda item: -item[1]))


def answer_lines(document: FleetDocument) -> list[str]:
    """What an upgrade is worth, where the time goes, what to upgrade, what to port."""
    best = best_upgrade(document)
    lines = [*_of_money(document, best), _of_time(document)]
    if best is not None:
        lines.append(_of_upgrade(document, best))
    elif document.upgrades:
        none = "No upgrade of a single resource lets the fleet do noticeably more work."
        lines.append(f"{none}{_together(document, 1.0)}")
    lines += [_of_port(document, row) for row in document.ports[:1]]
    of_log = (
        fleet_log.timeless,
        fleet_log.total,
        fleet_log.readings,
        fleet_log.summary,
        fleet_log.failed,
        fleet_log.hardware,
    )
    return [*lines, *filter(None, (said(document) for said in of_log))]


def decision(document: FleetDocument) -> tuple[str, str]:
    """What to do, in a few words, and why, in a sentence."""
    what, why = _decision(document)
    return f"{what}{fleet_log.headline(document)}", why


def _decision(document: FleetDocument) -> tuple[str, str]:
    money, most = document.money, most_gaining(document)
    row = worthwhile(document)
    if move := fleet_moves.comes_first(document):
        return f"Move jobs to {CLASSES[move.target]} first", _moving(document, move)
    if row is not None and (doubts := fleet_models.doubts(document)):
        return "Nothing to buy yet", (
            f"{row.name} is undecided. By the best estimate it saves {usd(row.net_usd_per_year)} a "
            f"year net ({_speed(document, row.name)}), but {'; '.join(doubts)}."
        )
    if row is not None:
        why = ["Of what has a known price it saves the most money.",
               fleet_models.agreement(document)]  # fmt: skip
        if (port := fleet_moves.recommended(document)) and (
            then := fleet_moves.outcome(document, row.name)
        ):
            why.append(f"After jobs have moved to {CLASSES[port.target]}, {then}.")
        return f"Upgrade to {row.name}", " ".join(filter(None, why))
    if money is not None and priced(document):
        if other := fleet_models.disagreement(document):
            return "Nothing to buy yet", (
                "By the formula no upgrade whose price is known saves more than it costs, but "
                f"{other}."
            )
        none = "No upgrade whose price is known saves more than it costs."
        if most is not None:
            gains = f"{most.name} gains the most ({_speed(document, most.name)})"
            none = f"{gains}, but no upgrade whose price is known saves more than it costs."
        return "Keep the hardware", f"{none} {fleet_models.agreement(document)}".rstrip()
    if most is not None:
        known = "No price is known: give price_per_gpu, and the answer is in dollars."
        if money is None:
            known = "Say how many GPUs there are and what an hour of one is worth ('money')."
        others = fleet_models.opinions(document, most.name)
        told = f" The fleet does {_speed(document, most.name)} the work ({others})." * bool(others)
        what = f"{most.name} gains the most; whether it pays is not known"
        return what, f"{known}{told}"
    return "Keep the hardware", "No upgrade that was asked about lets the fleet do more work."


def _moving(document: FleetDocument, move: PortWorth) -> str:
    """Why a move comes before any purchase."""
    row, then = worthwhile(document), fleet_moves.bought_after(document)
    said = [
        f"That buys nothing where servers have NVLink, and frees GPU-hours worth "
        f"{usd(move.saved_usd_per_year)} a year."
    ]
    asked = [one.name for one in (row, then) if one is not None]
    for name in dict.fromkeys(asked):
        odds = fleet_moves.odds(document, name)
        what = f"{fleet_moves.outcome(document, name)}{f'; {odds}' * bool(odds)}."
        said.append(f"After it {what}")
    if row is not None and fleet_models.doubts(document):
        said.append(f"With jobs as they are, {row.name} is undecided.")
    elif row is not None:
        only = f"{row.name} is the best purchase only where jobs stay as they are."
        said += [only, fleet_models.agreement(document)]
    return " ".join(filter(None, said))


def _speed(document: FleetDocument, name: str) -> str:
    """The speedup of an upgrade by GPU-hours: ``1.21x``."""
    return times(next(_gained(document, one) for one in document.upgrades if one.name == name))


def _confidence(document: FleetDocument) -> str:
    """How sure the decision for an upgrade is; empty where there is none with a known price."""
    row = worthwhile(document)
    found = None if row is None else money_band(document, "upgrade", row.name)
    if row is None or found is None:
        return ""
    if found.pays is None or found.leads is None:
        return ""
    net, pays = usd_text(found.net_usd_per_year), probability(found.pays)
    back = years_text(found.payback_years)
    after = "after" if found.payback_years and found.payback_years[1] is None else "in"
    text = (
        f"90 % confidence{_alone(document, row.name)}: {net} net a year, paid back {after} {back}. "
        f"The probability that it saves more than it costs is {pays}"
    )
    leads = probability(found.leads)
    if leads != pays:
        text += f", that it saves the most of all with a known price {leads}"
    return f"{text}."


def _alone(document: FleetDocument, upgrade: str) -> str:
    """That an interval is of the fleet's own model; empty where no other was asked."""
    if not fleet_models.of(document, upgrade):
        return ""
    return f" {fleet_models.formula(document)} alone"


def terms(document: FleetDocument) -> str:
    """What the report calls the classes of jobs that occur in it, in one line."""
    first, *rest = meanings(document).items()
    said = [f"{name}: {meaning}" for name, meaning in rest]
    return f"A {first[0]} is {first[1]}. {'; '.join(said)}."


def meanings(document: FleetDocument) -> dict[str, str]:
    """The words of the report that need one, and what they mean: classes of jobs that occur."""
    named = {row.architecture for row in document.classes}
    named |= {row.target for row in document.ports}
    said = {CLASSES[name]: meaning for name, meaning in MEANINGS.items() if name in named}
    return {"cNode": "one accelerator of a job", **said}


def _of_time(document: FleetDocument) -> str:
    """Every part of the fleet's time once, the largest first, with its share of the mean job's."""
    levels, alone = document.all_jobs.levels, single(document)
    means, of_job = levels.cnode.mean, parts(levels.job.mean)
    whose = "the job's" if alone else "the fleet's"
    said: list[str] = []
    for part, share in parts(means).items():
        if share > 0:
            found = band(document, "time", BANDS.get(part, part), "cnode")
            remarks = [] if found is None else [f"90 %: {shares_text(found.low, found.high)}"]
            remarks += _bound(part, means)
            if not (said or alone):
                remarks.append(f"{percent(of_job[part])} of the mean job's")
            goes = "" if said else f" of {whose} time goes"
            remark = f" ({'; '.join(remarks)})" if remarks else ""
            said.append(f"{percent(share)}{goes} to {part}{remark}")
    counted = "" if alone else f"counted by {document.population.counted_by}, "
    return f"By the Alibaba-PAI paper's formula, {counted}{enumerated(said)}."


def _bound(part: str, means: Mapping[str, float]) -> list[str]:
    """``22 % memory-bound, 13 % compute-bound`` of computing; of the other parts nothing."""
    said = [f"{percent(means[name])} {BOUND[name]}" for name in PARTS[part]
            if name in BOUND and means[name] > 0]  # fmt: skip
    return [", ".join(said)] if said else []


def best_upgrade(document: FleetDocument) -> UpgradeSpeedup | None:
    """The upgrade of one resource that gains the fleet most GPU-hours; None where none gains more
    than the digits of the report can show.
    """
    of_one = [row for row in document.upgrades if len(row.changes) == 1]
    gaining = [row for row in of_one if _gained(document, row) >= NOTICED]
    return max(gaining, key=lambda row: _gained(document, row), default=None)


def most_gaining(document: FleetDocument) -> UpgradeSpeedup | None:
    """The upgrade, of one resource or several, that gains the fleet most GPU-hours; None where none
    gains more than the digits of the report can show."""
    gaining = [row for row in document.upgrades if _gained(document, row) >= NOTICED]
    return max(gaining, key=lambda row: _gained(document, row), default=None)


def priced(document: FleetDocument) -> bool:
    """Whether it is known of any upgrade what it leaves after its own cost."""
    rows = document.money.upgrades if document.money is not None else ()
    return any(row.net_usd_per_year is not None for row in rows)


def _unpaid(document: FleetDocument, name: str) -> str:
    """A clause which says that an upgrade is not worth its price; empty where it is, or nobody
    knows."""
    rows = document.money.upgrades if document.money is not None else ()
    net = next((row.net_usd_per_year for row in rows if row.name == name), None)
    return ", but it costs more than it saves" if net is not None and net <= 0 else ""


def _gained(document: FleetDocument, row: UpgradeSpeedup) -> float:
    """How many times the work the fleet does in the same GPU-hours."""
    return row.speedup[document.whole].gpu_hours


def gpu(name: str) -> str:
    """What people call the fleet's accelerator."""
    return title("accelerator", name)


def _within(document: FleetDocument, name: str) -> str:
    """The interval of an upgrade's speedup in brackets; empty where there is none."""
    found = band(document, "upgrade", name, "gpu_hours")
    return "" if found is None else f" (90 %: {times_text(found.low, found.high)})"


def _missed(document: FleetDocument, name: str) -> str:
    """`` or 1.18x in dse's own model``: what other models give that the interval does not hold;
    empty where it holds all."""
    said = [f"{times(row.speedup)} {fleet_models.SHORT[row.model]}"
            for row in fleet_models.outside(document, name)]  # fmt: skip
    return f" or {enumerated(said)}" if said else ""


def _of_upgrade(document: FleetDocument, row: UpgradeSpeedup) -> str:
    ways = row.speedup[document.whole]
    text = f"The best upgrade of a single resource is {row.name}: "
    if single(document):
        text += f"the job runs {times(ways.mean_of_ratios)} as fast{_within(document, row.name)}"
    else:
        text += (
            f"the fleet does {times(ways.gpu_hours)} the work in the same GPU-hours"
            f"{_within(document, row.name)}{_missed(document, row.name)}, and the mean job runs "
            f"{times(ways.mean_of_ratios)} as fast"
        )
    text += f"{_unpaid(document, row.name)}.{_together(document, ways.gpu_hours)}"
    if any(row.architecture == PS_WORKER for row in document.classes):
        where = "below" if document.models else "with --facts"
        text += f" For PS/Worker jobs dse's own model gives other speedups ({where})."
    return text


def _together(document: FleetDocument, speedup: float) -> str:
    """A sentence, after others, which says that an upgrade of several resources gains more than
    ``speedup``; empty where none does."""
    most = most_gaining(document)
    if most is None or _gained(document, most) <= speedup:
        return ""
    return (
        f" Upgrading {len(most.changes)} resources together ({most.name}) gains more: "
        f"{times(_gained(document, most))}{_unpaid(document, most.name)}."
    )


def some(share: float, number: int) -> str:
    """``63 %`` of many jobs; of few, how many."""
    return percent(share) if number >= FEW else count(share * number)


def _of_port(document: FleetDocument, row: Port) -> str:
    source, target, number = CLASSES[row.source], CLASSES[row.target], row.jobs
    if row.cannot == 1:
        where = f"from {source} to {target}"
        if number == 1:
            return f"The job cannot move {where}: its state does not fit in memory."
        return f"None of {count(number)} jobs can move {where}: their state does not fit in memory."
    more, per_cnode, cannot = (
        some(share, number) for share in (row.gain_throughput, row.gain_per_cnode, row.cannot)
    )
    found = band(document, "port", row.target, "gain_throughput")
    within = ""
    if found is not None and number >= FEW:
        within = f" (90 %: {shares_text(found.low, found.high)})"
    train, do = (f"train{'s' * (share == '1')}" for share in (more, per_cnode))
    text = (
        f"After moving from {source} to {target}, {more} of {many(number, 'job')} {train} "
        f"more samples per second{within}, and {per_cnode} {do} more per cNode"
    )
    if row.cannot:
        text += f"; {cannot} cannot move, because their state does not fit in memory"
    return f"{text}."


def cluster_note(document: FleetDocument) -> str:
    """How AllReduce-Cluster is priced in one server; empty where nobody asked for it."""
    if not any(row.target == "allreduce-cluster" for row in document.ports):
        return ""
    return (
        "AllReduce-Cluster is priced over Ethernet even for a job that fits into one server, and "
        "PEARL is not. This rule alone makes jobs take longer as AllReduce-Cluster than as PEARL."
    )


def _saved_within(document: FleetDocument, row: UpgradeWorth) -> str:
    """The interval of what an upgrade saves in brackets; empty where there is none."""
    found = money_band(document, "upgrade", row.name)
    return "" if found is None else f" (90 %: {usd_text(found.saved_usd_per_year)})"


def _by_others(document: FleetDocument, row: UpgradeWorth) -> str:
    """When an upgrade is paid back by each model that differs, `` (2.1 years in dse's own
    model)``; empty where none does."""
    said = []
    for other in fleet_models.differing(document, row):
        years = fleet_models.payback_years(row, other)
        back = "never" if years is None else f"{years:.1f} years"
        said.append(f"{back} {fleet_models.SHORT[other.model]}")
    return f" ({enumerated(said)})" if said else ""


def _of_money(document: FleetDocument, best: UpgradeSpeedup | None) -> Iterator[str]:
    """What the upgrade is worth that leaves most a year; where no price is known, the best one."""
    money = document.money
    if money is None:
        return
    around = (
        f"On {many(money.gpus, 'GPU')}, busy {percent(money.busy)} of the time at "
        f"USD {money.gpu_hour_usd:g} an hour, "
    )
    priced = [row for row in money.upgrades if row.net_usd_per_year is not None]
    saving = fleet_models.saving(priced)
    if priced and not saving:
        yield f"{around}no upgrade whose price is known saves more than it costs."
        return
    row = worthwhile(document)
    if row is None and best is not None:
        row = next((one for one in money.upgrades if one.name == best.name), None)
    if row is None:
        return
    as_is = "with jobs as they are, " if row.after_move is not None else ""
    text = (
        f"{around}{as_is}{row.name} frees GPU-hours worth {shown(row.saved_usd_per_year, 'USD')} a "
        f"year{_saved_within(document, row)}. "
    )
    if row.capital_usd is not None and row.payback_years is not None:
        text += (
            f"It costs {shown(row.capital_usd / money.gpus, 'USD')} per GPU and is paid back "
            f"in {row.payback_years:.1f} years{_by_others(document, row)}"
        )
    else:
        worth = shown(row.worth_usd_per_gpu, "USD")
        text += f"It pays for itself at a price of up to {worth} per GPU"
    if len(saving) > 1:
        text += (
            f". Of the {len(saving)} upgrades with a known price that save money it saves the most "
            "after its own cost"
        )
    elif saving and len(money.upgrades) > 1:
        text += ". It is the only upgrade with a known price that saves money"
        if len(priced) < len(money.upgrades):
            text += "; give price_per_gpu for the others"
    sure = _confidence(document)
    yield f"{text}. {sure}" if sure else f"{text}."
