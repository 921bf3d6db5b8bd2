"""What the section "How sure" says."""

from __future__ import annotations

from typing import Any

from dse.report import tables
from dse.report.certainty import knowledge, price_flips, words
from dse.report.certainty.facts import Certainty
from dse.report.certainty.figure import height
from dse.report.deal import deal
from dse.report.document import RunDocument


def facts(document: RunDocument) -> dict[str, Any]:
    """For its templates."""
    found = document.certainty
    if found is None:
        return {"sure": None, "nothing": words.NOTHING}
    return {
        "sure": found,
        "word": words.title(found),
        "scope": words.scope(document, found),
        "heads": words.heads(document),
        "rows": [*words.rows(document)],
        "sources": words.source_rows(found),
        "height": height(document),
        "decided": words.decided(document, f"the recommended {deal(document).noun}"),
        "dead": _dead(found),
        "flips": price_flips.flip_lines(document),
        "knowledge": knowledge.lines(document),
    }


def _dead(found: Certainty) -> str:
    """What changes nothing around the recommended point."""
    axes = [tables.heading(axis) for axis in found.dead_axes]
    parts = []
    if axes:
        parts.append(f"No other value of {', '.join(axes)} changes speed or cost by more than 1 %.")
    if found.dead_sources:
        parts.append(f"Of no consequence here: {', '.join(found.dead_sources)}.")
    return " ".join(parts)
