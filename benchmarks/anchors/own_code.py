"""Code of one's own: by how much it differs from what studies under ``stack: plain`` are priced at.

Rows are those of ``benchmarks/data/own_code.csv`` and, of the published ones, ordinary code that
neither a vendor nor MLPerf tuned; all are taken as ``plain``, since whoever asks for it need not
know what their code fuses. Each source is predicted by anchors without any row of it. The deviation
on either side is the least with which no row is beyond that end of its 90 % interval: of fewer than
twenty sources the farthest is the one in twenty that may be. In :meth:`OwnCode.held_out` it is
learned from the other sources alone.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.anchors import networks
from benchmarks.anchors.accelerators import CONSUMER
from benchmarks.anchors.held_out import (
    Predicted,
    fitted,
    joined,
    left_and_errors,
    source_of,
    spread,
)
from benchmarks.anchors.rows import ROOT, Row
from benchmarks.anchors.training import Training
from dse.catalog import Anchors, Workload
from dse.pricing.anchors import OWN_CODE

TABLE = ROOT / "benchmarks" / "data" / "own_code.csv"
STACK = "plain"
PEOPLE = {"lambda": "plain", "nanotron": "vendor"}  # of the published rows, as they were fitted
TINY_LLAMA = (2048, 22, 32, 4, 5632, 32000, 2048)
END = 1.645  # deviations from the median to an end of the interval

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class OwnCode:
    """Rows of code of people's own, each with what anchors without its source leave of it.

    left: log(measured / predicted seconds), and deviation: of its drawn errors, (rows,).
    """

    published: Training
    rows: Sequence[Row]
    left: Floats
    deviation: Floats

    @classmethod
    def of(cls, published: Training) -> OwnCode:
        """Those of the table and of the published rows."""
        people = [
            replace(row, stack=STACK)
            for row in published.rows
            if PEOPLE.get(source_of(row)) == row.stack and row.accelerator not in CONSUMER
        ]
        rows = [*_table(), *people]
        found = np.empty((len(rows), 2))
        for source, at in _by_source(rows):
            left, errors = left_and_errors(Training(rows), without(published, source), at)
            found[at] = np.column_stack([left, np.std(np.log(errors), axis=0)])
        return cls(published, rows, *found.T)

    def sides(self, *but: str) -> tuple[float, float]:
        """Deviations towards slower and towards faster, learned from sources but some."""
        used = ~np.isin([source_of(row) for row in self.rows], but)
        needed = np.sqrt(np.maximum((self.left / END) ** 2 - self.deviation**2, 0))
        slower, faster = (
            float(np.max(needed, where=used & side, initial=0))
            for side in (self.left > 0, self.left < 0)
        )
        return slower, faster

    def learned(self, anchors: Anchors, *but: str) -> Anchors:
        """Anchors with these deviations."""
        slower, faster = self.sides(*but)
        return replace(
            anchors,
            deviations={**anchors.deviations, OWN_CODE: slower},
            faster={OWN_CODE: faster / slower},
        )

    def held_out(self) -> Predicted:
        """Every row, by anchors and deviations without its source."""
        asked, parts = Training(self.rows, own_code=True), []
        for source, at in _by_source(self.rows):
            anchors = self.learned(without(self.published, source), source)
            parts.append(spread(at, *left_and_errors(asked, anchors, at)))
        return joined(parts)


@cache
def without(published: Training, source: str) -> Anchors:
    """Anchors fitted without a source."""
    return fitted(published, np.array([source_of(row) != source for row in published.rows]))


def _by_source(rows: Sequence[Row]) -> list[tuple[str, NDArray[np.intp]]]:
    sources = np.array([source_of(row) for row in rows])
    return [(str(source), np.flatnonzero(sources == source)) for source in np.unique(sources)]


def _table() -> list[Row]:
    with TABLE.open(newline="", encoding="utf-8") as file:
        return [_row(cells) for cells in csv.DictReader(file)]


def _row(cells: dict[str, str]) -> Row:
    return Row(
        source=cells["source"],
        workload=_workload(cells["workload"]),
        accelerator=cells["accelerator"],
        precision=cells["precision"],
        stack=STACK,
        batch=float(cells["batch"]),
        samples_per_s=float(cells["samples_per_s"]),
        gpus=int(cells["gpus"]),
        shards=int(cells["shards"]),
        recomputed=cells["recomputed"] == "yes",
    )


def _workload(name: str) -> Workload:
    return networks.llama(*TINY_LLAMA) if name == "tiny-llama" else networks.known(name)
