"""What the paper published beside a population, and how far that hangs on what was assumed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.papers.pai_assumptions import assumptions, median_of_mean
from benchmarks.papers.pai_facts import ASSUMED, FITTED, IDENTITY, facts, of_equations
from dse.fleet.breakdown import priced, shares
from dse.fleet.recipe import draw, population_path, read_recipe
from dse.model.pai import Hardware

JOBS = 20_000


def test_what_turns_on_recalled_values_neither_agrees_nor_fails() -> None:
    recipe = read_recipe(population_path("pai-fleet"))
    found = facts(priced(draw(recipe, JOBS, 0).groups, recipe.base, False), recipe.base)
    roles = {fact.fact: fact.role for fact in found}
    assert set(roles.values()) == {IDENTITY, FITTED, ASSUMED}
    open_ones = [(fact.fact, fact.role, fact.ok) for fact in found if fact.ok is None]
    assert open_ones == [("PS/Worker jobs that gain from AllReduce-Local", ASSUMED, None)]
    assert roles["mean speedup of PS/Worker jobs from 25 to 100 Gbps"] == FITTED
    sensitive = [role for name, role in roles.items() if "most sensitive to" in name]
    assert sensitive == [FITTED] * 3


def test_identities_hold_whatever_the_efficiency() -> None:
    for share in (0.3, 1.0):
        on = Hardware(1e12, 1e11, 10e9, 25e9 / 8, 50e9, share)
        for fact in of_equations(on):
            assert (fact.role, fact.ok) == (IDENTITY, True), fact


@pytest.mark.parametrize(
    "change",
    [{"gpus_per_server": 1.0}, {"ethernet_bytes_per_s": 12.5e9}, {"pcie_bytes_per_s": 50e9},
     {"shared_pcie": False}],
)  # fmt: skip
def test_identities_are_of_the_papers_hardware_whatever_the_studys(change: dict[str, Any]) -> None:
    recipe = read_recipe(population_path("pai-fleet"))
    on = replace(recipe.base, **change)
    found = facts(priced(draw(recipe, JOBS, 0).groups, on, False), on)
    identities = {fact.fact: fact.computed for fact in found if fact.role == IDENTITY}
    assert list(identities.values()) == pytest.approx([21.0, 1.2353, 0.42857], rel=1e-4)
    assert all(fact.ok for fact in found if fact.role == IDENTITY)


@pytest.mark.parametrize("sigma", [0.0, 1.0, 2.0])
def test_input_spread_otherwise_keeps_its_mean(sigma: float) -> None:
    median = median_of_mean(0.03, sigma, 0.9)
    drawn = np.random.default_rng(0).lognormal(np.log(median), sigma, 1_000_000)
    assert np.minimum(drawn, 0.9).mean() == pytest.approx(0.03, rel=0.01)


def test_how_input_is_spread_moves_the_gain() -> None:
    """Eight accelerators on one PCIe: more jobs lose by some input each than by much in a few.

    Expected: 0.554, 0.581 and 0.637 of 400,000 jobs by a few lines of NumPy, dse left out.
    """
    recipe = read_recipe(population_path("pai-ps-worker"))
    rows = {row.assumption: row.gain for row in assumptions(recipe, 100_000, 0)}
    gains = [gain for name, gain in rows.items() if name.startswith("input takes")]
    assert gains == pytest.approx([0.555, 0.583, 0.637], abs=0.006)


@pytest.mark.parametrize("gbps", [10, 25, 100, 400])
def test_weights_over_ethernet_alone_gain_what_the_links_say(gbps: int) -> None:
    recipe = read_recipe(population_path("pai-ps-worker"))
    base = replace(recipe.base, ethernet_bytes_per_s=gbps * 1e9 / 8)
    rows = assumptions(replace(recipe, base=base), JOBS, 0)
    row = next(row for row in rows if row.assumption == "weights go over Ethernet only")
    (entry,) = priced(draw(replace(recipe, base=base), JOBS, 0).groups, base, False)
    share = shares(entry.times)["weights"]
    expected = float(np.mean(1 / ((1 - share) + share * gbps / 100)))
    assert row.speedup == pytest.approx(expected)
