"""Rounds of summing real gradients in the lab: the model on hosts, rates and a network held out.

Reads what ``python -m benchmarks.approaches measure`` left in benchmarks/lab/results.
"""

from __future__ import annotations

import numpy as np

from benchmarks.accuracy.board import Floats, Line
from benchmarks.approaches import judge
from benchmarks.approaches.cells import GLOO_25, HOROVOD_64
from benchmarks.approaches.results import Measured

TARGET = (0.10, None)
ORDER_TARGET, REGRET_TARGET = 0.95, 0.03


def lines() -> list[Line]:
    """Errors of all approaches; and what each way to choose one loses."""
    there = judge.committed()
    by = judge.fitted(there)
    found = judge.judge(there, by)
    changed = "form changed once after held-out errors"
    data = f"lab: seconds of a round, 7 approaches, held-out hosts, rates, network, {changed}"
    what = "lab: measured time of the approach chosen over the best one's, held out"
    return [
        Line(data, "dse", found.ratio, target=TARGET),
        Line(what, "dse's prices", found.chosen),
        Line(what, "always Horovod, 64 MiB", always(there, HOROVOD_64)),
        Line(what, "always gloo, 25 MiB", always(there, GLOO_25)),
    ]


def always(there: Measured, approach: str) -> Floats:
    """Seconds of one approach over those of the fastest, in the cells that are held out."""
    cells = [there.of(cell) for cell in judge.held_out(there)]
    return np.array([times[approach] / min(times.values()) for times in cells])


def goals() -> str:
    """What is no error of single values, as Markdown: how often the order is right, the regret."""
    there = judge.committed()
    found = judge.judge(there, judge.fitted(there))
    return goals_table(found, always(there, GLOO_25))


def goals_table(found: judge.Judged, one: Floats) -> str:
    """A row for each goal, and whether it is missed. one: of always taking the same approach."""
    same = f"{np.mean(one) - 1:.2%} longer"
    cells, regret = found.chosen.size, float(np.mean(found.chosen)) - 1
    missed = (found.strict < ORDER_TARGET, regret > REGRET_TARGET)
    return "\n".join((
        "| lab: 7 approaches, held-out cells | cells | reached | target |",
        "|---|---|---|---|",
        f"| all of them in the right order | {cells} | {found.strict:.0%} of the cells, "
        f"{found.order:.0%} with ties | at least {ORDER_TARGET:.0%}{' missed' * missed[0]} |",
        f"| the approach predicted fastest over the fastest, mean | {cells} | {regret:.2%} longer "
        f"| at most {REGRET_TARGET:.0%}{' missed' * missed[1]} |",
        f"| always gloo in buckets of 25 MiB over the fastest, mean | {cells} | {same} |  |",
    ))  # fmt: skip
