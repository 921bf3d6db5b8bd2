"""dse's rows of work at the efficiencies that Calculon publishes for its processors.

Calculon (Isaev et al., SC 2023) takes for each operation of size F and Q bytes::

    T = F / (peak e(F)) + Q / (bandwidth e(Q))

where e rises in a few steps with the size of the operation; flops and bytes do not overlap. The
numbers are in benchmarks/data/calculon.csv, from the files of two systems that come with it.
Calculon itself is not on the package index and was not run. The operations are dse's
(:mod:`dse.catalog.rows_of_work`), attention one kernel where the software had one. Left out: FLOPs
of element-wise work, and whatever a host does.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.anchors.modelled import layers
from benchmarks.anchors.rows import Row
from dse.model.compute import (
    BACKWARD_FLOPS,
    BACKWARD_FUSED_ATTENTION,
    FORWARD_SHARE,
    SCORE_ELEMS,
    roofline_device,
    update_share_s,
)
from dse.model.precision import OPTIMIZER_STATE_BYTES, PRECISIONS, Precision
from dse.model.stack import Stack
from dse.model.work import Attention, Moved, Products
from dse.pricing import devices

TABLE = Path(__file__).parents[1] / "data" / "calculon.csv"
FORMATS = {"fp16": "fp16", "bf16": "fp16", "fp8": "fp8"}
MEMORY = "memory"
FAMILIES = ("encoder", "decoder", "encoder-decoder")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Efficiency:
    """peak: FLOP/s, or bytes/s. sizes, shares: from which FLOPs or bytes of an operation on it
    reaches which share of the peak; rising, the first 0.
    """

    peak: float
    sizes: Floats
    shares: Floats

    def seconds(self, amount: Floats) -> Floats:
        """Of operations of so many FLOPs or bytes."""
        share = self.shares[np.searchsorted(self.sizes, amount, side="right") - 1]
        return np.asarray(amount / (self.peak * share))


@cache
def table() -> dict[tuple[str, str], Efficiency]:
    """By accelerator and number format, or accelerator and "memory"."""
    found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    with TABLE.open(newline="", encoding="utf-8") as file:
        for cells in csv.DictReader(file):
            numbers = float(cells["peak"]), float(cells["from"]), float(cells["efficiency"])
            found.setdefault((cells["accelerator"], cells["what"]), []).append(numbers)
    curves = {}
    for key, steps in found.items():
        peaks, sizes, shares = np.array(steps).T
        curves[key] = Efficiency(float(peaks[0]), sizes, shares)
    return curves


def step_s(row: Row) -> float | None:
    """Seconds of a pass and of its share of the update, as :attr:`.Row.step_s` measures them; None
    where Calculon has no such processor or format, or the network is no transformer."""
    flops = table().get((row.accelerator, FORMATS.get(row.precision, "")))
    if flops is None or row.workload.family not in FAMILIES:
        return None
    step = _Step(row, flops, table()[row.accelerator, MEMORY])
    work = layers(row.workload).rows
    step.add_products(work.products)
    step.add_attention(work.attention)
    step.add_moved(work.moved)
    again = 2 if row.recomputed else 1
    return step.forward_s * again + step.backward_s + step.update_s()


class _Step:
    """Seconds of both passes while operations are added."""

    def __init__(self, row: Row, flops: Efficiency, memory: Efficiency) -> None:
        self.row, self.flops, self.memory = row, flops, memory
        self.precision: Precision = PRECISIONS[row.precision]
        self.stack: Stack = devices.software(row.stack)
        self.forward_s = self.backward_s = 0.0

    def _operations_s(self, flops: Floats, moved: Floats) -> float:
        return float((self.flops.seconds(flops) + self.memory.seconds(moved)).sum())

    def add_products(self, rows: Products) -> None:
        """One forward, two backward, all of the same FLOPs and bytes."""
        elems = (rows.input_elems + rows.output_elems) * self.row.batch + rows.k * rows.n
        flops = rows.forward_flops * self.row.batch
        seconds = self._operations_s(flops, elems * self.precision.operand_bytes)
        self.forward_s += seconds
        self.backward_s += BACKWARD_FLOPS * seconds

    def add_attention(self, rows: Attention) -> None:
        """A kernel with the FLOPs of the pairs that count, or two products and stored scores."""
        batch, size = self.row.batch, self.precision.activation_bytes
        heads = rows.heads * batch
        outer = heads * 2 * (rows.queries + rows.keys) * rows.head_size * size
        flops = rows.forward_flops * batch
        if self.stack.fuses(self.row.workload.family) and self.row.fuses_attention:
            flops = flops * rows.unmasked
            self.forward_s += self._operations_s(flops, outer)
            self.backward_s += self._operations_s(flops * BACKWARD_FUSED_ATTENTION, 2 * outer)
            return
        scores = rows.scores * batch * size
        product = 2 * self._operations_s(flops / 2, outer / 2 + scores)
        self.forward_s += product
        self.backward_s += BACKWARD_FLOPS * product
        eager = SCORE_ELEMS[0] + self.stack.eager * (SCORE_ELEMS[1] - SCORE_ELEMS[0])
        self._add_traffic(scores * eager)

    def add_moved(self, rows: Moved) -> None:
        """Bytes of element-wise work."""
        elems = rows.fused_elems + self.stack.eager * (rows.eager_elems - rows.fused_elems)
        self._add_traffic(elems * self.row.batch * self.precision.activation_bytes)

    def _add_traffic(self, moved: Floats) -> None:
        """Bytes that both passes move."""
        seconds = float(self.memory.seconds(moved).sum())
        self.forward_s += seconds * FORWARD_SHARE
        self.backward_s += seconds * (1 - FORWARD_SHARE)

    def update_s(self) -> float:
        """With Adam, as dse counts its bytes, at the share that large operations reach."""
        least = float("nan")
        device = roofline_device(
            self.flops.peak, self.memory.peak, least, least,
            self.flops.shares[-1], self.memory.shares[-1],
        )  # fmt: skip
        network, state = layers(self.row.workload), OPTIMIZER_STATE_BYTES["adam"]
        share = update_share_s(
            network, device, self.precision, state, self.stack, self.row.accumulation
        )
        return float(share) / self.row.shards
