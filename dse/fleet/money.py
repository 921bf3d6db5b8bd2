"""What an upgrade of a fleet costs and what it saves, in USD per year.

With an upgrade the same work takes ``1/s`` of the GPU-hours that the fleet works in a year, s being
the speedup by GPU-hours; the rest is saved at the price of a GPU-hour::

    saved per year = accelerators * 8760 h * busy * (1 - 1/s) * USD per GPU-hour
    cost per year  = purchase / years of amortisation
    worth          = saved per year * years / accelerators

``worth`` is what the upgrade may cost per accelerator at most; it needs no price of the upgrade.

After a move that speeds the fleet up m times, an upgrade that then gains s saves what both save
together, less what the move alone does: ``1/m - 1/(m s)`` in the place of ``1 - 1/s``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from dse import catalog
from dse.catalog import Fact
from dse.catalog.fabrics import UPLINK
from dse.errors import StudyError
from dse.fleet.document import (
    Port,
    PortWorth,
    UpgradeSpeedup,
    UpgradeWorth,
    Worth,
    WorthAfterMove,
)
from dse.fleet.moved_jobs import AfterMove
from dse.fleet.study import FleetStudy, Money
from dse.fleet.upgrades import Upgrade
from dse.model.arrays import Array
from dse.model.bill import fat_tree
from dse.model.money import HOURS_PER_YEAR
from dse.pricing.unit_price import UnitPrice, unit_price

RENT = "rental of"
OWN_PRICE = "the study's price per GPU"
Amount = TypeVar("Amount", float, Array)  # one, or draws of it


@dataclass(frozen=True)
class Terms:
    """Prices and sizes of the fleet, and the catalogue facts they come from."""

    gpus: int
    gpu_hours_per_year: float
    gpu_hour_usd: float
    years: float
    gpus_per_nic: int
    list: catalog.PriceList
    facts: tuple[tuple[str, Fact], ...]
    gpu_hour: UnitPrice


def terms(study: FleetStudy, money: Money) -> Terms:
    """The study's prices, or the price list's where the study has none. Raises StudyError where
    neither has the rental or the years."""
    listed = catalog.default_prices()
    if money.prices is not None:
        listed = catalog.read_prices(money.prices)
    facts: list[tuple[str, Fact]] = []
    hour, years = money.gpu_hour_usd, money.years
    price = UnitPrice(RENT, hour or 0.0)  # what a study gives is certain
    if hour is None:
        found = listed.accelerator_hourly_usd.get(money.accelerator)
        if found is None or found.value is None:
            place = study.source.mark(("money", "accelerator"))
            problem = f"the rental of {money.accelerator} is not known"
            raise StudyError(study.path, *place, problem, "write gpu_hour: 2 USD/hour")
        hour = found.value
        price = unit_price(f"{RENT} {money.accelerator}", found, listed)
        facts.append((money.accelerator, found))
    if years is None:
        facts.append(("price list", listed.amortisation_years))
        years = listed.amortisation_years.value
        if years is None:
            place = study.source.mark(("money",))
            problem = "amortisation_years is unknown"
            raise StudyError(study.path, *place, problem, "add amortisation_years: 4")
    hours = money.gpus * HOURS_PER_YEAR * money.busy
    return Terms(money.gpus, hours, hour, years, money.gpus_per_nic, listed, tuple(facts), price)


@dataclass(frozen=True)
class Savings:
    """GPU-hours that a speedup frees in a year, and what they are worth."""

    gpu_hours_per_year: float
    usd_per_year: float
    worth_usd_per_gpu: float


def freed_hours(found: Terms, speedup: Amount) -> Amount:
    """GPU-hours a year that a fleet need not work that does the same work ``speedup`` times as
    fast, by GPU-hours."""
    return found.gpu_hours_per_year * (1 - 1 / speedup)


def freed_after_move(found: Terms, move: Amount, speedup: Amount) -> Amount:
    """GPU-hours a year that an upgrade frees beside those that the move has freed."""
    return found.gpu_hours_per_year * (1 - 1 / speedup) / move


def saved(found: Terms, speedup: float) -> Savings:
    """The savings of a fleet that does the same work ``speedup`` times as fast, by GPU-hours."""
    hours = freed_hours(found, speedup)
    per_year = hours * found.gpu_hour_usd
    return Savings(hours, per_year, per_year * found.years / found.gpus)


def fabric_usd(found: Terms, name: str) -> tuple[float | None, str, list[tuple[str, Fact]]]:
    """USD for the cards, switches and cables of the whole fleet on a fat tree; that sum in words;
    the facts behind it.

    USD are None where the price of a part is not known.
    """
    priced, facts = _of_fabric(found, name)
    prices = {part: fact.value for part, fact in priced.items()}
    counts = fabric_counts(found, name)
    if counts is None or None in prices.values():
        return None, f"network cards, switches and cables of {catalog.fabric(name).title}", facts
    cards, ports, cables, *uplinks = counts
    radix = catalog.fabric(name).switch_radix or 1
    nic, port, cable, *uplink = (price or 0.0 for price in prices.values())
    sum_text = (
        f"{catalog.fabric(name).title}: {_many(cards, 'network card')} at USD {nic:,.0f}, "
        f"{_many(ports / radix, 'switch')} of {radix} ports at {port * radix:,.0f}, "
        f"{_many(cables, 'cable')} at {cable:,.0f}"
    )
    total = cards * nic + ports / radix * (port * radix) + cables * cable
    for many, price in zip(uplinks, uplink, strict=True):
        sum_text += f", {_many(many, 'cable')} between switches at {price:,.0f}"
        total += many * price
    return total, sum_text, facts


def _of_fabric(found: Terms, name: str) -> tuple[dict[str, Fact], list[tuple[str, Fact]]]:
    """The prices of a fabric's card, port and cable, and of a cable between switches where it has
    its own; and all facts behind what it costs."""
    fabric = catalog.fabric(name)
    own = found.list.fabric_usd.get(name, {})
    priced = {part: own.get(part, fact) for part, fact in fabric.prices_usd.items()}
    priced |= {part: own[part] for part in (UPLINK,) if part in own}
    radix = [fact for fact in fabric.facts if fact.name == "switch_radix"]
    return priced, [(name, fact) for fact in (*priced.values(), *radix)]


def fabric_counts(found: Terms, name: str) -> tuple[float, ...] | None:
    """Cards, ports of switches and cables of the whole fleet, those between switches apart where
    they have their own price; None where no radix is known."""
    radix = catalog.fabric(name).switch_radix
    if radix is None:
        return None
    cards = -(-found.gpus // found.gpus_per_nic)
    tree = fat_tree(cards, radix)
    cables = (tree.cables, tree.uplinks) if UPLINK in _of_fabric(found, name)[0] else (tree.links,)
    return float(cards), float(tree.switches) * radix, *map(float, cables)


def fabric_prices(found: Terms, name: str) -> list[UnitPrice]:
    """Of a card, a port and a cable, with what they may be off by, in the order of their counts."""
    priced, _ = _of_fabric(found, name)
    return [unit_price(f"{name} {part}", fact, found.list) for part, fact in priced.items()]


def machine_price(found: Terms, upgrade: Upgrade) -> tuple[float, UnitPrice] | None:
    """How many machines or accelerators of the catalogue replace those of the fleet, and the price
    of one, NaN where it is not known; None for an upgrade that names neither."""
    if upgrade.node:
        node = catalog.node(upgrade.node)
        fact = found.list.node_usd.get(upgrade.node) or node.purchase_usd
        return float(-(-found.gpus // node.accelerators)), unit_price(node.title, fact, found.list)
    if upgrade.accelerator:
        name = upgrade.accelerator
        title = catalog.accelerator(name).title
        fact = found.list.accelerator_usd.get(name)
        return float(found.gpus), unit_price(title, fact, found.list)
    return None


def network_of(upgrade: Upgrade) -> str:
    """The fabric of the catalogue that an upgrade is, and nothing else; else empty."""
    alone = set(upgrade.changes) == {"ethernet"}
    return upgrade.fabric if upgrade.fabric and alone else ""


def _many(number: float, what: str) -> str:
    ending = ("es" if what.endswith("ch") else "s") * (number != 1)
    return f"{number:,.0f} {what}{ending}"


def of_upgrade(
    found: Terms, upgrade: Upgrade, speedup: float
) -> tuple[UpgradeWorth, list[tuple[str, Fact]]]:
    """What one upgrade costs and saves, and the facts behind that."""
    capital: float | None = None
    facts: list[tuple[str, Fact]] = []
    basis, doubt, machine = "", "", machine_price(found, upgrade)
    if upgrade.price_per_gpu_usd is not None:
        capital, basis = upgrade.price_per_gpu_usd * found.gpus, OWN_PRICE
        if upgrade.price_terms is not None:
            basis += f" ({upgrade.price_terms.converted})"
    elif machine is not None:
        number, price = machine
        if price.fact is not None and not math.isnan(price.usd):
            capital = number * price.usd
            basis = f"{number:,.0f} of {price.part} at USD {price.usd:,.0f}"
            if found.list.includes.get(upgrade.accelerator) == "card":
                basis += ", without hosts"
            facts = [(upgrade.node or upgrade.accelerator, price.fact)]
            doubt = catalog.implausible(price.fact)
    elif bought := network_of(upgrade):
        capital, basis, facts = fabric_usd(found, bought)
    savings = saved(found, speedup)
    gain = savings.usd_per_year
    per_year = None if capital is None else capital / found.years
    worth = UpgradeWorth(
        name=upgrade.name,
        capital_usd=capital,
        basis=basis,
        gpu_hours_saved_per_year=savings.gpu_hours_per_year,
        saved_usd_per_year=gain,
        worth_usd_per_gpu=savings.worth_usd_per_gpu,
        cost_usd_per_year=per_year,
        net_usd_per_year=None if per_year is None else gain - per_year,
        payback_years=capital / gain if capital is not None and gain > 0 else None,
        price_doubt=doubt,
    )
    return worth, facts


def worth_after_move(found: Terms, worth: UpgradeWorth, moved: AfterMove) -> WorthAfterMove:
    """What an upgrade saves and leaves after a move. worth: what it does for jobs as they are."""
    speedup = moved.upgrades[worth.name]
    gain = freed_after_move(found, moved.move, speedup) * found.gpu_hour_usd
    capital, per_year = worth.capital_usd, worth.cost_usd_per_year
    return WorthAfterMove(
        target=moved.target,
        speedup=speedup,
        saved_usd_per_year=gain,
        worth_usd_per_gpu=gain * found.years / found.gpus,
        net_usd_per_year=None if per_year is None else gain - per_year,
        payback_years=capital / gain if capital is not None and gain > 0 else None,
    )


def of_port(found: Terms, port: Port) -> PortWorth:
    """What moving the jobs that gain per cNode saves the fleet.

    A job that finishes later on fewer cNodes can still free GPU-hours.
    """
    savings = saved(found, port.fleet_speedup_by_gpu_hours)
    return PortWorth(
        target=port.target,
        jobs=port.jobs_that_gain_per_cnode,
        finish_later=port.jobs_that_gain_and_finish_later,
        gpu_hours_saved_per_year=savings.gpu_hours_per_year,
        saved_usd_per_year=savings.usd_per_year,
        worth_usd_per_gpu=savings.worth_usd_per_gpu,
    )


def money(
    study: FleetStudy,
    upgraded: Sequence[UpgradeSpeedup],
    moved: Sequence[Port],
    whole: str,
    after: AfterMove | None,
) -> tuple[Worth | None, list[tuple[str, Fact]]]:
    """What every upgrade and port is worth to the fleet, and the facts behind that; None where the
    study has no ``money``. whole: the architecture under which the speedups of all jobs stand.
    after: speedups after the move that frees most; None where none frees any.
    """
    if study.money is None:
        return None, []
    found = terms(study, study.money)
    facts = list(found.facts)
    upgrades = []
    for upgrade, result in zip(study.upgrades, upgraded, strict=True):
        entry, behind = of_upgrade(found, upgrade, result.speedup[whole].gpu_hours)
        if after is not None:
            entry = replace(entry, after_move=worth_after_move(found, entry, after))
        upgrades.append(entry)
        facts += behind
    worth = Worth(
        gpus=found.gpus,
        busy=study.money.busy,
        gpu_hours_per_year=found.gpu_hours_per_year,
        gpu_hour_usd=found.gpu_hour_usd,
        accelerator=study.money.accelerator,
        years=found.years,
        gpus_per_nic=found.gpus_per_nic,
        upgrades=tuple(upgrades),
        ports=tuple(of_port(found, port) for port in moved),
    )
    return worth, list(dict.fromkeys(facts))
