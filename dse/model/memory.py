"""Where an accelerator's memory goes in training: a table of parts, a row each, and their bytes.

A new part is a row here and a line of :func:`ledger`. What shows parts takes their titles from the
rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from dse.model.arrays import Array, ArrayLike, Mask
from dse.model.compute import Device, Layers
from dse.model.normal import NORMAL_90, below
from dse.model.precision import HALF, Precision
from dse.model.stack import Stack


@dataclass(frozen=True)
class Part:
    """One part of what is needed. name: its key in files. title: in a list."""

    name: str
    title: str


DOUBT = 0.05  # probability that it does not fit, from which it is told
_ALLOCATOR = "allocator_bytes"
_ROWS = (
    Part("weights_bytes", "weights"),
    Part("master_bytes", "fp32 copy of the weights"),
    Part("gradients_bytes", "gradients"),
    Part("optimizer_bytes", "optimizer state"),
    Part("buckets_bytes", "gradients in buckets"),
    Part("activations_bytes", "activations"),
    Part("logits_bytes", "logits and loss"),
    Part("scores_bytes", "attention scores"),
    Part("working_bytes", "one layer or unit at a time"),
    Part(_ALLOCATOR, "lost between tensors"),
    Part("buffers_bytes", "buffers of collectives"),
    Part("context_bytes", "context and libraries"),
)
PARTS: Mapping[str, Part] = {part.name: part for part in _ROWS}


@dataclass(frozen=True, eq=False)
class Ledger(Mapping[str, Array]):
    """Bytes of an accelerator's memory that a step needs, by the names of :data:`PARTS`, in order.

    ``(1 + slack) (params sum(of_param) + batch sum(of_sample)) + sum(beside)``, after Rajbhandari
    et al., "ZeRO", SC 2020, section 3.1, with what software adds. of_param: bytes of a parameter.
    of_sample: of one of the ``batch`` samples of a pass, NaN where activations are not known.
    slack: what the allocator loses of all these tensors. beside: bytes of what is none of them.
    Arrays broadcast.
    """

    params: ArrayLike
    of_param: Mapping[str, ArrayLike]
    batch: ArrayLike
    of_sample: Mapping[str, ArrayLike]
    slack: float
    beside: Mapping[str, ArrayLike]

    @property
    def tensors_bytes(self) -> Array:
        """All tensors, without what is lost between them."""
        whole = self.params * _sum(self.of_param)
        return np.asarray(whole + np.asarray(self.batch) * _sum(self.of_sample))

    @property
    def total_bytes(self) -> Array:
        """All parts."""
        tensors = self.tensors_bytes * (1 + self.slack)
        return np.asarray(reduce(np.add, self.beside.values(), tensors))

    @property
    def known_bytes(self) -> Array:
        """All parts but those of samples: what is needed for certain."""
        whole = np.asarray(self.params * _sum(self.of_param)) * (1 + self.slack)
        return np.asarray(reduce(np.add, self.beside.values(), whole))

    def __getitem__(self, name: str) -> Array:
        if name in self.of_param:
            return np.asarray(self.params * self.of_param[name])
        if name in self.of_sample:
            return np.asarray(np.asarray(self.batch) * self.of_sample[name])
        if name == _ALLOCATOR:
            return self.tensors_bytes * self.slack
        return np.asarray(self.beside[name])

    def __iter__(self) -> Iterator[str]:
        return iter((*self.of_param, *self.of_sample, _ALLOCATOR, *self.beside))

    def __len__(self) -> int:
        return len(self.of_param) + len(self.of_sample) + 1 + len(self.beside)


@dataclass(frozen=True, eq=False)
class Room:
    """An accelerator's memory beside what is needed of it, which is off by a factor.

    free_bytes: what is left by the best estimate; negative: it is too little; NaN: not known.
    spread: standard deviation of the logarithm of what is needed, > 0. others: :attr:`over` of the
    other workloads of a mix, the largest; NaN: none is known. Arrays broadcast.
    """

    memory_bytes: ArrayLike
    free_bytes: Array
    spread: float
    others: ArrayLike = np.nan

    @cached_property
    def own(self) -> Array:
        """:attr:`over`, without the others."""
        return np.asarray(np.log1p(-self.free_bytes / self.memory_bytes) / self.spread)

    @property
    def over(self) -> Array:
        """By how many standard deviations more is needed than there is: ``ln(need / has) /
        spread``, negative where it fits by the best estimate."""
        return np.fmax(self.own, self.others)

    @property
    def out_of_memory(self) -> Array:
        """Probability that it does not fit, or another workload, whose need is off alike."""
        return below(self.over)

    def fits(self, normal: Array, drawn: bool) -> Mask:
        """Where all fits in draws of the error, standard normal; what surely does is not drawn.
        drawn: whether :attr:`own` has the error in it."""
        over = self.others if drawn else self.over
        fits = (over + normal <= 0) | ~(below(np.asarray(over)) > DOUBT)
        return np.asarray(fits & (self.free_bytes >= 0) if drawn else fits)

    @property
    def too_little(self) -> Mask:
        """Where even the lower end of the 90 % interval of what is needed does not fit."""
        return np.asarray(self.over > NORMAL_90)

    @property
    def free_ends(self) -> tuple[Array, Array]:
        """The 90 % interval of what is left, low and high."""
        needed = self.memory_bytes - self.free_bytes
        low, high = (needed * np.exp(end * self.spread) for end in (NORMAL_90, -NORMAL_90))
        return np.asarray(self.memory_bytes - low), np.asarray(self.memory_bytes - high)


def _sum(parts: Mapping[str, ArrayLike]) -> ArrayLike:
    return reduce(np.add, parts.values())


def ledger(
    layers: Layers,
    device: Device,
    stack: Stack,
    batch: ArrayLike,
    precision: Precision,
    state_bytes: ArrayLike,
    gpus: ArrayLike = 1,
) -> Ledger:
    """What data-parallel training needs of each of ``gpus`` accelerators.

    batch: samples of one pass. state_bytes: optimizer state per parameter. Where several sum, the
    gradients are copied: into buckets, and where operations are written out by their sum; there
    clipping by their norm copies them on a single accelerator, too. A framework may set a share of
    the memory aside for context and libraries. Arrays broadcast.
    """
    takes, several = stack.footprint, np.asarray(gpus) > 1
    written_out = layers.family in takes.written_out and precision.activation_bytes > HALF
    copies = written_out + several * (takes.bucket_copy + written_out)
    fused = stack.fuses(layers.family) & np.isfinite(device.attention_flops)
    aside = takes.reserved * np.asarray(device.memory_bytes)
    return Ledger(
        params=layers.total_params,
        of_param={
            "weights_bytes": precision.weight_bytes,
            "master_bytes": precision.master_bytes,
            "gradients_bytes": precision.stored_gradient_bytes,
            "optimizer_bytes": state_bytes,
            "buckets_bytes": copies * precision.gradient_bytes,
        },
        batch=batch,
        of_sample=layers.kept.sample_bytes(precision, written_out, fused),
        slack=takes.slack,
        beside={
            "buffers_bytes": several * takes.communication_bytes,
            "context_bytes": np.maximum(takes.context_bytes, aside),
        },
    )
