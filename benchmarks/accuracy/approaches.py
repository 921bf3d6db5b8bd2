"""Rounds of summing real gradients in the lab: the model on hosts, rates and a network held out.

Reads what ``python -m benchmarks.approaches measure`` left in benchmarks/lab/results.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.accuracy.board import Floats, Line
from benchmarks.approaches import judge, results
from benchmarks.approaches.cells import GLOO_25, HOROVOD_64
from benchmarks.approaches.results import Measured

TARGET = (0.10, None)
ORDER_TARGET, REGRET_TARGET = 0.95, 0.03
CHANGED = "form changed 4 times, 3 of them after held-out errors"


def lines() -> list[Line]:
    """Errors of all approaches; and what each way to choose one loses."""
    there = judge.committed()
    by = judge.fitted(there)
    found = judge.judge(there, by)
    data = f"lab: seconds of a round, 7 approaches, held-out hosts, rates, network, {CHANGED}"
    later = "lab: the same on cells measured after the form was final"
    what = "lab: measured time of the approach chosen over the best one's, held out"
    return [
        Line(data, "dse", found.ratio, target=TARGET),
        Line(later, "dse", judge.judge(judge.confirming(), by).ratio, target=TARGET),
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
    there, new = judge.committed(), judge.confirming()
    by = judge.fitted(there)
    found, later = judge.judge(there, by), judge.judge(new, by)
    again = judge.repeats(results.rows())
    return goals_table(found, later, again, always(there, GLOO_25), always(new, GLOO_25))


def goals_table(
    found: judge.Judged,
    later: judge.Judged,
    again: Sequence[judge.Judged],
    one: Floats,
    one_later: Floats,
) -> str:
    """A row for each goal, and whether it is missed.

    later: of the cells measured after the form was final. again: of one run in place of the model,
    judged by the other, both ways. one, one_later: of always taking the same approach, in the
    cells of ``found`` and ``later``.
    """
    rows = [
        "| lab: 7 approaches, held-out cells | cells | reached | target |",
        "|---|---|---|---|",
        _ordered("all of them in the right order", found),
        _ordered("the same on cells measured after the form was final", later),
        _repeated(again),
        _taken("the approach predicted fastest over the fastest, mean", found.chosen, True),
        _taken("the same on cells measured after the form was final", later.chosen, True),
        _taken("the same of one run in place of the model",
               np.concatenate([each.chosen for each in again]), False),
        _taken("always gloo in buckets of 25 MiB over the fastest, mean", one, False),
        _taken("the same on cells measured after the form was final", one_later, False),
    ]  # fmt: skip
    return "\n".join(rows)


def _ordered(what: str, found: judge.Judged) -> str:
    missed = " missed" * (found.strict < ORDER_TARGET)
    return (
        f"| {what} | {found.chosen.size} | {found.strict:.0%} of the cells, {found.order:.0%} with "
        f"ties, {found.apart:.0%} where overlapping rounds are ties, too "
        f"| at least {ORDER_TARGET:.0%}{missed} |"
    )


def _repeated(again: Sequence[judge.Judged]) -> str:
    strict, order = (np.mean([getattr(each, key) for each in again]) for key in ("strict", "order"))
    return (
        "| the same of one run in place of the model, judged by the other "
        f"| {again[0].chosen.size} | {strict:.0%} of the cells, {order:.0%} with ties |  |"
    )


def _taken(what: str, chosen: Floats, aimed: bool) -> str:
    longer = float(np.mean(chosen)) - 1
    target = f"at most {REGRET_TARGET:.0%}{' missed' * (longer > REGRET_TARGET)}" if aimed else ""
    return f"| {what} | {chosen.size} | {longer:.2%} longer | {target} |"
