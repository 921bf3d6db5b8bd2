"""What a study may recommend to buy: what is sold new, unless it says otherwise."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from dse import catalog
from dse.catalog.prices import NEVER
from dse.pricing import hardware
from dse.study import Study
from dse.study.axes import RENTAL
from dse.study.definition import USED
from dse.study.quantities import PURCHASE, RENT, facts_of


def rents(study: Study) -> bool:
    """Whether its money is rent, and nothing is bought."""
    facts = facts_of(objective.name for objective in study.objectives)
    return RENT in facts and PURCHASE not in facts


def counted_once(study: Study) -> Study:
    """The study without terms of renting to choose from where it counts no rent: its points would
    differ in nothing that is asked."""
    limits = [one.expression.names for one in study.constraints if one.expression]
    named = {one.name for one in study.objectives}.union(*limits)
    if RENT in facts_of(named) or not study.values(RENTAL):
        return study
    base, told = study.baseline, f"nothing is rented, so that {RENTAL} has no part in it"
    values = {name: value for name, value in base.values.items() if name != RENTAL}
    return replace(
        study,
        axes=tuple(axis for axis in study.axes if axis.name != RENTAL),
        conditions=tuple(one for one in study.conditions if one.axis != RENTAL),
        baseline=replace(base, values=values),
        what_if=None if study.what_if == RENTAL else study.what_if,
        told=(*study.told, told),
    )


def rent_class(study: Study, prices: catalog.PriceList) -> str:
    """The class of sellers whose rents count: the study's; that of most of its node types' sellers;
    else the usual one of its accelerators. What the study describes is of no market and has no say
    in it, nor has what the buyer has a rent of, unless he has of all."""
    if study.rent_class:
        return study.rent_class
    machines = [one for one in hardware.machines_of(study, prices)
                if one.accelerator.name not in prices.described]  # fmt: skip
    others = [one for one in machines if not (one.rent.fact and catalog.own(one.rent.fact))]
    asked = others or machines
    clouds = (one.node.hourly_usd for one in asked if one.node)
    most = Counter(filter(None, map(catalog.class_of, clouds))).most_common(1)
    names = dict.fromkeys(one.accelerator.name for one in asked)
    return most[0][0] if most else catalog.usual_class(names)


def buys_new(study: Study, prices: catalog.PriceList) -> bool:
    """Whether what is no longer sold new is left out: not where the study rents, admits used
    hardware, or has nothing else."""
    sold = [machine.sold_until is None for machine in hardware.machines_of(study, prices)]
    wanted = study.market != USED and not rents(study)  # else it does not matter what is sold new
    return wanted and any(sold) and not all(sold)


def remark(machine: hardware.Machine) -> str:
    """What a bill says of a machine that is no longer sold new; empty of another."""
    until = machine.sold_until
    if until is None:
        return ""
    return "not for sale, only for rent" if until.text == NEVER else (
        f"no longer sold new (until {until.text})"
    )  # fmt: skip
