"""A table that reads well as text and is Markdown, and what is said of a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """title, columns' names, and rows of as many cells; note: a sentence below it."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def text(self, level: str = "##") -> str:
        """Markdown with its columns aligned."""
        lines = [self.head, *self.rows]
        widths = [max(len(row[at]) for row in lines) for at in range(len(self.head))]
        rule = ["-" * max(3, width) for width in widths]
        padded = [
            "| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |"
            for row in (self.head, rule, *self.rows)
        ]
        return "\n".join(
            [f"{level} {self.title}", "", *padded, *(["", self.note] if self.note else [])]
        )


def at_most(value: float, limit: float, written: str) -> str:
    """The target, and whether a value that should not be above it meets it."""
    return f"< {written}, {'met' if value < limit else 'missed'}"


def at_least(value: float, limit: float, written: str) -> str:
    """The target, and whether a value that should not be below it meets it."""
    return f">= {written}, {'met' if value >= limit else 'missed'}"


def number(value: float) -> str:
    """Three digits that count, with thousands apart: 0.0123, 1.23, 12.3, 1,230."""
    if value == 0:
        return "0"
    digits = f"{value:.3g}"
    return f"{float(digits):,.0f}" if abs(value) >= 100 else digits
