"""The model beside what was measured where it was not fitted: errors, order, and the choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import Protocol

import numpy as np

from benchmarks.accuracy import lab
from benchmarks.approaches import model, results
from benchmarks.approaches.cells import APPROACHES, Cell
from benchmarks.approaches.results import Measured, Row, Seconds
from dse.model.arrays import Array


@dataclass(frozen=True)
class Judged:
    """Everything over the held-out cells, of a model or of another run in place of one.

    ratio: predicted over measured, (cells and approaches,), also of cells that lack approaches;
    the others of cells that have all. order: share of the cells in which all
    pairs of approaches are ordered rightly that the noise does not tie; strict: with no ties at
    all; pairs, all_pairs: shares of those pairs, and of all. apart: share of the cells in which
    those are ordered rightly whose rounds do not overlap, either. chosen: measured seconds of the
    approach predicted fastest over those of the fastest, (cells,).
    """

    ratio: Array
    order: float
    strict: float
    pairs: float
    all_pairs: float
    apart: float
    chosen: Array


class Predictor(Protocol):
    """What says how long a round takes."""

    def seconds(self, approach: str, cell: Cell) -> float: ...


@dataclass(frozen=True)
class OneRun:
    """One run of the measurement in place of a model."""

    times: Seconds

    def seconds(self, approach: str, cell: Cell) -> float:
        """As measured in that run."""
        return self.times[cell, approach]


@cache
def committed() -> Measured:
    """What is in the results."""
    return results.measured(results.rows())


def fitted(measured: Measured) -> model.Model:
    """The model, fitted to the few cells that it may be fitted to."""
    return _of_committed() if measured is committed() else _fit(measured)


@cache
def _of_committed() -> model.Model:
    return _fit(committed())


def _fit(measured: Measured) -> model.Model:
    return model.fit(measured.seconds, lab.forced()[2], lab.calls())


@cache
def confirming() -> Measured:
    """What was measured after the model's form was final; noise as of the others."""
    found = results.measured(results.rows(results.CONFIRMING_FILE))
    return replace(found, noise=committed().noise)


def repeats(rows: Sequence[Row]) -> list[Judged]:
    """How well one of two runs of the same foretells the other, both ways."""
    first, second = single_runs(rows)
    return [judge(second, OneRun(first.seconds)), judge(first, OneRun(second.seconds))]


def single_runs(rows: Sequence[Row]) -> list[Measured]:
    """Each of two runs by itself, with the noise of both."""
    noise = results.measured(rows).noise
    return [Measured(results.one_run(rows, which), noise) for which in (0, 1)]


def judge(measured: Measured, by: Predictor) -> Judged:
    """Compare in every cell that was held out."""
    ratio = [by.seconds(name, cell) / s
             for (cell, name), s in measured.seconds.items() if not cell.fitted]  # fmt: skip
    chosen, cells_right, cells_strict, cells_apart = [], [], [], []
    tied, untied = list[bool](), list[bool]()
    for cell in held_out(measured):
        real = measured.of(cell)
        said = {name: by.seconds(name, cell) for name in real}
        chosen.append(real[min(said, key=said.__getitem__)] / min(real.values()))
        right, clear = [], []
        for a, b in combinations(real, 2):
            good = (real[a] < real[b]) == (said[a] < said[b])
            apart = differ(real[a], real[b], measured.noise)
            right.append((good, apart))
            clear.append(good or not apart or overlap(measured, cell, a, b))
        untied += [good for good, apart in right if apart]
        tied += [good for good, apart in right if not apart]
        cells_right.append(all(good for good, apart in right if apart))
        cells_strict.append(all(good for good, _ in right))
        cells_apart.append(all(clear))
    return Judged(
        np.array(ratio), float(np.mean(cells_right)), float(np.mean(cells_strict)),
        float(np.mean(untied)), float(np.mean(tied + untied)), float(np.mean(cells_apart)),
        np.array(chosen),
    )  # fmt: skip


def held_out(measured: Measured) -> list[Cell]:
    """The cells that nothing was fitted to, of which everything was measured."""
    return [c for c in measured.cells() if not c.fitted and len(measured.of(c)) == len(APPROACHES)]


def differ(first_s: float, second_s: float, noise: float) -> bool:
    """Whether two times are further apart than two runs of the same mostly are."""
    return abs(first_s - second_s) > noise * (first_s + second_s) / 2


def overlap(measured: Measured, cell: Cell, first: str, second: str) -> bool:
    """Whether some round of each was faster than some round of the other."""
    ranges = [measured.rounds.get((cell, name)) for name in (first, second)]
    if ranges[0] is None or ranges[1] is None:
        return False
    return ranges[0][0] <= ranges[1][1] and ranges[1][0] <= ranges[0][1]


def report(rows: Sequence[Row]) -> str:
    """Tables: predicted beside measured in every cell, parameters, and the verdicts."""
    measured = results.measured(rows)
    by = fitted(measured)
    lines = [*cells_table(measured, by), "", "Measured seconds a round (the model's error); "
             "* fitted to.", ""]  # fmt: skip
    lines += ["| stack | a message | a GB | copies hide behind the wire |", "|---|---|---|---|"]
    lines += [
        f"| {name} | {1e6 * stack.latency_s:,.0f} us | {stack.s_per_byte * 1e9:.2f} s "
        f"| p = {stack.overlap:.1f} |"
        for name, stack in by.stacks.items()
    ]
    later = confirming()
    lines += ["", f"slip: {by.slip:.1%} an exchange", "", verdict(measured, by),
              *repeat_verdicts(rows, by), "", "Measured after the form was final:", "",
              *cells_table(later, by), "", verdict(later, by)]  # fmt: skip
    return "\n".join(lines)


def cells_table(measured: Measured, by: Predictor) -> list[str]:
    """Predicted beside measured in every cell."""
    lines = [f"| network | hosts | Mbps | {' | '.join(APPROACHES)} |",
             "|---" * (3 + len(APPROACHES)) + "|"]  # fmt: skip
    for cell in measured.cells():
        real = measured.of(cell)
        shown = [f"{real[a]:.2f} ({by.seconds(a, cell) / real[a] - 1:+.0%})" if a in real else ""
                 for a in APPROACHES]  # fmt: skip
        star = "*" * cell.fitted
        lines.append(f"| {cell.workload}{star} | {cell.hosts} | {cell.mbps:g} "
                     f"| {' | '.join(shown)} |")  # fmt: skip
    return lines


def verdict(measured: Measured, by: Predictor) -> str:
    """The numbers that count, in a few lines."""
    found = judge(measured, by)
    error = np.abs(found.ratio - 1)
    return (
        f"{found.ratio.size} held-out times, {found.chosen.size} whole cells: median error "
        f"{np.median(error):.1%}, nine of ten below {np.quantile(error, 0.9):.0%}\n"
        f"order right in {found.strict:.0%} of the cells, {found.all_pairs:.1%} of the pairs; "
        f"where {measured.noise:.0%} apart is a tie, in {found.order:.0%} and {found.pairs:.1%}; "
        f"where rounds that overlap are ties, too, in {found.apart:.0%} of the cells\n"
        f"the approach predicted fastest takes {np.mean(found.chosen) - 1:.1%} longer than the "
        f"fastest on average, {found.chosen.max() - 1:.0%} at most"
    )


def repeat_verdicts(rows: Sequence[Row], by: Predictor) -> Iterator[str]:
    """The same of one run in place of the model, and of the model, both judged by single runs."""
    yield _mean_verdict("one of two runs in place of the model, judged by the other", repeats(rows))
    alike = [judge(run, by) for run in single_runs(rows)]
    yield _mean_verdict("the model, judged by one run at a time, as that is", alike)


def _mean_verdict(of: str, both: Sequence[Judged]) -> str:
    strict, order, pairs, chosen = (
        np.mean([getattr(one, name) for one in both])
        for name in ("strict", "order", "pairs", "chosen")
    )
    return (
        f"{of}: {strict:.0%} of the cells, with ties {order:.0%} and {pairs:.1%} of the pairs; "
        f"what it has fastest takes {chosen - 1:.1%} longer"
    )
