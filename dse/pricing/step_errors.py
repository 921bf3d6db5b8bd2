"""By what a step errs besides the rate of computing: communication, what accelerators lose to one
another, and how long a host launches kernels.

Every error is a standard normal number with a name, as draws of it have (:mod:`.draws`): the
logarithm of a term is off by that number times the term's own standard deviation. Nobody knows more
of them, until a rate of several accelerators says by how much a whole step errs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dse.catalog import Anchors
from dse.model.arrays import Array, ArrayLike
from dse.pricing import anchors
from dse.pricing.draws import normal

COMMUNICATION = "communication: "  # and what sums, and whether that was measured
WAITING, SLOWDOWN = "scale: waiting", "scale: slowdown"
LAUNCH = "launch"


def told_apart(name: str, over: str = "") -> str:
    """The error of one transport. One algorithm errs alike over all, as far as nobody knows; a rate
    of one says nothing of another."""
    return f"{name} over {over}" if over else name


@dataclass(frozen=True)
class StepErrors:
    """What is known of them. over: the transport of an error of communication, if any.

    known: gives the anchors that have learned of them, together with computing; None where no rate
    says more. taken: some, told apart, that are so large in the draws, (draws,). asked: the names
    of all that are drawn, and the transport of each.
    """

    known: Callable[[], Anchors] | None = None
    taken: Mapping[str, Array] = field(default_factory=dict)
    asked: set[tuple[str, str]] = field(default_factory=set)

    def drawn(self, name: str, draws: int, over: str = "") -> ArrayLike:
        """Draws of one, (draws,); its mean where there are none."""
        told = told_apart(name, over)
        if not draws:
            return 0.0 if self.known is None else anchors.step_error(self.known(), told)
        self.asked.add((name, over))
        found = self.taken.get(told)
        if self.known is not None:
            found = anchors.drawn_step_error(self.known(), told, draws)
        return normal(name, draws) if found is None else found
