"""What a study may recommend to buy: what is sold new, unless it says otherwise."""

from __future__ import annotations

from collections import Counter

from dse import catalog
from dse.catalog.prices import NEVER
from dse.pricing import hardware
from dse.study import Study
from dse.study.definition import USED
from dse.study.quantities import PURCHASE, RENT, facts_of


def rents(study: Study) -> bool:
    """Whether its money is rent, and nothing is bought."""
    facts = facts_of(objective.name for objective in study.objectives)
    return RENT in facts and PURCHASE not in facts


def rent_class(study: Study, prices: catalog.PriceList) -> str:
    """The class of sellers whose rents count: the study's; that of most of its node types' sellers;
    else the usual one of its accelerators. What the study describes, or the buyer has a rent of,
    has no say in it: it is of no market."""
    if study.rent_class:
        return study.rent_class
    rented = [one for one in hardware.machines_of(study, prices)
              if one.accelerator.name not in prices.described
              and not (one.rent.fact and catalog.own(one.rent.fact))]  # fmt: skip
    offers = (one.rent.fact.offer for one in rented if one.node and one.rent.fact)
    known = (catalog.class_of(one.vendor) for one in offers if one)
    most = Counter(filter(None, known)).most_common(1)
    names = dict.fromkeys(one.accelerator.name for one in rented)
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
