"""Points as rows of numbers, so that thousands are made and compared at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array, Mask
from dse.pricing import hardware
from dse.pricing.coordinates import Coordinate, listed
from dse.pricing.problem import Problem
from dse.search.guided.points import Point, Points, at_fraction, fraction, size
from dse.study import Condition, Value
from dse.study.axes import MACHINES

Codes: TypeAlias = Array  # shape (points, columns)
Rng: TypeAlias = np.random.Generator
Needs: TypeAlias = list[tuple[int, Mask]]  # (column, which of its values will do)

ALL_VALUES = 64  # an axis with more has only some of its values as neighbours
NUDGES = (-0.1, -0.01, -0.001, 0.001, 0.01, 0.1)  # of a continuous axis' range
STEPS = (0.0, 0.0, 0.05, 0.3)  # how far a random step goes on an ordered axis, of its length
CHANGES = (1, 2, 2, 3)  # axes that a mutant changes
ANY_VALUE = 0.2  # share of steps on an ordered axis that go anywhere
TRADES = 0.3  # share of mutants in which one size grows as another shrinks
NEW_CONDITIONAL = 0.3  # share of mutants with a conditional axis drawn anew
SPARE = 4  # times as many are spread as are wanted: not all can be built
FINEST = 0.01  # deviation of a short step on a continuous axis


class Coded:
    """A column per axis, in the order of a point: the position of its value, of a continuous axis
    the fraction of its range; of a conditional axis that does not apply -1.

    Whatever is made here meets what :class:`Buildable` knows of clusters, as far as a change of the
    number of accelerators can bring that about.
    """

    def __init__(self, problem: Problem) -> None:
        self.space = Points(problem.study)
        axes = self.space.axes
        self.width, self._plain = len(self.space.names), len(axes)
        self.counts = [0 if axis.continuous else len(axis.values) for axis in axes]
        self._free = [axes.index(axis) for axis in self.space.free]
        # Of axes whose values have sizes their logarithms; None of a continuous axis.
        self._sizes: dict[int, Array | None] = {}
        for at, axis in ((at, axes[at]) for at in self._free if axes[at].ordered):
            sizes = [size(value) for value in axis.values if not isinstance(value, str)]
            if axis.continuous:
                self._sizes[at] = None
            elif len(sizes) == len(axis.values) and min(sizes) > 0:
                self._sizes[at] = np.log(sizes)
        self._rules = [self._rules_of(name) for name in self.space.conditional]
        self.buildable = Buildable(problem, self.space)

    def _rules_of(self, name: str) -> list[tuple[Needs, NDArray[np.int64]]]:
        """Per condition of the axis: what it needs, and the positions of its values."""
        levels = self.space.levels[name]

        def needs(condition: Condition) -> Needs:
            return [
                (column, np.array([value in allowed for value in self.space.axes[column].values]))
                for other, allowed in condition.requires
                for column in [self.space.names.index(other)]
            ]

        return [
            (needs(c), np.array([levels[value] for value in c.values]))
            for c in self.space.study.conditions
            if c.axis == name
        ]

    # -- to and from points --------------------------------------------------------------------

    def of(self, points: Sequence[Point]) -> Codes:
        """Codes of points."""
        found = np.full((len(points), self.width), -1.0)
        for column, name in enumerate(self.space.names):
            axis = self.space.axes[column] if column < self._plain else None
            values = [point[column] for point in points]
            if axis is not None and axis.continuous:
                found[:, column] = [fraction(axis, v) for v in values if v is not None]
            else:
                levels = self.space.levels[name]
                found[:, column] = [-1 if v is None else levels[v] for v in values]
        return found

    def points(self, codes: Codes) -> list[Point]:
        """The inverse, but for what rounding does to values of continuous axes."""
        columns: list[list[Value | None]] = []
        for column, name in enumerate(self.space.names):
            axis = self.space.axes[column] if column < self._plain else None
            if axis is not None and axis.continuous:
                columns.append([at_fraction(axis, float(code)) for code in codes[:, column]])
            else:
                values: list[Value | None] = [*self.space.levels[name], None]  # -1 is the last
                columns.append([values[int(code)] for code in codes[:, column]])
        return list(zip(*columns, strict=True))

    def columns(self, codes: Codes) -> dict[str, Coordinate]:
        """The points that :meth:`points` makes of them, as columns by axis."""
        found = {}
        for column, name in enumerate(self.space.names):
            axis = self.space.axes[column] if column < self._plain else None
            if axis is not None and axis.continuous:
                found[name] = listed([at_fraction(axis, float(code)) for code in codes[:, column]])
                continue
            values: tuple[Value | None, ...] = tuple(self.space.levels[name])
            at = codes[:, column].astype(np.int64)
            if (blank := at < 0).any():
                at, values = np.where(blank, len(values), at), (*values, None)
            found[name] = Coordinate(values, at)
        return found

    # -- at random -----------------------------------------------------------------------------

    def any(self, count: int, rng: Rng) -> Codes:
        """Points at random."""
        return self._at(rng.random((count, self._plain)), rng)

    def spread_buildable(self, count: int, rng: Rng) -> Codes:
        """At most so many points that may be buildable, of more that are spread evenly."""
        codes = self.spread(SPARE * count, rng)
        return codes[self.buildable(codes)][:count]

    def spread(self, count: int, rng: Rng) -> Codes:
        """Points whose values on every axis are spread evenly (a Latin hypercube)."""
        order = rng.permuted(np.tile(np.arange(count), (self._plain, 1)), axis=1)
        return self._at((order + rng.random((self._plain, count))).T / count, rng)

    def _at(self, places: Array, rng: Rng) -> Codes:
        codes = np.full((len(places), self.width), -1.0)
        for column, count in enumerate(self.counts):
            at = places[:, column]
            codes[:, column] = np.floor(at * count) if count else at
        return self.completed(codes, rng)

    def mutants(self, parents: Codes, rng: Rng) -> Codes:
        """Every parent with a few axes changed; steps on ordered axes are mostly short."""
        codes = parents.copy()
        if not self._free:
            return codes
        turn = rng.random((len(codes), len(self._free))).argsort(axis=1).argsort(axis=1)
        changed = turn < rng.choice(CHANGES, len(codes))[:, None]
        for place, column in enumerate(self._free):
            rows = np.flatnonzero(changed[:, place])
            codes[rows, column] = self._stepped(column, codes[rows, column], rng)
        self._trade(codes, rng)
        if self._plain < self.width:
            rows = np.flatnonzero(rng.random(len(codes)) < NEW_CONDITIONAL)
            codes[rows, rng.integers(self._plain, self.width, len(rows))] = -1
        return self.completed(codes, rng)

    def _trade(self, codes: Codes, rng: Rng) -> None:
        """In some rows one size grows as another shrinks, as limits on their product allow."""
        if len(self._sizes) < 2:
            return
        pairs = rng.random((len(codes), len(self._sizes))).argsort(axis=1)[:, :2]
        pairs[rng.random(len(codes)) >= TRADES] = -1
        factors = np.exp(rng.normal(size=len(codes)))
        for place, (column, sizes) in enumerate(self._sizes.items()):
            for side, power in enumerate((1.0, -1.0)):
                rows = np.flatnonzero(pairs[:, side] == place)
                here = codes[rows, column]
                shift = power * np.log(factors[rows])
                if sizes is None:
                    axis = self.space.axes[column]
                    extent = math.log(axis.high / axis.low) if axis.low and axis.high else math.inf
                    codes[rows, column] = np.clip(here + shift / extent, 0.0, 1.0)
                else:
                    wanted = sizes[here.astype(np.int64)] + shift
                    codes[rows, column] = nearest(sizes, wanted)

    def _stepped(self, column: int, here: Array, rng: Rng) -> Array:
        axis, count, many = self.space.axes[column], self.counts[column], len(here)
        width = rng.choice(STEPS, many)
        if axis.continuous:
            moved = np.clip(here + rng.normal(size=many) * np.maximum(width, FINEST), 0.0, 1.0)
            return np.where(rng.random(many) < ANY_VALUE, rng.random(many), moved)
        other = (here + rng.integers(1, count, many)) % count
        if not axis.ordered:
            return np.asarray(other)
        step = rng.integers(1, 2 + np.maximum(1, (width * count).astype(int)))
        moved = np.clip(here + step * rng.choice([-1, 1], many), 0, count - 1)
        return np.where(rng.random(many) < ANY_VALUE, other, moved)

    def children(self, ones: Codes, others: Codes, rng: Rng) -> Codes:
        """Points with every value from one of two."""
        return self.completed(np.where(rng.random(ones.shape) < 0.5, ones, others), rng)

    def completed(self, codes: Codes, rng: Rng) -> Codes:
        """The rows, full nodes made of them, and conditional axes without a fitting value drawn."""
        codes = self.buildable.repaired(codes)
        for place, rules in enumerate(self._rules):
            column = self._plain + place
            found, still = np.full(len(codes), -1.0), np.ones(len(codes), dtype=bool)
            for needs, allowed in rules:
                holds = still & self._holds(needs, codes)
                drawn = allowed[rng.integers(len(allowed), size=len(codes))]
                kept = np.isin(codes[:, column], allowed)
                found = np.where(holds, np.where(kept, codes[:, column], drawn), found)
                still &= ~holds
            codes[:, column] = found
        return codes

    def expanded(self, codes: Codes) -> Codes:
        """The same, with a row for every value of a conditional axis that newly applies."""
        codes = self.buildable.repaired(codes)
        for place, rules in enumerate(self._rules):
            column, parts = self._plain + place, []
            still = np.ones(len(codes), dtype=bool)
            for needs, allowed in rules:
                holds = still & self._holds(needs, codes)
                fits = np.isin(codes[:, column], allowed)
                parts.append(codes[holds & fits])
                parts += [_with(codes[holds & ~fits], column, value) for value in allowed]
                still &= ~holds
            codes = np.vstack([*parts, _with(codes[still], column, -1)])
        return codes

    def _holds(self, needs: Needs, codes: Codes) -> Mask:
        holds = np.ones(len(codes), dtype=bool)
        for column, mask in needs:
            holds &= mask[codes[:, column].astype(np.int64)] if len(mask) else False
        return holds

    # -- systematic ----------------------------------------------------------------------------

    def neighbours(self, row: Array) -> Codes:
        """Every change of one axis; the number of accelerators follows that of a node."""
        found = [row[None][:0]]
        for column in self._free:
            found += [_with(row[None], column, value) for value in self._alternatives(column, row)]
        for place, rules in enumerate(self._rules):
            column = self._plain + place
            fitting = [allowed for needs, allowed in rules if self._holds(needs, row[None])[0]]
            for allowed in fitting[:1]:  # the first condition that holds counts
                found += [_with(row[None], column, value) for value in allowed]
        codes = self.expanded(np.vstack(found))
        return codes[self.buildable(codes)]

    def _alternatives(self, column: int, row: Array) -> Array:
        here, count = row[column], self.counts[column]
        if not count:
            found = here + np.array(NUDGES)
            return np.append(found[(found >= 0) & (found <= 1)], [0.0, 1.0])
        levels = self.buildable.levels(column, row, count)
        if len(levels) <= ALL_VALUES or not self.space.axes[column].ordered:
            return np.asarray(levels[levels != here], dtype=np.float64)
        at, last = int(np.searchsorted(levels, here)), len(levels) - 1
        steps = 1 << np.arange(len(levels).bit_length())
        found = levels[np.unique(np.clip([at, *(at + steps), *(at - steps), 0, last], 0, last))]
        return np.asarray(found[found != here], dtype=np.float64)


class Buildable:
    """What is known of a point without pricing it: that its nodes are full, and its number format.

    Looks up pairs of values: accelerators and accelerators per node, machine and precision.
    A study has at most one axis for each of them; what has none is left to the model.
    """

    def __init__(self, problem: Problem, space: Points) -> None:
        columns = {name: at for at, name in enumerate(space.names)}
        plain = {axis.name: axis for axis in space.axes if not axis.continuous}
        machine = next((name for name in MACHINES if name in plain), None)
        rows = hardware.machines(machine, plain[machine].values, problem.prices) if machine else ()
        per_node: list[float] = []
        self._gpus = self._nodes = self._machine = self._precision = -1
        if "gpus_per_node" in plain:
            per_node = [size(v) for v in plain["gpus_per_node"].values]
            self._nodes = columns["gpus_per_node"]
        elif machine == "node":
            per_node = [float(row.node.accelerators if row.node else 1) for row in rows]
            self._nodes = columns["node"]
        if per_node and "gpus" in plain:
            self._gpus = columns["gpus"]
            gpus = np.array([size(v) for v in plain["gpus"].values])
            per = np.array(per_node)[:, None]
            self._full = (np.mod(gpus, per) == 0) | (gpus < per)
            self._nearest = _nearest(gpus, self._full)
        if machine is not None:
            self._machine = columns[machine]
            bought = problem.buys_new and not problem.study.owned
            self._sold = np.array([not bought or row.sold_until is None for row in rows])
        if machine is not None and "precision" in plain:
            self._precision = columns["precision"]
            self._computes = np.array(
                [[np.isfinite(row.accelerator.peak_flops_per_s.get(str(p), np.nan))
                  for p in plain["precision"].values] for row in rows]
            )  # fmt: skip

    def __call__(self, codes: Array) -> Mask:
        """Which rows may be buildable; shape (points,)."""
        found = np.ones(len(codes), dtype=bool)
        if self._gpus >= 0:
            found &= self._full[_at(codes, self._nodes), _at(codes, self._gpus)]
        if self._machine >= 0:
            found &= self._sold[_at(codes, self._machine)]
        if self._precision >= 0:
            found &= self._computes[_at(codes, self._machine), _at(codes, self._precision)]
        return found

    def repaired(self, codes: Array) -> Array:
        """The rows with the nearest number of accelerators that fills their nodes."""
        codes = codes.copy()
        if self._gpus >= 0:
            nearest = self._nearest[_at(codes, self._nodes), _at(codes, self._gpus)]
            codes[:, self._gpus] = nearest
        return codes

    def levels(self, column: int, row: Array, count: int) -> NDArray[np.int64]:
        """Positions on an axis that the others of the row allow."""
        if column == self._gpus:
            return np.flatnonzero(self._full[int(row[self._nodes])])
        return np.arange(count)


def _at(codes: Array, column: int) -> NDArray[np.int64]:
    return np.asarray(codes[:, column].astype(np.int64))


def _nearest(gpus: Array, full: Mask) -> NDArray[np.int64]:
    """Per size of nodes and number of accelerators the position of the nearest that is full."""
    found = np.tile(np.arange(len(gpus)), (len(full), 1))
    for row, mask in zip(found, full, strict=True):
        usable = np.flatnonzero(mask)
        if len(usable):
            row[:] = usable[nearest(np.log(gpus[usable]), np.log(gpus))]
    return found


def nearest(numbers: Array, wanted: Array) -> NDArray[np.int64]:
    """Positions in numbers, of any order, of those nearest to the wanted."""
    order = np.argsort(numbers, kind="stable")
    rising = numbers[order]
    after = np.clip(np.searchsorted(rising, wanted), 1, max(len(rising) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(rising) - 1)
    closer = np.abs(rising[after] - wanted) < np.abs(rising[before] - wanted)
    return np.asarray(order[np.where(closer, after, before)])


def _with(codes: Codes, column: int, value: float) -> Codes:
    changed = codes.copy()
    changed[:, column] = value
    return changed
