"""What an MPI library chooses by itself, beside its algorithms forced: `python -m ... [MPIEXEC]`.

Adds medians over the runs to benchmarks/data/library_choice.csv, in place of those of the same
library. Both are measured in the same start, on this machine, so that their ratio tells which
algorithm the library takes. MPIEXEC: of another MPI than the first found.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

from dse.calibration.runners.mpi import measure
from dse.calibration.runners.plan import MeasurePlan
from dse.calibration.runners.registry import Request

TABLE = Path(__file__).parent / "data" / "library_choice.csv"
COLUMNS = ("library", "version", "ranks", "bytes", "algorithm", "median_s")
# On both sides of every switch of the rules that so few ranks reach.
SIZES = (4, 8, 16, 32, 1024, 2048, 4096, 6144, 8192, 12288, 16384, 32768, 65536, 131072, 262144,
         2**20, 2**22)  # fmt: skip
BUDGET_S = 90.0


def rows(mpiexec: str | None) -> list[tuple[str, ...]]:
    """One row per (ranks, bytes, algorithm)."""
    algorithms = ("recursive-doubling", "ring", "halving-doubling", "auto")
    plan = MeasurePlan(algorithms, (2, 3, 4, 8), SIZES, local=False)
    found = measure(plan, Request(BUDGET_S, mpi=mpiexec))
    runs: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for s in found.samples:
        key = (s.library, s.version, str(s.ranks), str(s.bytes), s.algorithm)
        runs[key].append(s.median_s)
    return [(*key, f"{median(times):.4g}") for key, times in runs.items()]


def main(mpiexec: str | None = None) -> None:
    """Measure and write."""
    new = rows(mpiexec)
    kept = []
    if TABLE.exists():
        with TABLE.open(newline="", encoding="utf-8") as file:
            kept = [tuple(row) for row in csv.reader(file)][1:]
    kept = [row for row in kept if row[0] != new[0][0]]
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *kept, *new])


if __name__ == "__main__":
    main(*sys.argv[1:2])
