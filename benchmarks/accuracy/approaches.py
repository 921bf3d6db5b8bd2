"""Rounds of summing real gradients in the lab: the model on hosts, rates and a network held out.

Reads what ``python -m benchmarks.approaches measure`` left in benchmarks/lab/results.
"""

from __future__ import annotations

import numpy as np

from benchmarks.accuracy.board import Line
from benchmarks.approaches import judge
from benchmarks.approaches.cells import HOROVOD_64

TARGET = (0.10, 0.30)


def lines() -> list[Line]:
    """Errors of all approaches; and what each way to choose one loses."""
    there = judge.committed()
    by = judge.fitted(there)
    found = judge.judge(there, by)
    data = "lab: seconds of a round, 7 approaches, held-out hosts, rates, network"
    always = [
        there.of(cell)[HOROVOD_64] / min(there.of(cell).values()) for cell in judge.held_out(there)
    ]
    what = "lab: measured time of the approach chosen over the best one's, held out"
    return [
        Line(data, "dse", found.ratio, target=TARGET),
        Line(what, "dse's prices", found.chosen),
        Line(what, "always Horovod, 64 MiB", np.array(always)),
    ]
