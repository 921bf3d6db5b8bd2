"""The document of a run without its certainty, its repricing and the chart's backdrop.

They take most of the time of a report, and few tests are of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from dse.report import assembly
from dse.report.document import RunDocument, Sample
from dse.search.run import Outcome

LEFT_OUT = {"certainty": None, "repricing": None, "sample": Sample()}


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Reports made within leave these parts out."""
    parts = {name: lambda *_, left=LEFT_OUT[name]: left for name in names}
    with mock.patch.multiple(assembly, **parts):
        yield


@contextmanager
def briefly() -> Iterator[None]:
    """Reports made within are brief."""
    with without(*LEFT_OUT):
        yield


def build(outcome: Outcome, command: str = "dse run small") -> RunDocument:
    """The brief document of a search."""
    with briefly():
        return assembly.build(outcome, command, 0, 1.0, {})
