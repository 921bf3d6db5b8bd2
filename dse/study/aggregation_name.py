"""How gradients are summed, as a study writes it: parsed once, here."""

from __future__ import annotations

from typing import Any


class AggregationName(str):
    """The text of a study, and what it names: an algorithm over a transport, or an approach.

    It is a string, equal to its text, so that labels, files and logs hold it as it is written.
    algorithm, transport: empty for an approach. approach: empty for all else.
    """

    __slots__ = ("algorithm", "approach", "transport")
    algorithm: str
    transport: str
    approach: str

    def __new__(
        cls, algorithm: str = "", transport: str = "", approach: str = ""
    ) -> AggregationName:
        """``<algorithm>-<transport>``, or the name of an approach."""
        made = super().__new__(cls, approach or f"{algorithm}-{transport}")
        made.algorithm, made.transport, made.approach = algorithm, transport, approach
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return AggregationName, (self.algorithm, self.transport, self.approach)
