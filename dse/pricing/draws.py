"""Random draws of everything that is not sure, by the name of what it is.

A source of uncertainty is a name: ``normal("launch", draws)`` gives the same numbers wherever and
whenever it is asked for, on all machines, so that points share what they have in common. To add a
source is that one call. Within :func:`varied` some sources are drawn anew, or stay at the best fit
while others vary, and prices are multiplied by given factors: that is how it is told what each of
them does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array, ArrayLike
from dse.study.choices import OUTCOMES

DRAWS = OUTCOMES  # of every point: the 5th percentile then lies between the 3.9th and the 6.1th
FITTED_COSTS = "fitted costs"  # which bootstrap replica of all profiles a draw takes
_ANEW = " drawn anew"


@dataclass(frozen=True)
class Variation:
    """How draws differ from the usual ones.

    anew: names drawn a second time, independently. alone: the only names that vary at all, all
    others stay at the best fit; None for every name. factors: by the part of a bill, by what its
    price is multiplied in each draw, (draws,). asked: is given every name that is drawn.
    """

    anew: frozenset[str] = frozenset()
    alone: frozenset[str] | None = None
    factors: Mapping[str, Array] = field(default_factory=dict)
    asked: set[str] | None = None


_USUAL = Variation()
_VARIATION: ContextVar[Variation] = ContextVar("variation", default=_USUAL)


@contextmanager
def varied(variation: Variation) -> Iterator[Variation]:
    """Draw like this within the block. What was priced outside of it must not be remembered in it:
    ask a fresh :attr:`.problem.Problem.sampled`."""
    token = _VARIATION.set(variation)
    try:
        yield variation
    finally:
        _VARIATION.reset(token)


def normal(name: str, draws: int, columns: int | None = None) -> Array:
    """Standard normal draws, the same under the same name, (draws,) or (draws, columns); not to be
    written to."""
    how = _VARIATION.get()
    shape = (draws,) if columns is None else (draws, columns)
    if how.alone is not None and name not in how.alone:
        drawn = np.zeros(shape)
    else:
        drawn = _standard(f"{name}{_ANEW * (name in how.anew)}", shape)
    if how.asked is not None:
        how.asked.add(name)
    return drawn


@lru_cache(maxsize=256)  # of 8 kB each, as a rule: a report asks for the same ones again and again
def _standard(name: str, shape: tuple[int, ...]) -> Array:
    drawn = np.random.default_rng(crc32(name.encode())).standard_normal(shape)
    drawn.flags.writeable = False
    return drawn


def log_normal(median: float, spread: float, name: str, draws: int) -> ArrayLike:
    """Log-normal draws about a median, (draws,); the median where there are none."""
    return np.asarray(median * np.exp(spread * normal(name, draws))) if draws else median


def replicas(available: int, draws: int) -> NDArray[np.intp]:
    """Which of so many bootstrap replicas each draw takes, (draws,); -1 for the best fit.

    All of them in turn, again and again; those of other profiles with as many go together, which
    does no harm, since replicas of one profile know nothing of another's.
    """
    how = _VARIATION.get()
    if how.asked is not None:
        how.asked.add(FITTED_COSTS)
    if how.alone is not None and FITTED_COSTS not in how.alone:
        return np.full(draws, -1)
    if FITTED_COSTS in how.anew:
        seed = crc32(f"{FITTED_COSTS}{_ANEW}".encode())
        return np.random.default_rng(seed).integers(0, available, draws)
    return np.arange(draws) % available


def price_factors(part: str, draws: int) -> Array:
    """By what the price of a part is multiplied in each draw, (draws,)."""
    factors = _VARIATION.get().factors.get(part)
    return np.ones(draws) if factors is None else factors
