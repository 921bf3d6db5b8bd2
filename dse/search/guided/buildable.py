"""What is known of a point without pricing it: that its nodes are full, and its number format."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array, Mask
from dse.pricing import hardware
from dse.pricing.problem import Problem
from dse.search.guided.points import Points, size
from dse.study.axes import MACHINES


class Buildable:
    """Looks up pairs of values: accelerators and accelerators per node, machine and precision.

    A study has at most one axis for each of them; what has none is left to the model.
    """

    def __init__(self, problem: Problem, space: Points) -> None:
        columns = {name: at for at, name in enumerate(space.names)}
        plain = {axis.name: axis for axis in space.axes if not axis.continuous}
        machine = next((name for name in MACHINES if name in plain), None)
        rows = hardware.machines(machine, plain[machine].values, problem.prices) if machine else ()
        per_node: list[float] = []
        self._gpus = self._nodes = self._machine = self._precision = -1
        if "gpus_per_node" in plain:
            per_node = [size(v) for v in plain["gpus_per_node"].values]
            self._nodes = columns["gpus_per_node"]
        elif machine == "node":
            per_node = [float(row.node.accelerators if row.node else 1) for row in rows]
            self._nodes = columns["node"]
        if per_node and "gpus" in plain:
            self._gpus = columns["gpus"]
            gpus = np.array([size(v) for v in plain["gpus"].values])
            per = np.array(per_node)[:, None]
            self._full = (np.mod(gpus, per) == 0) | (gpus < per)
            self._nearest = _nearest(gpus, self._full)
        if machine is not None:
            self._machine = columns[machine]
            bought = problem.buys_new and not problem.study.owned
            self._sold = np.array([not bought or row.sold_until is None for row in rows])
        if machine is not None and "precision" in plain:
            self._precision = columns["precision"]
            self._computes = np.array(
                [[np.isfinite(row.accelerator.peak_flops_per_s.get(str(p), np.nan))
                  for p in plain["precision"].values] for row in rows]
            )  # fmt: skip

    def __call__(self, codes: Array) -> Mask:
        """Which rows may be buildable; shape (points,)."""
        found = np.ones(len(codes), dtype=bool)
        if self._gpus >= 0:
            found &= self._full[_at(codes, self._nodes), _at(codes, self._gpus)]
        if self._machine >= 0:
            found &= self._sold[_at(codes, self._machine)]
        if self._precision >= 0:
            found &= self._computes[_at(codes, self._machine), _at(codes, self._precision)]
        return found

    def repaired(self, codes: Array) -> Array:
        """The rows with the nearest number of accelerators that fills their nodes."""
        codes = codes.copy()
        if self._gpus >= 0:
            nearest = self._nearest[_at(codes, self._nodes), _at(codes, self._gpus)]
            codes[:, self._gpus] = nearest
        return codes

    def levels(self, column: int, row: Array, count: int) -> NDArray[np.int64]:
        """Positions on an axis that the others of the row allow."""
        if column == self._gpus:
            return np.flatnonzero(self._full[int(row[self._nodes])])
        return np.arange(count)


def _at(codes: Array, column: int) -> NDArray[np.int64]:
    return np.asarray(codes[:, column].astype(np.int64))


def _nearest(gpus: Array, full: Mask) -> NDArray[np.int64]:
    """Per size of nodes and number of accelerators the position of the nearest that is full."""
    found = np.tile(np.arange(len(gpus)), (len(full), 1))
    for row, mask in zip(found, full, strict=True):
        usable = np.flatnonzero(mask)
        if len(usable):
            row[:] = usable[nearest(np.log(gpus[usable]), np.log(gpus))]
    return found


def nearest(numbers: Array, wanted: Array) -> NDArray[np.int64]:
    """Positions in numbers, of any order, of those nearest to the wanted."""
    order = np.argsort(numbers, kind="stable")
    rising = numbers[order]
    after = np.clip(np.searchsorted(rising, wanted), 1, max(len(rising) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(rising) - 1)
    closer = np.abs(rising[after] - wanted) < np.abs(rising[before] - wanted)
    return np.asarray(order[np.where(closer, after, before)])
