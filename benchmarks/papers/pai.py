"""Facts of Wang et al., "Characterizing Deep Learning Training Workloads on Alibaba-PAI"."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from benchmarks.papers.pai_assumptions import assumptions
from benchmarks.papers.pai_facts import facts
from dse import fleet

JOBS, SEED = 1_000_000, 0
PS_WORKERS, FLEET = "pai-ps-worker", "pai-fleet"
GAIN = "PS/Worker jobs that gain from AllReduce-Local"
FASTER_ETHERNET = "mean speedup of PS/Worker jobs from 25 to 100 Gbps"


def rows() -> list[dict[str, Any]]:
    """The facts of PS/Worker jobs by their own population, those of the fleet by the mixture.

    moves: what a fact goes between under the assumptions of :mod:`.pai_assumptions`.
    """
    found: dict[str, dict[str, Any]] = {}
    moves = _moves()
    for name in (PS_WORKERS, FLEET):
        population = fleet.draw(fleet.read_recipe(fleet.population_path(name)), JOBS, SEED)
        assert population.base is not None
        classes = fleet.priced(population.groups, population.base, False)
        for fact in facts(classes, population.base):
            more = {"population": name, "moves": moves.get(fact.fact)}
            found.setdefault(fact.fact, asdict(fact) | more)
    return list(found.values())


def _moves() -> dict[str, list[float]]:
    recipe = fleet.read_recipe(fleet.population_path(PS_WORKERS))
    found = assumptions(recipe, JOBS, SEED)
    return {
        GAIN: _ends(row.gain for row in found),
        FASTER_ETHERNET: _ends(row.speedup for row in found),
    }


def _ends(values: Iterable[float | None]) -> list[float]:
    known = [value for value in values if value is not None]
    return [min(known), max(known)]
