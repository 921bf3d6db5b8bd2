"""What a fleet's document says of how sure its numbers are: 90 % intervals, and who wins how
often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dse.fleet.breakdown import Priced
from dse.fleet.document import Band, FleetIntervals, MoneyBand
from dse.fleet.intervals import (
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
    freed_hours,
    network_of,
    of_upgrade,
    saved,
    terms,
)
from dse.fleet.study import FleetStudy
from dse.fleet.upgrades import Upgrade
from dse.model.arrays import Array
from dse.model.pai import PS_WORKER, Hardware


def intervals(study: FleetStudy, priced: Sequence[Priced], hardware: Hardware) -> FleetIntervals:
    """Of every headline number of a fleet. priced: its jobs on its hardware."""
    found = drawn(study, priced, hardware)
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
        money=_money(study, found, moving),
    )


def _money(study: FleetStudy, found: Mapping[Number, Drawn], moving: bool) -> tuple[MoneyBand, ...]:
    """Of upgrades, then of ports; none without ``money``."""
    if study.money is None:
        return ()
    at = terms(study, study.money)
    hour_usd = at.gpu_hour.drawn(DRAWS)
    best, net = [], []
    for upgrade in study.upgrades:
        speedup = found[Number(UPGRADE, upgrade.name, GPU_HOURS)]
        usd = freed_hours(at, speedup.both) * hour_usd
        capital = _capital(at, upgrade)
        net.append(None if capital is None else usd - capital / at.years)
        best.append((upgrade, usd, capital, of_upgrade(at, upgrade, speedup.best)[0]))
    leads = _leads(net)
    out = []
    for (upgrade, usd, capital, worth), left, lead in zip(best, net, leads, strict=True):
        payback = None
        if capital is not None and worth.payback_years is not None:
            with np.errstate(divide="ignore"):
                years = np.where(usd > 0, capital / usd, np.inf)
            low, high = np.percentile(years, (5, 95), method="nearest")
            payback = (float(low), float(high) if np.isfinite(high) else None)
        out.append(MoneyBand(
            kind=UPGRADE,
            name=upgrade.name,
            saved_usd_per_year=ends(worth.saved_usd_per_year, usd),
            worth_usd_per_gpu=ends(worth.worth_usd_per_gpu, usd * at.years / at.gpus),
            capital_usd=None if capital is None else ends(worth.capital_usd or 0.0, capital),
            net_usd_per_year=None if left is None else ends(worth.net_usd_per_year or 0.0, left),
            payback_years=payback,
            pays=None if left is None else float(np.mean(left > 0)),
            leads=lead,
            mean_net_usd_per_year=None if left is None else float(np.mean(left)),
        ))  # fmt: skip
    for to in study.ports if moving else ():
        speedup = found[Number(PORT, to, FLEET)]
        usd = freed_hours(at, speedup.both) * hour_usd
        own = saved(at, speedup.best)
        out.append(MoneyBand(PORT, to, ends(own.usd_per_year, usd),
                             ends(own.worth_usd_per_gpu, usd * at.years / at.gpus)))  # fmt: skip
    return tuple(out)


def _capital(at: Terms, upgrade: Upgrade) -> Array | None:
    """Draws of what an upgrade costs to buy, (draws,); None where that is not known. A price of
    the study's own is certain."""
    if upgrade.price_per_gpu_usd is not None:
        return np.full(DRAWS, upgrade.price_per_gpu_usd * at.gpus)
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
