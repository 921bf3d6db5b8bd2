"""Transports: what carries the messages, with default software costs where nothing was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dse.catalog.facts import Fact
from dse.catalog.reader import Entry, of_kind

OTHER, EARLY = "other", "-early"
LIBRARIES = ("openmpi", "mpich", "nccl")  # those whose rules for choosing an algorithm are known

# Standard deviation of the logarithm of what was measured over what a catalogue says, where it was
# not compared: that of the textbook's costs on held-out measurements (docs/accuracy.md: 90 % of
# their errors are below 51 to 147 %).
USUAL_LOG_SPREAD = 0.55


@dataclass(frozen=True)
class Tier:
    """A transport inside a node, or between nodes.

    latency_s: seconds per message. s_per_byte: per byte copied, 0 where the wire reads memory
    itself. link_efficiency: the share of a link's bandwidth that large messages reach.
    """

    latency_s: float
    s_per_byte: float
    link_efficiency: float


@dataclass(frozen=True, eq=False)
class Transport:
    """How messages travel, as long as no calibration profile says better.

    ``protocol`` picks the latency of a fabric (rdma or tcp). ``reaches_device``: whether messages
    start in device memory; else gradients are copied to the host and back. ``multirail``: whether
    one flow uses all network cards of a node. ``gamma_s_per_byte``: seconds to reduce a byte on
    the host; 0 on a device, where the link efficiency contains it. ``log_spread``: standard
    deviation of the logarithm of what was measured over what these numbers say. ``libraries``: of
    :data:`LIBRARIES`, those that run over it; without a profile the first chooses.
    ``flow_bytes_per_s``: of a TCP flow; ``flows``: of a network card; both by a part of the node
    type's name or OTHER, followed by EARLY before a library opened several there.
    """

    name: str
    title: str
    protocol: str
    reaches_device: bool
    multirail: bool
    within: Tier
    across: Tier
    gamma_s_per_byte: float
    facts: tuple[Fact, ...]
    libraries: tuple[str, ...] = ()
    log_spread: float = USUAL_LOG_SPREAD
    flow_bytes_per_s: Mapping[str, float] = field(default_factory=dict)
    flows: Mapping[str, float] = field(default_factory=dict)


@of_kind("transports")
def transport(entry: Entry) -> Transport:
    """The transport of that name."""
    return Transport(
        name=entry.text("name"),
        title=entry.text("title"),
        protocol=entry.choice("protocol", "rdma", "tcp"),
        reaches_device=entry.choice("reaches", "device", "host") == "device",
        multirail=entry.choice("multirail", "yes", "no") == "yes",
        within=_tier(entry, "within"),
        across=_tier(entry, "across"),
        gamma_s_per_byte=entry.s_per_byte("reduce") or 0.0,
        libraries=_libraries(entry),
        log_spread=(
            entry.positive("log_spread", "count") if entry.has("log_spread") else USUAL_LOG_SPREAD
        ),
        flow_bytes_per_s=entry.known_numbers("flow", "bytes_per_s"),
        flows=entry.known_numbers("flows"),
        facts=tuple(entry.facts),  # all that were read above
    )


def _libraries(entry: Entry) -> tuple[str, ...]:
    named = tuple(entry.text("libraries", "").replace(",", " ").split())
    for name in named:
        if name not in LIBRARIES:
            raise entry.wrong(
                f"no rules of '{name}' are known", f"write of {', '.join(LIBRARIES)}", "libraries"
            )
    return named


def _tier(entry: Entry, key: str) -> Tier:
    section = entry.section(key)
    return Tier(
        section.known("latency", "seconds"),
        section.s_per_byte("copy") or 0.0,
        section.positive("link_efficiency", "count"),
    )
