"""Sources of uncertainty, and parts that have a price, in words."""

from __future__ import annotations

from collections.abc import Mapping

from dse.pricing.draws import FITTED_COSTS
from dse.pricing.hardware import HOST_OF
from dse.pricing.power import PUE
from dse.report import words
from dse.search.certainty.sources import (
    COMMUNICATION,
    COMPUTING,
    PRICE,
    WATTS,
    part_of,
    source_of,
)

NETWORK, RENTED, _EXTRA = "network ", " for rent", "extra "
LAYOUTS = "layouts"  # kind of what the step of a layout errs by
_TITLES: Mapping[str, str] = {
    COMPUTING: "how fast accelerators compute",
    FITTED_COSTS: "the fit of measured communication",
    "launch": "how fast hosts launch kernels",
    "decoding": "how fast hosts decode images",
    "scale: waiting": "waiting for the slowest accelerator",
    "scale: slowdown": "slowdown beside communication",
    "scale: sharing": "networks shared by many nodes",
    PUE: "the PUE of the site",
    WATTS: "what machines draw while they train",
    "links: network": "the speed of the network",
    "links: inside a node": "the speed of the links inside a node",
    "links: host": "the speed of the link to the host",
    "failures per_accelerator_month": "how often accelerators fail",
    "failures per_job_day": "how often whole jobs fail",
    "failures recover": "the time to go on after a failure",
    "failures checkpoint": "the time to write a checkpoint",
    "rental start_up": "how long rented machines take to start",
    "least samples": "the samples that the quality needs at small batches",
    "critical batch": "the batch from which on a quality needs many more samples",
}


def title(name: str) -> str:
    """A source in words."""
    source = source_of(name)
    if source in _TITLES:
        return _TITLES[source]
    kind, _, detail = source.partition(": ")
    if kind == PRICE:
        return price_title(detail)
    if kind == COMMUNICATION:
        return f"communication by {detail}"
    if kind == LAYOUTS:
        what, _, whose = detail.partition(" ")
        known = words.title("accelerator", what)
        return f"computing of {known} in {whose}" if known != what else f"layouts: {detail}"
    return source.replace("_", " ").replace(": ", ", ")


def price_title(part: str) -> str:
    """A price, or a rent, of what people know by its name."""
    return f"the {'rent' if rented(part) else 'price'} of {part_title(part)}"


def rented(part: str) -> bool:
    """Whether what has a price by that name is paid by the hour."""
    return part.endswith(RENTED)


def part_title(part: str) -> str:
    """What a buyer asks a price for, by the name that people know."""
    part = part_of(part)
    if part.startswith(NETWORK):
        return f"the network ({words.title('inter_node', part.removeprefix(NETWORK))})"
    bare = part.removesuffix(RENTED)
    for axis in ("accelerator", "node"):
        if (known := words.title(axis, bare)) != bare:
            return known
    if part.startswith(HOST_OF):
        return f"{part_title('host')} of {words.title('accelerator', part.removeprefix(HOST_OF))}"
    return "the hosts" if part == "host" else part.removeprefix(_EXTRA).replace("_", " ")
