"""An allreduce by a named algorithm, composed of its steps; see :mod:`.algorithms`."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dse.model.aggregation.algorithms import Algorithm
from dse.model.aggregation.base import (
    HARDWARE_AXES,
    Bucketed,
    Gradients,
    Layout,
    all_finite,
    link_share_of,
)
from dse.model.arrays import Array
from dse.model.links import NO_WIRE, Exchange, Link, Network
from dse.model.scale import FEW_NODES


@dataclass(frozen=True)
class Software:
    """What a message costs besides the wire, and what a transport makes of the wires.

    within, across: seconds per message inside a node and between nodes. gamma_s_per_byte: to
    reduce one byte. reaches_device: messages start in accelerator memory; else the gradients are
    copied to the host and back. multirail: one flow uses all network cards of a node. link_share:
    of a link's speed as the layout has it what this cost was measured against. crossing: bytes on
    the wire of an exchange; None for the message's own. few_nodes: up to so many nodes a link is as
    fast as it was measured.
    """

    within: Exchange
    across: Exchange
    gamma_s_per_byte: float = 0.0
    reaches_device: bool = True
    multirail: bool = False
    link_share: float = 1.0
    crossing: Exchange | None = None
    few_nodes: float = FEW_NODES

    def network(self, layout: Layout) -> Network:
        """Both tiers of the layout. Ranks of a node that meet in host memory cross no wire."""
        link = layout.across.bytes_per_s / self.link_share
        return Network(
            self.within,
            self.across,
            layout.inside if self.reaches_device else NO_WIRE,
            Link(layout.across.latency_s, link * link_share_of(layout, self.few_nodes)),
            layout.rails,
            self.multirail,
            self.gamma_s_per_byte,
            self.crossing,
            layout.leaf,
        )

    def staged_s(self, message_bytes: Array, layout: Layout) -> Array:
        """Seconds of the copies out of and back into accelerator memory: ``2 m / link``."""
        link = np.inf if self.reaches_device else layout.host_bytes_per_s
        return np.asarray(2 * np.asarray(message_bytes) / link)

    def bounded(self, gradients: Gradients, layout: Layout) -> bool:
        """Whether the dearest exchange has a finite price.

        Algorithms are sums of exchanges of messages no larger than the whole, with no more flows
        than a node has accelerators; prices rise with both.
        """
        network, most = self.network(layout), float(gradients.message_bytes.max(initial=0.0))
        flows = float(np.max(layout.gpus_per_node))
        return all_finite(
            network.within(most),
            network.across(most, flows),
            network.one_way(most, flows),
            network.wire_s_per_byte(flows),
            network.gamma_s_per_byte,
            self.staged_s(np.asarray(most), layout),
        )


@dataclass(frozen=True)
class Composed(Bucketed):
    """A named algorithm over a transport. leading_axes: 1 where the software's costs are draws."""

    algorithm: Algorithm
    software: Software
    leading_axes: int = field(default=0, kw_only=True)

    @property
    def axes(self) -> frozenset[str]:
        """The hardware, and what fuses the gradients."""
        return HARDWARE_AXES | {"bucket"}

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Its own."""
        return (self.algorithm.name,)

    def message_s(self, message_bytes: Array, gradients: Gradients, layout: Layout) -> Array:
        """The algorithm's own steps, and the copies of a transport that cannot reach devices."""
        del gradients
        network = self.software.network(layout)
        seconds = self.algorithm(layout.gpus, layout.gpus_per_node, message_bytes, network)
        staged = self.software.staged_s(message_bytes, layout)
        return np.where(np.asarray(layout.gpus) > 1, seconds + staged, 0.0)

    def bounded(self, gradients: Gradients, layout: Layout) -> bool:
        """See :meth:`Software.bounded`."""
        return self.software.bounded(gradients, layout)
