"""The model beside what was measured where it was not fitted: errors, order, and the choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np

from benchmarks.accuracy import lab
from benchmarks.approaches import model, results
from benchmarks.approaches.cells import APPROACHES, Cell
from benchmarks.approaches.results import Measured, Row
from dse.model.arrays import Array


@dataclass(frozen=True)
class Judged:
    """Everything over the held-out cells.

    ratio: predicted over measured, (cells and approaches,), also of cells that lack approaches;
    the others of cells that have all. order: share of the cells in which all
    pairs of approaches are ordered rightly that the noise does not tie; strict: with no ties at
    all; pairs, all_pairs: shares of those pairs, and of all. chosen: measured seconds of the
    approach predicted fastest over those of the fastest, (cells,).
    """

    ratio: Array
    order: float
    strict: float
    pairs: float
    all_pairs: float
    chosen: Array


@cache
def committed() -> Measured:
    """What is in the results."""
    return results.measured(results.rows())


def fitted(measured: Measured) -> model.Model:
    """The model, fitted to the few cells that it may be fitted to."""
    return model.fit(measured.seconds, lab.forced()[2])


def judge(measured: Measured, by: model.Model) -> Judged:
    """Compare in every cell that was held out."""
    ratio = [by.seconds(name, cell) / s
             for (cell, name), s in measured.seconds.items() if not cell.fitted]  # fmt: skip
    chosen, cells_right, cells_strict = [], [], []
    tied, untied = list[bool](), list[bool]()
    for cell in held_out(measured):
        real = measured.of(cell)
        said = {name: by.seconds(name, cell) for name in real}
        chosen.append(real[min(said, key=said.__getitem__)] / min(real.values()))
        right = [
            ((real[a] < real[b]) == (said[a] < said[b]), differ(real[a], real[b], measured.noise))
            for a, b in combinations(real, 2)
        ]
        untied += [good for good, apart in right if apart]
        tied += [good for good, apart in right if not apart]
        cells_right.append(all(good for good, apart in right if apart))
        cells_strict.append(all(good for good, _ in right))
    return Judged(
        np.array(ratio), float(np.mean(cells_right)), float(np.mean(cells_strict)),
        float(np.mean(untied)), float(np.mean(tied + untied)), np.array(chosen),
    )  # fmt: skip


def held_out(measured: Measured) -> list[Cell]:
    """The cells that nothing was fitted to, of which everything was measured."""
    return [c for c in measured.cells() if not c.fitted and len(measured.of(c)) == len(APPROACHES)]


def differ(first_s: float, second_s: float, noise: float) -> bool:
    """Whether two times are further apart than two runs of the same mostly are."""
    return abs(first_s - second_s) > noise * (first_s + second_s) / 2


def report(rows: Sequence[Row]) -> str:
    """Tables: predicted beside measured in every cell, parameters, and the verdict."""
    measured = results.measured(rows)
    by = fitted(measured)
    lines = [f"| network | hosts | Mbps | {' | '.join(APPROACHES)} |",
             "|---" * (3 + len(APPROACHES)) + "|"]  # fmt: skip
    for cell in measured.cells():
        real = measured.of(cell)
        shown = [f"{real[a]:.2f} ({by.seconds(a, cell) / real[a] - 1:+.0%})" if a in real else ""
                 for a in APPROACHES]  # fmt: skip
        star = "*" * cell.fitted
        lines.append(f"| {cell.workload}{star} | {cell.hosts} | {cell.mbps:g} "
                     f"| {' | '.join(shown)} |")  # fmt: skip
    lines += ["", "Measured seconds a round (the model's error); * fitted to.", ""]
    lines += ["| stack | a message | a GB | copies hide behind the wire |", "|---|---|---|---|"]
    lines += [
        f"| {name} | {1e6 * stack.latency_s:,.0f} us | {stack.s_per_byte * 1e9:.2f} s "
        f"| p = {stack.overlap:.1f} |"
        for name, stack in by.stacks.items()
    ]
    return "\n".join([*lines, "", verdict(measured, by)])


def verdict(measured: Measured, by: model.Model) -> str:
    """The numbers that count, in a few lines."""
    found = judge(measured, by)
    error = np.abs(found.ratio - 1)
    return (
        f"{found.ratio.size} held-out times, {found.chosen.size} whole cells: median error "
        f"{np.median(error):.1%}, nine of ten below {np.quantile(error, 0.9):.0%}\n"
        f"order right in {found.strict:.0%} of the cells, {found.all_pairs:.1%} of the pairs; "
        f"where {measured.noise:.0%} apart is a tie, in {found.order:.0%} and {found.pairs:.1%}\n"
        f"the approach predicted fastest takes {np.mean(found.chosen) - 1:.1%} longer than the "
        f"fastest on average, {found.chosen.max() - 1:.0%} at most"
    )
