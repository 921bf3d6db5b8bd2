"""What several grids of points share is computed once: partial results, and prices."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dse.model.aggregation.base import Aggregation, Bucketed, Gradients, Layout, MessageChoice
from dse.model.arrays import Array, Mask
from dse.model.passes import Compute

Remember = Callable[[Any, Callable[[], Any]], Any]
_MOST = 1024
_MOST_BYTES = 256e6  # besides the last


@dataclass
class PartialResults:
    """The latest of them, kept by a key; the oldest are forgotten."""

    _kept: OrderedDict[Any, Any] = field(default_factory=OrderedDict)
    _sizes: dict[Any, int] = field(default_factory=dict)

    def remember(self, key: Any, make: Callable[[], Any]) -> Any:
        """The result of this key, made where it is not kept; ``key`` None is not remembered."""
        if key is None:
            return make()
        if key not in self._kept:
            self._kept[key] = make()
            self._sizes[key] = _nbytes(self._kept[key])
            while len(self._kept) > _MOST or (
                sum(self._sizes.values()) > _MOST_BYTES and len(self._kept) > 1
            ):
                oldest, _ = self._kept.popitem(last=False)
                del self._sizes[oldest]
        return self._kept[key]


def _nbytes(value: Any) -> int:
    """Bytes of the arrays in a partial result."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, Compute):
        return sum(map(_nbytes, vars(value).values()))
    return sum(map(_nbytes, value)) if isinstance(value, list | tuple) else 0


@dataclass(frozen=True)
class Wrapped:
    """Another :class:`Aggregation`, in all but its seconds."""

    inner: Aggregation

    @property
    def axes(self) -> frozenset[str]:
        return self.inner.axes

    @property
    def authority(self) -> str | None:
        return self.inner.authority

    @property
    def algorithms(self) -> tuple[str, ...]:
        return self.inner.algorithms

    @property
    def updates_on_servers(self) -> bool:
        return self.inner.updates_on_servers

    @property
    def tensor_passes(self) -> int:
        return self.inner.tensor_passes

    def priced(self, layout: Layout) -> Mask:
        return self.inner.priced(layout)

    def bounded(self, gradients: Gradients, layout: Layout) -> bool:
        return self.inner.bounded(gradients, layout)

    def choices(self, gradients: Gradients, layout: Layout) -> tuple[MessageChoice, ...]:
        return self.inner.choices(gradients, layout)


@dataclass(frozen=True)
class Remembered(Wrapped, Bucketed):  # type: ignore[override]
    """Another aggregation, whose prices are kept for grids that share its axes."""

    inner: Bucketed
    remember: Remember
    key: tuple[Any, ...]

    @property
    def leading_axes(self) -> int:  # type: ignore[override]
        return self.inner.leading_axes

    def message_s(self, message_bytes: Array, gradients: Gradients, layout: Layout) -> Array:
        return self.inner.message_s(message_bytes, gradients, layout)

    def bucket_s(self, gradients: Gradients, layout: Layout) -> list[Array]:
        """Seconds of every bucket, computed once for grids that share the axes."""
        where = layout.key(self.axes)  # type: ignore[attr-defined]
        sizes = (gradients.element_bytes, gradients.bucket_bytes)
        key = None if where is None else ("costs", self.key, sizes, layout.rank, where)
        return self.remember(key, lambda: self.inner.bucket_s(gradients, layout))  # type: ignore[no-any-return]
