"""Which allreduce a library takes by itself: its rules, and those of Open MPI and MPICH as tables.

A rule is a function of arrays ``(ranks, ranks_per_node, message_bytes)``, n >= 1, g >= 1, m >= 0,
which broadcast; it returns positions in its ``algorithms``. NCCL's choice is in
:mod:`dse.model.aggregation.nccl`. Each algorithm names the one of
:data:`.algorithms.ALGORITHMS` by which it is priced: itself, or the nearest there is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.model.aggregation.base import Bucketed, Gradients, Layout, MessageChoice
from dse.model.arrays import Array, ArrayLike, largest_power_of_two

Choice: TypeAlias = NDArray[np.int64]

OPENMPI, MPICH, NCCL = "openmpi", "mpich", "nccl"
AUTO = "auto"  # in place of an algorithm: the library's own choice
# Algorithms of a study that name whose rules choose, also where the library was measured.
BY_NAME: Mapping[str, str] = MappingProxyType({"auto-openmpi": OPENMPI, "auto-mpich": MPICH})
FLOAT_BYTES = 4.0


@dataclass(frozen=True)
class Known:
    """An algorithm as the library calls it, and the one of the model that prices it."""

    name: str
    priced_as: str


class Rules(Protocol):
    """How a library chooses. title: the library, and which of its rules. source: where they are."""

    title: ClassVar[str]
    source: ClassVar[str]
    algorithms: ClassVar[tuple[Known, ...]]

    def __call__(
        self, ranks: ArrayLike, ranks_per_node: ArrayLike, message_bytes: ArrayLike
    ) -> Choice: ...


RECURSIVE_DOUBLING = Known("recursive-doubling", "recursive-doubling")
# Open MPI's numbers; 6 is Rabenseifner's. Segmented ring: a plain ring while every rank has less
# than a segment (1 MiB: recalled, unverified), as wherever the table takes it. Reduce, then
# broadcast: Open MPI decides on both again; a binomial tree for each is assumed (unverified).
_OPENMPI: Mapping[int, Known] = MappingProxyType({
    2: Known("reduce, then broadcast", "reduce-broadcast"),
    3: RECURSIVE_DOUBLING,
    4: Known("ring", "ring"),
    5: Known("segmented ring", "ring"),
    6: Known("halving-doubling", "halving-doubling"),
})  # fmt: skip
_ENDLESS = np.inf
# (below so many ranks, ((below so many bytes, Open MPI's number), ...)), the first that holds.
OPENMPI_ROWS: tuple[tuple[float, tuple[tuple[float, int], ...]], ...] = (
    (4, ((8, 4), (4096, 3), (8192, 4), (16384, 3), (65536, 4), (262144, 5), (_ENDLESS, 6))),
    (8, ((16, 4), (8192, 3), (_ENDLESS, 6))),
    (16, ((8192, 3), (_ENDLESS, 6))),
    (32, ((64, 5), (4096, 3), (_ENDLESS, 6))),
    (64, ((128, 5), (_ENDLESS, 6))),
    (128, ((262144, 3), (_ENDLESS, 6))),
    (256, ((131072, 2), (262144, 3), (_ENDLESS, 6))),
    (512, ((4096, 2), (_ENDLESS, 6))),
    (2048, ((2048, 2), (16384, 3), (_ENDLESS, 6))),
    (4096, ((2048, 2), (4096, 5), (16384, 3), (_ENDLESS, 6))),
    (_ENDLESS, ((2048, 2), (16384, 5), (32768, 3), (_ENDLESS, 6))),
)
_RANK_EDGES = np.array([below for below, _ in OPENMPI_ROWS[:-1]])
_NUMBERS = tuple(_OPENMPI)


@dataclass(frozen=True)
class OpenMpi:
    """Open MPI's component ``tuned``: fixed decisions for commutative operations.

    Table: ompi/mca/coll/tuned/coll_tuned_decision_fixed.c of open-mpi/ompi@8efebee745e1, the one
    for any placement of the ranks. With fewer elements than ranks nothing can be shared out, and
    recursive doubling runs in place of a ring: recalled, and measured so on 3 to 8 ranks. With
    fewer than the largest power of two in n Rabenseifner's algorithm is out of its limits
    (coll_base_allreduce.c); what runs then is unverified, and recalled to be another than the
    recursive doubling that is taken here. The table comes to it with float32 from 16,384 ranks on.
    Components that Open MPI may put before this one (``han`` between nodes of several ranks) are
    not modelled.
    """

    title: ClassVar[str] = "Open MPI's fixed rules (coll/tuned)"
    source: ClassVar[str] = "open-mpi/ompi@8efebee745e1, coll_tuned_decision_fixed.c"
    algorithms: ClassVar[tuple[Known, ...]] = tuple(_OPENMPI.values())

    element_bytes: float = FLOAT_BYTES

    def __call__(
        self, ranks: ArrayLike, ranks_per_node: ArrayLike, message_bytes: ArrayLike
    ) -> Choice:
        """Positions in ``algorithms``; the placement makes no difference."""
        n, _, m = _together(ranks, ranks_per_node, message_bytes)
        row = np.searchsorted(_RANK_EDGES, n, side="right")
        number = np.zeros(n.shape, dtype=np.int64)
        for at in np.unique(row):
            cells = OPENMPI_ROWS[at][1]
            edges = np.array([below for below, _ in cells[:-1]])
            found = np.array([value for _, value in cells])[np.searchsorted(edges, m, side="right")]
            number = np.where(row == at, found, number)
        elements = m / self.element_bytes
        short = np.where(number == 6, elements < largest_power_of_two(n), elements < n)
        number = np.where(short & (number >= 4), 3, number)
        return np.searchsorted(_NUMBERS, number)


MPICH_SHORT_BYTES = 8.0


@dataclass(frozen=True)
class Mpich:
    """MPICH's default, maint/tuning/coll/mpir/generic.json of pmodels/mpich@6a79bf6575c3.

    Recursive doubling up to 8 bytes and with fewer elements than the largest power of two in n;
    else Rabenseifner. For no byte at all MPICH reduces in the node first; that is priced as
    recursive doubling, which takes about as many rounds.

    A limit: these are the rules below the device. On several nodes of several ranks the device ch4
    comes first, and up to 32 KiB it reduces inside the node, sums among one rank of each by these
    rules, and broadcasts inside (maint/tuning/coll/ch4/generic.json at pmodels/mpich@1e7cc5cdd493;
    not measured). That is not modelled: such messages are priced as if all ranks took part in one
    algorithm.
    """

    title: ClassVar[str] = "MPICH's default rules"
    source: ClassVar[str] = "pmodels/mpich@6a79bf6575c3, maint/tuning/coll/mpir/generic.json"
    algorithms: ClassVar[tuple[Known, ...]] = (
        RECURSIVE_DOUBLING,
        Known("halving-doubling", "halving-doubling"),
    )

    element_bytes: float = FLOAT_BYTES

    def __call__(
        self, ranks: ArrayLike, ranks_per_node: ArrayLike, message_bytes: ArrayLike
    ) -> Choice:
        """Positions in ``algorithms``; the placement is not looked at, see the limit above."""
        n, _, m = _together(ranks, ranks_per_node, message_bytes)
        short = (m <= MPICH_SHORT_BYTES) | (m / self.element_bytes < largest_power_of_two(n))
        return np.where(short, 0, 1)


def by_choice(algorithms: Sequence[Known], choice: Choice, price: Callable[[str], Array]) -> Array:
    """``price`` of the model's algorithm chosen at every point; others are not asked for.

    price: an algorithm's name -> its array, which broadcasts with ``choice``.
    """
    names = np.array([known.priced_as for known in algorithms])[choice]
    first, *others = priced_names(algorithms, choice)
    result = price(first)
    for name in others:
        result = np.where(names == name, price(name), result)
    return result


def priced_names(algorithms: Sequence[Known], choice: Choice) -> tuple[str, ...]:
    """The model's algorithms that appear in ``choice``, each once, in the order of the rules."""
    return tuple(dict.fromkeys(algorithms[at].priced_as for at in np.unique(choice)))


class RulesOf(Protocol):
    """How a library chooses for the messages of a step on a layout; see :class:`Rules`."""

    @property
    def title(self) -> str: ...
    @property
    def algorithms(self) -> tuple[Known, ...]: ...

    def choice(self, message_bytes: Array, gradients: Gradients, layout: Layout) -> Choice: ...


@dataclass(frozen=True)
class MpiRules:
    """Open MPI's or MPICH's: the same on any hardware."""

    library: type[OpenMpi | Mpich]

    @property
    def title(self) -> str:
        """See :class:`Rules`."""
        return self.library.title

    @property
    def algorithms(self) -> tuple[Known, ...]:
        """See :class:`Rules`."""
        return self.library.algorithms

    def choice(self, message_bytes: Array, gradients: Gradients, layout: Layout) -> Choice:
        """Whatever the links."""
        rules = self.library(gradients.element_bytes)
        return rules(layout.gpus, layout.gpus_per_node, message_bytes)


MPI_RULES: Mapping[str, MpiRules] = MappingProxyType(
    {OPENMPI: MpiRules(OpenMpi), MPICH: MpiRules(Mpich)}
)


def mpi_library(name: str) -> str:
    """The MPI whose rules are taken for a library of that name: MPICH for itself, else Open MPI."""
    return MPICH if MPICH in name.lower() else OPENMPI


def mpi_rules(library: str, element_bytes: float = FLOAT_BYTES) -> Rules:
    """The rules of OPENMPI or MPICH, for elements of so many bytes."""
    return MPI_RULES[library].library(element_bytes)


@dataclass(frozen=True)
class LibraryRules(Bucketed):
    """An allreduce whose algorithm the rules of a library choose for every message.

    rules: of the library. by_name: what prices each algorithm that they may choose.
    """

    rules: RulesOf
    by_name: Mapping[str, Bucketed]
    leading_axes: int = field(default=0, kw_only=True)

    @property
    def axes(self) -> frozenset[str]:
        """Those of all that may be chosen."""
        return frozenset().union(*(one.axes for one in self.by_name.values()))

    @property
    def authority(self) -> str:  # type: ignore[override]
        """Whose rules they are."""
        return self.rules.title

    @property
    def algorithms(self) -> tuple[str, ...]:
        """All that they may choose."""
        return tuple(sorted({known.priced_as for known in self.rules.algorithms}))

    def choice_by_size(self, gradients: Gradients, layout: Layout) -> tuple[Array, Choice]:
        """The distinct sizes of the messages, (sizes,), and the choice for each: (sizes, *S)."""
        sizes = np.unique(gradients.message_bytes)
        column = sizes.reshape((-1,) + (1,) * layout.rank)
        return sizes, self.rules.choice(column, gradients, layout)

    def names(self, gradients: Gradients, layout: Layout) -> tuple[str, ...]:
        """The model's algorithms that are chosen at these points."""
        return priced_names(self.rules.algorithms, self.choice_by_size(gradients, layout)[1])

    def message_s(self, message_bytes: Array, gradients: Gradients, layout: Layout) -> Array:
        """Of each size by the algorithm chosen for it; others are not priced."""
        sizes = message_bytes.reshape((-1,) + (1,) * layout.rank)
        choices = self.rules.choice(sizes, gradients, layout)
        choices = np.expand_dims(choices, tuple(range(1, 1 + self.leading_axes)))
        return by_choice(
            self.rules.algorithms, choices,
            lambda name: self.by_name[name].message_s(message_bytes, gradients, layout),
        )  # fmt: skip

    def bounded(self, gradients: Gradients, layout: Layout) -> bool:
        """Whether all that may be chosen has finite prices."""
        return all(self.by_name[name].bounded(gradients, layout) for name in self.algorithms)

    def choices(self, gradients: Gradients, layout: Layout) -> tuple[MessageChoice, ...]:
        """See :class:`.base.Aggregation`."""
        sizes, choices = self.choice_by_size(gradients, layout)
        messages = gradients.message_bytes
        taken = np.ravel(choices) if np.all(layout.gpus > 1) else np.zeros(0, dtype=np.int64)
        found = []
        for at in dict.fromkeys(taken.tolist()):
            mine = sizes[taken == at]
            known = self.rules.algorithms[at]
            count = int(np.isin(messages, mine).sum())
            least, most = float(mine.min()), float(mine.max())
            found.append(MessageChoice(known.name, known.priced_as, count, least, most))
        return tuple(found)


def _together(*values: ArrayLike) -> list[Array]:
    arrays = (np.asarray(value, dtype=np.float64) for value in values)
    return list(np.broadcast_arrays(*arrays))
