"""Training on one accelerator, as published: whole accelerators, networks, sources left out.

The tables are not part of the project (:mod:`benchmarks.anchors.rows`); without them there are no
lines, and :func:`goals` says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from benchmarks.accuracy import peers
from benchmarks.accuracy.board import COVERAGE, Floats, Line, missed
from benchmarks.anchors import modelled
from benchmarks.anchors.held_out import (
    Predicted,
    accelerator_of,
    leaving_out,
    network_of,
    ratios_leaving_out,
    source_of,
    without,
)
from benchmarks.anchors.own_code import OwnCode
from benchmarks.anchors.rows import NoReference
from benchmarks.anchors.training import Training

TARGET, RATIO_TARGET = (0.15, 0.40), (0.08, None)
WIDTH, RATIO_WIDTH = 2.5, 1.8  # upper end over lower, median
SMALL_BATCH = 8
OLD = ("k80-die", "p100-sxm2")  # of TensorFlow's tables of 2017 and of nobody else
SHARES = (0.4, 0.7)
RATE = "samples/s of one accelerator"
RATIO = "ratio of two accelerators on one network"


@dataclass(frozen=True)
class Judged:
    """All predictions of published rows."""

    training: Training

    @cached_property
    def accelerators(self) -> Predicted:
        """Whole accelerators left out, of the rows that anchors may be fitted on."""
        return self._fitted(self.everything)

    @cached_property
    def everything(self) -> Predicted:
        """The same with consumer boards and rows whose configuration is partly assumed."""
        return leaving_out(self.training, accelerator_of)

    @cached_property
    def networks(self) -> Predicted:
        """Whole networks left out, in all sizes."""
        return self._fitted(leaving_out(self.training, network_of))

    @cached_property
    def both(self) -> Predicted:
        """Neither the accelerator nor the network seen."""
        return self._fitted(leaving_out(self.training, accelerator_of, network_of))

    @cached_property
    def sources(self) -> Predicted:
        """Nothing seen of whoever published the row."""
        return self._fitted(leaving_out(self.training, source_of))

    @cached_property
    def sources_and_networks(self) -> Predicted:
        """Neither the source nor the network seen."""
        return self._fitted(leaving_out(self.training, source_of, network_of))

    @cached_property
    def own_code(self) -> Predicted:
        """Code of people's own as if it were ordinary, each source by what the others tell."""
        return OwnCode.of(self.training).held_out()

    @cached_property
    def ratios(self) -> tuple[Predicted, Predicted]:
        """Of two accelerators: one of them left out, or the network."""
        return (
            ratios_leaving_out(self.training, accelerator_of),
            ratios_leaving_out(self.training, network_of),
        )

    @cached_property
    def old(self) -> Predicted:
        """K80 and P100 with all who published rates of them."""
        return without(
            self.training, np.array([accelerator_of(row) in OLD for row in self.training.rows])
        )

    @property
    def small(self) -> Predicted:
        """The smallest batches, accelerators left out."""
        found = self.accelerators
        return found.part(np.array([
            self.training.rows[at].batch <= SMALL_BATCH for at in found.rows
        ]))  # fmt: skip

    @property
    def by_host(self) -> Predicted:
        """Rows in which the host's launches decide, accelerators left out."""
        return self.everything.part(self.training.by_host[self.everything.rows])

    @property
    def unfitted(self) -> Predicted:
        """Rows on which anchors are never fitted, accelerators left out."""
        return self.everything.part(~self.training.fitted[self.everything.rows])

    def _fitted(self, found: Predicted) -> Predicted:
        return found.part(self.training.fitted[found.rows])

    def others(self) -> dict[str, Floats]:
        """Predicted over measured samples/s of the rows of :attr:`accelerators`, by predictor."""
        rows = [self.training.rows[at] for at in self.accelerators.rows]
        measured = np.array([row.step_s for row in rows])
        bare = measured / np.array([modelled.step_s(row) for row in rows])
        names = np.array([accelerator_of(row) for row in rows])
        medians = np.array([np.median(bare[names != name]) for name in names])
        found = {
            f"FLOPs / ({share} peak)": measured
            / np.array([modelled.flops_s(row, share) for row in rows])
            for share in SHARES
        }
        by_share = np.array([modelled.step_s(row, modelled.by_share) for row in rows])
        found["dse at 70 % of both peaks, as studies with efficiency:"] = measured / by_share
        found["dse without its factor"] = bare
        return found | {"dse, one factor for all": bare / medians}


@cache
def judged() -> Judged | None:
    """What the tables give; None where they are not here."""
    try:
        return Judged(Training.published())
    except NoReference:
        return None


def lines() -> list[Line]:
    """dse with anchors that have not seen the group, and simpler predictors of the same rows."""
    found = judged()
    if found is None:
        return []
    left_out = f"{RATE}, whole accelerators left out"
    first, *rest = (
        _line(left_out, found.accelerators, TARGET),
        _line(f"{RATE}, whole networks left out", found.networks, TARGET),
        _line(f"{RATE}, accelerator and network left out", found.both, TARGET, again=True),
        _line(f"{RATE}, whole sources left out", found.sources, TARGET, again=True),
        _line(
            f"{RATE}, source and network left out", found.sources_and_networks, TARGET, again=True
        ),
        _line(f"{RATE}, at most {SMALL_BATCH} samples at once", found.small, again=True),
        _line(f"{RATE}, where the host's launches decide", found.by_host, again=True),
        _line(f"{RATE}, K80 and P100 left out with who published them", found.old, again=True),
        _line(f"{RATE}, consumer boards and rows partly assumed, never fitted on", found.unfitted),
        _line(f"{RATE}, code never seen (stack plain), each source by the others", found.own_code),
        _line(f"{RATIO}, one of them left out", found.ratios[0], RATIO_TARGET, again=True),
        _line(f"{RATIO}, the network left out", found.ratios[1], RATIO_TARGET, again=True),
    )
    beside = peers.lines(
        left_out,
        found.accelerators,
        [found.training.rows[at] for at in found.accelerators.rows],
    )
    simpler = [Line(left_out, by, ratio) for by, ratio in found.others().items()]
    return [first, *simpler, *beside, *rest]


def _line(
    data: str,
    found: Predicted,
    target: tuple[float, float | None] | None = None,
    again: bool = False,
) -> Line:
    return Line(data, "dse", found.ratio, found.inside, target, again)


def goals() -> str:
    """What the intervals hold and how wide they are, as Markdown."""
    found = judged()
    if found is None:
        return f"{RATE.capitalize()}: left out, the published tables are not here (DSE_REFERENCE)."
    asked = (
        ("whole accelerators left out", found.accelerators, WIDTH),
        ("whole networks left out", found.networks, WIDTH),
        ("accelerator and network left out", found.both, WIDTH),
        ("whole sources left out", found.sources, WIDTH),
        ("source and network left out", found.sources_and_networks, WIDTH),
        (f"at most {SMALL_BATCH} samples at once", found.small, WIDTH),
        ("code never seen (stack plain)", found.own_code, WIDTH),
        (f"{RATIO}, one left out", found.ratios[0], RATIO_WIDTH),
        (f"{RATIO}, the network left out", found.ratios[1], RATIO_WIDTH),
    )
    return "\n".join((
        f"| 90 % intervals of {RATE} | points | hold | wanted | high / low, median | wanted |",
        "|---|---|---|---|---|---|",
        *(_goal(name, predicted, width) for name, predicted, width in asked),
    ))  # fmt: skip


def _goal(name: str, found: Predicted, width: float) -> str:
    held, wide = float(np.mean(found.inside)), float(np.median(found.width))
    low, high = COVERAGE
    off = " missed" * missed(held, len(found.ratio)), " missed" * (wide > width)
    return (
        f"| {name} | {len(found.ratio)} | {held:.0%} | {low:.0%}-{high:.0%}{off[0]} "
        f"| {wide:.2f} | at most {width}{off[1]} |"
    )
