"""Costs and savings of upgrades of a fleet, in USD per year, with their intervals.

With an upgrade the same work takes ``1/s`` of the GPU-hours that the fleet works in a year, s being
the speedup by GPU-hours; the rest is saved at the price of a GPU-hour::

    saved per year = accelerators * 8760 h * busy * (1 - 1/s) * USD per GPU-hour
    cost per year  = purchase / years of amortisation
    worth          = saved per year * years / accelerators

``worth`` is what the upgrade may cost per accelerator at most; it needs no price of the upgrade.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from dse import catalog
from dse.catalog import Fact
from dse.catalog.fabrics import UPLINK
from dse.errors import StudyError
from dse.fleet.document import MoneyBand, Port, PortWorth, UpgradeSpeedup, UpgradeWorth, Worth
from dse.fleet.intervals import DRAWS, FLEET, GPU_HOURS, PORT, UPGRADE, Drawn, Number, ends
from dse.fleet.study import FleetStudy, Money
from dse.fleet.upgrades import Upgrade
from dse.model.arrays import Array
from dse.model.bill import fat_tree
from dse.model.money import HOURS_PER_YEAR
from dse.pricing.unit_price import UnitPrice, unit_price

RENT = "rental of"
OWN_PRICE = "the study's price per GPU"
Amount = TypeVar("Amount", float, Array)  # one, or draws of it
Facts = list[tuple[str, Fact]]  # each with the entry of the catalogue that it is of


@dataclass(frozen=True)
class Terms:
    """Sizes and prices of the fleet, and the catalogue facts they come from."""

    money: Money
    gpu_hour: UnitPrice
    years: float
    list: catalog.PriceList
    facts: tuple[tuple[str, Fact], ...]

    @property
    def gpu_hours_per_year(self) -> float:
        """GPU-hours in which the fleet works."""
        return self.money.gpus * HOURS_PER_YEAR * self.money.busy

    def freed_hours(self, speedup: Amount) -> Amount:
        """GPU-hours a year that a fleet need not work that does the same work ``speedup`` times as
        fast, by GPU-hours."""
        return self.gpu_hours_per_year * (1 - 1 / speedup)

    def worth(self, usd_per_year: Amount) -> Amount:
        """USD per accelerator that such savings are worth over the years of amortisation."""
        return usd_per_year * self.years / self.money.gpus


def terms(study: FleetStudy, money: Money) -> Terms:
    """The study's prices, or the price list's where the study has none. Raises StudyError where
    neither has the rental or the years."""
    listed = catalog.default_prices()
    if money.prices is not None:
        listed = catalog.read_prices(money.prices)
    facts: Facts = []
    years, price = money.years, UnitPrice(RENT, money.gpu_hour_usd or 0.0)  # which is certain
    if money.gpu_hour_usd is None:
        found = listed.accelerator_hourly_usd.get(money.accelerator)
        if found is None or found.value is None:
            place = study.source.mark(("money", "accelerator"))
            problem = f"the rental of {money.accelerator} is not known"
            raise StudyError(study.path, *place, problem, "write gpu_hour: 2 USD/hour")
        price = unit_price(f"{RENT} {money.accelerator}", found, listed)
        facts.append((money.accelerator, found))
    if years is None:
        facts.append(("price list", listed.amortisation_years))
        years = listed.amortisation_years.value
        if years is None:
            place = study.source.mark(("money",))
            problem = "amortisation_years is unknown"
            raise StudyError(study.path, *place, problem, "add amortisation_years: 4")
    return Terms(money, price, years, listed, tuple(facts))


@dataclass(frozen=True)
class Purchase:
    """The parts that an upgrade is bought as: how many of each, and the price of one; none where it
    has no price. basis: the sum in words."""

    parts: Sequence[tuple[float, UnitPrice]] = ()
    basis: str = ""
    facts: Sequence[tuple[str, Fact]] = ()

    @property
    def usd(self) -> float | None:
        """In all; None where a price is not known."""
        total = sum((count * price.usd for count, price in self.parts), 0.0)
        return None if math.isnan(total) or not self.parts else total

    def drawn(self) -> Array | None:
        """Draws of the same, (draws,); a price of the study's own is certain."""
        if self.usd is None:
            return None
        return np.asarray(sum(count * price.drawn(DRAWS) for count, price in self.parts))


def purchase(found: Terms, upgrade: Upgrade) -> Purchase:
    """The parts of an upgrade, by the study, the price list or the catalogue."""
    gpus = float(found.money.gpus)
    if upgrade.price_per_gpu_usd is not None:
        return Purchase([(gpus, UnitPrice(OWN_PRICE, upgrade.price_per_gpu_usd))], OWN_PRICE)
    alone = set(upgrade.changes) == {"ethernet"}
    return _network(found, upgrade.fabric) if upgrade.fabric and alone else Purchase()


def _network(found: Terms, name: str) -> Purchase:
    """The cards, switches and cables of the whole fleet on a fat tree."""
    fabric, own = catalog.fabric(name), found.list.fabric_usd.get(name, {})
    priced = {part: own.get(part, fact) for part, fact in fabric.prices_usd.items()}
    priced |= {part: own[part] for part in (UPLINK,) if part in own}
    radix = [fact for fact in fabric.facts if fact.name == "switch_radix"]
    facts = [(name, fact) for fact in (*priced.values(), *radix)]
    prices = [unit_price(f"{name} {part}", fact, found.list) for part, fact in priced.items()]
    if fabric.switch_radix is None or any(math.isnan(price.usd) for price in prices):
        return Purchase((), f"network cards, switches and cables of {fabric.title}", facts)
    cards = -(-found.money.gpus // found.money.gpus_per_nic)
    tree = fat_tree(cards, fabric.switch_radix)
    cables = (tree.cables, tree.uplinks) if UPLINK in priced else (tree.links,)
    counts = (cards, tree.switches * fabric.switch_radix, *cables)
    parts = list(zip(map(float, counts), prices, strict=True))
    sums = [f"{count:,.0f} x {part.replace('_', ' ')} at USD {price.usd:,.0f}"
            for part, (count, price) in zip(priced, parts, strict=True)]  # fmt: skip
    return Purchase(parts, f"{fabric.title}: {', '.join(sums)}", facts)


def _of_upgrade(found: Terms, upgrade: Upgrade, speedup: float, bought: Purchase) -> UpgradeWorth:
    """Costs and savings of one upgrade."""
    hours = found.freed_hours(speedup)
    gain, capital = hours * found.gpu_hour.usd, bought.usd
    per_year = None if capital is None else capital / found.years
    return UpgradeWorth(
        name=upgrade.name,
        capital_usd=capital,
        basis=bought.basis,
        gpu_hours_saved_per_year=hours,
        saved_usd_per_year=gain,
        worth_usd_per_gpu=found.worth(gain),
        cost_usd_per_year=per_year,
        net_usd_per_year=None if per_year is None else gain - per_year,
        payback_years=capital / gain if capital is not None and gain > 0 else None,
    )


def _of_port(found: Terms, port: Port) -> PortWorth:
    """Savings of the fleet by moving the jobs that gain per cNode.

    A job that finishes later on fewer cNodes can still free GPU-hours.
    """
    hours = found.freed_hours(port.fleet_speedup_by_gpu_hours)
    gain = hours * found.gpu_hour.usd
    return PortWorth(
        target=port.target,
        jobs=port.jobs_that_gain_per_cnode,
        finish_later=port.jobs_that_gain_and_finish_later,
        gpu_hours_saved_per_year=hours,
        saved_usd_per_year=gain,
        worth_usd_per_gpu=found.worth(gain),
    )


def money(
    study: FleetStudy,
    upgraded: Sequence[UpgradeSpeedup],
    moved: Sequence[Port],
    whole: str,
    numbers: Mapping[Number, Drawn],
) -> tuple[Worth | None, tuple[MoneyBand, ...], Facts]:
    """The worth of every upgrade and port to the fleet, its intervals, and the facts behind that;
    None and nothing where the study has no ``money``.

    whole: the architecture under which the speedups of all jobs stand. numbers: their draws.
    """
    asked = study.money
    if asked is None:
        return None, (), []
    found = terms(study, asked)
    facts, upgrades, bands = [*found.facts], [], []
    for upgrade, result in zip(study.upgrades, upgraded, strict=True):
        bought = purchase(found, upgrade)
        row = _of_upgrade(found, upgrade, result.speedup[whole].gpu_hours, bought)
        drawn = numbers[Number(UPGRADE, upgrade.name, GPU_HOURS)]
        upgrades.append(row)
        bands.append(_band(found, UPGRADE, row, drawn, bought.drawn()))
        facts += bought.facts
    ports = tuple(_of_port(found, port) for port in moved)
    bands += [_band(found, PORT, row, numbers[Number(PORT, row.target, FLEET)], None)
              for row in ports]  # fmt: skip
    worth = Worth(
        gpus=asked.gpus,
        busy=asked.busy,
        gpu_hours_per_year=found.gpu_hours_per_year,
        gpu_hour_usd=found.gpu_hour.usd,
        accelerator=asked.accelerator,
        years=found.years,
        gpus_per_nic=asked.gpus_per_nic,
        upgrades=tuple(upgrades),
        ports=ports,
    )
    return worth, tuple(bands), list(dict.fromkeys(facts))


def _band(
    found: Terms, kind: str, row: UpgradeWorth | PortWorth, speedup: Drawn, capital: Array | None
) -> MoneyBand:
    """Intervals of an upgrade or a port. capital: draws of what it costs to buy, (draws,)."""
    usd = found.freed_hours(speedup.both) * found.gpu_hour.drawn(DRAWS)
    saved, worth = row.saved_usd_per_year, found.worth(usd)
    of_both = ends(saved, usd), ends(row.worth_usd_per_gpu, worth)
    if isinstance(row, PortWorth):
        return MoneyBand(kind, row.target, *of_both)
    if capital is None or row.capital_usd is None or row.net_usd_per_year is None:
        return MoneyBand(kind, row.name, *of_both)
    return MoneyBand(
        kind,
        row.name,
        *of_both,
        capital_usd=ends(row.capital_usd, capital),
        net_usd_per_year=ends(row.net_usd_per_year, usd - capital / found.years),
        payback_years=None if row.payback_years is None else _payback(usd, capital),
    )


def _payback(usd: Array, capital: Array) -> tuple[float, float | None]:
    """The interval of years until what is saved, (draws,), has paid for what was bought."""
    with np.errstate(divide="ignore"):
        years = np.where(usd > 0, capital / usd, np.inf)
    low, high = np.percentile(years, (5, 95), method="nearest")
    return float(low), float(high) if np.isfinite(high) else None
