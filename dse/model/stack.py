"""Software between a network and an accelerator: what it fuses, what a launch costs it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stack:
    """A kind of training software.

    eager: share of the way from fused to separate element-wise kernels, in [0, 1]. launch_s:
    seconds the host needs per row of work. fuses_attention: families of networks whose attention
    it runs as one kernel, where accelerator and format have one; None: all.
    """

    name: str
    eager: float
    launch_s: float
    fuses_attention: frozenset[str] | None

    def fuses(self, family: str) -> bool:
        """Whether attention of that family of networks is one kernel."""
        return self.fuses_attention is None or family in self.fuses_attention


# Nothing but the work itself: all is fused, launches are free.
FUSED = Stack("fused", 0.0, 0.0, None)
