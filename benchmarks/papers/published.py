"""Every paper's facts, one list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.papers import pai, tf_aggregation

PAPERS: tuple[Callable[[], list[dict[str, Any]]], ...] = (pai.rows, tf_aggregation.rows)


def facts() -> list[dict[str, Any]]:
    """What was published beside what is computed here: see ``make papers``."""
    return [fact for rows in PAPERS for fact in rows()]
