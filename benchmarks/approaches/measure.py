"""Runs every approach in every cell across the emulated cluster, and keeps the times."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.approaches import results
from benchmarks.approaches.cells import SMALL, STARTS, Cell
from benchmarks.approaches.start import run_start
from benchmarks.lab.measure import LOOK_S, MBPS, used_by_others
from benchmarks.lab.network import Lab, network

LIMIT_S = 300.0  # of one start: several times what the longest took
MANY, FEW = 3, 2  # rounds of a start
OF_TWO = 6  # on two hosts, where a round takes one of two times, by chance
LEAST_MBPS = 200.0  # below, rounds are long and few
PATIENCE_S = 12.0  # how long to wait for them


def rounds_of(cell: Cell) -> int:
    """How many rounds of every approach one start runs: fewer where a round takes seconds."""
    if cell.hosts == 2:
        return OF_TWO
    return FEW if cell.workload != SMALL or cell.mbps < LEAST_MBPS else MANY


def measure_cell(cell: Cell, names: tuple[str, ...], run: int, lab: Lab) -> list[results.Row]:
    """One run of the approaches of one start, once the cores are free or patience is at its end.

    ``others`` of a row: the larger share of the cores in use just before and just after.
    """
    deadline = time.monotonic() + PATIENCE_S
    while (before := used_by_others()) > results.DISTURBED and time.monotonic() < deadline:
        continue
    found = run_start(names, cell.workload, cell.hosts, rounds_of(cell), LIMIT_S, lab)
    time.sleep(LOOK_S)  # the processes of the start may still be leaving
    busy = max(before, used_by_others())
    about = {"workload": cell.workload, "hosts": cell.hosts, "mbps": cell.mbps, "run": run}
    return [{**about, **row, "others": busy} for row in found]


def measure_all(
    cells: Sequence[Cell], wanted_runs: int, limit_s: float, path: Path = results.FILE
) -> int:
    """Run what has no ``wanted_runs`` undisturbed runs; how many starts are left after limit_s.

    The first of all cells come before the second of any; each start is tried once.
    """
    deadline = time.monotonic() + limit_s
    left = 0
    for wanted in range(wanted_runs + 1):  # 0: what was not run at all, disturbed or not
        for cell in cells:
            there = results.rows(path)
            todo = [names for names in STARTS if lacks(there, cell, names[0], wanted)]
            if not todo or time.monotonic() > deadline:
                left += len(todo)
                continue
            began = time.monotonic()
            with network(cell.hosts, cell.mbps * MBPS) as lab:
                for names in todo:
                    run = 1 + len(results.runs(there, cell, names[0]))
                    results.save(measure_cell(cell, names, run, lab), path)
            print(f"{cell}, {len(todo)} starts in {time.monotonic() - began:.0f} s", flush=True)
    return left


def lacks(there: list[results.Row], cell: Cell, approach: str, wanted: int) -> bool:
    """Whether there are fewer than ``wanted`` undisturbed runs; for 0, no run of any kind."""
    found = results.runs(there, cell, approach)
    return not found if wanted == 0 else len(results.undisturbed(found)) < wanted
