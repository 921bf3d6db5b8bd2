"""What draws the watts of a point, and what the electricity of its site costs and emits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from dse import catalog
from dse.calibration.spread import NORMAL_90
from dse.catalog.power_spread import stated
from dse.pricing import power
from dse.pricing.problem import Problem
from dse.report import words
from dse.report.design_point import Power
from dse.report.json_form import number
from dse.study import Value
from dse.study.quantities import JOULES_PER_KWH

HALF_NORMAL_90 = (1.960, 0.0627)  # |z| that 95 % and 5 % of a standard normal's draws stay below


def of_point(problem: Problem, values: Mapping[str, Value | None]) -> Power:
    """The watts that a point draws, and what its electricity costs and emits."""
    evaluation, prices = problem.point(values), problem.prices
    cost = evaluation.cost
    drawn, racks = cost.draw, number(cost.racks)
    return Power(
        accelerators_w=number(drawn.accelerators_w),
        hosts_w=number(drawn.hosts_w),
        servers_w=number(drawn.servers_w),
        network_w=number(drawn.network_w),
        cooling_w=number(drawn.cooling_w),
        pue=prices.pue.value,
        racks=None if racks is None else int(racks),
        rack_w=number(power.rack_feeds_w(problem.points_at(values), drawn)),
        electricity_usd_per_kwh=prices.electricity_usd_per_kwh.value,
        carbon_kg_per_kwh=prices.carbon_kg_per_kwh.value,
        region=problem.study.region,
        run_energy_j=number(evaluation["energy"]),
        run_carbon_kg=number(evaluation["carbon"]),
    )


def lines(found: Power) -> Iterator[str]:
    """A small table: what draws how much, with its share."""
    cooling = "cooling" if found.pue is None else f"cooling (PUE {found.pue:g})"
    rows = [
        ("accelerators", found.accelerators_w),
        ("hosts", found.hosts_w),
        *([("parameter servers", found.servers_w)] if found.servers_w else []),
        ("network", found.network_w),
        (cooling, found.cooling_w),
    ]
    total = sum(watts or 0.0 for _, watts in rows)
    for what, watts in rows:
        known = f"{watts:14,.0f} W  {watts / total:5.1%}" if watts is not None else words.UNKNOWN
        yield f"  {what:<24} {known}"
    if found.racks:
        many = "rack" if found.racks == 1 else "racks"
        yield f"  (at full load; fills {found.racks:,} {many} of {words.shown(found.rack_w, 'W')})"
    if found.run_energy_j is not None and found.run_carbon_kg is not None:
        where = f" in {catalog.region(found.region).title}" if found.region else ""
        yield (
            f"  (a run uses {words.significant(found.run_energy_j / JOULES_PER_KWH)} kWh and emits "
            f"{words.shown(found.run_carbon_kg, 'kg CO2e')}{where})"
        )


def assumptions(problem: Problem) -> Iterator[str]:
    """The load that power is of, and how far nine in ten simulated sites and machines are off it;
    what a user states is certain (:mod:`dse.pricing.power`)."""
    prices, spread = problem.prices, catalog.power_spread()
    yield (
        "Power is that of full load: accelerators at their rated power, hosts as their makers' "
        "maxima leave or as any host, cards, switches and optics by the speed of the link, and "
        f"cooling by a PUE of {prices.pue.text}. What is paid for and does not train draws "
        f"{prices.idle_power_share.text} of its rated power."
    )
    drawn = []
    if site := power.electricity(problem).log_spread:
        drawn.append(f"{_either_way(site)} for the price of electricity")
    if prices.pue.value is not None and not stated(prices.pue):
        off, factor = prices.pue.value - 1, math.exp(NORMAL_90 * spread.pue)
        drawn.append(f"a PUE of {1 + off / factor:.2f} to {1 + off * factor:.2f}")
    drawn.append(f"{_below(spread.accelerators)} of the rated power of accelerators")
    drawn.append(f"{_below(spread.machines)} of the maximum of machines whose maker states one")
    if not stated(prices.host_power_w):
        drawn.append(f"{_either_way(spread.hosts)} for other hosts")
    drawn.append(f"{_either_way(spread.network)} for the network")
    yield (
        f"Nine of ten simulated outcomes are within: {'; '.join(drawn)} (PUE and watts are judged, "
        "not measured)."
    )


def _either_way(log_spread: float) -> str:
    return f"a factor {math.exp(NORMAL_90 * log_spread):.2g} either way"


def _below(log_spread: float) -> str:
    """Of what is drawn below a maximum, from the 5th to the 95th percentile."""
    least, most = (words.percent(math.exp(-end * log_spread)) for end in HALF_NORMAL_90)
    return f"{least} to {most}"
