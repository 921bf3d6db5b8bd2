"""Drawing the jobs of a recipe: the shares of their steps, their sizes, and what these mean."""

from __future__ import annotations

import numpy as np

from dse.fleet.population import Group, Population
from dse.fleet.recipe import ClassRecipe, DataShare, Recipe, Sizes
from dse.model.arrays import Array
from dse.model.pai import Hardware, StepTimes, jobs_of_times

MOST_JOBS = 20_000_000  # beyond, the arrays of one population would not fit a common machine


def draw(recipe: Recipe, jobs: int, seed: int) -> Population:
    """``jobs`` jobs; the same for the same seed, and of each class as many as its share says."""
    counts = _counts([found.job_share for found in recipe.classes], jobs)
    groups = tuple(
        _group(recipe, found, count, np.random.default_rng([seed, number]))
        for number, (found, count) in enumerate(zip(recipe.classes, counts, strict=True))
        if count
    )
    return Population(
        name=recipe.name,
        title=recipe.title,
        path=recipe.path,
        groups=groups,
        base=recipe.base,
        hours_given=False,
        state_given=False,
        facts=recipe.facts,
    )


def _counts(shares: list[float], jobs: int) -> list[int]:
    """Whole numbers that sum to ``jobs``, each within one of its share of them."""
    ends = np.rint(np.cumsum(shares) * jobs).astype(int)
    return [int(count) for count in np.diff(ends, prepend=0)]


def _group(recipe: Recipe, found: ClassRecipe, jobs: int, random: np.random.Generator) -> Group:
    shares = step_shares(found, jobs, random)
    cnodes = _cnodes(found, shares["weights"], random)
    step = random.lognormal(np.log(recipe.step_median_s), recipe.step_sigma, jobs)
    none = np.zeros(())
    seconds = StepTimes(
        shares["data"] * step, shares["flops"] * step, shares["memory"] * step,
        shares["weights"] * step, none, none,
    )  # fmt: skip
    base: Hardware = recipe.base
    work = jobs_of_times(found.architecture, cnodes, seconds, base)
    return Group(found.architecture, work, cnodes, np.zeros(jobs))


def step_shares(found: ClassRecipe, jobs: int, random: np.random.Generator) -> dict[str, Array]:
    """Shares of a step by component, each of shape (jobs,), which sum to 1 in every job.

    Dirichlet with parameters ``concentration * mean``. Where the recipe gives input its own
    distribution, the others keep theirs and share what input leaves.
    """
    names = [name for name, mean in found.mean_shares.items() if mean > 0]
    out = {name: np.zeros(jobs) for name in found.mean_shares}
    left = np.ones(jobs)
    if found.data_share is not None:
        names = [name for name in names if name != "data"]
        out["data"] = _data(found.data_share, jobs, random)
        left = 1 - out["data"]
    alpha = found.concentration * np.array([found.mean_shares[name] for name in names])
    drawn = random.dirichlet(alpha, jobs)
    for column, name in enumerate(names):
        out[name] = drawn[:, column] * left
    return out


def _data(how: DataShare, jobs: int, random: np.random.Generator) -> Array:
    if how.mean > 0:
        return random.beta(how.mean * how.concentration, (1 - how.mean) * how.concentration, jobs)
    return np.minimum(random.lognormal(np.log(how.median), how.sigma, jobs), how.most)


def _cnodes(found: ClassRecipe, weights: Array, random: np.random.Generator) -> Array:
    """cNodes of each job, by the ranks of ``weights`` (a Gaussian copula) where they are coupled.

    ``z = rho z_w + sqrt(1 - rho^2) z_own``, z_w the normal score of a job's share of weights.
    """
    sizes: Sizes = found.sizes
    jobs = len(weights)
    if sizes.shares:
        counts, shares = zip(*sizes.shares, strict=True)
        return np.asarray(random.choice(np.array(counts), jobs, p=np.array(shares)))
    if sizes.most == sizes.least:
        return np.full(jobs, sizes.least)
    normal = random.standard_normal(jobs)
    rho = found.size_coupling
    if rho:
        from scipy.special import ndtri  # not before: it takes a tenth of a second

        ranks = np.empty(jobs)
        ranks[np.argsort(weights)] = np.arange(1, jobs + 1)
        normal = rho * ndtri(ranks / (jobs + 1)) + np.sqrt(1 - rho**2) * normal
    return np.clip(np.rint(sizes.median * np.exp(sizes.sigma * normal)), sizes.least, sizes.most)
