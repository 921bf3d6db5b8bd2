"""What the front beats by little: asked for with --within, since the runner-up often wins on other
grounds."""

from __future__ import annotations

import csv
import io

from dse.report.document import RunDocument, RunnersUp, RunnerUp
from dse.search import exhaustive
from dse.search.run import Outcome, labels_of
from dse.search.runners_up import MOST, nearest_points


def runners_up(outcome: Outcome, share: float) -> RunnersUp:
    """The nearest runners-up of every front point, for the document of a run."""
    problem = outcome.problem
    boxes = problem.space.boxes(exhaustive.BOX_POINTS)
    found = nearest_points(problem, boxes, outcome.tally.front, share)
    columns = (found.of, found.distance, found.index)
    rows = tuple(
        RunnerUp(
            of=int(of),
            behind=float(behind),
            config=labels_of(problem, problem.space.point(int(index))),
            gain=float(gain),
            cost=float(cost),
            other=float(other[0]) if other else None,
        )
        for of, behind, index, gain, cost, *other in zip(*columns, *found.values, strict=True)
    )
    return RunnersUp(within=share, points=found.all_points, each=MOST, rows=rows)


def runners_up_csv(document: RunDocument, found: RunnersUp) -> str:
    """The runners-up as CSV: which row of front.csv they stand behind, how far, and what they are.

    front_row counts from 1.
    """
    axes = [axis.name for axis in document.axes]
    names = [document.objectives.named(sense) for sense in document.objectives.senses]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["front_row", "behind", *axes, *names])
    for row in found.rows:
        config = [row.config.get(axis, "") for axis in axes]
        values = (row.gain, row.cost, row.other)[: len(names)]
        writer.writerow([row.of + 1, row.behind, *config, *values])
    return out.getvalue()
