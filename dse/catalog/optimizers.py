"""What networks are usually trained with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dse.catalog.facts import Fact
from dse.catalog.reader import Entry, of_catalogue
from dse.catalog.workloads import Workload


def usual_optimizer(workload: Workload) -> Fact | None:
    """The optimizer that a network is usually trained with, as the text of a fact; None where that
    is not known."""
    networks, families = _usual()
    return networks.get(workload.network) or families.get(workload.family)


@of_catalogue("optimizers.yaml")
def _usual(entry: Entry) -> tuple[Mapping[str, Fact], Mapping[str, Fact]]:
    """By network, and by family."""
    return _section(entry.section("networks")), _section(entry.section("families"))


def _section(entry: Entry) -> Mapping[str, Fact]:
    return {key: replace(entry.word(key), name="optimizer") for key in entry.labels()}
