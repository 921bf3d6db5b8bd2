"""Partial results that several grids of points share, the latest of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dse.model.passes import Compute

_MOST = 1024
_MOST_BYTES = 256e6  # besides the last


@dataclass
class PartialResults:
    """They are kept by a key, and the oldest forgotten."""

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
