"""A population file: how jobs of each class are drawn, every number of it with its source, and
the jobs drawn: the shares of their steps, their sizes, and what these mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dse.catalog import Fact, names
from dse.catalog.reader import Entry
from dse.catalog.store import find
from dse.fleet.population import Group, Population
from dse.model.arrays import Array
from dse.model.pai import (
    ARCHITECTURES,
    IN_ONE_SERVER,
    MEDIA,
    Hardware,
    StepTimes,
    jobs_of_times,
    most_cnodes,
)
from dse.spelling import alternatives, meant

FOLDER = "populations"
MOST_JOBS = 20_000_000  # beyond, the arrays of one population would not fit a common machine
COMPONENTS = ("data", "flops", "memory", "weights")  # of a step, in the order of its terms
HARDWARE = {
    "gpu": ("gpu_flops_per_s", "flops_per_s"),
    "memory": ("memory_bytes_per_s", "bytes_per_s"),
    "pcie": ("pcie_bytes_per_s", "bytes_per_s"),
    "ethernet": ("ethernet_bytes_per_s", "bytes_per_s"),
    "nvlink": ("nvlink_bytes_per_s", "bytes_per_s"),
    "efficiency": ("efficiency", "share"),
    "gpus_per_server": ("gpus_per_server", "count"),
}


@dataclass(frozen=True)
class DataShare:
    """The share of input in a step: lognormal up to ``most``, or (``mean``) a beta distribution."""

    median: float = 0.0
    sigma: float = 0.0
    most: float = 1.0
    mean: float = 0.0
    concentration: float = 0.0


@dataclass(frozen=True)
class Sizes:
    """cNodes of a job: a rounded lognormal, or (``shares``) so many jobs of so many cNodes."""

    median: float = 1.0
    sigma: float = 0.0
    least: float = 1.0
    most: float = 1.0
    shares: tuple[tuple[float, float], ...] = ()

    @property
    def largest(self) -> float:
        """No job has more cNodes."""
        return max((count for count, _ in self.shares), default=self.most)


@dataclass(frozen=True)
class ClassRecipe:
    """Distributions by which the jobs of one class are drawn.

    job_share: of all jobs. mean_shares: of a step, by :data:`COMPONENTS`, sum 1. concentration: of
    the Dirichlet distribution of these shares, the smaller the farther jobs lie from the mean.
    size_coupling: rank correlation of cNodes and share of weights, in (-1, 1).
    """

    architecture: str
    job_share: float
    mean_shares: Mapping[str, float]
    concentration: float
    data_share: DataShare | None
    sizes: Sizes
    size_coupling: float = 0.0


@dataclass(frozen=True)
class Recipe:
    """A population before any job is drawn. step_median_s, step_sigma: of a lognormal."""

    name: str
    title: str
    path: str
    base: Hardware
    step_median_s: float
    step_sigma: float
    classes: tuple[ClassRecipe, ...]
    facts: tuple[Fact, ...]


def population_names() -> tuple[str, ...]:
    """The populations that ship."""
    return names(FOLDER)


def population_path(name: str) -> Path:
    """The file of a population that ships; it must be among :func:`population_names`."""
    return find(FOLDER, name)


def read_recipe(path: Path) -> Recipe:
    """Read a population file. Raises :class:`~dse.errors.StudyError` with the place of a fault."""
    entry = Entry.open(path)
    title = entry.text("title", path.stem)
    hardware = entry.section("base")
    base: dict[str, Any] = {
        field: hardware.positive(key, dimension) for key, (field, dimension) in HARDWARE.items()
    }
    if base["efficiency"] > 1:
        raise hardware.wrong("efficiency above 1", "write a share of the peak", "efficiency")
    step = entry.section("step")
    median, sigma = step.positive("median", "seconds"), step.known("sigma", "count")
    listed = entry.section("classes")
    if not listed.labels():
        raise listed.wrong("no class", "write classes: {ps-worker: {..}}")
    classes = tuple(_class(listed, name) for name in listed.labels())
    entry.finish()
    for found in classes:
        _check_size(listed, found, base["gpus_per_server"])
    total = sum(found.job_share for found in classes)
    if abs(total - 1) > 1e-6:
        problem = f"the classes' job_share add up to {total:g}"
        raise listed.wrong(problem, "make them add up to 1")
    return Recipe(
        name=path.stem,
        title=title,
        path=str(path),
        base=Hardware(**base),
        step_median_s=median,
        step_sigma=sigma,
        classes=classes,
        facts=tuple(entry.facts),
    )


def _class(listed: Entry, name: str) -> ClassRecipe:
    if name not in ARCHITECTURES:
        remedy = meant(name, ARCHITECTURES, f"use {alternatives(ARCHITECTURES)}")
        raise listed.wrong(f"unknown class '{name}'", remedy, name)
    own = listed.section(name)
    share = _share(own, "job_share")
    if own.has("resource_share"):  # what was published; that of the drawn jobs follows
        _share(own, "resource_share")
    means = own.section("mean_shares")
    mean = {component: _share(means, component) for component in COMPONENTS}
    means.finish()
    if abs(sum(mean.values()) - 1) > 1e-6:
        problem = f"the mean shares of {name} add up to {sum(mean.values()):g}"
        raise own.wrong(problem, "make them add up to 1", "mean_shares")
    if mean["flops"] + mean["memory"] <= 0:
        raise own.wrong(f"{name} computes nothing", "give flops or memory a share", "mean_shares")
    if not MEDIA[name] and mean["weights"] > 0:
        problem = f"weights of {name}, which exchanges none"
        raise means.wrong(problem, "write 0, and share it among the others", "weights")
    concentration = own.positive("concentration", "count")
    data = _data_share(own.section("data_share")) if own.has("data_share") else None
    sizes = _sizes(own.section("cnodes")) if own.has("cnodes") else Sizes()
    coupling = _share(own, "size_coupling") if own.has("size_coupling") else 0.0
    return ClassRecipe(name, share, mean, concentration, data, sizes, coupling)


def _check_size(listed: Entry, found: ClassRecipe, gpus_per_server: float) -> None:
    """Raise where a job has more cNodes than its class allows."""
    name = found.architecture
    most = float(most_cnodes(name, gpus_per_server))
    if found.sizes.largest > most:
        where = ", which is in one server" * (name in IN_ONE_SERVER)
        problem = f"{found.sizes.largest:g} cnodes of {name}{where}"
        raise listed.wrong(problem, f"write at most {most:g}", name)


def _data_share(own: Entry) -> DataShare:
    if own.has("mean"):
        found = DataShare(
            mean=_share(own, "mean"), concentration=own.positive("concentration", "count")
        )
        if not 0 < found.mean < 1:
            raise own.wrong("mean of 0 or 1", "write a share between them", "mean")
    else:
        found = DataShare(
            median=own.positive("median", "count"),
            sigma=own.known("sigma", "count"),
            most=_share(own, "most"),
        )
    return found


def _sizes(own: Entry) -> Sizes:
    counts = [label for label in own.labels() if label.isdecimal()]
    if not counts:
        found = Sizes(
            own.positive("median", "count"),
            own.known("sigma", "count"),
            own.positive("least", "count"),
            own.positive("most", "count"),
        )
        own.finish()
        if found.most < found.least or found.least < 1:
            raise own.wrong("cnodes from least to most", "write 1 <= least <= most", "least")
        return found
    shares = tuple((float(count), _share(own, count)) for count in counts)
    own.finish()
    if abs(sum(share for _, share in shares) - 1) > 1e-6 or min(shares)[0] < 1:
        raise own.wrong("shares of cnodes", "write counts of at least 1, shares that add up to 1")
    return Sizes(shares=shares)


def _share(own: Entry, key: str) -> float:
    value = own.known(key, "share")
    if value > 1:
        raise own.wrong(f"{key} of {value:g} is not a share", "write a value from 0 to 1", key)
    return value


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
