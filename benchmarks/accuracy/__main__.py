"""How accurate: `make accuracy` predicts what others, or this machine, have measured.

Prints tables, writes reports/accuracy/accuracy.json, and puts the whole of them into
docs/accuracy.md, the best and worst rows of the first and all of that of money into README.md,
between their markers. Held out means: the predictor saw nothing of the group it is judged on.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from benchmarks.accuracy import (
    approaches,
    catalogue_prices,
    choice,
    computing,
    lab,
    layout_board,
    money,
    public_logs,
    scale,
    scaling,
)
from benchmarks.accuracy.board import COVERAGE, ENOUGH, Line, extremes, table
from benchmarks.accuracy.published import checks_table
from benchmarks.page import put
from benchmarks.papers import published
from dse.calibration import Profile, read_profile

PROFILE = Path("calibrations/this-machine.yaml")
OUT = Path("reports/accuracy/accuracy.json")
ROOT = Path(__file__).parents[2]
PAGE, README = ROOT / "docs" / "accuracy.md", ROOT / "README.md"


def this_machine(profile: Profile) -> list[Line]:
    """Allreduce on this machine, every rank count predicted by a fit that has not seen it."""
    lines = []
    for name in profile.measured_algorithms:
        points = [p for p in profile.points if p.algorithm == name and p.held_out_s is not None]
        ratios = np.array([(p.held_out_s or 0.0) / p.measured_s for p in points])
        lines.append(Line(f"{name} here, other rank counts", "dse", ratios))
    return lines


def overall(lines: list[Line]) -> str:
    """What share of all held-out values the 90 % intervals hold, and in how many lines too few.

    Values are counted once, lines all, also those that show the same values again.
    """
    judged = [line for line in lines if line.inside is not None]
    inside = np.concatenate([line.inside for line in judged if not line.again])
    shares = [line.coverage for line in judged if len(line.ratio) >= ENOUGH]
    off = sum(line.misses_coverage for line in judged)
    low, high = COVERAGE
    return (
        f"90 % intervals hold {np.mean(inside):.0%} of {inside.size} held-out values that have "
        f"one, not counting again what other lines show. {off} of {len(shares)} lines of {ENOUGH} "
        f"values or more hold fewer than {low:.0%} or more than {high:.0%} of theirs (missed): "
        f"{min(shares):.0%} to {max(shares):.0%}."
    )


def main() -> None:
    """Predict, compare, print, write."""
    profile = read_profile(PROFILE)
    lines = [
        *public_logs.lines(),
        *lab.lines(),
        *choice.lines(),
        *approaches.lines(),
        *computing.lines(),
        *scaling.lines(),
        *scale.lines(),
        *catalogue_prices.cloud_lines(),
        *this_machine(profile),
    ]
    machine = profile.machine.get("cpu", "this machine")
    note = f"{machine}, {profile.cores} cores, {profile.library} {profile.version}, {profile.date}"
    facts = published.facts()
    nccl = catalogue_prices.rows()
    mpi = catalogue_prices.rows(catalogue_prices.MPI_SYSTEMS)
    parts = (
        computing.goals(), approaches.goals(), checks_table(facts),
        catalogue_prices.table(nccl), catalogue_prices.table(mpi, "MPI"),
    )  # fmt: skip
    tables = "\n\n".join(parts)
    text = f"{table(lines)}\n\n{overall(lines)} here = {note}\n\n{tables}"
    beside_speed = money.lines()
    print(text, money.text(beside_speed), sep="\n\n")
    OUT.parent.mkdir(parents=True, exist_ok=True)
    record = {"lines": [line.record() for line in lines],
              "money": [line.record() for line in beside_speed], "here": note, "facts": facts,
              "without_a_profile": [row.record() for row in (*nccl, *mpi)]}  # fmt: skip
    OUT.write_text(json.dumps(record, indent=1), encoding="utf-8")
    chosen = extremes(lines)
    short = (
        f"{table(chosen)}\n\nThe {len(chosen) // 2} groups with the smallest and the "
        f"{len(chosen) // 2} with the largest median error. {overall(lines)} here = {note}"
    )
    for path, content in ((PAGE, text), (README, short)):
        if put(path, "accuracy", content):
            print(f"updated {path.name}")
    money.write(beside_speed)
    layout_board.main()


if __name__ == "__main__":
    main()
