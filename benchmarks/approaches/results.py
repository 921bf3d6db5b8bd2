"""What was measured, as a file: one row for every run of an approach in a cell."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from benchmarks.approaches.cells import Cell
from benchmarks.lab.measure import NOTES, RESULTS, SOURCE
from benchmarks.lab.training import rounded
from dse.calibration.experiment import this_machine, today
from dse.calibration.files import write_text

FILE = RESULTS / "approaches.json"
CONFIRMING_FILE = RESULTS / "approaches-confirming.json"
FORMAT = "dse-lab-approaches/1"
NOISE_QUANTILE = 0.9
DISTURBED = 0.3  # share of the cores; the kernel and idle programs take some hundredths

Row: TypeAlias = dict[str, Any]
Seconds: TypeAlias = dict[tuple[Cell, str], float]  # by cell and approach


@dataclass(frozen=True)
class Measured:
    """Seconds of a round by cell and approach, middle of all runs; and how far runs differ.

    noise: what the difference of two runs of the same, as a share of their mean, stays below nine
    times of ten, where models are judged: the cells that are fitted to are shorter and noisier.
    rounds: the fastest and the slowest (of 20) of all runs.
    """

    seconds: Seconds
    noise: float
    rounds: Mapping[tuple[Cell, str], tuple[float, float]] = field(default_factory=dict)

    def cells(self) -> list[Cell]:
        """Every cell once, in the order of the file."""
        return list(dict.fromkeys(cell for cell, _ in self.seconds))

    def of(self, cell: Cell) -> dict[str, float]:
        """Seconds by approach."""
        return {name: s for (where, name), s in self.seconds.items() if where == cell}


def rows(path: Path = FILE) -> list[Row]:
    """All rows of the file; none where there is no file."""
    if not path.exists():
        return []
    found: list[Row] = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return found


def save(new: Sequence[Row], path: Path = FILE) -> None:
    """Add rows to the file, one a line."""
    machine = this_machine()
    head = {
        "format": FORMAT, "date": today(), "source": SOURCE, "cpu": machine.cpu,
        "cores": machine.cores, "notes": NOTES,
    }  # fmt: skip
    body = ",\n  ".join(json.dumps(rounded(row)) for row in [*rows(path), *new])
    write_text(path, json.dumps(head)[:-1] + f',\n "rows": [\n  {body}\n ]}}\n')


def cell_of(row: Mapping[str, Any]) -> Cell:
    """The cell of a row."""
    return Cell(row["workload"], row["hosts"], row["mbps"])


def runs(found: Sequence[Row], cell: Cell, approach: str) -> list[Row]:
    """Every run of the approach in the cell."""
    return [row for row in found if cell_of(row) == cell and row["approach"] == approach]


def undisturbed(found: Sequence[Row]) -> list[Row]:
    """The runs during which others hardly used the cores."""
    return [row for row in found if row["others"] <= DISTURBED]


def measured(found: Sequence[Row]) -> Measured:
    """The middle of the runs' medians in every cell; noise from what was run twice or more.

    Of what was run undisturbed at least once, the other runs do not count.
    """
    every: dict[tuple[Cell, str], list[Row]] = defaultdict(list)
    for row in found:
        every[cell_of(row), row["approach"]].append(row)
    kept = {key: undisturbed(mine) or mine for key, mine in every.items()}
    medians = {key: [row["median_s"] for row in mine] for key, mine in kept.items()}
    apart = [
        abs(s[0] - s[1]) / statistics.mean(s[:2])
        for (cell, _), s in medians.items()
        if len(s) > 1 and not cell.fitted
    ]
    seconds = {key: statistics.median(s) for key, s in medians.items()}
    rounds = {
        key: (min(row["min_s"] for row in mine), max(row["p95_s"] for row in mine))
        for key, mine in kept.items()
    }
    noise = float(np.quantile(apart, NOISE_QUANTILE)) if apart else 0.0
    return Measured(seconds, noise, rounds)


def one_run(found: Sequence[Row], which: int) -> Seconds:
    """Seconds by cell and approach of the first or second run, where all were run twice."""
    every: dict[tuple[Cell, str], list[Row]] = defaultdict(list)
    for row in found:
        every[cell_of(row), row["approach"]].append(row)
    kept = {key: undisturbed(mine) or mine for key, mine in every.items()}
    return {key: mine[which]["median_s"] for key, mine in kept.items() if len(mine) > 1}
