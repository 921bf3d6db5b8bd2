"""Prices that several grids of points share are computed once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dse.model.aggregation.base import Bucketed, Gradients, Layout
from dse.model.arrays import Array

Remember = Callable[[Any, Callable[[], Any]], Any]


@dataclass(frozen=True)
class Wrapped(Bucketed):
    """Another aggregation, in all but its seconds."""

    inner: Bucketed

    @property
    def axes(self) -> frozenset[str]:
        return self.inner.axes

    @property
    def updates_on_servers(self) -> bool:  # type: ignore[override]
        return self.inner.updates_on_servers

    @property
    def algorithms(self) -> tuple[str, ...]:
        return self.inner.algorithms

    def priced(self, layout: Layout) -> Any:
        return self.inner.priced(layout)

    def bounded(self, gradients: Gradients, layout: Layout) -> bool:
        return self.inner.bounded(gradients, layout)


@dataclass(frozen=True)
class Remembered(Wrapped):
    """Another aggregation, whose prices are kept for grids that share its axes."""

    remember: Remember
    key: tuple[Any, ...]

    @property
    def leading_axes(self) -> int:  # type: ignore[override]
        return self.inner.leading_axes

    @property
    def authority(self) -> Any:  # type: ignore[override]
        return self.inner.authority

    def message_s(self, message_bytes: Array, gradients: Gradients, layout: Layout) -> Array:
        return self.inner.message_s(message_bytes, gradients, layout)

    def bucket_s(self, gradients: Gradients, layout: Layout) -> list[Array]:
        """Seconds of every bucket, computed once for grids that share the axes."""
        where = layout.key(self.axes)  # type: ignore[attr-defined]
        sizes = (gradients.element_bytes, gradients.bucket_bytes)
        key = None if where is None else ("costs", self.key, sizes, layout.rank, where)
        return self.remember(key, lambda: self.inner.bucket_s(gradients, layout))  # type: ignore[no-any-return]

    def choices(self, gradients: Gradients, layout: Layout) -> Any:
        return self.inner.choices(gradients, layout)
