"""Whether an answer is ready to be signed, and if not, what to get first.

One list of reasons, the weightiest first: what stands there is as fast; what is ordered has a price
of 0, or is of an offer for other machines, or cannot be had so; a limit that is missed; a price
whose uncertainty alone changes the answer, what was never measured and does, and prices of rivals
that do, of which what is most worth knowing is first; an answer that prices of one age change; sums
that are doubtful though they change no answer. A price that the buyer was offered, and that is
valid, is certain. Every reason is something to do; what nobody can do anything about, such as odds
or what the baseline once cost, is a condition that whoever signs accepts.
"""

from __future__ import annotations

from dse.report.readiness.conditions import conditions
from dse.report.readiness.verdict import actions, and_more, facts, lines, more, readiness, verdict

__all__ = [
    "actions", "and_more", "conditions", "facts", "lines", "more", "readiness", "verdict",
]  # fmt: skip
