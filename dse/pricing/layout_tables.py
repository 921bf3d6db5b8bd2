"""The layouts of a study: a table for every structure of its space, one row a layout."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse import catalog
from dse.calibration.profile import ALLTOALL, HALVES, SEND
from dse.catalog import Workload
from dse.catalog.stacks import ZERO, LayoutStack, layout_stacks
from dse.errors import StudyError
from dse.model.arrays import ArrayLike, Mask
from dse.model.parallel import enumeration
from dse.model.parallel.enumeration import Choices, Table
from dse.model.parallel.exchanges import Tiers
from dse.model.parallel.layouts import NONE, SELECTIVE, Layouts
from dse.model.parallel.mesh import Mesh
from dse.model.parallel.schedules import SCHEDULES
from dse.model.parallel.shape import Transformer
from dse.pricing import shapes
from dse.pricing.coordinates import Coordinate
from dse.pricing.tiers import OPERATIONS, KnownTiers
from dse.study import Study, Value
from dse.study.axes import (
    ACCUMULATION,
    AXES,
    BATCH,
    GLOBAL_BATCH,
    LAYOUT_STACKS,
    TABLED,
    WHOLE_STACKS,
)

# Axis -> column of a table of layouts.
COLUMNS: Mapping[str, str] = {
    "tensor_parallel": "tensor",
    "pipeline_parallel": "pipeline",
    "context_parallel": "context",
    "expert_parallel": "expert",
    "expert_tensor_parallel": "expert_tensor",
    "zero": "zero",
    "virtual_stages": "virtual",
    "schedule": "schedule",
    "context_exchange": "exchange",
    "recompute": "recompute",
    GLOBAL_BATCH: "global_batch",
    BATCH: "micro_batch",
    ACCUMULATION: "passes",
}
# Axes of words, which a column has by their places.
WORDS: Mapping[str, tuple[str, ...]] = {
    name: AXES[name].choices for name in COLUMNS if AXES[name].kind == "choice"
} | {"schedule": tuple(SCHEDULES)}
EVEN = "even"  # the rule by which layers go to stages, also to virtual ones
PLAIN_SCHEDULE = "1f1b"
RECOMPUTE = "recompute"
# Axis -> columns of degrees: where all of them are 1, the axis has no effect.
EFFECTIVE: Mapping[str, tuple[str, ...]] = {
    "virtual_stages": ("pipeline",),
    "schedule": ("pipeline",),
    "context_exchange": ("context",),
    "zero": ("context", "data"),
}
KEPT_TABLES = 8  # the latest of a study, of tens of megabytes each


def software(stack: str) -> LayoutStack:
    """Of a stack by its name; one under which every accelerator has the whole model refuses
    nothing."""
    found = layout_stacks()
    if stack not in WHOLE_STACKS:
        return found[stack]
    return replace(found[LAYOUT_STACKS[0]], zero=0, sequence_parallel=False, rule="",
                   most_sharded=len(ZERO) - 1, most_zero=len(ZERO) - 1)  # fmt: skip


@dataclass(frozen=True)
class Placement:
    """What a layout is judged by. allocated_bytes: on the heaviest rank. rules: of layouts, and
    which points meet them, where not all do. unpriced: points whose memory is too small for all
    that has a step; None where every point has one."""

    allocated_bytes: ArrayLike = np.nan
    rules: Mapping[str, Mask] = field(default_factory=dict)
    unpriced: Mask | None = None


UNPLACED = Placement()  # of points that no layout is of


class LayoutTable:
    """Layouts as a slab of a space has them, see :class:`dse.study.space.Space`.

    of: the structure. made: the rows, made again where they were forgotten. length: how many there
    are. removed: combinations of values that are no layout, by the rule that says so.
    """

    def __init__(
        self, of: Structure, made: Callable[[], Table], length: int, removed: Mapping[str, int]
    ) -> None:
        self.of, self.made, self._length, self.removed = of, made, length, removed

    def __len__(self) -> int:
        return self._length

    def values(self, row: int) -> Mapping[str, Value]:
        """Axis -> value of a row."""
        table = self.made()
        return {axis: _value(axis, int(table[name][row])) for axis, name in COLUMNS.items()}

    def rows(self, values: Mapping[str, Value | None]) -> NDArray[np.int64]:
        """The rows of these values, of which any may be left out; where an axis has no effect, any
        value of it means the row."""
        table = self.made()
        same = np.ones(len(self), dtype=bool)
        for axis, name in COLUMNS.items():
            if values.get(axis) is not None:
                code, column = _code(axis, values[axis]), table[name]
                if axis == RECOMPUTE and code == SELECTIVE and not np.any(column == SELECTIVE):
                    code = NONE  # no row keeps what it would compute again
                degrees = [table[degree] for degree in EFFECTIVE.get(axis, ())]
                idle = bool(degrees) & (np.prod(degrees, axis=0) == 1)
                same &= (column == code) | idle
        return np.flatnonzero(same)

    def row(self, values: Mapping[str, Value | None]) -> int:
        """The row of these values; ValueError where there is none."""
        found = self.rows(values)
        if not len(found):
            raise ValueError("no such layout")
        return int(found[0])

    def coordinates(self, at: NDArray[np.int64]) -> dict[str, Coordinate]:
        """Where rows lie on every axis."""
        table = self.made()
        return {axis: _coordinate(axis, table[name][at]) for axis, name in COLUMNS.items()}


def _coordinate(axis: str, column: NDArray[np.int64]) -> Coordinate:
    if axis in WORDS:
        return Coordinate(WORDS[axis], column)
    values = np.unique(column)
    at = np.searchsorted(values, column)
    return Coordinate(tuple(values.tolist()), at)


def _value(axis: str, code: int) -> Value:
    return WORDS[axis][code] if axis in WORDS else code


def _code(axis: str, value: Value | None) -> int:
    return WORDS[axis].index(str(value)) if axis in WORDS else int(value)  # type: ignore[arg-type]


class Structure(NamedTuple):
    """What decides which layouts there are. tokens: of a sequence. split: whether tensor ranks
    share tokens, in the word of the axis; None: as usual of the stack."""

    gpus: int
    tokens: int
    split: Value | None
    stack: str


@dataclass(frozen=True)
class Tables:
    """All of a study's."""

    study: Study
    workload: Workload

    @cached_property
    def model(self) -> Transformer:
        """What is laid out."""
        return shapes.transformer(self.workload)

    @cached_property
    def _kept(self) -> OrderedDict[Structure, Table]:
        return OrderedDict()

    @cached_property
    def _counts(self) -> dict[Structure, tuple[int, Mapping[str, int]]]:
        return {}

    def __call__(self, fixed: Mapping[str, Value | None]) -> LayoutTable:
        """The layouts of one structure."""
        key = Structure(
            int(fixed["gpus"]),  # type: ignore[arg-type]
            int(fixed.get("sequence") or self.tokens),  # type: ignore[arg-type]
            fixed.get("sequence_parallel"),
            str(fixed["stack"]),
        )

        def made() -> Table:
            if key not in self._kept:
                self._kept[key] = self._table(key)
                if len(self._kept) > KEPT_TABLES:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]

        if key not in self._counts:
            table = made()
            self._counts[key] = len(table), table.removed
        return LayoutTable(key, made, *self._counts[key])

    @property
    def _every(self) -> Iterator[LayoutTable]:
        """Those of all structures."""
        names = ("gpus", "sequence", "sequence_parallel", "stack")
        for values in product(*(self.study.values(name) or (None,) for name in names)):
            yield self(dict(zip(names, values, strict=True)))

    @cached_property
    def broken(self) -> str:
        """The rule that most combinations break where none is a layout; '' where one is."""
        removed = Counter[str]()
        for table in self._every:
            if len(table):
                return ""
            removed.update(table.removed)
        removed.pop(enumeration.NO_EFFECT, None)
        return removed.most_common(1)[0][0]

    def _table(self, of: Structure) -> Table:
        choices = self.choices(of.stack, of.split)
        return enumeration.layouts(self.model, of.gpus, of.tokens, choices)

    @property
    def counted(self) -> bool:
        """Whether the study tells a step by its samples, and not by its micro-batches."""
        return bool(self.study.values(GLOBAL_BATCH))

    @cached_property
    def tokens(self) -> int:
        """Of a sequence where the study does not say."""
        shape = self.workload.shape
        # A picture has a patch for every learned position.
        known = self.workload.tokens_per_sample or (shape and shape.positions)
        if not known:
            problem = f"{self.workload.name} has no sequences of tokens, so it is not laid out"
            raise StudyError(self.study.path, 0, 0, problem, "drop the axes of layouts")
        return int(known)

    def choices(self, stack: str, split: Value | None = None) -> Choices:
        """What the study lets a layout be under a stack."""
        usual = software(stack)

        def codes(axis: str, absent: Value) -> Sequence[int]:
            given = self.study.values(axis) or (absent,)
            return tuple(_code(axis, value) for value in given)

        return Choices(
            tensor=codes("tensor_parallel", 1),
            context=codes("context_parallel", 1),
            pipeline=codes("pipeline_parallel", 1),
            schedule=codes("schedule", self.usual_schedule(stack)),
            virtual=codes("virtual_stages", 1),
            exchange=codes("context_exchange", "ring"),
            expert=codes("expert_parallel", 1),
            expert_tensor=codes("expert_tensor_parallel", 1),
            zero=codes("zero", ZERO[usual.zero]),
            micro_batch=codes(BATCH, 1),
            global_batch=codes(GLOBAL_BATCH, 1),
            passes=() if self.counted else codes(ACCUMULATION, 1),
            recompute=codes("recompute", "none"),
            sequence_parallel=usual.sequence_parallel if split is None else split == "true",
            fills=usual.fills,
            most_sharded=usual.most_sharded,
            most_zero=usual.most_zero,
            fused_attention=usual.fused_attention,
            even_parts=usual.rule == EVEN,
            node=self.node,
            sample=self.tokens,
            whole=stack in WHOLE_STACKS,
        )

    @cached_property
    def node(self) -> int:
        """Accelerators that fast links join; 0 where the study has several sizes of nodes."""
        given = {int(n) for n in self.study.numbers("gpus_per_node", 1)}
        types = [catalog.node(str(name)) for name in self.study.values("node")]
        if types and self.study.axis("gpus_per_node") is None:
            given = {int(one.scale_up_domain) for one in types}
        return given.pop() if len(given) == 1 else 0

    def usual_schedule(self, stack: str) -> str:
        """Of a stack; one that needs virtual stages only where the study has any."""
        several = max(self.study.numbers("virtual_stages", 1)) > 1
        return software(stack).schedule if several else PLAIN_SCHEDULE

    @property
    def operations(self) -> tuple[str, ...]:
        """What its layouts exchange besides allreduce, by the names that measurements have."""
        used, unknown = set[str](), KnownTiers(Tiers(1.0, 1.0), frozenset())
        for table in (one for one in self._every if one.of.stack in LAYOUT_STACKS):
            of, one = table.of, np.ones(len(table))
            rows = {name: column * one for name, column in table.made().columns.items()}
            rows["node"] = (self.node or of.gpus) * one
            mesh = Mesh(**{degree.name: rows[degree.name] for degree in fields(Mesh)})
            split = one * self.choices(of.stack, of.split).sequence_parallel > 0
            at = Layouts(mesh, one, one, one, split, rows["zero"], one, exchange=rows["exchange"])
            exchanged = unknown.untold(at, np.zeros((), dtype=bool)).items()
            used |= {own for name, where in exchanged if where.any() for own in OPERATIONS[name]}
        every = {**{name: name for name in (*HALVES, ALLTOALL)}, "sendrecv": SEND}
        return tuple(name for name, own in every.items() if own in used)


assert set(COLUMNS) == set(TABLED)
