"""Counting what an owner has: every part of the machines and networks that a study names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from dse import catalog
from dse.model.arrays import scalar
from dse.model.power import draw
from dse.model.racks import racks
from dse.pricing import power
from dse.pricing.points import Points
from dse.pricing.stock import Stock, network_of
from dse.study import OwnedHardware, Study, Value
from dse.study.axes import MACHINES

Values: TypeAlias = Mapping[str, Value | None]


def stock_of(study: Study, entry: OwnedHardware, points_at: Callable[[Values], Points]) -> Stock:
    """Of an entry of the study. points_at: places a point, before it is priced."""
    joined = entry.inter_node
    if joined is None and entry.axis == "node":
        joined = catalog.node(entry.machine).inter_node
    network = None if joined is None else network_of(joined)
    points = points_at(_values(study, entry))
    bill = points.bill
    counts = float(network is not None)
    drawn = draw(bill, points.wire(lambda w: w.switch_radix), power.unit_watts(points))
    filled = scalar(racks(bill, drawn, power.rack(points)))
    return Stock(
        machine=entry.machine,
        accelerators=scalar(bill.accelerators),
        held=scalar(points.gpus_per_node),
        hosts=scalar(bill.nodes),
        network=network,
        nics=counts * scalar(bill.nics),
        switches=counts * scalar(bill.tree.switches),
        cables=counts * scalar(bill.tree.links),
        racks=filled if np.isfinite(filled) else 0.0,
    )


def _values(study: Study, entry: OwnedHardware) -> dict[str, Value | None]:
    """The values of a point that is made of an entry's machines, and trains as the baseline
    does."""
    values: dict[str, Value | None] = dict(study.baseline.values)
    for name in (*MACHINES, "gpus_per_node", "nics_per_node"):
        values.pop(name, None)
    values[entry.axis] = entry.machine
    if entry.axis == "node":
        values["gpus"] = entry.count * catalog.node(entry.machine).accelerators
    else:
        values["gpus"], values["gpus_per_node"] = entry.count, entry.gpus_per_node or 1
        values["nics_per_node"] = 1
    if entry.nics_per_node is not None:
        values["nics_per_node"] = entry.nics_per_node
    if entry.inter_node is not None:
        values["inter_node"] = entry.inter_node
    values["ps_placement"] = "colocated"  # it is no server that the machines need
    return values
