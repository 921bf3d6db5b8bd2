"""What a fleet's document says of how sure its numbers are: 90 % intervals, and who wins how
often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dse.fleet.breakdown import Priced
from dse.fleet.document import Band, FleetIntervals, MoneyBand, UpgradeWorth, WorthAfterMove
from dse.fleet.intervals import (
    AFTER_MOVE,
    DRAWS,
    FEW,
    FLEET,
    GPU_HOURS,
    PORT,
    SPREADS,
    UPGRADE,
    Drawn,
    Number,
    drawn,
    ends,
)
from dse.fleet.money import (
    Terms,
    fabric_counts,
    fabric_prices,
    freed_after_move,
    freed_hours,
    machine_price,
    network_of,
    of_upgrade,
    saved,
    terms,
    worth_after_move,
)
from dse.fleet.moved_jobs import AfterMove
from dse.fleet.study import FleetStudy
from dse.fleet.upgrades import Upgrade
from dse.model.arrays import Array
from dse.model.pai import PS_WORKER, Hardware


def intervals(
    study: FleetStudy, priced: Sequence[Priced], hardware: Hardware, target: str = ""
) -> FleetIntervals:
    """Of every headline number of a fleet. priced: its jobs on its hardware. target: where the jobs
    move after which upgrades are priced as well; empty for nowhere."""
    found = drawn(study, priced, hardware, moving=target)
    moving = any(entry.group.architecture == PS_WORKER for entry in priced)
    return FleetIntervals(
        draws=DRAWS,
        spreads=dict(SPREADS),
        few_jobs=sum(entry.group.size for entry in priced) < FEW,
        numbers=tuple(
            Band(*number, own.best, *own.of_both, *own.of_jobs)
            for number, own in found.items()
            if moving or number.kind != PORT
        ),
        money=_money(study, found, moving, target),
    )


def _money(
    study: FleetStudy, found: Mapping[Number, Drawn], moving: bool, target: str
) -> tuple[MoneyBand, ...]:
    """Of upgrades, of those after the move, then of ports; none without ``money``."""
    if study.money is None:
        return ()
    at = terms(study, study.money)
    hour_usd = at.gpu_hour.drawn(DRAWS)
    as_is, after = [], []
    for upgrade in study.upgrades:
        speedup = found[Number(UPGRADE, upgrade.name, GPU_HOURS)]
        worth, capital = of_upgrade(at, upgrade, speedup.best)[0], _capital(at, upgrade)
        as_is.append((worth, freed_hours(at, speedup.both) * hour_usd, capital))
        if target:
            move = found[Number(PORT, target, FLEET)]
            further = found[Number(AFTER_MOVE, upgrade.name, GPU_HOURS)]
            moved = AfterMove(target, move.best, {upgrade.name: further.best})
            usd = freed_after_move(at, move.both, further.both) * hour_usd
            after.append((worth, worth_after_move(at, worth, moved), usd, capital))
    leads = _leads([_net(at, usd, capital) for _, usd, capital in as_is])
    out = [
        replace(_of_upgrade(at, UPGRADE, worth, worth, usd, capital), leads=lead)
        for (worth, usd, capital), lead in zip(as_is, leads, strict=True)
    ]
    then_leads = _leads([_net(at, usd, capital) for _, _, usd, capital in after])
    out += [
        replace(_of_upgrade(at, AFTER_MOVE, worth, then, usd, capital), leads=lead)
        for (worth, then, usd, capital), lead in zip(after, then_leads, strict=True)
    ]
    for to in study.ports if moving else ():
        speedup = found[Number(PORT, to, FLEET)]
        usd = freed_hours(at, speedup.both) * hour_usd
        own = saved(at, speedup.best)
        out.append(MoneyBand(PORT, to, ends(own.usd_per_year, usd),
                             ends(own.worth_usd_per_gpu, usd * at.years / at.gpus)))  # fmt: skip
    return tuple(out)


def _of_upgrade(
    at: Terms,
    kind: str,
    upgrade: UpgradeWorth,
    worth: UpgradeWorth | WorthAfterMove,
    usd: Array,
    capital: Array | None,
) -> MoneyBand:
    """Of an upgrade, for jobs as they are or after a move. upgrade: for jobs as they are. usd,
    capital: draws of what it saves a year and costs to buy, (draws,)."""
    left, payback = _net(at, usd, capital), None
    if capital is not None and worth.payback_years is not None:
        with np.errstate(divide="ignore"):
            years = np.where(usd > 0, capital / usd, np.inf)
        low, high = np.percentile(years, (5, 95), method="nearest")
        payback = (float(low), float(high) if np.isfinite(high) else None)
    return MoneyBand(
        kind=kind,
        name=upgrade.name,
        saved_usd_per_year=ends(worth.saved_usd_per_year, usd),
        worth_usd_per_gpu=ends(worth.worth_usd_per_gpu, usd * at.years / at.gpus),
        capital_usd=None if capital is None else ends(upgrade.capital_usd or 0.0, capital),
        net_usd_per_year=None if left is None else ends(worth.net_usd_per_year or 0.0, left),
        payback_years=payback,
        pays=None if left is None else float(np.mean(left > 0)),
        mean_net_usd_per_year=None if left is None else float(np.mean(left)),
    )


def _net(at: Terms, usd: Array, capital: Array | None) -> Array | None:
    """Draws of what is left a year, (draws,); None where the price is not known."""
    return None if capital is None else usd - capital / at.years


def _capital(at: Terms, upgrade: Upgrade) -> Array | None:
    """Draws of what an upgrade costs to buy, (draws,); None where that is not known. A price of
    the study's own is certain."""
    if upgrade.price_per_gpu_usd is not None:
        return np.full(DRAWS, upgrade.price_per_gpu_usd * at.gpus)
    if (machine := machine_price(at, upgrade)) is not None:
        number, price = machine
        return None if np.isnan(price.usd) else np.asarray(number * price.drawn(DRAWS))
    bought = network_of(upgrade)
    if not bought:
        return None
    counts, prices = fabric_counts(at, bought), fabric_prices(at, bought)
    if counts is None or any(np.isnan(price.usd) for price in prices):
        return None
    return np.asarray(sum(
        count * price.drawn(DRAWS) for count, price in zip(counts, prices, strict=True)
    ))  # fmt: skip


def _leads(net: Sequence[Array | None]) -> list[float | None]:
    """In what share of the draws each upgrade with a known price leaves most, and more than
    nothing."""
    known = [draws for draws in net if draws is not None]
    if not known:
        return [None] * len(net)
    most = np.maximum(np.max(known, axis=0), 0.0)
    return [None if draws is None else float(np.mean((draws >= most) & (draws > 0)))
            for draws in net]  # fmt: skip
