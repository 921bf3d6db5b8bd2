"""Whether a fleet's answer can be acted on: what to get first, what it rests on, what flips it.

The reasons are of the kind that a run has (:mod:`dse.report.readiness`), the weightiest first:
prices that are hardly meant; jobs that are not the fleet's own; jobs that could move for nothing,
which is worth more; a speedup whose interval holds one that does not pay; a rent of the catalogue
in the place of what a GPU-hour is worth to the fleet; prices that are no offers; upgrades without
a price that may be better.

All that an upgrade saves in a year is proportional to the GPU-hours that it frees and to what one
is worth, so that the answer turns where any of these falls to ``cost / saved`` of what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dse.catalog import Citation, sources
from dse.fleet.money import OWN_PRICE
from dse.fleet.other_models import IDEAL, NONE
from dse.report import fleet_log, fleet_models, fleet_moves, words
from dse.report.document import Readiness, Reason
from dse.report.fleet_models import worthwhile
from dse.report.fleet_ranges import band, money_band, probability, times, times_text, usd_text
from dse.report.fleet_words import CLASSES, gpu, most_gaining, priced, single
from dse.report.readiness.doubts import LARGE, MOST_RIVALS
from dse.report.readiness.verdict import said
from dse.report.tables import capital
from dse.report.words import percent, shown
from dse.spelling import enumerated

if TYPE_CHECKING:
    from dse.fleet.document import FleetDocument, UpgradeWorth

_AS_THEY_ARE = "upgrades are priced for jobs as they are"
_SOLD = ("inter_node", "node", "accelerator")  # what of the catalogue an upgrade may be
CERTAIN = 0.995  # a probability that needs no word


def readiness(document: FleetDocument) -> Readiness | None:
    """Of the answer; None where the document has no intervals or nothing was asked of money."""
    if document.intervals is None or not document.upgrades:
        return None
    row, moves = worthwhile(document), [*_moves(document)]
    if fleet_moves.comes_first(document) is not None:  # then ask again, of the jobs as they will be
        reasons = [*moves, *_jobs(document)]
        if row is not None:
            reasons += _hour(document, row)
    else:
        reasons = [*_jobs(document), *_models(document), *moves]
        if row is not None:
            reasons += [*_speedup(document, row), *_hour(document, row), *_offer(document, row)]
    reasons = [*_unlikely(document), *reasons, *_unpriced(document)]
    ready = not reasons and not fleet_models.doubts(document)
    return Readiness(ready=ready, reasons=tuple(reasons))


def verdict(document: FleetDocument) -> str:
    """Whether it can be acted on, in a sentence; empty where nobody knows."""
    found, row = readiness(document), worthwhile(document)
    if found is None:
        return ""
    if row is None:
        if found.reasons and most_gaining(document) and not priced(document):
            return "Not enough is known to buy. First:"
        return "Nothing to buy yet. First:" if found.reasons else "Nothing to buy."
    if not found.ready:
        return "Not ready to sign. First:" if found.reasons else "Not ready to sign."
    return f"Ready to sign, if you accept: {'; '.join(conditions(document, row))}."


def actions(document: FleetDocument) -> list[str]:
    """What to get or do first, each with the reason."""
    found = readiness(document)
    return [said(reason) for reason in found.reasons] if found else []


def lines(document: FleetDocument) -> list[str]:
    """The verdict and the actions, for a terminal."""
    numbered = [f"  {at}. {action}" for at, action in enumerate(actions(document), 1)]
    return [*filter(None, [verdict(document)]), *numbered]


def facts(document: FleetDocument) -> dict[str, Any]:
    """For the template of readiness."""
    found = readiness(document)
    return {
        "ready": found is not None and found.ready,
        "verdict": verdict(document),
        "actions": actions(document),
        "more": "",
    }


def _formula(document: FleetDocument, row: UpgradeWorth) -> str:
    """Whose the speedups are, what they leave out, and what other models give."""
    said = "speedups are by the Alibaba-PAI paper's formula, which has no latency"
    if document.overlap_told:
        how = "everything overlaps" if document.overlap == IDEAL else "nothing overlaps"
        said += f", and {how}, as the study says"
    others = fleet_models.opinions(document, row.name)
    return f"{said} (this one is {others})" if others else said


def accepted(document: FleetDocument) -> list[str]:
    """What whoever signs accepts, as sentences: of a purchase its conditions, and whatever keeps it
    from being ready."""
    found, row = readiness(document), worthwhile(document)
    if found is None or row is None:
        return []
    doubts = [] if found.ready else fleet_models.doubts(document)
    if move := fleet_moves.comes_first(document):
        then = fleet_moves.outcome(document, row.name)
        doubts.insert(0, f"jobs stay as they are: after a move to {CLASSES[move.target]} {then}")
    return [f"{capital(clause)}." for clause in (*doubts, *conditions(document, row))]


def conditions(document: FleetDocument, row: UpgradeWorth) -> list[str]:
    """What whoever buys accepts, as clauses."""
    found = money_band(document, "upgrade", row.name)
    odds = found.pays if found is not None else None
    return [
        *([f"it saves more than it costs in {probability(odds)} of simulated outcomes"]
          if odds is not None and odds < CERTAIN else []),
        _formula(document, row),
        "other jobs use the GPU-hours that it frees",
        "installation, downtime, electricity, freight and taxes are not counted",
    ]  # fmt: skip


def turns(document: FleetDocument) -> str:
    """Up to where the answer holds, in a sentence; empty where no upgrade is worth its price."""
    row, money = worthwhile(document), document.money
    if row is None or money is None:
        return ""
    share = _least_share(row)
    least = _least_times(document, row)
    work = f"the fleet does {least} the work in the same GPU-hours"
    if single(document):
        work = f"the job runs {least} as fast"
    as_they_are = fleet_moves.after(document, row.name) is not None
    who = f"For jobs as they are, {row.name}" if as_they_are else row.name
    then = fleet_moves.limit(document, row.name)
    return (
        f"{who} pays as long as it costs no more than {shown(row.worth_usd_per_gpu, 'USD')} "
        f"per GPU, a GPU-hour is worth {_hourly(share * money.gpu_hour_usd)} or more, the GPUs are "
        f"busy {percent(share * money.busy)} of the time or more, and {work} or more: "
        f"each alone, all else as it is.{_elsewhere(document)}{f' {then}' * bool(then)}"
    )


def _elsewhere(document: FleetDocument) -> str:
    """That an upgrade that pays does not in other models."""
    other = fleet_models.disagreement(document)
    return f" But {other}." if other else ""


def _least_share(row: UpgradeWorth) -> float:
    """The part of the savings that pays for an upgrade."""
    return (row.cost_usd_per_year or 0.0) / row.saved_usd_per_year


def _least_speedup(document: FleetDocument, row: UpgradeWorth) -> float:
    """The speedup by GPU-hours with which an upgrade saves what it costs: saved is proportional to
    ``1 - 1/s``."""
    assert document.money is not None
    freed = _least_share(row) * row.gpu_hours_saved_per_year / document.money.gpu_hours_per_year
    return 1 / (1 - freed)


def _least_times(document: FleetDocument, row: UpgradeWorth) -> str:
    """The same in words, to two digits of what is gained: ``1.089x``."""
    return f"{1 + float(words.significant(_least_speedup(document, row) - 1, 2)):g}x"


def _hourly(usd: float) -> str:
    return f"USD {words.significant(usd)}"


def _moves(document: FleetDocument) -> Iterator[Reason]:
    """That moving jobs buys nothing where the servers have the links, and is worth more; and what
    that leaves of the purchase."""
    best, row = fleet_moves.recommended(document), worthwhile(document)
    if best is None:
        return
    later = ""
    if best.finish_later:
        of = f"{words.count(best.finish_later)} of the {words.count(best.jobs)} jobs"
        later = f", though {of} then finish later"
    first = fleet_moves.comes_first(document) is not None
    bought = row or fleet_moves.best_after(document)
    then = fleet_moves.outcome(document, bought.name) if bought is not None else ""
    because = (
        f"that frees GPU-hours worth {shown(best.saved_usd_per_year, 'USD')} a year and buys "
        f"nothing{later}; {f'after it {then}' if then else _AS_THEY_ARE}"
    )
    if first and row is not None:
        because += f". Where they cannot move, leave {best.target} out of 'ports'"
    yield Reason(
        kind="without buying",
        action=f"Move jobs to {CLASSES[best.target]} where servers have NVLink"
        + ", and ask again" * first,
        because=because,
    )


def _models(document: FleetDocument) -> Iterator[Reason]:
    """That another model leads to another decision: what decides between them, and how to tell."""
    best = worthwhile(document)
    other = fleet_models.disagreement(document, best.name if best is not None else "")
    if not other:
        return
    if {one.model for one in fleet_models.contrary(document)} & {IDEAL, NONE}:
        job, action, because = fleet_models.telling_job(document), "a large job", other
        if job is not None:
            action = job.name
            because = (
                f"that takes {shown(job.step_s, 's')} by the formula and "
                f"{shown(job.own_model.step_s, 's')} in dse's own model, and the answer hangs on "
                f"it: {other}"
            )
        yield Reason(
            kind="model",
            action=f"Time a step of {action}, or trace it with a profiler, to see how much of its "
            "exchange computing hides, and write 'overlap: none' or 'overlap: ideal' in the study",
            because=because,
        )
        return
    yield Reason(
        kind="model",
        action="Measure what exchanges cost between your servers (dse calibrate), and name the "
        "profile under 'calibration' in the study",
        because=f"the answer hangs on their latency and copies: {other}",
    )


def _jobs(document: FleetDocument) -> Iterator[Reason]:
    """That the jobs are not the fleet's own, too few, or of unknown work."""
    log, found = document.log, document.intervals
    if document.population.drawn:
        yield Reason(
            kind="jobs",
            action="Ask again with your own jobs ('population': a table, or your scheduler's log)",
            because="these are drawn from distributions, and none of them is real",
        )
    elif log is not None and log.unmatched_share >= LARGE:
        yield Reason(
            kind="jobs",
            action="Say what your jobs train ('workloads' in the study)",
            because=f"nobody knows it of {percent(log.unmatched_share)} of the GPU-hours",
        )
    elif fleet_log.has_no_times(document):
        yield Reason(
            kind="jobs",
            action="Give a log with the times of jobs, or name their column ('columns' in the "
            "study)",
            because="without them a job of an hour counts as much as one of a week",
        )
    elif found is not None and found.few_jobs:
        yield Reason(
            kind="jobs",
            action="Give the jobs of a longer time",
            because=f"{words.many(document.population.jobs, 'job')} "
            f"{'is' if document.population.jobs == 1 else 'are'} too few to tell how jobs differ",
        )


def _speedup(document: FleetDocument, row: UpgradeWorth) -> Iterator[Reason]:
    """That the interval of the speedup holds one that does not pay."""
    found = band(document, "upgrade", row.name, "gpu_hours")
    least = _least_speedup(document, row)
    if found is not None and found.low <= least:
        yield Reason(
            kind="measurement",
            action=f"Time some of your large jobs before and after: {row.name}",
            because=f"it pays from {_least_times(document, row)} on, and the formula's "
            f"{times(found.best)} may be {times_text(found.low, found.high)}",
        )


def _hour(document: FleetDocument, row: UpgradeWorth) -> Iterator[Reason]:
    """That a rent of the catalogue stands for what a GPU-hour is worth."""
    money = document.money
    assert money is not None
    rents = [one for one in document.sources
             if one.item == money.accelerator and one.fact.endswith(".hourly")]  # fmt: skip
    for rent in rents[:1] if _catalogues(rents) else ():
        dated = f" of {rent.date}" if rent.date else ""
        turned = (
            f"below {_hourly(_least_share(row) * money.gpu_hour_usd)} the upgrade no longer pays"
        )
        if fleet_moves.comes_first(document) is not None:
            least = fleet_moves.hour_usd(document, row.name)
            turned = "after the move the upgrade never pays"
            if least is not None:
                turned = f"after the move the upgrade pays from {_hourly(least)} on"
        yield Reason(
            kind="price",
            action="Say what a GPU-hour is worth to you ('gpu_hour' in the study)",
            because=f"{_hourly(money.gpu_hour_usd)} is a rent of {gpu(money.accelerator)}{dated}; "
            f"{turned}",
        )


def _offer(document: FleetDocument, row: UpgradeWorth) -> Iterator[Reason]:
    """That the upgrade's price is the catalogue's."""
    money = document.money
    assert money is not None
    changed = next((one.changes for one in document.upgrades if one.name == row.name), {})
    bought = tuple(changed.values())
    prices = [
        one for one in document.sources
        if ("prices." in one.fact or one.fact.endswith(".purchase"))
        and any(label.endswith(words.title(kind, one.item)) for label in bought for kind in _SOLD)
    ]  # fmt: skip
    if row.basis.startswith(OWN_PRICE) or not _catalogues(prices):
        return
    found = money_band(document, "upgrade", row.name)
    most = row.worth_usd_per_gpu * money.gpus
    ends = found.capital_usd if found is not None else None
    because = f"the catalogue's {shown(row.capital_usd, 'USD')}"
    unchecked = {one.status for one in prices} & {"unverified", "unknown"}
    because += " was not checked" * bool(unchecked)
    if ends is not None:
        because += f"{' and' * bool(unchecked)} may be {usd_text(ends)}"
    turned = ends is not None and ends[1] > most
    because += (
        f"; above {shown(most, 'USD')} it no longer pays" if turned
        else "; that moves the sum, not the answer"
    )  # fmt: skip
    yield Reason(kind="price", action=f"Get a quote for {row.name}", because=because)


def _unlikely(document: FleetDocument) -> Iterator[Reason]:
    """Reasons for prices of the study that are hardly meant, also of upgrades that may be worth
    more at another."""
    for row in document.money.upgrades if document.money is not None else ():
        if row.price_doubt:
            yield Reason(
                kind="unlikely price",
                action=f"Check the price of {row.name}",
                because=row.price_doubt,
            )


def _unpriced(document: FleetDocument) -> Iterator[Reason]:
    """That upgrades of which no price is known may leave more money; after a move where one is
    recommended."""
    money = document.money
    if money is None:
        yield Reason(
            kind="price",
            action="Say how many GPUs there are and what their hours are worth ('money')",
            because="without that nobody knows what an upgrade may cost",
        )
        return
    moved = fleet_moves.recommended(document) is not None
    rows = [(one, one.after_move if moved and one.after_move else one) for one in money.upgrades]
    least = max((one.net_usd_per_year or 0.0 for _, one in rows), default=0.0)
    row, least = least > 0, max(least, 0.0)
    better = {
        upgrade.name: (one.saved_usd_per_year - least) * money.years / money.gpus
        for upgrade, one in sorted(rows, key=lambda pair: -pair[1].saved_usd_per_year)
        if one.net_usd_per_year is None and one.saved_usd_per_year > least
    }
    if not better:
        return
    how = "it is the better answer" if row else "it pays"
    how += " after the move" * any(one is not upgrade for upgrade, one in rows)
    names = [f"{name} ({how} below {shown(usd, 'USD')} per GPU)" for name, usd in better.items()]
    if rest := names[MOST_RIVALS:]:
        names[MOST_RIVALS:] = [f"{len(rest)} more"]
    yield Reason(
        kind="rival prices",
        action=f"Get a price ('price_per_gpu') for {enumerated(names)}",
        because=f"{'they count' if names[1:] else 'it counts'} for nothing here without one",
    )


def _catalogues(prices: list[Citation]) -> bool:
    """Whether any of these prices comes from the catalogue, not from a list of the buyer's."""
    known = {source.title for source in sources().values()}
    return any(one.source in known for one in prices)
