"""Small studies searched, and their documents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dse.pricing.load import load
from dse.report.assembly import build
from dse.report.document import RunDocument
from dse.search.run import Outcome, run
from tests.pricing import studies


@dataclass(frozen=True)
class Searched:
    """A study searched, and its document."""

    outcome: Outcome
    document: RunDocument


_SEARCHED: dict[str, Searched] = {}


def searched(folder: Path, text: str) -> Searched:
    """Search a study; its document. Of equal studies once, in the folder of the first."""
    if text not in _SEARCHED:
        problem = load(studies.written(folder, text))
        outcome = run(problem, "exhaustive", None, None, lambda *_: None, 1000, 0)
        document = build(outcome, "dse run small", 0, 1.0, {})
        _SEARCHED[text] = Searched(outcome, document)
    return _SEARCHED[text]
