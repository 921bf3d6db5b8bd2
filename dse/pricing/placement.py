"""Where points lie in a space, as the arrays the model wants; nothing is priced here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dse import catalog
from dse.calibration.ps_part import ServersFit
from dse.model import compute, precision
from dse.model.arrays import Array, Mask
from dse.model.step import AUTO, PARAMETER_SERVER
from dse.pricing import hardware
from dse.pricing.efficiency import DEFAULT_EFFICIENCY, compute_efficiency
from dse.study import APPROACH, Value, Wire, split_aggregation

if TYPE_CHECKING:
    from dse.pricing.problem import Problem


@dataclass(frozen=True)
class Coordinate:
    """Where points lie on one axis: its values, and positions in them, in any shape."""

    values: tuple[Value | None, ...]
    at: NDArray[np.int64]
    key: tuple[int, int] | None = None  # (start, stop) if ``at`` is a slice, for remembering


def listed(values: Sequence[Value | None]) -> Coordinate:
    """Values given per point, as distinct values and positions in them."""
    distinct = tuple(dict.fromkeys(values))
    place = {value: position for position, value in enumerate(distinct)}
    return Coordinate(distinct, np.array([place[value] for value in values], dtype=np.int64))


class Placement:
    """Points of one structure: their coordinates as the arrays of the model.

    fixed: values of the looped axes. coordinates: of the data axes. rank: axes of the points.
    """

    def __init__(
        self,
        problem: Problem,
        fixed: Mapping[str, Value | None],
        coordinates: Mapping[str, Coordinate],
        rank: int,
    ) -> None:
        self.problem, self.rank = problem, rank
        self.fixed = fixed
        self.coordinates = dict(coordinates)
        for name, value in fixed.items():  # a looped axis may also be one the model sees as data
            if value is not None:
                at = np.zeros((1,) * rank, dtype=np.int64)
                self.coordinates.setdefault(name, Coordinate((value,), at, (0, 1)))
        self.precision = precision.PRECISIONS[str(fixed.get("precision", "fp32"))]
        self.algorithm, transport = split_aggregation(str(fixed["aggregation"]))
        self.transport: catalog.Transport
        self.approach: catalog.Approach | None = None
        if self.algorithm == APPROACH:
            found: catalog.Approach = problem.remember(
                (APPROACH, transport), lambda: catalog.approach(transport)
            )
            self.approach, self.algorithm, self.transport = found, found.algorithm, found.transport
            self.profile = None  # no measurement is of an approach
            return
        self.transport = problem.remember(
            ("transport", transport), lambda: catalog.transport(transport)
        )
        self.profile = problem.profile(self.algorithm, transport)

    # -- coordinates -> arrays ---------------------------------------------------------------

    def at(self, name: str) -> Coordinate | None:
        found = self.coordinates.get(name)
        return None if found is None or found.values == (None,) else found

    def numbers(self, name: str, default: float) -> Array:
        """A numeric axis, in the points' shape."""
        found = self.at(name)
        if found is None:
            return np.full((1,) * self.rank, default)
        values = [default if value is None else value for value in found.values]
        return np.array(values, dtype=np.float64)[found.at]

    def attribute(self, name: str, rows: Sequence[object], read: Callable[..., float]) -> Array:
        """An attribute of the rows of axis ``name``, in the points' shape."""
        return hardware.column(rows, read)[self.coordinates[name].at]

    @cached_property
    def machine_axis(self) -> str:
        return "node" if "node" in self.coordinates else "accelerator"

    @cached_property
    def machines(self) -> tuple[hardware.Machine, ...]:
        values = self.coordinates[self.machine_axis].values
        return self.problem.remember(  # type: ignore[no-any-return]
            ("machines", values),
            lambda: hardware.machines(self.machine_axis, values, self.problem.prices),  # type: ignore[arg-type]
        )

    def machine(self, read: Callable[[hardware.Machine], float]) -> Array:
        return self.attribute(self.machine_axis, self.machines, read)

    @cached_property
    def device(self) -> compute.Device:
        efficiency = self.problem.study.efficiency
        peak = self.precision.name
        nan = float("nan")
        return compute.Device(
            self.machine(lambda m: m.accelerator.peak_flops_per_s.get(peak, nan)),
            self.machine(lambda m: hardware.number(m.accelerator.memory_bytes_per_s)),
            self.machine(lambda m: hardware.number(m.accelerator.memory_bytes)),
            self.machine(lambda m: m.host_bytes_per_s),
            self.machine(
                lambda m: compute_efficiency(
                    efficiency.compute, self.problem.profiles.values(), m.accelerator, peak
                )
            ),
            efficiency.memory or DEFAULT_EFFICIENCY,
        )

    @cached_property
    def gpus(self) -> Array:
        return self.numbers("gpus", 1.0)

    @cached_property
    def batch(self) -> Array:
        return self.numbers("batch_per_gpu", 1.0)

    @cached_property
    def gpus_per_node(self) -> Array:
        if self.at("gpus_per_node") is None and self.machine_axis == "node":
            return self.machine(lambda m: float(m.node.accelerators if m.node else 1))
        return self.numbers("gpus_per_node", 1.0)

    @cached_property
    def rails(self) -> Array:
        if self.at("nics_per_node") is None and self.machine_axis == "node":
            return self.machine(lambda m: float(m.node.nics or 1) if m.node else 1.0)
        return self.numbers("nics_per_node", 1.0)

    @cached_property
    def state_bytes(self) -> Array:
        found = self.at("optimizer")
        if found is None:
            return np.full((1,) * self.rank, precision.OPTIMIZER_STATE_BYTES["momentum"])
        return hardware.lookup(precision.OPTIMIZER_STATE_BYTES, found.values)[found.at]  # type: ignore[arg-type]

    @cached_property
    def wiring(self) -> tuple[str, tuple[hardware.Wiring, ...]]:
        """The axis that decides the inter-node link, and one link per value of it."""
        prices, transport = self.problem.prices, self.transport
        found = self.at("inter_node")
        if found is not None:
            values = found.values
            return "inter_node", self.problem.remember(
                ("wiring", transport, values),
                lambda: tuple(
                    hardware.wiring(v, transport, prices) for v in values if v is not None
                ),
            )
        own = [m.node.inter_node if m.node else None for m in self.machines]
        return self.machine_axis, tuple(
            hardware.wiring(name, transport, prices) if name else hardware.UNWIRED for name in own
        )

    def wire(self, read: Callable[[hardware.Wiring], float]) -> Array:
        axis, rows = self.wiring
        return self.attribute(axis, rows, read)

    @cached_property
    def network_names(self) -> tuple[str, tuple[str, ...]]:
        """The axis that decides the inter-node link, and the fabric of every value of it."""
        found = self.at("inter_node")
        if found is not None:
            return "inter_node", tuple(
                (v.fabric or "") if isinstance(v, Wire) else str(v) for v in found.values
            )
        own = [m.node.inter_node if m.node else None for m in self.machines]
        return self.machine_axis, tuple(name or "" for name in own)

    @cached_property
    def slower(self) -> Array:
        """How many times faster a node's link to others was where the profile was measured.

        1 where that is not known, or no profile serves.
        """
        measured = self.profile.link_bytes_per_s if self.profile else None
        if measured is None:
            return np.ones((1,) * self.rank)
        nominal = self.wire(lambda w: w.bytes_per_s) / self.transport.link_efficiency
        return np.asarray(measured / (nominal * self.rails))

    @cached_property
    def priced(self) -> Mask:
        """Whether the library's own choice was measured on as many nodes: on one, or on several.

        What is composed of steps has a price on any.
        """
        library = self.profile.auto if self.profile and self.algorithm == AUTO else None
        if library is None:
            return np.ones((1,) * self.rank, dtype=bool)
        return library.cost().priced(self.gpus, self.gpus_per_node)

    def inside(self, read: Callable[[hardware.Wiring], float]) -> Array | None:
        """The link inside a node that the study chooses; None if it is that of the machine."""
        found = self.at("intra_node")
        if found is None:
            return None
        prices = self.problem.prices
        rows = [hardware.wiring(v, self.transport, prices) for v in found.values if v is not None]
        return self.attribute("intra_node", rows, read)

    @cached_property
    def inside_bytes_per_s(self) -> Array:
        """Bytes per second between accelerators of a node, as the transport reaches them."""
        chosen = self.inside(lambda w: w.bytes_per_s)
        efficiency = self.transport.link_efficiency
        own = self.machine(lambda m: m.intra_bytes_per_s * efficiency) if chosen is None else chosen
        return np.asarray(own)

    @cached_property
    def served(self) -> ServersFit | None:
        """The parameter servers of these points as they were measured, if they were."""
        if self.algorithm != PARAMETER_SERVER or self.profile is None:
            return None
        return self.profile.ps.get(self.transport.name)

    @cached_property
    def servers(self) -> Array:
        return self.numbers("ps_servers", 1.0)

    @cached_property
    def colocated(self) -> Mask:
        found = self.at("ps_placement")
        if found is None:
            return np.zeros((1,) * self.rank, dtype=bool)
        return np.array([value == "colocated" for value in found.values])[found.at]
