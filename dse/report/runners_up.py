"""What the front beats by little: asked for with --within, since the runner-up often wins on other
grounds."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from dse.report.words import minimized
from dse.search import exhaustive
from dse.search.run import Outcome, labels_of
from dse.search.runners_up import MOST, near

VALUES = ("gain", "cost", "other")


def runners_up(outcome: Outcome, share: float) -> dict[str, Any]:
    """The nearest runners-up of every front point, for the document of a run.

    within: the share asked for. points: how many are within it. each: how many of them are listed
    per front point at most. rows: of: position of the front point; behind: the largest shortfall
    as a share; config; gain, cost and, of a study that minimises two, other, in SI units.
    """
    problem = outcome.problem
    boxes = problem.space.boxes(exhaustive.BOX_POINTS)
    found = near(problem, boxes, outcome.tally.front, share)
    columns = (found.of, found.distance, found.index)
    return {
        "within": share,
        "points": found.all_points,
        "each": MOST,
        "rows": [
            {
                "of": int(of),
                "behind": float(behind),
                "config": labels_of(problem, problem.space.point(int(index))),
                **dict(zip(VALUES, map(float, values), strict=False)),
            }
            for of, behind, index, *values in zip(*columns, *found.values, strict=True)
        ],
    }


def near_csv(document: Mapping[str, Any]) -> str:
    """The runners-up as CSV: which row of front.csv they stand behind, how far, and what they are.

    front_row counts from 1.
    """
    axes = [str(axis["name"]) for axis in document["axes"]]
    names = [document["objectives"][goal] for goal in ("maximize", *minimized(document))]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["front_row", "behind", *axes, *names])
    for row in document["near"]["rows"]:
        config = [row["config"].get(axis, "") for axis in axes]
        values = [row[name] for name in VALUES[: len(names)]]
        writer.writerow([row["of"] + 1, row["behind"], *config, *values])
    return out.getvalue()
