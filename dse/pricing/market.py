"""What a study may recommend to buy: what is sold new, unless it says otherwise."""

from __future__ import annotations

from collections.abc import Sequence

from dse import catalog
from dse.catalog.prices import NEVER
from dse.pricing import hardware
from dse.spelling import enumerated
from dse.study import Study
from dse.study.definition import USED
from dse.study.quantities import PURCHASE, RENT, facts_of

_UNSOLD = "No longer sold new"


def rents(study: Study) -> bool:
    """Whether its money is rent, and nothing is bought."""
    facts = facts_of(objective.name for objective in study.objectives)
    return RENT in facts and PURCHASE not in facts


def buys_new(study: Study, prices: catalog.PriceList) -> bool:
    """Whether what is no longer sold new is left out: not where the study rents, admits used
    hardware, or has nothing else."""
    sold = [machine.sold_until is None for machine in hardware.machines_of(study, prices)]
    return wants_new(study) and any(sold) and not all(sold)


def wants_new(study: Study) -> bool:
    """Whether it matters to the study what is sold new."""
    return study.market != USED and not rents(study)


def notes(study: Study, prices: catalog.PriceList) -> list[str]:
    """What is said of accelerators of the study that are no longer sold new."""
    found = [machine for machine in hardware.machines_of(study, prices) if machine.sold_until]
    if not found or rents(study):
        return []
    named = enumerated([_dated(machine) for machine in found])
    if study.market == USED:
        return [*_used(found, prices)]
    if buys_new(study, prices):
        names = {entry.machine for entry in study.owned}
        owned = any((one.node or one.accelerator).name in names for one in found)
        beyond = " beyond what stands there already" if owned else ""
        return [
            f"{_UNSOLD}, so not recommended{beyond}: {named}. Write market: used to admit used "
            "hardware, or give a price of your own."
        ]
    every = "Every accelerator of the study" if len(found) > 1 else "The study's only accelerator"
    return [
        f"{every} is no longer sold new: {named}. What is recommended can only be bought used, and "
        "its price is the last list price; market: used takes prices of used hardware where they "
        "are known."
    ]


def remark(machine: hardware.Machine) -> str:
    """What a bill says of a machine that is no longer sold new; empty of another."""
    until = machine.sold_until
    if until is None:
        return ""
    return "not for sale, only for rent" if until.text == NEVER else (
        f"no longer sold new (until {until.text})"
    )  # fmt: skip


def _used(found: Sequence[hardware.Machine], prices: catalog.PriceList) -> list[str]:
    known = [m for m in found if m.accelerator.name in prices.used_usd and m.node is None]
    unknown = [machine for machine in found if machine not in known]
    said = []
    if known:
        priced = enumerated([
            f"{m.accelerator.title} (USD {m.accelerator_usd.usd:,.2f} of "
            f"{prices.used_usd[m.accelerator.name].date or 'an unknown day'})"
            for m in known
        ])  # fmt: skip
        said.append(f"Bought used: {priced}.")
    if unknown:
        named = enumerated([_dated(machine) for machine in unknown])
        said.append(f"No price of used hardware is known, so the last list price counts: {named}.")
    return said


def _dated(machine: hardware.Machine) -> str:
    until, title = machine.sold_until, (machine.node or machine.accelerator).title
    if until is None or until.text == NEVER:
        return f"{title} (only rented)"
    return f"{title} (sold until {until.text})"
