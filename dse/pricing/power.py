"""What the parts of points draw, what their electricity costs, and what a rack holds of them.

Each as the catalogue and the prices say; where draws are priced, off by what sites and machines
differ by (:class:`dse.catalog.PowerSpread`), the same for all points::

    watts of accelerators, and of machines whose maker states a maximum    rated exp(-s |z|)
    of other hosts, and of the network                                     w exp(s z)
    PUE                                                                    1 + (PUE - 1) exp(s z)

z is standard normal, one for each of these lines' subjects. What a user states is certain.
"""

from __future__ import annotations

import numpy as np

from dse.catalog import own, power_spread, region
from dse.catalog.power_spread import stated
from dse.model.arrays import Array, ArrayLike
from dse.model.power import Draw, UnitWatts
from dse.model.racks import Rack, fed_w
from dse.pricing.draws import log_normal, normal
from dse.pricing.hardware import number
from dse.pricing.points import Points
from dse.pricing.study_facts import StudyFacts
from dse.pricing.unit_price import UnitPrice

ELECTRICITY, PUE, WATTS = "electricity", "PUE", "watts"
ACCELERATORS, HOSTS, NETWORK = (f"{WATTS}: {what}" for what in ("accelerators", "hosts", "network"))


def electricity(problem: StudyFacts) -> UnitPrice:
    """USD per kWh. Surer where the study names a region whose price the catalogue has."""
    fact, spread = problem.prices.electricity_usd_per_kwh, power_spread()
    width = 0.0
    if not stated(fact):
        width, name = spread.electricity_site, problem.study.region
        if name is None or region(name).electricity_usd_per_kwh is None:
            width = float(np.hypot(width, spread.electricity_region))
    return UnitPrice(ELECTRICITY, number(fact.value), width, fact)


def pue(problem: StudyFacts) -> ArrayLike:
    """Power usage effectiveness of the site, or as many draws of it as are priced, (draws,)."""
    fact = problem.prices.pue
    value = number(fact.value)
    if not problem.draws or stated(fact):
        return value
    return 1 + (value - 1) * log_normal(1.0, power_spread().pue, PUE, problem.draws)


def unit_watts(points: Points, rated: bool = False) -> UnitWatts:
    """Watts of one of each part; where draws are priced, (draws, *S). rated: those that racks are
    planned by, which are not drawn."""
    problem, prices = points.problem, points.problem.prices
    accelerator = points.machine(lambda m: number(m.accelerator.power_w))
    host, host_share = points.machine(lambda m: m.host_w), points.machine(lambda m: m.host_share)
    server: ArrayLike = number(prices.host_power_w.value)
    network: ArrayLike = 1.0
    if problem.draws and not rated:
        spread, count, column = power_spread(), problem.draws, (-1,) + (1,) * points.rank
        accelerator = accelerator * _below(ACCELERATORS, spread.accelerators, count).reshape(column)
        hosts = 0.0 if stated(prices.host_power_w) else spread.hosts
        drawn = normal(HOSTS, count).reshape(column)
        # The watts of these hosts are what a maker's maximum of the whole machine leaves.
        whole = points.machine(lambda m: float(
            m.accelerator.power_w is not None and m.node is not None and m.node.power_w is not None
        )) > 0  # fmt: skip
        any_host, maximum = np.exp(hosts * drawn), np.exp(-spread.machines * np.abs(drawn))
        host = host * np.where(whole, maximum, any_host)
        server = server * any_host
        network = points.drawn(log_normal(1.0, spread.network, NETWORK, count))
    return UnitWatts(
        accelerator=accelerator,
        idle_share=number(prices.idle_power_share.value),
        host=host,
        host_share=host_share,
        server=server,
        nic=points.wire(lambda w: w.watts.nic) * network,
        switch_port=points.wire(lambda w: w.watts.switch_port) * network,
        cable=points.wire(lambda w: w.watts.cable) * network,
        pue=number(prices.pue.value) if rated else points.drawn(pue(problem)),
    )


def _below(name: str, spread: float, draws: int) -> Array:
    return np.asarray(np.exp(-spread * np.abs(normal(name, draws))))


def rack(points: Points) -> Rack:
    """One rack, and what a node takes of it; what a list of the user says of racks is of all."""
    prices = points.problem.prices
    usual = number(prices.rack_power_w.value)
    dense, liquid = (
        usual if own(prices.rack_power_w) and not own(fact) else number(fact.value)
        for fact in (prices.rack_power_dense_w, prices.rack_power_liquid_w)
    )
    return Rack(
        limit_w=points.machine(lambda m: liquid if m.liquid else usual),
        dense_w=points.machine(lambda m: liquid if m.liquid else dense),
        units=number(prices.rack_units.value),
        node_units=points.machine(lambda m: m.rack_units),
        server_units=number(prices.host_units.value),
    )


def rack_feeds_w(points: Points, drawn: Draw) -> Array:
    """Watts that a rack for the nodes of these points feeds."""
    return fed_w(rack(points), (drawn.accelerators_w + drawn.hosts_w) / points.bill.nodes)
