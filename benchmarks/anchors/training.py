"""Published rows as anchors see them: what kind of training, and what dse leaves of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks.anchors import modelled
from benchmarks.anchors.accelerators import accelerator
from benchmarks.anchors.fit import Kind
from benchmarks.anchors.rows import Row, rows
from dse.pricing.anchors import OWN_CODE, SOURCE, levels


@dataclass(frozen=True, eq=False)
class Training:
    """Rows with what the model says of them, factor 1.

    own_code: whether they are asked about as code that nobody but its owner knows, where their
    stack is such; published rows are not.
    """

    rows: Sequence[Row]
    own_code: bool = False

    @classmethod
    def published(cls) -> Training:
        """All rows. Raises :class:`.rows.NoReference` where the tables are not here."""
        return cls(rows())

    @cached_property
    def kinds(self) -> list[Kind]:
        """As a study asks for them: its source is a new one."""
        asked = (
            levels(row.workload, accelerator(row.accelerator), row.precision, row.stack)
            for row in self.rows
        )
        return [
            {name: of for name, of in kind.items() if self.own_code or name != OWN_CODE}
            for kind in asked
        ]

    @cached_property
    def sourced_kinds(self) -> list[Kind]:
        """With who published them."""
        return [
            {**kind, SOURCE: f"{row.workload.family} {row.source}"}
            for row, kind in zip(self.rows, self.kinds, strict=True)
        ]

    @cached_property
    def log_left(self) -> NDArray[np.float64]:
        """``log(measured / modelled seconds)``, (rows,), where launches take no time."""
        return np.log([row.step_s / modelled.step_s(row, launch=0.0) for row in self.rows])

    @cached_property
    def fitted(self) -> NDArray[np.bool_]:
        """Which rows anchors may be fitted on, (rows,)."""
        return np.array([row.fitted for row in self.rows])

    @cached_property
    def by_host(self) -> NDArray[np.bool_]:
        """In which rows the host's launches decide, which says nothing of the accelerator."""
        return np.array([modelled.launches_bind(row) for row in self.rows])

    @property
    def telling(self) -> NDArray[np.bool_]:
        """Which rows anchors are fitted on, (rows,)."""
        return self.fitted & ~self.by_host
