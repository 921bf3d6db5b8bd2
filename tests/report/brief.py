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
def briefly() -> Iterator[None]:
    """Reports made within are brief."""
    parts = {name: lambda *_, left=left: left for name, left in LEFT_OUT.items()}
    with mock.patch.multiple(assembly, **parts):
        yield


def build(outcome: Outcome, command: str = "dse run small") -> RunDocument:
    """The brief document of a search."""
    with briefly():
        return assembly.build(outcome, command, 0, 1.0, {})
