"""The stages of a guided search, and how the budget is shared among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dse.pricing.problem import Problem
from dse.search.guided.acquisition import wanted
from dse.search.guided.archive import Archive, Block
from dse.search.guided.codes import Coded, Codes
from dse.search.guided.ideal import Ideal
from dse.search.guided.points import Point, Points
from dse.search.guided.proposals import choose_sampler, propose
from dse.search.guided.screen import Screen
from dse.search.pareto import Front

MOST_PROPOSALS = 3_000  # Optuna takes milliseconds for each
FIRST = 0.05  # of the budget: points spread over the space, before anything is learned
SPREAD = 16  # times as many are spread as are wanted: not all can meet the limits
UNBUILT = 64  # points to price where none can be built
BOLD = 3.0  # how bold the search is where it found nothing more, see :meth:`.Frame.picked`
PROPOSED = 0.05  # of the budget, proposed by Optuna's sampler
SWEPT = 1024  # points of a block, where the budget covers the whole space


@dataclass
class Guided:
    """One guided search, from corners of the space to the neighbourhood of its front.

    progress: called with the number of points known. told: is given every block that is priced.
    before: blocks from the log of a run that was stopped. The search makes the same choices again,
    takes their numbers from there, and ends as it would have. blocks: how many were priced since.
    """

    problem: Problem
    budget: int
    seed: int
    progress: Callable[[int], None] = lambda _: None
    told: Callable[[Block], None] = lambda _: None
    before: Sequence[Block] = ()
    blocks: int = 0
    archive: Archive = field(init=False)
    coded: Coded = field(init=False)
    ideal: Ideal = field(init=False)

    def __post_init__(self) -> None:
        self.archive = Archive(self.problem, Points(self.problem.study), self._told)
        self.coded = Coded(self.problem)
        self.ideal = Ideal(self.problem, self.coded)
        self.archive.logged = {block.of: block for block in self.before}

    def _told(self, block: Block) -> None:
        self.told(block)
        self.blocks += 1
        self.progress(len(self.archive))

    def run(self) -> Front:
        """Search until the budget is spent or nothing is left."""
        import scipy.linalg  # noqa: F401  loaded now, so that the limit holds for its BLAS too
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        # The matrices are small: more threads cost time, and on a busy machine much of it.
        with threadpool_limits(1, user_api="blas"):
            return self._run()

    def _run(self) -> Front:
        archive, size = self.archive, self.problem.points
        rng = np.random.default_rng(self.seed)
        sweeps = size is not None and size <= self.budget
        if not sweeps:
            self._first(rng)
            sampler = choose_sampler(self.budget, len(self.problem.study.objectives))
            due = int((FIRST + PROPOSED) * self.budget) - len(archive)
            propose(archive, self.coded, self.ideal, sampler, self.seed, min(due, MOST_PROPOSALS))
            screen = Screen(archive, self.coded, self.ideal, rng)
            screen.run(self.budget)
            screen.run(self.budget, BOLD)
            _polish(archive, self.coded, self.ideal, self.budget)
            screen.run(self.budget, BOLD)
        _sweep_rest(archive, self.budget)
        if not len(archive):  # nothing can be built: priced all the same, to tell why
            archive.price(self.coded.points(self.coded.spread(min(self.budget, UNBUILT), rng)))
        return archive.front()

    def _first(self, rng: np.random.Generator) -> None:
        """The baseline, corners, and points spread over the space."""
        space = self.archive.space
        baseline = dict(self.problem.study.baseline.values)
        values = space.on_axes({name: baseline.get(name) for name in space.names})
        own = ((axis, values[axis.name]) for axis in space.axes)
        # A baseline may have other values than the axes.
        inside = all(value is not None and axis.has(value) for axis, value in own)
        known = [next(space.completions(values))] if inside else []
        self.archive.price(known)
        count = int(FIRST * self.budget) - len(self.archive)
        if count <= 0:
            return
        corners = self.coded.completed(self.coded.of(list(dict.fromkeys(space.corners()))), rng)
        corners = self._promising(corners[self.coded.buildable(corners)])
        if len(corners) > count // 2:
            corners = corners[rng.choice(len(corners), count // 2, replace=False)]
        spread = self.coded.spread(SPREAD * count, rng)
        spread = self._promising(spread[self.coded.buildable(spread)])[: count - len(corners)]
        self.archive.price(self.coded.points(np.vstack([corners, spread])))

    def _promising(self, codes: Codes) -> Codes:
        """The points that may meet every limit; all of them where none may."""
        possible = self.ideal(codes).possible
        return codes[possible] if possible.any() else codes


def _polish(archive: Archive, coded: Coded, ideal: Ideal, budget: int) -> None:
    """Price every single-axis change of every front point that may be on the front, until the front
    stays.
    """
    tried: set[Point] = set()
    while len(archive) < budget:
        best = [archive.points[at] for at in archive.best()]
        centres = [point for point in best if point not in tried]
        if not centres:
            return
        tried.update(centres)
        near = np.vstack([coded.neighbours(row) for row in coded.of(centres)])
        near = near[wanted(ideal(near), archive)]
        fresh = [p for p in dict.fromkeys(coded.points(near)) if p not in archive]
        archive.price(fresh[: budget - len(archive)])


def _sweep_rest(archive: Archive, budget: int) -> None:
    """If the budget covers the whole space, price the points not seen."""
    size = archive.problem.points
    if size is None or size > budget:
        return
    space, names = archive.problem.space, archive.space.names
    for first in range(0, size, SWEPT):
        found = [space.point(index) for index in range(first, min(first + SWEPT, size))]
        archive.price([tuple(values[name] for name in names) for values in found])
