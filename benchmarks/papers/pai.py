"""Facts of Wang et al., "Characterizing Deep Learning Training Workloads on Alibaba-PAI"."""

from __future__ import annotations

from typing import Any

from dse import fleet

JOBS, SEED = 1_000_000, 0
PS_WORKERS, FLEET = "pai-ps-worker", "pai-fleet"


def rows() -> list[dict[str, Any]]:
    """The facts of PS/Worker jobs by their own population, those of the fleet by the mixture."""
    found: dict[str, dict[str, Any]] = {}
    for name in (PS_WORKERS, FLEET):
        population = fleet.draw(fleet.read_recipe(fleet.population_path(name)), JOBS, SEED)
        assert population.base is not None
        classes = fleet.priced(population, population.base, False)
        for fact in fleet.facts(classes, population.base):
            found.setdefault(fact.fact, fact.plain() | {"population": name})
    return list(found.values())
