"""Where the seconds of a step go: a table of terms, a row each, and the times of a step by term.

A new term is a row here and a line of the step model that has it. What shows terms (``explain``,
report, columns) takes its names and looks from the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np

from dse.model.arrays import Array


@dataclass(frozen=True)
class Term:
    """One term of a step.

    name: its key in files. title: in a list. colour, pattern: of its part
    of a bar. computes: it is of the forward or backward pass. part_of: the term that has it in a
    bar, where that is another.
    """

    name: str
    title: str
    colour: str = ""
    pattern: str = ""
    computes: bool = False
    part_of: Term | None = None

    @property
    def heading(self) -> str:
        """Its title where a line begins with it."""
        return self.title[:1].upper() + self.title[1:]

    @property
    def shown_as(self) -> Term:
        """The term of a bar that has it."""
        return self.part_of or self


_INPUT = Term("data_s", "data loading T_d", "green", "x")
_COMPUTING = Term("compute_s", "computation T_c", "blue")
_WEIGHTS = Term("weights_s", "weights T_w", "orange", "/")
_ROWS = (
    Term("forward_s", "forward", "sky", computes=True),
    Term("backward_s", "backward", "blue", computes=True),
    Term("slowed_s", "slowed by communication", "purple", "\\"),
    Term("waiting_s", "waiting for the slowest", "yellow", "."),
    Term("exposed_s", "communication not hidden", "orange", "/"),
    Term("optimizer_s", "optimizer", "grey"),
    Term("stalled_s", "waiting for input", "green", "x"),
    # Of a transformer that is laid out, on the slowest stage.
    Term("computing_s", "computing", "blue", computes=True),
    Term("tensor_s", "tensor parallelism", "orange", "/"),
    Term("context_s", "context parallelism", "yellow", "."),
    Term("expert_s", "expert parallelism", "green", "x"),
    Term("pipeline_s", "sends of the pipeline", "purple", "\\"),
    Term("bubble_s", "bubble of the pipeline", "sky"),
    Term("gradients_s", "gradients and weights of data parallelism", "vermilion", "-"),
    # Of the PAI paper's model.
    Term("data_s", "T_d input over PCIe", part_of=_INPUT),
    Term("flops_s", "T_c compute-bound", part_of=_COMPUTING),
    Term("memory_s", "T_c memory-bound", part_of=_COMPUTING),
    Term("update_s", "T_c weight update", part_of=_COMPUTING),
    Term("pcie_s", "T_w over PCIe", part_of=_WEIGHTS),
    Term("ethernet_s", "T_w over Ethernet", part_of=_WEIGHTS),
    Term("nvlink_s", "T_w over NVLink", part_of=_WEIGHTS),
)  # fmt: skip
TERMS: Mapping[str, Term] = {term.name: term for term in _ROWS}

Seconds: TypeAlias = "Array | Callable[[Terms], Array]"


@dataclass(frozen=True, eq=False)
class Terms(Mapping[str, Array]):
    """Seconds of a step by the names of its terms, in order: ``step_s`` is their sum.

    Each array has the shape of the axes it depends on. comm_s, input_s: all aggregation and all
    input, hidden or not. by_term: seconds, or what computes them of the others once they are asked
    for.
    """

    step_s: Array
    comm_s: Array
    input_s: Array
    by_term: Mapping[str, Seconds]

    def __getitem__(self, name: str) -> Array:
        found = self.by_term[name]
        return found(self) if callable(found) else found

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_term)

    def __len__(self) -> int:
        return len(self.by_term)

    @property
    def exposed_s(self) -> Array:
        """Communication that nothing hides; all of it where no term says."""
        return self.get("exposed_s", self.comm_s)

    @property
    def compute_s(self) -> Array:
        """Forward and backward pass."""
        return reduce(np.add, (self[name] for name in self if TERMS[name].computes))
