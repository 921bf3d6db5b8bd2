"""What the front beats by little: asked for with --within, since the runner-up often wins on other
grounds."""

from __future__ import annotations

from dse.report.document import RunDocument, RunnersUp, RunnerUp
from dse.report.front_columns import Column, Value
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


def near_columns(document: RunDocument, found: RunnersUp) -> list[Column]:
    """near.csv: which row of front.csv, from 1, points stand behind, how far, and what they are."""
    axes = [axis.name for axis in document.axes]
    names = [document.objectives.named(sense) for sense in document.objectives.senses]
    columns: dict[str, list[Value]] = {
        "front_row": [row.of + 1 for row in found.rows],
        "behind": [row.behind for row in found.rows],
        **{axis: [row.config.get(axis, "") for row in found.rows] for axis in axes},
    }
    for at, name in enumerate(names):
        columns[name] = [(row.gain, row.cost, row.other)[at] for row in found.rows]
    return [Column(name, name, "", values) for name, values in columns.items()]
