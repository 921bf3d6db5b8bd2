"""Points that lie anywhere in a space, in as few arrays as their structure allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from dse.model.aggregation.base import Gradients, Summed
from dse.model.arrays import Array, in_a_row
from dse.model.passes import part_of
from dse.pricing.coordinates import Coordinate, sorted_by
from dse.pricing.points import BUCKET, COMPUTE_AXES, DEFAULT_BUCKET_BYTES, Points
from dse.pricing.study_facts import StudyFacts
from dse.study import Value

# Points priced together once per draw, at most: an array of 300 layers by 1,000 draws by 40 points
# is 96 MB, and a step holds several.
DRAWN_POINTS = 40


class SeveralBuckets(Points):
    """Points of one structure but for the size of their buckets, which only the sums depend on.

    coordinates: of all of them, of shape (points,). make: makes those of each size, in the same
    order, once they are needed; counts: how many.
    """

    make: Callable[[], Sequence[Points]]
    counts: Sequence[int]

    @cached_property
    def parts(self) -> Sequence[Points]:
        """Those of each size."""
        return self.make()

    @cached_property
    def bucket_bytes(self) -> Array:
        """(points,)."""
        return self.coordinates[BUCKET].numbers(DEFAULT_BUCKET_BYTES)

    @property
    def gradients(self) -> Gradients:
        """Every part has its own."""
        raise NotImplementedError("ask the parts")

    def summed(self) -> Summed:
        """Every part by its own buckets."""
        ends = [0, *accumulate(self.counts)]
        done_s = self.passes.layer_done_s
        sums = [
            part.aggregation.summed(
                part.gradients, part_of(done_s, slice(*where), ends[-1]), part.layout
            )
            for part, where in zip(self.parts, pairwise(ends), strict=True)
        ]
        return Summed(*(in_a_row(seconds, self.counts) for seconds in zip(*sums, strict=True)))

    def sums_bounded(self) -> bool:
        """Whether they are in every part."""
        return all(part.sums_bounded() for part in self.parts)

    def grade(self) -> NDArray[np.int64]:
        """Of every part by its own buckets."""
        return in_a_row([part.grade() for part in self.parts], self.counts)


def scattered(
    problem: StudyFacts,
    points_on: Callable[..., Points],
    columns: Mapping[str, Coordinate],
    looped_axes: Sequence[str],
    apart: bool,
) -> Iterator[tuple[NDArray[np.int64], Points]]:
    """Points before they are priced, by their structure.

    points_on: makes them. columns: where they lie on every axis, shape (points,); what has no value
    there (None) is as if the axis were left out. looped_axes: those that make the structure. Yields
    (positions of points, arrays of shape (positions,)) per structure. Points that differ in the
    size of a bucket alone come together unless they are to be apart; priced per draw they would
    take too much room, and those of one structure come in pieces of DRAWN_POINTS.
    """
    looped = [name for name in looped_axes if name in columns]
    inner = [name for name in looped if name == BUCKET and not apart]
    outer = [name for name in looped if name not in inner]
    blank = [
        column.blank() for name, column in columns.items()
        if name not in looped and None in column.values and len(column.values) > 1
    ]  # fmt: skip
    last = sorted(COMPUTE_AXES & set(columns) - set(looped))  # makes them quicker to compute
    order, groups = sorted_by(
        [*(columns[name] for name in outer), *blank],
        [columns[name] for name in inner],
        [columns[name] for name in last],
    )
    ordered = {
        name: column if len(column.values) == 1 else replace(column, at=column.at.take(order))
        for name, column in columns.items()
    }
    if problem.draws:
        groups = [[piece] for (whole,) in groups for piece in _pieces(whole, DRAWN_POINTS)]
    missing = {name: None for name in looped_axes if name not in columns}

    def place(
        here: slice, looped: Sequence[str]
    ) -> tuple[dict[str, Value | None], dict[str, Coordinate]]:
        fixed = {name: columns[name].values[ordered[name].at[here.start]] for name in looped}
        rest = {name: column.part(here) for name, column in ordered.items() if name not in looped}
        return {**missing, **fixed}, rest

    def placed_parts(slices: Sequence[slice]) -> list[Points]:
        return [points_on(*place(part, looped), 1) for part in slices]

    for slices in groups:
        where = slice(slices[0].start, slices[-1].stop)
        if len(slices) == 1:
            yield order[where], points_on(*place(where, looped), 1)
            continue
        several = SeveralBuckets(problem, *place(where, outer), 1)
        several.make = partial(placed_parts, slices)
        several.counts = [part.stop - part.start for part in slices]
        yield order[where], several


def _pieces(whole: slice, most: int) -> list[slice]:
    """A slice in pieces of at most so many positions."""
    starts = range(whole.start, whole.stop, most)
    return [slice(start, min(start + most, whole.stop)) for start in starts]
