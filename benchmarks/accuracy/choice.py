"""Which algorithm a library takes, and what that costs: its rules, the best measured, and dse's.

Reads benchmarks/data/library_choice.csv (python -m benchmarks.library_choice) and what the lab left
in benchmarks/lab/results.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from benchmarks.accuracy import lab
from benchmarks.accuracy.board import Line
from benchmarks.library_choice import TABLE
from dse.calibration.prediction import predict
from dse.calibration.profile import Profile
from dse.model.aggregation.library_rules import MPICH, OPENMPI, mpi_rules

Cell: TypeAlias = tuple[int, int]  # ranks, bytes
NAMES = {OPENMPI: "Open MPI", MPICH: "MPICH"}


def lines() -> list[Line]:
    """The library's own choice against its rules' and others; and what each chooser loses."""
    return [*_own_choice(), *_regret()]


def _own_choice() -> list[Line]:
    """A forced algorithm's time over that of the library's own choice: 1 where it is the same."""
    found = []
    for library, name in NAMES.items():
        same, other = [], []
        for (n, m), times in _measured(library).items():
            own = times.pop("auto")
            taken = chosen(library, n, m)
            for algorithm, seconds in times.items():
                (same if algorithm == taken else other).append(seconds / own)
        data = f"what {name} chooses itself, on this machine, 2-8 ranks"
        found += [
            Line(data, f"the algorithm forced that {name}'s rules name", np.array(same)),
            Line(data, "the others forced", np.array(other)),
        ]
    return found


def chosen(library: str, ranks: int, message_bytes: float) -> str:
    """The model's algorithm that the library's rules take, one rank a node."""
    rules = mpi_rules(library)
    return rules.algorithms[int(rules(ranks, 1, message_bytes))].priced_as


def _measured(library: str) -> dict[Cell, dict[str, float]]:
    cells: dict[Cell, dict[str, float]] = defaultdict(dict)
    with TABLE.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["library"] == library:
                cell = int(row["ranks"]), int(row["bytes"])
                cells[cell][row["algorithm"]] = float(row["median_s"])
    return cells


def _regret() -> list[Line]:
    """Measured seconds of the algorithm chosen over those of the best, where dse has not looked."""
    samples, known, profile = lab.forced()
    seen = {id(s) for s in known}
    cells: dict[tuple[int, int, float], dict[str, float]] = defaultdict(dict)
    rest = [s for s in samples if id(s) not in seen]
    for (algorithm, n, m, speed), seconds in lab.medians(rest).items():
        cells[n, m, speed][algorithm] = seconds
    ratios: dict[str, list[float]] = defaultdict(list)
    for (n, m, speed), times in cells.items():
        takes = {f"{NAMES[library]}'s rules": chosen(library, n, m) for library in NAMES}
        takes["dse's prices"] = cheapest(profile, times, n, m, speed)
        if set(takes.values()) <= set(times):
            for chooser, algorithm in takes.items():
                ratios[chooser].append(times[algorithm] / min(times.values()))
    data = "lab: measured time of the algorithm chosen over the best one's, more hosts or 100 Mbps"
    return [Line(data, chooser, np.array(found)) for chooser, found in ratios.items()]


def cheapest(
    profile: Profile, algorithms: Iterable[str], ranks: int, message_bytes: int, speed: float
) -> str:
    """The algorithm of the least predicted time, one rank a node."""
    return min(
        algorithms,
        key=lambda name: float(predict(profile, name, ranks, message_bytes, 1, speed).seconds),
    )
