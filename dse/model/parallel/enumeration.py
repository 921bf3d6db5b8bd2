"""Every valid layout of a transformer on a number of accelerators, from divisors.

Values of one axis after another are joined to what is there, and each rule takes away what it
forbids before the next axis multiplies the rest: no invalid layout is ever made whole. An axis that
changes nothing at a layout, such as the schedule of a single stage, has one value there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dse.model.parallel.layouts import ALL_TO_ALL, HSDP, NONE, RING, SELECTIVE
from dse.model.parallel.schedules import SCHEDULES
from dse.model.parallel.shape import Transformer

Column = NDArray[np.int64]
_SCHEDULES = tuple(SCHEDULES)
_INTERLEAVED, _FOLDED = _SCHEDULES.index("interleaved"), _SCHEDULES.index("zb-v")


def divisors(number: int) -> tuple[int, ...]:
    """All divisors, ascending."""
    return tuple(d for d in range(1, number + 1) if number % d == 0)


@dataclass(frozen=True)
class Choices:
    """The values that a study lists for each axis; none: every divisor of the accelerators.

    schedule: places in :data:`.schedules.SCHEDULES`. exchange: :data:`RING` and so on. zero,
    recompute: see :class:`.layouts.Layouts`. micro_batch: sequences. global_batch: samples. passes:
    of a step and replica, in place of global batches.
    sequence_parallel: tensor groups split tokens, too. Of the software: fills: a replica needs
    p - 1 micro-batches (nanotron). most_sharded: the most ZeRO with a pipeline; most_zero: without.
    fused_attention: selective recomputation changes nothing. even_parts: virtual stages are as long
    as one another (Megatron-LM, embedding and head counted as layers or not). node: accelerators of
    one; 0 where nodes differ. sample: tokens of what global batches count; 0: of the sequence.
    whole: software under which every accelerator has the whole model, and that knows samples alone.
    """

    tensor: Sequence[int] = ()
    context: Sequence[int] = (1,)
    pipeline: Sequence[int] = ()
    schedule: Sequence[int] = (1,)
    virtual: Sequence[int] = (1,)
    exchange: Sequence[int] = (RING,)
    expert: Sequence[int] = (1,)
    expert_tensor: Sequence[int] = (1,)
    zero: Sequence[int] = (1,)
    micro_batch: Sequence[int] = (1,)
    global_batch: Sequence[int] = (1024,)
    passes: Sequence[int] = ()
    recompute: Sequence[int] = (NONE,)
    sequence_parallel: bool = True
    fills: bool = False
    most_sharded: int = 4
    most_zero: int = 4
    fused_attention: bool = True
    even_parts: bool = True
    node: int = 8
    sample: int = 0
    whole: bool = False

    def values(self, axis: str, gpus: int) -> tuple[int, ...]:
        """Those of one axis."""
        return tuple(getattr(self, axis)) or divisors(gpus)


NO_EFFECT = "every axis has an effect, but for its usual value"
WHOLE_SEQUENCES = "the sequence divides the tokens of a step"
DIVIDES = "micro-batches divide the global batch"
WHOLE = "the software shares batches and states alone"
AXES = (
    "tensor", "context", "pipeline", "expert", "expert_tensor", "schedule", "virtual", "exchange",
    "zero", "micro_batch", "global_batch", "recompute",
)  # fmt: skip
DEGREES = AXES[:5]


@dataclass
class Table:
    """Valid layouts as columns by axis, and how many raw combinations each rule took away."""

    columns: dict[str, Column] = field(default_factory=lambda: {"gpus": np.ones(1, np.int64)})
    removed: dict[str, int] = field(default_factory=dict)
    _unjoined: int = 1

    def __len__(self) -> int:
        return len(self.columns["gpus"])

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def join(self, **axes: Sequence[int]) -> None:
        """Each layout with each of the values, which several axes may have in step."""
        (length,) = {len(values) for values in axes.values()}
        self._unjoined //= max(1, length)
        rows = len(self)
        self.columns = {name: np.repeat(old, length) for name, old in self.columns.items()}
        for name, values in axes.items():
            self.columns[name] = np.tile(np.asarray(values, dtype=np.int64), rows)

    def keep(self, rule: str, valid: NDArray[np.bool_]) -> None:
        """Those that meet a rule."""
        lost = int(valid.size - np.count_nonzero(valid))
        if lost:
            self.removed[rule] = self.removed.get(rule, 0) + lost * self._unjoined
            self.columns = {name: column[valid] for name, column in self.columns.items()}

    def drop(self, twins: NDArray[np.bool_]) -> None:
        """Those that are the same as others stay out."""
        self.keep(NO_EFFECT, ~twins)

    def once(self, without: NDArray[np.bool_], **usual: int) -> None:
        """Where axes change nothing only their usual values stay."""
        same = np.logical_and.reduce([self[name] == value for name, value in usual.items()])
        self.keep(NO_EFFECT, ~without | same)


def layouts(model: Transformer, gpus: int, sequence: int, choices: Choices) -> Table:
    """All valid layouts on ``gpus`` accelerators, with ``data`` ranks and ``passes`` a step."""
    given = {axis: choices.values(axis, gpus) for axis in AXES}
    if choices.passes:
        given["global_batch"] = tuple(choices.passes)
    found = Table(
        {"gpus": np.full(1, gpus, dtype=np.int64)}, {}, math.prod(map(len, given.values()))
    )
    _rules(found, model, sequence, given, choices)
    return found


def _rules(
    found: Table,
    model: Transformer,
    sequence: int,
    given: Mapping[str, Sequence[int]],
    choices: Choices,
) -> None:
    """Join the axes one after the other, and keep what meets the rules about them."""
    _meshes(found, model, sequence, given, choices.sequence_parallel)
    _experts(found, model, given)
    if choices.whole:
        one = np.logical_and.reduce([found[degree] == 1 for degree in DEGREES])
        found.keep(WHOLE, one & (sequence == (choices.sample or sequence)))
    _schedules(found, model, given, choices.even_parts)
    _exchanges(found, model, sequence, given)
    _batches(found, model, sequence, given, choices)


def _meshes(
    found: Table, model: Transformer, sequence: int, given: Mapping[str, Sequence[int]], split: bool
) -> None:
    blocks = [block for block, _ in model.runs]
    found.join(tensor=given["tensor"])
    found.keep("the tensor degree divides the accelerators", found["gpus"] % found["tensor"] == 0)
    for block in blocks:
        found.keep("the tensor degree divides the heads", block.heads % found["tensor"] == 0)
        t, kv = found["tensor"], block.kv_heads
        found.keep(
            "the tensor degree divides the heads of keys, or they it", (kv % t == 0) | (t % kv == 0)
        )
        width = math.gcd(block.hidden, block.ffn, block.shared_ffn)
        found.keep("the tensor degree divides the widths", width % found["tensor"] == 0)
    found.join(context=given["context"])
    cut = found["tensor"] * found["context"]
    found.keep("tensor and context divide the accelerators", found["gpus"] % cut == 0)
    for block in blocks:
        cut = np.where(split, found["tensor"], 1) * found["context"]
        found.keep("tensor and context divide the sequence", block.tokens(sequence) % cut == 0)
    if any(block.experts for block in blocks) and not split:
        found.keep("experts need sequence parallelism", found["tensor"] == 1)
    found.join(pipeline=given["pipeline"])
    cut = found["tensor"] * found["context"] * found["pipeline"]
    found.keep("tensor, context and pipeline divide the accelerators", found["gpus"] % cut == 0)
    found.keep("a stage has a layer", found["pipeline"] <= model.layers)
    cut = found["tensor"] * found["context"] * found["pipeline"]
    found.columns["data"] = found["gpus"] // cut


def _experts(found: Table, model: Transformer, given: Mapping[str, Sequence[int]]) -> None:
    block = next((block for block, _ in model.runs if block.experts), None)
    for axis in ("expert", "expert_tensor"):
        found.join(**{axis: given[axis]})
        if block is None:
            found.once(np.ones(len(found), dtype=bool), **{axis: given[axis][0]})
            found.columns[axis][:] = 1
    if block is None:
        return
    found.keep("the expert degree divides the experts", block.experts % found["expert"] == 0)
    e_t = found["expert_tensor"]
    found.keep("the expert-tensor degree divides an expert", block.expert_ffn % e_t == 0)
    stage = found["tensor"] * found["context"] * found["data"]
    parts = found["expert"] * found["expert_tensor"]
    found.keep("experts divide the ranks of a stage", stage % parts == 0)


def _schedules(
    found: Table, model: Transformer, given: Mapping[str, Sequence[int]], even: bool
) -> None:
    pairs = [(s, v) for s in given["schedule"] for v in given["virtual"]]
    schedules, parts = zip(*pairs, strict=True)
    found.join(schedule=schedules, virtual=parts)
    found.once(found["pipeline"] == 1, schedule=schedules[0], virtual=parts[0])
    s, v = found["schedule"], found["virtual"]
    fits = np.select([s == _INTERLEAVED, s == _FOLDED], [v >= 2, v == 2], v == 1)
    found.keep("the schedule takes such virtual stages", (found["pipeline"] == 1) | fits)
    parted = found["pipeline"] * found["virtual"]
    found.keep("a virtual stage has a layer", (found["pipeline"] == 1) | (
        parted <= model.layers + 2 * (found["schedule"] == _INTERLEAVED)
    ))  # fmt: skip
    if model.joint:
        alone = (found["pipeline"] == 1) | (found["virtual"] == 1)
        found.keep("parts of an encoder and its decoder do not take turns", alone)
    if even:
        parted = found["pipeline"] * found["virtual"]
        other = (found["schedule"] != _INTERLEAVED) | (found["pipeline"] == 1)
        found.keep("virtual stages share the layers evenly", other | (-model.layers % parted <= 2))


def _exchanges(
    found: Table, model: Transformer, sequence: int, given: Mapping[str, Sequence[int]]
) -> None:
    found.join(exchange=given["exchange"])
    found.once(found["context"] == 1, exchange=given["exchange"][0])
    for block, _ in model.runs:
        c, tokens = found["context"], block.tokens(sequence)
        other = (found["exchange"] != RING) | (c == 1)
        found.keep("zig-zag chunks divide the sequence", other | (tokens % (2 * c) == 0))
        c, heads = found["context"], block.heads // found["tensor"]
        other = (found["exchange"] != ALL_TO_ALL) | (c == 1)
        found.keep("context divides a rank's heads", other | (heads % c == 0))


def _batches(
    found: Table,
    model: Transformer,
    sequence: int,
    given: Mapping[str, Sequence[int]],
    choices: Choices,
) -> None:
    found.join(zero=given["zero"])
    alone = found["data"] * found["context"] == 1
    found.once(alone, zero=given["zero"][0])
    alone = found["data"] * found["context"] == 1
    found.keep("the software shards so much", alone | (found["zero"] <= choices.most_zero))
    # HSDP of one node is ZeRO-3, and of members that are all on other nodes ZeRO-0; experts have
    # groups of their own.
    whole = found["data"] * found["context"]
    inside = np.gcd(whole, np.maximum(1, choices.node // found["tensor"]))
    same = ((inside == whole) & (3 in given["zero"])) | ((inside == 1) & (0 in given["zero"]))
    if choices.node and not any(block.experts for block, _ in model.runs):
        found.drop((found["zero"] == HSDP) & (whole > 1) & same)
    apart = (found["pipeline"] == 1) | (found["data"] * found["context"] == 1)
    found.keep(
        "the software shards with a pipeline", apart | (found["zero"] <= choices.most_sharded)
    )
    found.join(micro_batch=given["micro_batch"])
    sample = choices.sample or sequence
    if choices.passes:
        found.join(passes=given["global_batch"])
        sequences = found["passes"] * found["micro_batch"] * found["data"]
        found.columns["global_batch"] = sequences * sequence // sample
    else:
        found.join(global_batch=given["global_batch"])
        found.keep(WHOLE_SEQUENCES, found["global_batch"] * sample % sequence == 0)
        sequences = found["global_batch"] * sample // sequence
        each = found["micro_batch"] * found["data"]
        found.columns["passes"] = sequences // each
        found.keep(DIVIDES, sequences % each == 0)
    other = (found["schedule"] != _INTERLEAVED) | (found["pipeline"] == 1)
    found.keep(
        "interleaving divides the micro-batches", other | (found["passes"] % found["pipeline"] == 0)
    )
    if choices.fills:
        found.keep("micro-batches fill the pipeline", found["passes"] >= found["pipeline"] - 1)
    found.join(recompute=given["recompute"])
    if choices.whole:
        found.keep(WHOLE, found["recompute"] == NONE)
    if choices.fused_attention and NONE in given["recompute"]:
        found.once(found["recompute"] == SELECTIVE, recompute=NONE)


class _Judged(Table):
    """Layouts that are given: every rule is noted, and none takes any away."""

    def __init__(self, columns: dict[str, Column]) -> None:
        super().__init__(columns)
        self.rules: dict[str, NDArray[np.bool_]] = {}

    def join(self, **axes: Sequence[int]) -> None:
        """All columns are there."""

    def drop(self, twins: NDArray[np.bool_]) -> None:
        """They are as good."""

    def once(self, without: NDArray[np.bool_], **usual: int) -> None:
        """Any value of an axis that changes nothing is as good."""

    def keep(self, rule: str, valid: NDArray[np.bool_]) -> None:
        """Which of them meet a rule."""
        known = self.rules.get(rule)
        self.rules[rule] = valid if known is None else known & valid


def judged(
    model: Transformer, sequence: int, choices: Choices, columns: Mapping[str, Column]
) -> Mapping[str, NDArray[np.bool_]]:
    """By rule, which of some layouts meet it, where not all do; (layouts,).

    columns: ``gpus`` and those of :data:`AXES`, whole numbers.
    """
    found, given = _Judged(dict(columns)), dict.fromkeys(AXES, (0,))
    with np.errstate(divide="ignore"):
        _rules(found, model, sequence, given, choices)
    return {rule: valid for rule, valid in found.rules.items() if not valid.all()}
