"""Sources of uncertainty in words, and how to find out more about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from dse import catalog
from dse.calibration.runners.registry import measuring
from dse.pricing.bill_of_materials import CABLE, CARD, HOST, HOST_FOR, SERVER, UPLINK
from dse.pricing.draws import FITTED_COSTS
from dse.pricing.hardware import HOST_OF
from dse.pricing.power import PUE
from dse.search.certainty.sources import (
    COMMUNICATION,
    COMPUTING,
    PRICE,
    WATTS,
    part_of,
    source_of,
)


class _Titled(Protocol):
    @property
    def title(self) -> str: ...


RATE = "rate"
_READ: Mapping[str, Callable[[str], _Titled]] = {
    "accelerators": catalog.accelerator,
    "nodes": catalog.node,
    "fabrics": catalog.fabric,
}
_SWITCH = "witch of "  # in the name of one, of whatever tier
NETWORK, RENTED, _EXTRA = "network ", " for rent", "extra "
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
    """A source, or a number that one could measure, in words."""
    kind, _, detail = name.partition(": ")
    if kind == RATE:
        accelerator = detail.partition(", ")[0]
        return f"the training rate on {_named('accelerators', accelerator)}"
    source = source_of(name)
    kind, _, detail = source.partition(": ")
    if source in _TITLES:
        return _TITLES[source]
    if kind == PRICE:
        return price_title(detail)
    if kind == COMMUNICATION:
        return f"communication by {detail}"
    return source.replace("_", " ").replace(": ", ", ")


def price_title(part: str) -> str:
    """A price, or a rent, of what people know by its name."""
    return f"the {'rent' if part.endswith(RENTED) else 'price'} of {part_title(part)}"


def rented(part: str) -> bool:
    """Whether what has a price by that name is paid by the hour."""
    return part.endswith(RENTED)


def part_title(part: str) -> str:
    """What a buyer asks a price for, by the name that people know."""
    part = part_of(part)
    if part.startswith(NETWORK):
        return f"the network ({_named('fabrics', part.removeprefix(NETWORK))})"
    bare = part.removesuffix(RENTED)
    for kind in ("accelerators", "nodes"):
        if bare in catalog.names(kind):
            return _named(kind, bare)
    if part.startswith(HOST_OF):
        return f"{part_title('host')} of {_named('accelerators', part.removeprefix(HOST_OF))}"
    return "the hosts" if part == "host" else part.removeprefix(_EXTRA).replace("_", " ")


def line_title(line: str) -> str:
    """What a buyer asks a price for, as :func:`part_title` names it, by the line of a bill."""
    first, _, rest = line.partition(", ")
    if first in (HOST, SERVER):
        return part_title("host")
    if first.startswith(HOST_FOR):
        return f"{part_title('host')} of {first.removeprefix(HOST_FOR)}"
    if first in (CARD, CABLE, UPLINK) or _SWITCH in first:
        return f"the network ({rest})"
    return first


def _named(kind: str, name: str) -> str:
    return _READ[kind](name).title if name in catalog.names(kind) else name


@dataclass(frozen=True)
class Place:
    """Where the recommended point trains. machine: its accelerator, as people call it. transport,
    servers: over what gradients are summed, and whether by parameter servers. nodes: how many.
    network: between them, a name of the catalogue, empty for none."""

    machine: str
    transport: str = ""
    servers: bool = False
    nodes: int = 1
    network: str = ""

    @property
    def such(self) -> str:
        """On what to measure."""
        if self.nodes <= 1:
            return "one such node"
        return f"two such nodes on {_named('fabrics', self.network)}" if self.network else (
            "two such nodes"
        )  # fmt: skip


def how(name: str, place: Place) -> str:
    """What tells more about a source or a number: ``a quote for the hosts``.

    place: of the recommended point.
    """
    kind, _, detail = name.partition(": ")
    source = source_of(name)
    if kind == PRICE:
        return f"a quote for {'renting ' * detail.endswith(RENTED)}{part_title(detail)}"
    if source.startswith(COMMUNICATION) or source == FITTED_COSTS:
        if place.transport == "nccl":
            link = f" --link {place.network}" * (place.nodes > 1 and place.network != "")
            return (
                f"half an hour of nccl-tests on {place.such} "
                f"('dse calibrate import LOG --name mine{link}')"
            )
        command = measuring(place.transport, place.servers, place.network, place.nodes)
        return f"'{command}' on {place.such}" if command else f"a measurement on {place.such}"
    machine = place.machine
    if kind == RATE:
        machine = _named("accelerators", detail.partition(", ")[0])
        kind = COMPUTING
    if kind in (COMPUTING, "launch"):
        return f"one training rate measured on {machine} ('dse calibrate import-throughput')"
    if source == PUE:
        return "the site's power over that of its machines, of a year (PUE)"
    if source == WATTS:
        return "a power meter at one such node while it trains"
    if kind == "links":
        return "a study with the calibrated model, and measurements for it"
    if kind == "scale":
        return "a short training run on as many nodes as recommended"
    if name.startswith("failures "):
        return "a count of failures and checkpoints in your own cluster ('failures' in the study)"
    if name == "rental start_up":
        return "the start-up of such machines, timed once ('rental: {start_up: ..}' in the study)"
    if name in ("least samples", "critical batch"):
        return "runs to that quality at two batch sizes"
    return f"a measurement of {title(name)}"
