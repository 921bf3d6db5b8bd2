"""What other models say of a fleet's upgrades, and whether they lead to another decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from dse.fleet.other_models import IDEAL, NONE, OWN, OWN_UNHIDDEN
from dse.report.fleet_ranges import band, money_band, probability, times, usd, usd_text
from dse.report.words import shown
from dse.spelling import enumerated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dse.fleet.document import ByModel, FleetDocument, NamedJob, UpgradeWorth

SHORT = {IDEAL: "with ideal overlap", NONE: "without overlap", OWN: "in dse's own model",
         OWN_UNHIDDEN: "in dse's own model"}  # fmt: skip
LESS = ", and another upgrade more"
SAME = 0.2  # of what an upgrade leaves; amounts that differ by less are called the same
EVEN = 0.5  # a probability; below, it is likelier that an upgrade does not pay


class _Netting(Protocol):
    @property
    def net_usd_per_year(self) -> float | None: ...


_Upgrade = TypeVar("_Upgrade", bound=_Netting)


def saving(upgrades: Iterable[_Upgrade]) -> list[_Upgrade]:
    """The upgrades that leave money a year after their own cost, the most first."""
    net = [(row.net_usd_per_year or 0.0, row) for row in upgrades]
    return [row for left, row in sorted(net, key=lambda one: -one[0]) if left > 0]


def worthwhile(document: FleetDocument) -> UpgradeWorth | None:
    """The upgrade that leaves most money a year after its own cost; None where none leaves any."""
    return next(iter(saving(document.money.upgrades if document.money is not None else ())), None)


def of(document: FleetDocument, upgrade: str) -> list[ByModel]:
    """An upgrade by every other model."""
    return [row for row in document.by_model if row.upgrade == upgrade]


def each(document: FleetDocument) -> Iterator[list[ByModel]]:
    """Every upgrade, by one other model after the other."""
    for model in dict.fromkeys(row.model for row in document.by_model):
        yield [row for row in document.by_model if row.model == model]


def formula(document: FleetDocument) -> str:
    """What the fleet's own model is called: ``by the formula without overlap``."""
    return called(IDEAL if document.overlap == IDEAL else NONE)


def called(model: str) -> str:
    """A model where it stands alone: ``by the formula with ideal overlap``."""
    return f"{'by the formula ' * (model in (IDEAL, NONE))}{SHORT[model]}"


def contrary(document: FleetDocument) -> list[ByModel]:
    """Of each model that leads to another decision, what it says of the upgrade that is in
    question: the recommended one, or the one that this model recommends where none is."""
    best = worthwhile(document)
    out = []
    for rows in each(document):
        theirs = next(iter(saving(rows)), None)
        if best is None and theirs is not None:
            out.append(theirs)
        elif best is not None and (theirs is None or theirs.upgrade != best.name):
            out += [row for row in rows if row.upgrade == best.name]
    return out


def doubts(document: FleetDocument) -> list[str]:
    """Why an upgrade that pays by the best estimate is undecided nevertheless, as clauses."""
    best = worthwhile(document)
    if best is None:
        return []
    out = []
    found = money_band(document, "upgrade", best.name)
    if found is not None and found.pays is not None and found.pays < EVEN:
        out.append(f"the probability that it saves more than it costs is {probability(found.pays)}")
    elif found is not None and (found.mean_net_usd_per_year or 0.0) < 0:
        loss = shown(-(found.mean_net_usd_per_year or 0.0), "USD")
        out.append(f"over all simulated outcomes it loses {loss} a year on average")
    return out + ([other] if (other := disagreement(document)) else [])


def disagreement(document: FleetDocument, name: str = "it") -> str:
    """``it loses USD 193 k a year net with ideal overlap (1.01x) and USD 183 k in dse's own model
    (1.02x)``; empty where all models lead to the same decision. name: of what pays by the best
    estimate."""
    best, parts, before = worthwhile(document), list[str](), ""
    for row in contrary(document):
        net = row.net_usd_per_year or 0.0
        saves = f"{name if best is not None else row.upgrade} {'saves' if net > 0 else 'loses'} "
        less = LESS if best is not None and net > 0 else ""
        parts.append(
            f"{saves if saves != before else ''}{shown(abs(net), 'USD')} a year net "
            f"{SHORT[row.model]} ({times(row.speedup)}{less})"
        )
        before = saves
    return enumerated(parts) if parts else ""


def agreement(document: FleetDocument) -> str:
    """That all other models lead to the same decision, and whether to the same amount; empty where
    none was asked, or one does not."""
    if not document.by_model or contrary(document):
        return ""
    best = worthwhile(document)
    if best is None:
        where = [SHORT[model] for model in dict.fromkeys(row.model for row in document.by_model)]
        return f"So it is {enumerated(where)}."
    others = of(document, best.name)
    nets = [best.net_usd_per_year or 0.0, *(row.net_usd_per_year or 0.0 for row in others)]
    if not differing(document, best):
        return f"All models agree: {usd_text((min(nets), max(nets)))} a year net."
    return (
        "The models agree on the decision but not on the amount: "
        f"{usd_text((min(nets), max(nets)))} a year net."
    )


def differing(document: FleetDocument, upgrade: UpgradeWorth) -> list[ByModel]:
    """Of each other model that leaves another amount than the fleet's own by an upgrade, what it
    says of it."""
    own = upgrade.net_usd_per_year or 0.0
    return [row for row in of(document, upgrade.name)
            if abs((row.net_usd_per_year or 0.0) - own) > SAME * abs(own)]  # fmt: skip


def outside(document: FleetDocument, upgrade: str) -> list[ByModel]:
    """Of each other model whose speedup by an upgrade the interval of the fleet's own does not
    hold, what it says of it."""
    found = band(document, "upgrade", upgrade, "gpu_hours")
    return [row for row in of(document, upgrade)
            if found is not None and not found.low <= row.speedup <= found.high]  # fmt: skip


def payback_years(upgrade: UpgradeWorth, row: _Netting) -> float | None:
    """When an upgrade is paid back by a model that leaves so much; None where it never is."""
    saved = (row.net_usd_per_year or 0.0) + (upgrade.cost_usd_per_year or 0.0)
    return (upgrade.capital_usd or 0.0) / saved if saved > 0 else None


def opinions(document: FleetDocument, upgrade: str) -> str:
    """``1.01x with ideal overlap and 1.02x in dse's own model``; empty where no other was asked."""
    said = [f"{times(row.speedup)} {SHORT[row.model]}" for row in of(document, upgrade)]
    return enumerated(said) if said else ""


def heads(document: FleetDocument) -> list[str]:
    """Of the table of upgrades: the fleet's model, then the others."""
    own = SHORT[IDEAL if document.overlap == IDEAL else NONE].capitalize()
    models = dict.fromkeys(row.model for row in document.by_model)
    return ["Upgrade", f"{own}: this report", *(SHORT[model].capitalize() for model in models)]


def rows(document: FleetDocument) -> list[list[str]]:
    """Every upgrade by every model: its speedup and what it leaves a year."""
    if not document.by_model:
        return []
    net = {row.name: row.net_usd_per_year
           for row in (document.money.upgrades if document.money is not None else ())}  # fmt: skip
    return [
        [upgrade.name, _cell(upgrade.speedup[document.whole].gpu_hours, net.get(upgrade.name)),
         *(_cell(row.speedup, row.net_usd_per_year) for row in of(document, upgrade.name))]
        for upgrade in document.upgrades
    ]  # fmt: skip


def _cell(speedup: float, net_usd: float | None) -> str:
    return times(speedup) if net_usd is None else f"{times(speedup)}, {usd(net_usd)}"


def telling_job(document: FleetDocument) -> NamedJob | None:
    """The job whose step the models differ in most, which one would measure; None where single jobs
    are not listed or none differs by a twentieth."""

    def apart(job: NamedJob) -> float:
        return abs(job.step_s / job.own_model.step_s - 1)

    most = max(document.named, key=apart, default=None)
    return most if most is not None and apart(most) > 0.05 else None
