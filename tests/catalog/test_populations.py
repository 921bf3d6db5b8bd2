"""Populations in the catalogue: every number with its source, read here as the fleet reads it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from dse.catalog import population
from dse.catalog.populations import read_population
from dse.errors import StudyError
from dse.fleet import population_path, read_recipe, read_table


@pytest.mark.parametrize("name", ["pai-fleet", "pai-ps-worker"])
def test_a_recipe_has_the_facts_that_the_fleet_draws_by(name: str) -> None:
    found, recipe = population(name), read_recipe(population_path(name))
    assert found.title == recipe.title
    mine = {fact.name: (fact.value, fact.source, fact.status) for fact in found.facts}
    theirs = {fact.name: (fact.value, fact.source, fact.status) for fact in recipe.facts}
    assert mine == theirs


def test_a_table_has_a_fact_for_every_number() -> None:
    found = population("pai-case-studies")
    path = population_path("pai-case-studies")
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    by_name = {fact.name: fact for fact in found.facts}
    assert len(rows) == read_table(path).size
    for row in rows:
        for column in ("flops", "memory_bytes", "weight_bytes", "input_bytes"):
            fact = by_name[f"{row['name']}.{column}"]
            assert fact.value == float(row[column])
            assert (fact.source, fact.status) == ("recalled", "unverified")
    assert "8 cNodes are supposed" in found.notes


def test_a_number_without_a_unit_is_placed(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("title: mine\nbase:\n  gpu: {value: fast, source: me}\n")
    with pytest.raises(StudyError, match=r"mine.yaml:3:8: 'fast' is not a quantity"):
        read_population(path)
