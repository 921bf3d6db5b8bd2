"""Software between a network and an accelerator: what it fuses, what a launch costs it, what it
takes of the memory."""

from __future__ import annotations

from dataclasses import dataclass

from dse.model.arrays import ArrayLike


@dataclass(frozen=True)
class Footprint:
    """What training software takes of an accelerator's memory beside the network's own tensors.

    bucket_copy: copies of all gradients, in buckets, that several accelerators sum.
    communication_bytes: buffers of the collectives. context_bytes: of the driver's context with
    kernels and workspaces. reserved: share of the memory that the framework sets aside for these,
    if that is more. slack: of all tensors, what the allocator loses between them. written_out:
    families of networks whose operations in 32 bits are each their own: GELU, normalisation and
    dropout keep more for the backward pass, sums and clipping of gradients make copies. In 16 bits
    a compiler joins them. spread: standard deviation of the logarithm of all that is needed.
    """

    bucket_copy: float = 0.0
    communication_bytes: float = 0.0
    context_bytes: float = 0.0
    reserved: float = 0.0
    slack: float = 0.0
    written_out: frozenset[str] = frozenset()
    spread: float = 0.06


@dataclass(frozen=True)
class Stack:
    """A kind of training software.

    eager: share of the way from fused to separate element-wise kernels, in [0, 1]. launch_s:
    seconds the host needs per row of work. fuses_attention: families of networks whose attention
    it runs as one kernel, where accelerator and format have one; None: all. footprint: in memory.
    """

    name: str
    eager: float
    launch_s: ArrayLike
    fuses_attention: frozenset[str] | None
    footprint: Footprint = Footprint()

    def fuses(self, family: str) -> bool:
        """Whether attention of that family of networks is one kernel."""
        return self.fuses_attention is None or family in self.fuses_attention


# Nothing but the work itself: all is fused, launches are free.
FUSED = Stack("fused", 0.0, 0.0, None)
