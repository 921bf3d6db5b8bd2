"""Two facts of the PAI paper under other assumptions about its jobs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.papers.pai_facts import FASTER_ETHERNET
from dse.fleet.breakdown import Priced, priced, shares
from dse.fleet.population import Population
from dse.fleet.ports import port
from dse.fleet.recipe import ClassRecipe, DataShare, Recipe, Sizes, draw
from dse.fleet.upgrades import speedups
from dse.model.pai import ALLREDUCE_LOCAL, PS_WORKER, Hardware

AS_ASSUMED = "as assumed"


@dataclass(frozen=True)
class Assumption:
    """The facts under one other assumption; None where that does not change the fact's meaning.

    gain: part of the PS/Worker jobs that gain from AllReduce-Local. speedup: from the recipe's
    Ethernet to 100 Gbps.
    """

    assumption: str
    gain: float | None
    speedup: float | None


def assumptions(recipe: Recipe, jobs: int, seed: int) -> list[Assumption]:
    """One row per assumption: the PS/Worker jobs of ``recipe``, drawn anew under it.

    gain: the share of jobs that AllReduce-Local makes faster; speedup: by 100 Gbps Ethernet, the
    mean of ratios. Empty where ``recipe`` has no PS/Worker jobs. jobs: how many are drawn.
    """
    if PS_WORKER not in (found.architecture for found in recipe.classes):
        return []
    return list(_rows(recipe, jobs, seed))


def _rows(recipe: Recipe, jobs: int, seed: int) -> Iterator[Assumption]:
    base = recipe.base
    drawn = _drawn(recipe, jobs, seed)
    own, fast = _priced(drawn, base), _faster(base)
    ways = speedups([own], fast, False)[PS_WORKER]
    local = port(own, ALLREDUCE_LOCAL, base, False, None)
    yield Assumption(AS_ASSUMED, local.gain_throughput, ways.mean_of_ratios)
    yield Assumption("a gain counts per cNode, not in samples per second",
                     local.gain_per_cnode, None)  # fmt: skip
    yield Assumption("accelerators of a server do not share PCIe for their input",
                     _gain(own, replace(base, shared_pcie=False)), None)  # fmt: skip
    ideal = _priced(drawn, base, True)
    ideal_port = port(ideal, ALLREDUCE_LOCAL, base, True, None).gain_throughput
    ideal_ways = speedups([ideal], fast, True)[PS_WORKER]
    yield Assumption("input, computing and weights overlap ideally", ideal_port,
                     ideal_ways.mean_of_ratios)  # fmt: skip
    for count in (4.0, 16.0):
        yield Assumption(f"{count:g} accelerators in a server",
                         _gain(own, replace(base, gpus_per_server=count)), None)  # fmt: skip
    for name, entry in _others(recipe, jobs, seed):
        mean = speedups([entry], fast, False)[PS_WORKER].mean_of_ratios
        yield Assumption(name, _gain(entry, base), mean)
    yield Assumption("speedup of all jobs' time, not the mean of ratios", None, ways.aggregate)
    share = shares(own.times)["weights"]
    # Of T_w only the part base / faster is left.
    left = base.ethernet_bytes_per_s / np.asarray(fast.ethernet_bytes_per_s)
    alone = float((1 / (1 - (1 - left) * share)).mean())
    yield Assumption("weights go over Ethernet only", None, alone)


def _others(recipe: Recipe, jobs: int, seed: int) -> Iterator[tuple[str, Priced]]:
    """The jobs with other sizes, with shares that vary more or less, and with other input."""
    for median, sigma in ((8.0, 1.4), (16.0, 1.05)):
        sizes = Sizes(median, sigma, 2.0, 600.0)
        yield (f"cNodes of a job: median {median:g}, sigma {sigma:g}",
               _priced(_drawn(recipe, jobs, seed, sizes=sizes), recipe.base))  # fmt: skip
    for concentration in (0.5, 2.0):
        yield (f"shares spread by a concentration of {concentration:g}",
               _priced(_drawn(recipe, jobs, seed, concentration=concentration),
                       recipe.base))  # fmt: skip
    found = _ps_worker(recipe)
    mean = found.mean_shares["data"]
    most = found.data_share.most if found.data_share else 1.0
    if 0 < mean < most:
        for sigma in (0.0, 1.0, 2.0):
            data = DataShare(median_of_mean(mean, sigma, most), sigma, most)
            name = f"input takes {100 * mean:.3g} % of a step on average, with a sigma of {sigma:g}"
            if not sigma:
                name = f"input takes {100 * mean:.3g} % of every job's step"
            yield name, _priced(_drawn(recipe, jobs, seed, data=data), recipe.base)


def median_of_mean(mean: float, sigma: float, most: float) -> float:
    """Return the median of a lognormal x whose ``min(x, most)`` has the mean ``mean`` < ``most``.

    sigma: the standard deviation of ln x. All are shares of a step, between 0 and 1.

    With ``d = ln(most / median) / sigma`` that mean is
    ``median e^(sigma^2 / 2) N(d - sigma) + most N(-d)``, N the normal distribution.
    """
    if sigma == 0:
        return mean
    from scipy.optimize import brentq  # not before: it takes a third of a second
    from scipy.special import ndtr

    def excess(log_median: float) -> float:
        d = (np.log(most) - log_median) / sigma
        below = np.exp(log_median + sigma**2 / 2) * ndtr(d - sigma)
        return float(below + most * ndtr(-d) - mean)

    least = np.log(mean) - sigma**2 / 2  # the mean, were there no ``most``
    return float(np.exp(brentq(excess, least, np.log(most) + 8 * sigma)))


def _ps_worker(recipe: Recipe) -> ClassRecipe:
    return next(own for own in recipe.classes if own.architecture == PS_WORKER)


def _drawn(
    recipe: Recipe,
    jobs: int,
    seed: int,
    sizes: Sizes | None = None,
    concentration: float | None = None,
    data: DataShare | None = None,
) -> Population:
    found = _ps_worker(recipe)
    other = replace(
        found,
        job_share=1.0,
        sizes=sizes or found.sizes,
        concentration=concentration or found.concentration,
        data_share=data or found.data_share,
    )
    return draw(replace(recipe, classes=(other,)), jobs, seed)


def _priced(population: Population, hardware: Hardware, overlapped: bool = False) -> Priced:
    return priced(population.groups, hardware, overlapped)[0]


def _gain(entry: Priced, hardware: Hardware) -> float:
    return port(entry, ALLREDUCE_LOCAL, hardware, False, None).gain_throughput


def _faster(base: Hardware) -> Hardware:
    return replace(base, ethernet_bytes_per_s=FASTER_ETHERNET)
