"""Prices of upgrades that are hardly meant, by what the catalogue's cost."""

from __future__ import annotations

import datetime

from dse import catalog
from dse.catalog import Fact
from dse.fleet.machine import USUAL
from dse.fleet.upgrades import Upgrade

_SIMILAR = 0.25  # of a peak, by which an accelerator is one of the upgrade's kind: a judgement


def price_doubt(
    upgrade: Upgrade, network: Fact | None, machine: Fact | None, asked: datetime.date
) -> str:
    """Why the price of an upgrade is hardly meant, as a clause; empty where it may well be, where
    the buyer gives none, and where the catalogue has nothing of the kind.

    Accelerators are judged by those of similar peaks. network: what that which the upgrade is costs
    per accelerator by the catalogue; None where it is none, or that is not known. machine: what the
    price lists have of the machine or accelerator that the upgrade names.
    """
    if upgrade.price_per_gpu_usd is None:
        return "" if machine is None else catalog.implausible(machine, asked)
    price = _price("upgrade", upgrade)
    if why := catalog.implausible(price, asked):  # the rate at which it was converted
        return why
    if network is not None:
        return catalog.far(price, network, asked)
    found = [
        (name, catalog.implausible(_price(f"accelerators.{name}.purchase", upgrade), asked))
        for name in ([upgrade.accelerator] if upgrade.accelerator else _similar(upgrade))
    ]
    if not found or not all(why for _, why in found):
        return ""
    name, why = found[0]
    return f"{why} (for {catalog.accelerator(name).title}, which is about as fast)"


def _price(name: str, upgrade: Upgrade) -> Fact:
    """What the study has of an upgrade, as the price of such an entry of the catalogue."""
    usd, terms = upgrade.price_per_gpu_usd, upgrade.price_terms
    return Fact(name, usd, "USD", f"{usd:g} USD", source="the study", accessed="", offer=terms)


def _similar(upgrade: Upgrade) -> list[str]:
    """The accelerators with a known price and such a peak, the most similar first."""
    flops_per_s = upgrade.changes.get("gpu", 0.0)
    apart: dict[str, float] = {}
    for name, price in catalog.default_prices().accelerator_usd.items():
        known = catalog.accelerator(name).peak_flops_per_s
        peaks = [known[kind] for kind in USUAL if kind in known]
        if price.value and peaks:
            apart[name] = min(abs(flops_per_s / peak - 1) for peak in peaks)
    return sorted((name for name in apart if apart[name] <= _SIMILAR), key=lambda name: apart[name])
