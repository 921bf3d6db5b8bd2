"""A published number beside the computed one, and how far it counts that they agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# fitted: a parameter, or the form, was set by it. check: follows from what is sourced and was not
# chosen with it in view. assumed: turns on recalled values or on a window chosen here, so counts
# neither as agreement nor as failure. identity: an exact consequence of the published equations.
FITTED, CHECK, ASSUMED, IDENTITY = "fitted", "check", "assumed", "identity"
ROLES = (FITTED, CHECK, ASSUMED, IDENTITY)


@dataclass(frozen=True)
class Fact:
    """A published number and ours; right where ours lies in low .. high.

    computed: one number, or least and most of several. moves: between which numbers it goes when
    what was assumed changes; None where nothing was changed.
    """

    paper: str
    fact: str
    published: float | str
    computed: float | tuple[float, float]
    low: float
    high: float
    role: str
    how: str
    moves: tuple[float, float] | None = None

    @property
    def ok(self) -> bool | None:
        """Whether both agree; None where what was assumed decides that."""
        if self.role == ASSUMED:
            return None
        least, most = self.computed if isinstance(self.computed, tuple) else 2 * (self.computed,)
        return self.low <= least and most <= self.high

    def plain(self) -> dict[str, Any]:
        """For the list of facts."""
        moves = None if self.moves is None else list(self.moves)
        computed = list(self.computed) if isinstance(self.computed, tuple) else self.computed
        return {
            "paper": self.paper, "fact": self.fact, "published": self.published,
            "computed": computed, "low": self.low, "high": self.high, "role": self.role,
            "ok": self.ok, "moves": moves, "how": self.how,
        }  # fmt: skip
