"""Population files and the jobs that are drawn by them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.errors import StudyError
from dse.fleet.breakdown import priced, shares
from dse.fleet.population import Population
from dse.fleet.recipe import Recipe, draw, population_names, population_path, read_recipe

SHIPPED = [name for name in population_names() if population_path(name).suffix == ".yaml"]


@pytest.fixture(scope="module")
def recipe() -> Recipe:
    return read_recipe(population_path("pai-fleet"))


@pytest.mark.parametrize("name", SHIPPED)
def test_drawn_jobs_have_the_mean_shares_of_their_recipe(name: str) -> None:
    found = read_recipe(population_path(name))
    classes = priced(draw(found, 200_000, 3).groups, found.base, False)
    for entry, wanted in zip(classes, found.classes, strict=True):
        mean = {part: float(share.mean()) for part, share in shares(entry.times).items()}
        assert mean == pytest.approx(dict(wanted.mean_shares), abs=0.006)


def test_the_same_seed_draws_the_same_jobs(recipe: Recipe) -> None:
    first, again, other = draw(recipe, 5000, 1), draw(recipe, 5000, 1), draw(recipe, 5000, 2)
    for left, right in zip(first.groups, again.groups, strict=True):
        np.testing.assert_array_equal(left.jobs.flops, right.jobs.flops)
    assert not np.array_equal(first.groups[0].jobs.flops, other.groups[0].jobs.flops)


@pytest.mark.parametrize("jobs", [1, 7, 100, 99_999])
def test_as_many_jobs_are_drawn_as_were_asked_for(jobs: int, recipe: Recipe) -> None:
    found: Population = draw(recipe, jobs, 0)
    assert found.size == jobs
    for group in found.groups:
        share = next(c.job_share for c in recipe.classes if c.architecture == group.architecture)
        assert abs(group.size - share * jobs) <= 1


def test_size_coupling_makes_large_jobs_exchange_more_and_changes_nothing_else(
    recipe: Recipe,
) -> None:
    def drawn(coupling: float) -> tuple[np.ndarray, np.ndarray]:
        classes = tuple(replace(own, size_coupling=coupling) if own.architecture == "ps-worker"
                        else own for own in recipe.classes)  # fmt: skip
        groups = draw(replace(recipe, classes=classes), 100_000, 0).groups
        entry = priced(groups, recipe.base, False)[-1]
        return entry.group.cnodes, shares(entry.times)["weights"]

    (sizes, weights), (coupled, same) = drawn(0.0), drawn(0.5)
    np.testing.assert_array_equal(weights, same)
    assert abs(np.corrcoef(np.log(sizes), weights)[0, 1]) < 0.02
    assert np.corrcoef(np.log(coupled), same)[0, 1] > 0.35
    np.testing.assert_allclose(np.percentile(coupled, [10, 50, 90]),
                               np.percentile(sizes, [10, 50, 90]), rtol=0.1)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("job_share: {value: 0.29", "job_share: {value: 0.5"), "job_share add up to 1.21"),
        (("weights: {value: 0.62", "weights: {value: 0.5"), "mean shares of ps-worker add up"),
        (("  ps-worker:", "  ps-workers:"), "unknown class 'ps-workers'; did you mean ps-worker?"),
        (("concentration: {value: 1,", "concentration: {value: 0,"), "concentration is 0"),
        (("most: {value: 600", "most: {value: 1"), "1 <= least <= most"),
        (("  median: {value: 0.4 s", "  median: {value: unknown"), "median is unknown"),
        (("efficiency: {value: 0.7", "efficiency: {value: 7"), "efficiency above 1"),
        (("8: {value: 0.7", "8: {value: 0.1"), "shares that add up to 1"),
        (("8: {value: 0.7", "16: {value: 0.7"), "16 cnodes of 1wng, which is in one server; write"),
        (("size_coupling", "size_copling"), "did you mean size_coupling?"),
    ],
)
def test_a_mistake_in_a_population_gets_one_line(
    change: tuple[str, str], message: str, tmp_path: Path
) -> None:
    text = population_path("pai-fleet").read_text()
    assert change[0] in text
    path = tmp_path / "mine.yaml"
    path.write_text(text.replace(*change))
    with pytest.raises(StudyError) as caught:
        read_recipe(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}:")
    assert "\n" not in str(caught.value)


def test_one_accelerator_exchanges_no_weights(tmp_path: Path) -> None:
    text = population_path("pai-fleet").read_text()
    for old, new in (("0.334", "0.134"), ("weights: {value: 0,", "weights: {value: 0.2,")):
        assert text.count(old) == 1
        text = text.replace(old, new)
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    line = next(at for at, row in enumerate(text.splitlines(), 1) if "weights: {value: 0.2," in row)
    with pytest.raises(StudyError) as caught:
        read_recipe(path)
    assert str(caught.value).startswith(f"{path}:{line}:")
    assert "weights of 1w1g, which exchanges none; write 0" in str(caught.value)
