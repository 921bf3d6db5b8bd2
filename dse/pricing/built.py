"""What points are built of, as their bill and their power ask it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from dse.model.arrays import Array, ArrayLike
from dse.pricing.coordinates import Coordinate
from dse.pricing.hardware import Machine, Wiring
from dse.pricing.study_facts import StudyFacts


class Built(Protocol):
    """The hardware of points; arrays that broadcast to their shape, of ``rank`` axes.

    machine_axis: the axis that decides the accelerator; machines: one for every value of it.
    wiring: the axis that decides the link between nodes, and one link for every value of it. rails:
    network cards of a node. dedicated: parameter servers on machines of their own.
    oversubscription: ports down over ports up of a leaf switch.
    """

    @property
    def problem(self) -> StudyFacts: ...
    @property
    def rank(self) -> int: ...
    @property
    def coordinates(self) -> Mapping[str, Coordinate]: ...
    @property
    def machine_axis(self) -> str: ...
    @property
    def machines(self) -> tuple[Machine, ...]: ...
    @property
    def wiring(self) -> tuple[str, tuple[Wiring, ...]]: ...
    @property
    def gpus(self) -> Array: ...
    @property
    def gpus_per_node(self) -> Array: ...
    @property
    def rails(self) -> Array: ...
    @property
    def dedicated(self) -> ArrayLike: ...
    @property
    def oversubscription(self) -> Array: ...
    def at(self, name: str) -> Coordinate | None:
        """Where the points lie on an axis; None where they have no value on it."""
        ...

    def drawn(self, term: ArrayLike) -> ArrayLike:
        """A number, or draws of it as a first axis before those of the points."""
        ...

    def machine(self, read: Callable[[Machine], float]) -> Array:
        """An attribute of the machines."""
        ...

    def wire(self, read: Callable[[Wiring], float]) -> Array:
        """An attribute of the links between nodes."""
        ...
