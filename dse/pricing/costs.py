"""What design points cost, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from dse.model import money
from dse.model.arrays import Array, ArrayLike, Mask
from dse.model.bill import Bill
from dse.model.goodput import Failures, Goodput, goodput
from dse.pricing import extras, hardware, power
from dse.pricing.hardware import Machine, Wiring
from dse.pricing.points import Points
from dse.pricing.rental import Rental
from dse.pricing.stock import Stock, network_of
from dse.pricing.unit_price import UnitPrice
from dse.study.axes import RENTAL


class Costs:
    """What the parts of points cost to buy, to rent and to run, whatever a step of them takes, and
    what failures leave of the time that is paid."""

    def __init__(self, points: Points) -> None:
        self.points, self.problem = points, points.problem

    @cached_property
    def owned(self) -> money.Owned | None:
        """How many of these parts stand there already; None where the study owns nothing.

        A host can be used with its own kind of accelerator alone, and by points with no more of
        them to a node than it holds; any host may serve parameters. Parts of a network are of use
        in the same network only.
        """
        standing = self.problem.standing
        if not standing:
            return None
        names = [(machine.node or machine.accelerator).name for machine in self.points.machines]
        at = self.points.coordinates[self.points.machine_axis].at
        accelerators, nodes = np.zeros((2, *(1,) * self.points.rank))
        for stock in standing:
            alike = np.array([name == stock.machine for name in names]).take(at)
            accelerators = accelerators + stock.accelerators * alike
            nodes = nodes + stock.hosts * alike * (self.points.gpus_per_node <= stock.held)
        return money.Owned(
            accelerators=accelerators,
            nodes=nodes,
            hosts=sum(stock.hosts for stock in standing),
            nics=self._of_network(lambda stock: stock.nics),
            switches=self._of_network(lambda stock: stock.switches),
            cables=self._of_network(lambda stock: stock.cables),
            racks=sum(stock.racks for stock in standing),
        )

    def _of_network(self, count: Callable[[Stock], float]) -> Array:
        """How many of a part stand there in the network that joins the nodes of each point."""
        found, axis = self.points.at("inter_node"), "inter_node"
        if found is not None:
            networks = [None if value is None else network_of(value) for value in found.values]
        else:
            axis, own = (
                self.points.machine_axis,
                [m.node and m.node.inter_node for m in self.points.machines],
            )
            networks = [network_of(name) if name else None for name in own]
        counts = [
            sum(count(stock) for stock in self.problem.standing if stock.network == network)
            for network in networks
        ]
        return np.array(counts, dtype=np.float64).take(self.points.coordinates[axis].at)

    @cached_property
    def bill_to_buy(self) -> Bill:
        """How many of every part must be added to what stands there."""
        owned = self.owned
        return self.points.bill if owned is None else money.to_buy(self.points.bill, owned)

    @property
    def racks_to_buy(self) -> Array:
        """Racks that must be added."""
        owned, filled = self.owned, self.cost().racks
        return filled if owned is None else money.beyond(filled, owned.racks)

    def cost(self) -> money.Cost:
        """To buy, to rent, to run."""
        problem, prices = self.problem, self.problem.prices
        number = hardware.number
        return money.cost(
            self.points.bill,
            money.Prices(
                self._machine_price(lambda m: m.accelerator_usd),
                self._machine_price(lambda m: m.host_usd),
                self._wire_price(lambda w: w.nic_usd),
                self._wire_price(lambda w: w.switch_port_usd),
                self._wire_price(lambda w: w.cable_usd),
                self._wire_price(lambda w: w.uplink_usd),
                self.points.wire(lambda w: w.switch_radix),
                self._rent,
                self._alone(problem.remember("host", lambda: hardware.host_price(prices))),
                number(prices.rack_usd.value),
                power.unit_watts(self.points),
                power.rack(self.points),
                self._alone(power.electricity(problem)),
                number(prices.amortisation_years.value),
                self._extras,
                power.unit_watts(self.points, rated=True) if problem.draws else None,
                operation=number(prices.operation_share.value),
                **vars(problem.study.ownership),
            ),
            self.owned,
        )

    def _machine_price(self, read: Callable[[Machine], UnitPrice]) -> Array:
        """What machines cost, or as many draws of it as are priced, (draws, *S)."""
        return self._price(self.points.machine_axis, [read(row) for row in self.points.machines])

    def _wire_price(self, read: Callable[[Wiring], UnitPrice]) -> Array:
        axis, rows = self.points.wiring
        return self._price(axis, [read(row) for row in rows])

    def _price(self, axis: str, prices: Sequence[UnitPrice]) -> Array:
        usd = np.stack([price.drawn(self.problem.draws) for price in prices], axis=-1)
        return usd.take(self.points.coordinates[axis].at, axis=-1)

    @property
    def _rent(self) -> Array:
        """What is paid for an hour of each machine on the terms of its point, or as many draws of
        it as are priced, (draws, *S)."""
        points, problem = self.points, self.problem

        def paid(rental: Rental, price: UnitPrice) -> ArrayLike:
            return price.drawn(problem.draws) * rental.share_of(price.fact)

        # (terms, machines, draws)
        paid_usd = np.array([[paid(rental, machine.rent) for machine in points.rented(rental)]
                             for rental in points.rentals])  # fmt: skip
        terms, machine = points.at(RENTAL), points.coordinates[points.machine_axis].at
        found = paid_usd[0 if terms is None else terms.at, machine]
        return np.moveaxis(found, -1, 0) if problem.draws else found

    def goodput(self) -> Goodput:
        """What failures, checkpoints and runs that stall leave of a run's time."""
        on_terms = self.points.on_terms
        found = replace(
            Failures(*map(self.points.drawn, vars(self.problem.failures).values())),
            interruptions_per_s=on_terms(lambda rental: rental.interruptions_per_s),
            interruption_power=on_terms(lambda rental: rental.interruption_power),
            restart_s=on_terms(lambda rental: rental.start_up_s if rental.taken_away else 0.0),
            wait_s=on_terms(lambda rental: rental.wait_s),
        )
        running = goodput(self.points.gpus, found)
        return replace(running, share=np.asarray(running.share * self.points.calm))

    @property
    def _extras(self) -> money.Extras:
        """What is bought beside the hardware, or as many draws of it as are priced."""
        problem = self.problem
        if not problem.prices.extras:
            return money.NO_EXTRAS
        found: money.Extras = problem.remember(
            "extras", lambda: extras.summed(problem.prices, problem.draws)
        )
        return money.Extras(*map(self.points.drawn, vars(found).values()))

    def _alone(self, price: UnitPrice) -> ArrayLike:
        """One price for all points, or as many draws of it as are priced."""
        return self.points.drawn(price.drawn(self.problem.draws))

    @property
    def sold(self) -> Mask | None:
        """Whether those of their accelerators that do not stand there are sold new; None where the
        study does not ask."""
        if not self.problem.buys_new:
            return None
        sold = np.asarray(self.points.machine(lambda m: m.sold_until is None) > 0)
        return sold if self.owned is None else sold | (self.bill_to_buy.accelerators <= 0)
