"""What the parts of points draw, and what a rack holds of them, as the catalogue and prices say."""

from __future__ import annotations

from dse.model.power import UnitWatts
from dse.model.racks import Rack
from dse.pricing.hardware import number
from dse.pricing.layout_arrays import LayoutArrays


def unit_watts(points: LayoutArrays) -> UnitWatts:
    """Watts of one of each part."""
    prices = points.problem.prices
    return UnitWatts(
        accelerator=points.machine(lambda m: number(m.accelerator.power_w)),
        idle_share=number(prices.idle_power_share.value),
        host=points.machine(lambda m: m.host_w),
        host_share=points.machine(lambda m: m.host_share),
        server=number(prices.host_power_w.value),
        nic=points.wire(lambda w: w.watts.nic),
        switch_port=points.wire(lambda w: w.watts.switch_port),
        cable=points.wire(lambda w: w.watts.cable),
        pue=number(prices.pue.value),
    )


def rack(points: LayoutArrays) -> Rack:
    """One rack, and what a node takes of it."""
    prices = points.problem.prices
    return Rack(
        limit_w=number(prices.rack_power_w.value),
        units=number(prices.rack_units.value),
        node_units=points.machine(lambda m: m.rack_units),
        server_units=number(prices.host_units.value),
    )
