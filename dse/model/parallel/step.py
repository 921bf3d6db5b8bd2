"""The step of a transformer laid out over many accelerators, term by term."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dse.model.arrays import Array, ArrayLike
from dse.model.compute import Device
from dse.model.parallel.exchanges import Tiers
from dse.model.parallel.layouts import (
    ALL_GATHER,
    ALL_TO_ALL,
    FULL,
    SELECTIVE,
    Layouts,
)
from dse.model.parallel.memory import StageParams, block_params, stage_params
from dse.model.parallel.mesh import Group
from dse.model.parallel.schedules import SCHEDULES, Stages, Times, in_order, of_kinds
from dse.model.parallel.shape import Block, Transformer
from dse.model.parallel.sharding import Passes, Product, attention_backward, layer, products_s
from dse.model.precision import Precision

UPDATE_BYTES = 28.0  # of a parameter: what Adam reads and writes in fp32 beside 16-bit weights
LOSS_BYTES = 8.0  # of a token: its largest logit and their sum, in fp32, of each tensor rank
LAST_BUCKET = 0.1  # of an exchange of gradients, the least that nothing hides
BACKWARD = 2 / 3  # of both passes
EXCHANGES = ("tensor", "context", "expert", "pipeline", "data")  # terms of a step
# What changes the computing of a layer and micro-batch, beside degrees.
OF_A_PASS = ("micro_batch", "sequence", "sequence_parallel", "imbalance", "capacity")


@dataclass(frozen=True)
class Runtime:
    """Training software of transformers; each number is a stack's, with its source in its file.

    eager: share of the way from fused to separate kernels. fused_attention: one kernel. host_s:
    seconds the host takes of a layer and micro-batch; host_tensor_s: more where it is split;
    host_stage_s: more for each tensor rank, where a pipeline crosses nodes; host_routing_s: more
    where it has experts, to route and permute tokens; host_expert_s: more for each expert of a
    rank, where their products are not one kernel; host_send_s: more for each part that a rank sends
    on and back. sum_bytes: of a
    parameter and micro-batch, to add gradients. loss_bytes: moved for a logit. rule: of
    :data:`.schedules.RULES`. gradient_bytes: of a gradient as it is summed. regathers: inputs of
    products are gathered again for the gradients of weights. scatters: tensor ranks share what
    stages send. deduplicates: a token goes once to each rank and node of its experts. hides_tensor:
    share of tensor exchanges behind products. hides_experts: exchanges of experts behind another
    micro-batch's computing. hides_sends: behind computing, where the schedule lets them.
    hides_gradients, hides_weights: exchanges of data parallelism behind the last backward pass and
    the next forward pass.
    """

    eager: float = 0.3
    fused_attention: bool = True
    host_s: float = 0.8e-3
    host_tensor_s: float = 0.3e-3
    host_stage_s: float = 0.0
    host_routing_s: float = 0.0
    host_expert_s: float = 0.0
    host_send_s: float = 0.0
    sum_bytes: float = 0.0
    loss_bytes: float = 16.0
    rule: str = "even"
    gradient_bytes: float = 4.0
    regathers: bool = True
    scatters: bool = True
    deduplicates: bool = True
    hides_tensor: float = 0.0
    hides_experts: bool = False
    hides_sends: bool = True
    hides_gradients: bool = True
    hides_weights: bool = True


class Spent(NamedTuple):
    """Seconds of a micro-batch, of a layer (points,) or a stage (stages, points).

    compute_s: products, attention and what is redone, or what the host takes to launch them, if
    longer. tensor_s, context_s, expert_s: exchanges that it waits for. weights_s: of compute_s, for
    gradients of weights.
    """

    compute_s: Array
    tensor_s: Array
    context_s: Array
    expert_s: Array
    weights_s: Array

    @property
    def total_s(self) -> Array:
        """Computing and exchanges."""
        return self.compute_s + self.tensor_s + self.context_s + self.expert_s


class Step(NamedTuple):
    """Seconds of a step, (points,): all, and exposed ones by term on the slowest stage."""

    step_s: Array
    compute_s: Array
    bubble_s: Array
    tensor_s: Array
    pipeline_s: Array
    expert_s: Array
    context_s: Array
    data_s: Array
    update_s: Array

    def taking(self, computing: Array, exchange: Callable[[str], Array]) -> Step:
        """The step if its terms take so many times as long, (draws, ...).

        computing: of computing and the update. exchange: of each of :data:`EXCHANGES`. A stage
        waits for others as much longer as all of these take.
        """
        terms = {
            "compute_s": self.compute_s * computing,
            "update_s": self.update_s * computing,
            **{f"{name}_s": getattr(self, f"{name}_s") * exchange(name) for name in EXCHANGES},
        }
        busy = self.step_s - self.bubble_s
        terms["bubble_s"] = self.bubble_s * sum(terms.values()) / busy
        return Step(sum(terms.values(), np.zeros(())), **terms)


@dataclass(frozen=True)
class ParallelStep:
    """Synchronous training of one transformer on one kind of accelerator and network.

    ``step = pipeline + data communication not hidden + update``; the pipeline is the schedule's, of
    stages that take ``layers max(device, host) + head + loss + sends``. The longest stage sets the
    pace. wide: the device in 16 bits, for what stays so, where the precision has fewer. trained:
    share of the parameters that have gradients, see :meth:`.shape.Transformer.trained`. sums:
    seconds in which groups sum the gradients of a whole model, of their bytes on a rank over all
    stages; tiers say where that is NaN, or where there is none.
    """

    model: Transformer
    device: Device
    precision: Precision
    tiers: Tiers
    runtime: Runtime
    wide: Device | None = None
    trained: float = 1.0
    sums: Callable[[Group, Array], Array] | None = None

    @property
    def word(self) -> float:
        """Bytes of an activation that is sent."""
        return self.precision.activation_bytes

    def step(self, at: Layouts) -> Step:
        """Every term of the step of each layout."""
        passes = at.once(("tensor", "context", "expert", "expert_tensor"), OF_A_PASS, self._passes)
        _, found = at.staged(self.model, self.runtime.rule)
        return Step(*np.broadcast_arrays(*self._pipeline(at, found, passes)))

    def by_stage(self, at: Layouts) -> tuple[Spent, Array]:
        """Seconds of a micro-batch on each stage in order, and of its sends before anything hides
        them, (p, points), of layouts of one number of stages and of virtual stages."""
        (kinds,), _ = at.staged(self.model, self.runtime.rule)
        which = np.zeros(np.shape(at.mesh.gpus), dtype=np.int64)
        stages = of_kinds([in_order(kinds)], which)
        spent = self.spent(at, stages, self._passes(at))
        return spent, np.broadcast_to(self.send_s(at, stages), spent.compute_s.shape)

    def _passes(self, at: Layouts) -> Array:
        """Computing of a layer of each run, (runs, fields of Passes, points)."""
        runtime, shape = self.runtime, np.shape(at.mesh.gpus)
        return np.stack([
            [np.broadcast_to(part, shape) for part in layer(
                block, at.cut, self.device, self.precision, self.wide or self.device, runtime.eager,
                runtime.fused_attention,
            )]
            for block, _ in self.model.runs
        ])  # fmt: skip

    def layer(self, block: Block, at: Layouts, passes: Passes) -> Spent:
        """One layer. passes: its computing; the host launches all of it no faster than it can."""
        mesh, runtime, adapters = at.mesh, self.runtime, self.trained % 1
        passes = passes._replace(
            forward_s=passes.forward_s * (1 + adapters),
            inputs_s=passes.inputs_s * (1 + adapters),
            weights_s=passes.weights_s * self.trained,
        )
        scores = np.zeros(()) if runtime.fused_attention else passes.core_s
        redone = np.select(
            [at.recompute == FULL, at.recompute == SELECTIVE], [passes.forward_s, scores], 0.0
        )
        crossing = (mesh.pipeline > 1) & (mesh.gpus > mesh.node)
        host = runtime.host_s + np.where(mesh.tensor > 1, runtime.host_tensor_s, 0.0)
        host = host + np.where(crossing, runtime.host_stage_s * mesh.tensor, 0.0)
        parts = mesh.pipeline * at.virtual / self.model.layers  # of a layer
        host = host + np.where(mesh.pipeline > 1, runtime.host_send_s * parts, 0.0)
        if block.experts:
            own_experts = block.experts / mesh.expert
            host = host + runtime.host_routing_s + runtime.host_expert_s * own_experts
        summed = self._summing_s(sum(block_params(block, mesh)))
        again = at.recompute == FULL
        computing = passes.total_s + summed + redone
        expert = self.expert_s(block, at, again)
        if runtime.hides_experts:
            expert = _left(expert, computing)
        found = Spent(
            computing, self.tensor_s(block, at, again, computing),
            self.context_s(block, at, passes), expert,
            passes.weights_s + summed,
        )  # fmt: skip
        return found._replace(compute_s=found.compute_s + np.maximum(0.0, host - found.total_s))

    def _summing_s(self, params: ArrayLike) -> Array:
        moved = np.asarray(params) * (self.runtime.sum_bytes * self.trained)
        return np.asarray(moved / self.device.reached_bytes_per_s)

    def tensor_s(self, block: Block, at: Layouts, again: ArrayLike, computing: Array) -> Array:
        """Four all-reduces of ``T h`` elements; with sequence parallelism four all-gathers, two
        more for the gradients of weights, and four reduce-scatters. again: where the forward pass
        is redone, with half of them. Of halves a share hides, behind no more than computing."""
        tiers, ranks = self.tiers, at.mesh.tensors
        whole = at.cut.of(block).tokens * block.hidden * self.word
        narrow = min(1.0, self.precision.operand_bytes / self.word)  # gathered after its cast
        gathers, scatters = 4 + 2.0 * self.runtime.regathers + 2 * again, 4 + 2 * again
        # A dispatcher sends the tokens of a tensor rank as they are: attention alone gathers.
        parts = (block.attentions + (not block.experts or block.shared_ffn > 0)) / 2
        counts = [((block.attentions + 1) * (2 + again), parts * gathers, parts * scatters)]
        counts += [(1.0, gathers / 2 - 1, 1.0)] * (len(block.lengths) - 1)  # of an encoder's tokens
        sums, halves = np.zeros(()), np.zeros(())
        for length, (summed, gathered, scattered) in zip(block.lengths, counts, strict=True):
            sums = sums + summed * tiers.all_reduce_s(ranks, whole * length)
            halves = halves + gathered * tiers.halves_s(ranks, narrow * whole * length)
            halves = halves + scattered * tiers.halves_s(ranks, whole * length)
        halves = halves - np.minimum(self.runtime.hides_tensor * halves, computing)
        found = np.where(at.sequence_parallel, halves, sums)
        return np.where(at.mesh.tensor > 1, found, 0.0)

    def expert_s(self, block: Block, at: Layouts, again: ArrayLike) -> Array:
        """Four all-to-alls of the copies of tokens that leave a rank, two in each pass.

        Where they are de-duplicated, a token goes once to each of the ``N (1 - (1 - 1 / N)^k)``
        ranks or nodes that its k experts touch (DeepSeek-V3, arXiv 2412.19437, section 3.2.2).
        """
        if not block.experts:
            return np.zeros(())
        group, k = at.mesh.experts, block.chosen
        own = at.cut.routed(block) / at.mesh.expert_tensor * block.hidden * self.word
        touched = (
            n * (1 - (1 - 1 / n) ** k) / k if self.runtime.deduplicates else 1.0
            for n in (group.ranks, group.nodes)
        )  # fmt: skip
        one = self.tiers.exchange_s(group, own, *touched)
        gathered = own * at.mesh.expert_tensor  # by those that split an expert, and back
        one = one + self.tiers.halves_s(at.mesh.expert_tensors, gathered)
        return np.asarray((4 + 2 * again) * one)

    def context_s(self, block: Block, at: Layouts, passes: Passes) -> Array:
        """Keys and values of other ranks, and their gradients.

        A ring passes them around behind the attention of the chunk before (Liu et al., arXiv
        2310.01889). All-to-all parts heads for tokens and back (Jacobs et al., arXiv 2309.14509);
        all-gather collects keys and values (Llama 3, arXiv 2407.21783, section 3.3.2).
        """
        c, t, tiers = at.mesh.context, at.mesh.tensor, self.tiers
        group, forward = at.mesh.contexts, 1 + (at.recompute == FULL)
        kv = sum(block.lengths) * block.kv / t * np.maximum(1.0, t / block.kv_heads)
        tokens = at.cut.of(block).tokens
        one = tiers.send_s(group, 2 * kv * tokens * self.word)
        chunk = passes.core_s / c
        backward = attention_backward(self.runtime.fused_attention) * chunk
        left = forward * np.maximum(0.0, one - chunk) + np.maximum(0.0, 2 * one - backward)
        heads = (2 * block.attentions * block.query / t + 2 * kv) * tokens * self.word
        found = np.select(
            [at.exchange == ALL_TO_ALL, at.exchange == ALL_GATHER],
            [
                (forward + 1) * tiers.exchange_s(group, heads),
                (forward + 1) * tiers.halves_s(group, 2 * kv * tokens * c * self.word),
            ],
            (c - 1) * left,
        )
        return np.where(c > 1, found, 0.0)

    def head_s(self, at: Layouts) -> Array:
        """Seconds of a micro-batch in the head and the loss."""
        model, t, tokens = self.model, at.mesh.tensor, at.cut.tokens * self.model.written
        columns = model.vocabulary / t
        product = Product(tokens, columns, np.asarray(float(model.hidden)), wide=True)
        wide = self.wide or self.device
        head = sum(products_s(iter([product]), self.device, self.precision, wide), np.zeros(()))
        moved = tokens * columns * self.runtime.loss_bytes / self.device.reached_bytes_per_s
        factor = np.asarray(self.device.factor)
        tiers, ranks = self.tiers, at.mesh.tensors
        joined = tiers.all_reduce_s(ranks, tokens * model.hidden * self.word)
        joined = joined + tiers.all_reduce_s(ranks, tokens * LOSS_BYTES)
        return factor * (head + moved) + joined + self._summing_s(columns * model.hidden)

    def send_s(self, at: Layouts, found: Stages) -> Array:
        """Seconds of a boundary and micro-batch, there and back, before anything hides them, of
        each kind of stage: a decoder's pass on what the encoder made, beside what they make."""
        scattered = at.sequence_parallel | self.runtime.scatters
        parted = np.where(scattered, at.mesh.tensor, 1.0)
        crossed = at.virtual * np.where(at.mesh.pipeline > 1, 1.0, 0.0)
        own = at.cut.tokens * self.model.hidden * self.word / parted
        for (block, _), count in zip(self.model.runs, found.layers, strict=True):
            if block.cross:
                own = own * np.where(count > 0, 1 + block.share, 1.0)
        return np.asarray(2 * crossed * self.tiers.send_s(at.mesh.stages, own))

    def spent(self, at: Layouts, found: Stages, passes: Array) -> Spent:
        """On each kind of stage, (kinds, points), without sends. passes: of the layers of each
        run, (runs, fields of Passes, points)."""
        shape = passes.shape[-1:]
        layers = np.stack([
            [np.broadcast_to(part, shape) for part in self.layer(block, at, Passes(*own))]
            for (block, _), own in zip(self.model.runs, passes, strict=True)
        ])  # fmt: skip
        every = Spent(*np.einsum("rsx,rfx->fsx", found.layers, layers))
        return every._replace(compute_s=every.compute_s + found.head * self.head_s(at))

    def _pipeline(self, at: Layouts, found: Stages, passes: Array) -> Step:
        """What micro-batches take is computed once for all layouts that differ in nothing that
        changes it, and so is what the exchange of gradients takes."""
        degrees, m = tuple(vars(at.mesh)), at.passes
        few, which = at.alike(degrees, (*OF_A_PASS, "virtual", "recompute", "exchange"))
        some, kinds = at.take(few), found.take(few)
        spent = self.spent(some, kinds, passes[..., few])
        total = spent.total_s
        send = np.broadcast_to(self.send_s(some, kinds), total.shape)
        slowest = total.argmax(axis=0)[None]
        there = Spent(*(np.take_along_axis(part, slowest, 0)[0] for part in spent))
        # Full pipelines may hide their sends, but nothing does where they fill and drain.
        hidden = SCHEDULES[at.schedule].hidden and self.runtime.hides_sends
        shown = np.take_along_axis(send, slowest, 0)[0]
        longest = there.total_s + (0.0 if hidden else shown)
        whole = (kinds.number * (total + send)).sum(axis=0)
        line = Times(*(v[which] for v in (whole, longest, there.weights_s)))
        taken = SCHEDULES[at.schedule].step_s(at.line, line)
        there, total = Spent(*(part[which] for part in there)), total[:, which]

        few, which = at.alike(degrees, ("virtual", "zero"))
        *exchanges, update = self._ends(at.take(few), found.take(few))[..., which]
        exchange = self._data_s(at, exchanges, BACKWARD * total)
        last = (exchange + update).argmax(axis=0)[None]
        data, updated = (np.take_along_axis(v, last, 0)[0] for v in (exchange, update))
        return Step(
            taken + data + updated, m * there.compute_s, taken - m * line.longest_s,
            m * there.tensor_s, m * (line.longest_s - there.total_s), m * there.expert_s,
            m * there.context_s, data, updated,
        )  # fmt: skip

    def _ends(self, at: Layouts, found: Stages) -> Array:
        """Of each kind of stage at the end of a step, (6, kinds, points): seconds to scatter
        gradients over those that share states, to gather weights, to sum what each has over the
        copies and what the first and the last stage have of tied weights; the share of one of its
        units; seconds of the update, over what a rank has of the states."""
        params = stage_params(self.model, found, at.mesh)
        own = params.dense / at.shards + params.experts / at.expert_shards
        moved = own * (UPDATE_BYTES * self.trained)
        update = np.asarray(moved / self.device.reached_bytes_per_s)
        return np.stack(np.broadcast_arrays(*self._exchanges(at, found, params), update))

    def _exchanges(self, at: Layouts, found: Stages, params: StageParams) -> list[Array]:
        """Of the gradients and weights of stages, of all but experts and of experts."""
        tiers, several = self.tiers, found.layers.sum(axis=0) + found.embedding + found.head - 1
        units = np.where(at.zero >= 3, np.maximum(several, 0), 0)
        total = [np.zeros(())] * 3
        for group, own, parts in (
            (at.mesh.gradients, params.dense, at.shards),
            (at.mesh.expert_gradients, params.experts, at.expert_shards),
        ):
            inner, across = group.split(parts)
            sums, there = own * (self.runtime.gradient_bytes * self.trained), own > 0
            weights = self.precision.weight_bytes
            whole = own * np.where(at.zero >= 3, weights, weights * self.trained)
            started = units * tiers.halves_s(inner, 0.0)  # of all units but one
            more = (
                there * (tiers.halves_s(inner, sums) + started),
                there * (tiers.halves_s(inner, whole) + started),
                there * self._copied_s(across, sums / parts, found),
            )
            total = [np.asarray(one + other) for one, other in zip(total, more, strict=True)]
        words = self.model.vocabulary * self.model.hidden / at.mesh.tensor
        twice = self.model.tied * (found.embedding != found.head)
        both = tiers.all_reduce_s(at.mesh.stages, words * self.runtime.gradient_bytes)
        return [*total, both * twice, 1 / (units + 1)]

    def _copied_s(self, across: Group, own: Array, found: Stages) -> Array:
        """Sums of what stages have over its copies: of a whole model's their share of bytes."""
        usual = self.tiers.all_reduce_s(across, own)
        if self.sums is None:
            return usual
        whole = (found.number * own).sum(axis=0)
        seconds = self.sums(across, whole)
        share = own / np.where(whole > 0, whole, 1.0)
        return np.where(np.isnan(seconds), usual, seconds * share)

    def _data_s(self, at: Layouts, exchanges: Sequence[Array], back_s: Array) -> Array:
        """Seconds of the exchange of gradients and weights that nothing hides.

        exchanges: see :meth:`_ends`. back_s: of the stage's backward pass of one micro-batch, the
        last of which gradients hide behind. Fully sharded, weights are gathered twice and gradients
        scattered in every micro-batch, unit by unit behind the passes.
        """
        runtime = self.runtime
        scattered, gathered, copied, tied, least = exchanges
        behind = back_s if runtime.hides_gradients else np.zeros(())
        next_pass = back_s / 2 if runtime.hides_weights else np.zeros(())
        plain = _left(copied, behind)
        last = _left(scattered, behind)
        sharded = np.where(at.zero == 2, at.passes, 1) * last + _left(gathered, next_pass)
        units = (runtime.hides_gradients and runtime.hides_weights) * 1.5 * back_s
        every = at.passes * _left(2 * gathered + scattered, units, least)
        return np.asarray(
            tied + np.select([at.zero == 0, at.zero < 3], [plain, sharded], every + plain)
        )


def _left(seconds: Array, behind: Array, least: ArrayLike = LAST_BUCKET) -> Array:
    """What is not hidden ``behind`` other work: at least the last bucket, a share ``least``."""
    left = np.maximum(seconds - behind, least * seconds)
    return np.where(behind > 0, left, seconds)
