"""Approaches to aggregation: what TensorFlow jobs ran over, with the parameters of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dse.catalog.facts import Fact
from dse.catalog.reader import Entry, of_kind
from dse.catalog.transports import Tier, Transport


@dataclass(frozen=True, eq=False)
class Approach:
    """An algorithm, a transport, and when a tensor leaves.

    algorithm: ``ps``, one of the model's allreduce algorithms, or ``best``: the faster of recursive
    doubling and halving-doubling, as an MPI library chooses. reaches_device: messages start in
    accelerator memory. fitted_on: the fabric whose times set link_efficiency, empty where it is not
    fitted. multirail: one message uses all network cards of a node. message_s,
    copy_s_per_byte: software of one message. streams: messages that one process handles at once.
    buffer_bytes, cycle_s: tensor fusion; None where every tensor is a message of its own. queries,
    query_s: driver queries of one message, and what one takes. sum_s_per_byte: where the host sums;
    None where the accelerator does. sum_start_s: to start one addition, with the copies it needs.
    """

    name: str
    title: str
    algorithm: str
    protocol: str
    reaches_device: bool
    multirail: bool
    link_efficiency: float
    message_s: float
    copy_s_per_byte: float
    streams: float
    buffer_bytes: float | None
    cycle_s: float
    queries: float
    query_s: float
    sum_s_per_byte: float | None
    sum_start_s: float
    facts: tuple[Fact, ...]
    fitted_on: str = ""
    library: str = ""

    @property
    def fuses(self) -> bool:
        """Whether tensors wait for one another in a buffer."""
        return self.buffer_bytes is not None

    @cached_property
    def transport(self) -> Transport:
        """What carries its messages."""
        tier = Tier(self.message_s, self.copy_s_per_byte, self.link_efficiency)
        return Transport(
            self.name, self.title, self.protocol, self.reaches_device, self.multirail, tier, tier,
            self.sum_s_per_byte or 0.0, self.facts,
        )  # fmt: skip


PS, BEST = "ps", "best"
ALGORITHMS = (PS, "ring", BEST)


@of_kind("approaches")
def approach(entry: Entry) -> Approach:
    """The approach of that name."""
    message, fusion = entry.section("message"), entry.section("fusion")
    queries, adding = entry.section("queries"), entry.section("sum")
    return Approach(
        name=entry.text("name"),
        title=entry.text("title"),
        algorithm=entry.choice("algorithm", *ALGORITHMS),
        protocol=entry.choice("protocol", "rdma", "tcp"),
        reaches_device=entry.choice("reaches", "device", "host") == "device",
        multirail=entry.choice("multirail", "yes", "no", default="no") == "yes",
        link_efficiency=entry.positive("link_efficiency", "count"),
        message_s=message.known("latency", "seconds"),
        copy_s_per_byte=message.s_per_byte("copy") or 0.0,
        streams=message.positive("streams", "count"),
        buffer_bytes=fusion.known("buffer", "bytes") if fusion.labels() else None,
        cycle_s=fusion.known("cycle", "seconds") if fusion.labels() else 0.0,
        queries=queries.known("per_message", "count") if queries.labels() else 0.0,
        query_s=queries.known("query", "seconds") if queries.labels() else 0.0,
        sum_s_per_byte=adding.s_per_byte("bandwidth"),
        sum_start_s=adding.known("start", "seconds") if adding.has("start") else 0.0,
        facts=tuple(entry.facts),
        fitted_on=entry.text("fitted_on", ""),
        library=entry.text("library", ""),
    )
