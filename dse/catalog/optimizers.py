"""What networks are usually trained with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from dse.catalog.facts import Fact
from dse.catalog.reader import Entry
from dse.catalog.store import models_file
from dse.catalog.workloads import Workload

OPTIMIZERS = "optimizers.yaml"


def usual_optimizer(workload: Workload) -> Fact | None:
    """The optimizer that a network is usually trained with, as the text of a fact; None where that
    is not known."""
    networks, families = _read(models_file(OPTIMIZERS))
    return networks.get(workload.network) or families.get(workload.family)


@cache
def _read(path: Path) -> tuple[Mapping[str, Fact], Mapping[str, Fact]]:
    """By network, and by family."""
    entry = Entry.open(path)
    found = [_section(entry.section(key)) for key in ("networks", "families")]
    entry.finish()
    return found[0], found[1]


def _section(entry: Entry) -> Mapping[str, Fact]:
    return {key: replace(entry.word(key), name="optimizer") for key in entry.labels()}
