"""A layout as the options of software that trains so: Megatron-LM, torchtitan, DeepSpeed, nanotron.

Names and values as their own arguments have them (``megatron/training/arguments.py``, torchtitan's
``job_config.py``, DeepSpeed's configuration JSON, nanotron's ``config.py``). What one of them has
no option for is said in :attr:`Told.lacks`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dse.catalog.stacks import layout_stacks
from dse.report import words
from dse.report.design_point import Point
from dse.report.document import RunDocument
from dse.study.axes import ACCUMULATION, BATCH, GLOBAL_BATCH, MICRO_BATCH, OF_LAYOUT, REPLICA

FORMATS = ("megatron", "torchtitan", "deepspeed", "nanotron")
HSDP = "hsdp"
# Of each axis the values that a format has a word for; an axis that is not here has all.
_WORDS: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "megatron": {
        "schedule": {"1f1b": "", "interleaved": ""},
        "context_exchange": {"ring": "p2p", "all-to-all": "a2a", "all-gather": "allgather"},
    },
    "torchtitan": {
        "schedule": {"gpipe": "GPipe", "1f1b": "1F1B", "interleaved": "Interleaved1F1B",
                     "zb-v": "ZBVZeroBubble"},
        "context_exchange": {"all-gather": "allgather", "all-to-all": "alltoall"},
        "zero": {"0": "", "2": "never", "3": "always", HSDP: "always"},
    },
    "deepspeed": {
        "schedule": {"1f1b": ""}, "context_exchange": {"all-to-all": ""},
        "recompute": {"none": "", "full": ""},
        "zero": {"0": "0", "1": "1", "2": "2", "3": "3", HSDP: "3"},
    },
    "nanotron": {
        "schedule": {"1f1b": "1f1b", "gpipe": "afab"}, "zero": {"0": "0", "1": "1"},
        "recompute": {"none": "false", "full": "true"}, "context_exchange": {"ring": ""},
    },
}  # fmt: skip


@dataclass(frozen=True)
class Told:
    """What a template is given. value: of every axis of a layout; word: of an axis in the format's
    own word. inside: ranks that share sharded states; across: their copies. lacks: what the format
    has no word for."""

    value: Mapping[str, str]
    word: Mapping[str, str]
    replicas: int
    passes: int
    sequence: int
    precision: str
    split: bool
    layers: int
    inside: int
    across: int
    lacks: tuple[str, ...]


def told(document: RunDocument, point: Point, form: str) -> Told:
    """A layout for one of :data:`FORMATS`, or for a script that reads its environment."""
    value = dict.fromkeys(REPLICA, "1") | {"recompute": "none"}
    value |= {axis: label for axis in OF_LAYOUT if (label := words.label(point, axis))}
    value |= {MICRO_BATCH: point.config[BATCH]}
    degrees = {axis: int(value[axis]) for axis in ("tensor_parallel", "context_parallel")}
    replicas, zero = words.replicas(point), value.get("zero", "0")
    # Sequences of their own length, of which a study counts those of the workload's.
    value[GLOBAL_BATCH] = str(int(point.config[ACCUMULATION]) * int(value[MICRO_BATCH]) * replicas)
    stack = layout_stacks()[point.config[words.STACK]]
    split = value.get("sequence_parallel", str(stack.sequence_parallel).lower()) == "true"
    inside = {"0": 1, "1": 1}.get(zero, replicas)
    if zero == HSDP:
        beside = -(-point.gpus // point.nodes) // math.prod(degrees.values())
        inside = math.gcd(replicas, max(1, beside))
    known = _WORDS.get(form, {})
    found = {axis: known[axis].get(label) for axis, label in value.items() if axis in known}
    return Told(
        value=value,
        word={axis: word for axis, word in found.items() if word},
        replicas=replicas,
        passes=int(point.config[ACCUMULATION]),
        sequence=int(value.get("sequence") or document.study.tokens_per_sample or 0),
        precision=words.label(point, "precision"),
        split=split and degrees["tensor_parallel"] > 1,
        layers=sum(stage.layers for stage in document.layout.stages) if document.layout else 0,
        inside=inside,
        across=replicas // inside,
        lacks=tuple(
            words.phrase(axis, value[axis]) for axis, word in found.items() if word is None
        ),
    )


def environment(told_: Told) -> Iterator[tuple[str, str]]:
    """Variables for a script of one's own."""
    for axis, value in told_.value.items():
        yield axis.upper(), value
    yield "DATA_PARALLEL", str(told_.replicas)
    yield "MICRO_BATCHES", str(told_.passes)
