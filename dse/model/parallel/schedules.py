"""Pipelines: which stage has which layers, and in which order micro-batches pass them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array, ArrayLike
from dse.model.parallel.shape import Transformer


@dataclass(frozen=True)
class Stage:
    """Stages of a pipeline that are alike.

    places: of them, from 0. layers: of each run of the transformer. embedding, head: whether it has
    them, the first of a decoder the embedding, too; the loss stands with the head.
    """

    places: tuple[int, ...]
    layers: tuple[int, ...]
    embedding: bool
    head: bool

    @property
    def first(self) -> int:
        """The earliest place."""
        return self.places[0]

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.places)


def even(model: Transformer, stages: int) -> list[tuple[range, bool]]:
    """Layers of each stage, and whether it has the head: as even as can be (Megatron-LM).

    What does not divide goes to the stages in the middle, which have neither embedding nor head. An
    encoder and its decoder have stages of their own, by their numbers of layers.
    """
    counts = _dealt(model.layers, stages)
    if model.joint and stages > 1:
        first = min(max(1, round(stages * model.joint / model.layers)), stages - 1)
        counts = _dealt(model.joint, first) + _dealt(model.layers - model.joint, stages - first)
    starts = np.cumsum([0, *counts])
    return [(range(starts[at], starts[at + 1]), at == stages - 1) for at in range(stages)]


def _dealt(layers: int, stages: int) -> list[int]:
    few, more = divmod(layers, stages)
    middle = sorted(range(stages), key=lambda at: abs(at - (stages - 1) / 2))[:more]
    return [few + (at in middle) for at in range(stages)]


def by_cost(model: Transformer, stages: int) -> list[tuple[range, bool]]:
    """Blocks in order, a stage closed once it exceeds its share of the cost (nanotron,
    ``models/base.py``): a layer ``4 h q + 3 h f``, the head ``V h``, embedding and loss nothing."""
    costs = [
        4 * block.query * block.hidden + 3 * block.hidden * (block.ffn or block.expert_ffn)
        for block, count in model.runs
        for _ in range(count)
    ]
    blocks = [0, *costs, 0, model.vocabulary * model.hidden, 0, 0]
    done = np.cumsum(blocks)
    at, placed = 0, []
    for cost in done:
        placed.append(at)
        at += bool(cost > done[-1] * ((at + 1) / stages) and at < stages - 1)
    layers = np.array(placed[1 : 1 + len(costs)])
    head = placed[-3]
    found = []
    for stage in range(stages):
        mine = np.flatnonzero(layers == stage)
        span = range(mine[0], mine[-1] + 1) if len(mine) else range(0)
        found.append((span, stage == head))
    return found


RULES: Mapping[str, Callable[[Transformer, int], list[tuple[range, bool]]]] = {
    "even": even,
    "by-cost": by_cost,
}


def looped(chunk: int, stages: int) -> int:
    """Where the parts of a model stand that take turns: in order, over and over."""
    return chunk % stages


def folded(chunk: int, stages: int) -> int:
    """Two parts a rank, there and back: the first rank has the first and the last."""
    return min(chunk, 2 * stages - 1 - chunk)


@cache
def stages(
    model: Transformer,
    count: int,
    virtual: int = 1,
    rule: str = "even",
    placed: Callable[[int, int], int] = looped,
) -> tuple[Stage, ...]:
    """The stages of a pipeline of ``count`` ranks with ``virtual`` parts each, those alike
    together."""
    ends = np.cumsum([number for _, number in model.runs])
    layers = np.zeros((count, len(ends)), dtype=int)
    ends_at = np.zeros((count, 2), dtype=bool)  # embedding, head
    for chunk, (span, head) in enumerate(RULES[rule](model, count * virtual)):
        kinds = np.searchsorted(ends, np.asarray(span, dtype=int), side="right")
        at = placed(chunk, count)
        layers[at] += np.bincount(kinds, minlength=len(ends))
        ends_at[at] |= (chunk == 0 or 0 < model.joint in span, head)
    found: dict[tuple[object, ...], list[int]] = {}
    for at in range(count):
        key = (tuple(map(int, layers[at])), *map(bool, ends_at[at]))
        found.setdefault(key, []).append(at)
    return tuple(Stage(tuple(at), *key) for key, at in found.items())  # type: ignore[arg-type]


class Stages(NamedTuple):
    """Kinds of stages of many pipelines, arrays (kinds, points); pipelines with fewer kinds have
    some of no stage. See :class:`Stage`; layers: of each run, (runs, kinds, points)."""

    first: Array
    number: Array
    layers: Array
    embedding: Array
    head: Array

    def take(self, at: NDArray[np.int64]) -> Stages:
        """Those of some of the points."""
        return Stages(*(field[..., at] for field in self))


def of_kinds(pipelines: Sequence[tuple[Stage, ...]], which: NDArray[np.int64]) -> Stages:
    """The stages of points, which have one of several pipelines each: (points,)."""
    most, runs = max(map(len, pipelines)), len(pipelines[0][0].layers)
    table = np.zeros((4 + runs, most, len(pipelines)))
    for at, found in enumerate(pipelines):
        for kind, stage in enumerate(found):
            own = (stage.first, stage.count, stage.embedding, stage.head, *stage.layers)
            table[:, kind, at] = own
    first, number, embedding, head, *layers = table[..., which]
    return Stages(first, number, np.stack(layers), embedding, head)


def in_order(found: tuple[Stage, ...]) -> tuple[Stage, ...]:
    """Each stage by itself, in the order of the pipeline."""
    each = (replace(kind, places=(place,)) for kind in found for place in kind.places)
    return tuple(sorted(each, key=lambda stage: stage.first))


class Pipeline(NamedTuple):
    """Pipelines of many layouts; arrays (points,).

    passes: m, micro-batches of a step. stages: p. virtual: v, parts of a rank that take turns.
    """

    passes: Array
    stages: Array
    virtual: Array


class Times(NamedTuple):
    """Seconds of one micro-batch; arrays (points,).

    total_s: on all stages. longest_s: on the longest. weights_s: there, for gradients of weights.
    """

    total_s: Array
    longest_s: Array
    weights_s: Array


@dataclass(frozen=True)
class Schedule:
    """In which order the stages of a pipeline take up micro-batches.

    step_s: seconds of all micro-batches. kept: of how many the stage at a place, from 0, keeps
    activations. placed: which stage has a part of the model. hidden: whether sends may run behind
    computing. parted: gradients of weights are computed apart, when nothing else can be.
    """

    name: str
    step_s: Callable[[Pipeline, Times], Array]
    kept: Callable[[Pipeline, ArrayLike], Array]
    placed: Callable[[int, int], int] = looped
    hidden: bool = False
    parted: bool = False


def _in_turn(line: Pipeline, times: Times) -> Array:
    """``sum c_i + (m - 1) max c_i`` (Narayanan et al., arXiv 2104.04473, section 2.2)."""
    return times.total_s + (line.passes - 1) * times.longest_s


def _interleaved(line: Pipeline, times: Times) -> Array:
    """``m max c_i + (sum c_i - max c_i) / v`` (ibid.)."""
    idle = (times.total_s - times.longest_s) / line.virtual
    return line.passes * times.longest_s + idle


def _zero_bubble(filled: Callable[[Array, Array], Array]) -> Callable[[Pipeline, Times], Array]:
    """``m max c_i`` and idle time ``sum c_i - max c_i - n W``, none below 0 (Qi et al., arXiv
    2401.10241, table 1, for ``m >= 2 p - 1``). filled: n of m and p, as :func:`slots` has it."""

    def step_s(line: Pipeline, times: Times) -> Array:
        work = filled(line.passes, line.stages) * times.weights_s
        idle = np.maximum(0.0, times.total_s - times.longest_s - work)
        return np.asarray(line.passes * times.longest_s + idle)

    return step_s


def _filled_h1(passes: Array, stages: Array) -> Array:
    return np.asarray(stages - 1 + np.minimum(passes - 1, stages - 1))


def _filled_h2(passes: Array, stages: Array) -> Array:
    return np.asarray(stages - 1 + np.minimum(passes - 1, 2 * (stages - 1)))


def _filled_v(passes: Array, stages: Array) -> Array:
    """Of parts, half a micro-batch each; those beyond the first p wait until there is room."""
    early = 2 * (passes - 1) - 0.5 + stages * (passes <= stages)
    late = 2 * stages - 2.5 + passes / 2
    return np.asarray(np.minimum(np.minimum(early, late), 3 * (stages - 1)))


def _all(line: Pipeline, _stage: ArrayLike) -> Array:
    return np.asarray(line.passes)


def _to_the_end(line: Pipeline, stage: ArrayLike) -> Array:
    """As many as there are stages from this one to the last."""
    return np.asarray(np.minimum(line.passes, line.stages - stage))


def _of_parts(line: Pipeline, stage: ArrayLike) -> Array:
    """``p + (p - 1 - 2 i) / v``: of parts ``2 (p - i - 1) + (v - 1) p + 1`` in the warm-up
    (Megatron-LM, ``schedules.py``), the first as Korthikanti et al. have it."""
    parts = line.stages + (line.stages - 1 - 2 * stage) / line.virtual
    return np.asarray(
        np.minimum(line.passes, np.where(line.virtual > 1, parts, line.stages - stage))
    )


def _twice(line: Pipeline, _stage: ArrayLike) -> Array:
    return np.minimum(line.passes, 2 * line.stages - 1)


def _alike(line: Pipeline, _stage: ArrayLike) -> Array:
    return np.minimum(line.passes, line.stages)


SCHEDULES: Mapping[str, Schedule] = {
    found.name: found
    for found in (
        Schedule("gpipe", _in_turn, _all),
        Schedule("1f1b", _in_turn, _to_the_end),
        Schedule("interleaved", _interleaved, _of_parts, hidden=True),
        Schedule("zb-h1", _zero_bubble(_filled_h1), _to_the_end, parted=True),
        Schedule("zb-h2", _zero_bubble(_filled_h2), _twice, parted=True),
        Schedule("zb-v", _zero_bubble(_filled_v), _alike, folded, parted=True),
    )
}


class Slot(NamedTuple):
    """What a stage does for a micro-batch from start to end: kind F forward, B backward (of inputs
    alone where W, of weights, comes apart). part: of the model, from 0, of all stages' parts."""

    stage: int
    kind: str
    micro_batch: int
    part: int
    start: float
    end: float


def slots(schedule: str, stages: int, passes: int, virtual: int = 1) -> list[Slot]:
    """The timeline of stages alike, in forward passes of a micro-batch on a stage.

    Gradients of inputs and of weights take as long as the forward pass each. A stage goes forward
    until it may keep no more, then back and forward in turn. Where gradients of weights come apart
    it goes back as soon as it can, and computes these when it can do nothing else. The longest
    stage takes what :attr:`Schedule.step_s` says, from its first slot to its last. Raises
    ValueError where parts take turns and the stages do not divide the micro-batches.
    """
    own, parts = SCHEDULES[schedule], stages * virtual
    fold = own.placed is folded
    rounds = 1 if fold else stages  # micro-batches after which a stage turns to its next part
    if virtual > 1 and passes % rounds:
        raise ValueError(f"{stages} stages do not divide {passes} micro-batches")
    line = Pipeline(*(np.array(float(n)) for n in (passes, stages, virtual)))
    room = [round(float(own.kept(line, stage)) * virtual) for stage in range(stages)]
    waiting: list[dict[str, list[tuple[int, int]]]] = []
    for stage in range(stages):
        mine = [part for part in range(parts) if own.placed(part, stages) == stage]
        todo = [(k, part) for k in range(passes) for part in mine]
        forward = sorted(todo, key=lambda at: (at[0] // rounds, at[1], at[0] % rounds))
        backward = sorted(todo, key=lambda at: (at[0] // rounds, -at[1], at[0] % rounds))
        waiting.append({"F": forward, "B": backward, "W": []})
    # When what a kind of a micro-batch and part needs has ended, its own part apart.
    done = {("F", k, -1): 0 for k in range(passes)}
    free, found, now = [0] * stages, list[Slot](), 0
    before = {"F": ("F", -1), "B": ("B", 1), "W": ("B", 0)}
    while any(any(left.values()) for left in waiting):
        for stage, left in enumerate(waiting):
            turn = "F" if room[stage] and left["F"] else "B"
            for kind in ("BFW" if own.parted else turn) if free[stage] <= now else "":
                needed, step = before[kind]
                able = next((
                    (k, part) for k, part in (left[kind] if fold else left[kind][:1])
                    if done.get((needed, k, part + step), now + 1) <= now
                ), None)  # fmt: skip
                if able is None or (kind == "F" and not room[stage]):
                    continue
                k, part = able
                left[kind].remove(able)
                free[stage] = now + (1 if own.parted or kind == "F" else 2)
                done[kind, k, part] = free[stage]
                if kind == "F" and part == parts - 1:
                    done["B", k, parts] = free[stage]
                room[stage] += {"F": -1, "B": 1, "W": 0}[kind]
                if own.parted and kind == "B":
                    left["W"].append(able)
                found.append(Slot(stage, kind, k, part, now / virtual, free[stage] / virtual))
                break
        now += 1
    return found
