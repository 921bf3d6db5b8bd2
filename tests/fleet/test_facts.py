"""What the paper published beside a population, and how far that hangs on what was assumed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dse.fleet.assumptions import assumptions
from dse.fleet.breakdown import priced, shares
from dse.fleet.drawing import draw
from dse.fleet.facts import CHECK, FITTED, IDENTITY, facts, of_equations
from dse.fleet.recipe import population_path, read_recipe
from dse.model.pai import Hardware

JOBS = 20_000


def test_only_what_was_free_to_disagree_is_a_check() -> None:
    recipe = read_recipe(population_path("pai-fleet"))
    found = facts(priced(draw(recipe, JOBS, 0), recipe.base, False), recipe.base)
    roles = {fact.fact: fact.role for fact in found}
    checks = [name for name, role in roles.items() if role == CHECK]
    assert checks == ["PS/Worker jobs that gain from AllReduce-Local"]
    assert roles["mean speedup of PS/Worker jobs from 25 to 100 Gbps"] == FITTED
    sensitive = [role for name, role in roles.items() if "most sensitive to" in name]
    assert sensitive == [FITTED] * 3


def test_identities_hold_whatever_the_efficiency() -> None:
    for share in (0.3, 1.0):
        on = Hardware(1e12, 1e11, 10e9, 25e9 / 8, 50e9, share)
        for fact in of_equations(on):
            assert (fact.role, fact.ok) == (IDENTITY, True), fact


@pytest.mark.parametrize("gbps", [10, 25, 100, 400])
def test_weights_over_ethernet_alone_gain_what_the_links_say(gbps: int) -> None:
    recipe = read_recipe(population_path("pai-ps-worker"))
    base = replace(recipe.base, ethernet_bytes_per_s=gbps * 1e9 / 8)
    rows = assumptions(replace(recipe, base=base), JOBS, 0)
    row = next(row for row in rows if row.assumption == "weights go over Ethernet only")
    (entry,) = priced(draw(replace(recipe, base=base), JOBS, 0), base, False)
    share = shares(entry.times)["weights"]
    expected = float(np.mean(1 / ((1 - share) + share * gbps / 100)))
    assert row.speedup == pytest.approx(expected)
