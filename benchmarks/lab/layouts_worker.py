"""One rank of a small decoder that torch lays out over eight: timed exchanges, blocks and steps.

Started as ``python -P layouts_worker.py RANK JSON``; rank 0 prints one JSON line a result. JSON:
``{"ranks", "address", "port", "node", "shape", "exchanges", "blocks", "layouts", "steps"}``.

node: ranks of a host. shape: sizes of the decoder, with sequences of a batch. exchanges: [kind,
ranks, stride, bytes]. blocks: [kind, sequences, tensor]: plain, or of DTensors on a mesh of one
rank, as wide as a rank's share. layouts: degrees, see :class:`benchmarks.lab.layouts.Layout`.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
)
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from torch.distributed.tensor.parallel.ddp import _pre_dp_module_transform
from torch.nn.parallel import DistributedDataParallel

BUCKET_MIB = 4
HSDP = 4
WARM = 1
REPEATS = 3
ROW_S = 0.15  # of exchanges and blocks, so that a wait of a moment weighs little
CPU = torch.device("cpu")


class Block(nn.Module):
    """Attention and a gated feed-forward part; q, k and v of a head, and both halves of a gate, are
    neighbours, so that any rank's columns hold whole heads."""

    def __init__(self, hidden: int, heads: int, ffn: int, tensor: int = 1) -> None:
        super().__init__()
        self.size = hidden // heads
        self.norm_in, self.norm_mid = nn.RMSNorm(hidden), nn.RMSNorm(hidden)
        self.qkv = nn.Linear(hidden, 3 * hidden // tensor, bias=False)
        self.out = nn.Linear(hidden // tensor, hidden, bias=False)
        self.up = nn.Linear(hidden, 2 * ffn // tensor, bias=False)
        self.down = nn.Linear(ffn // tensor, hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(sequences, tokens, hidden), tokens split with sequence parallelism."""
        parts = self.qkv(self.norm_in(x)).unflatten(-1, (-1, 3, self.size)).permute(3, 0, 2, 1, 4)
        seen = F.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        gate, up = self.up(self.norm_mid(x)).unflatten(-1, (-1, 2)).unbind(-1)
        return x + self.down(F.silu(gate) * up)


class Part(nn.Module):
    """Consecutive blocks; the first part has the embedding, the last one the head."""

    def __init__(self, shape: dict[str, int], index: int, parts: int) -> None:
        super().__init__()
        hidden, vocabulary = shape["hidden"], shape["vocabulary"]
        torch.manual_seed(0)
        words, head = nn.Embedding(vocabulary, hidden), nn.Linear(hidden, vocabulary, bias=False)
        blocks = [Block(hidden, shape["heads"], shape["ffn"]) for _ in range(shape["layers"])]
        each = shape["layers"] // parts
        self.words = words if index == 0 else None
        self.blocks = nn.ModuleList(blocks[index * each : (index + 1) * each])
        last = index == parts - 1
        self.norm, self.head = (nn.RMSNorm(hidden), head) if last else (None, None)

    def forward(self, x: Tensor) -> Tensor:
        """Tokens or what the part before returned; logits or what the next part wants."""
        if self.words is not None:
            x = self.words(x)
        for block in self.blocks:
            x = block(x)
        return x if self.norm is None or self.head is None else self.head(self.norm(x))


def loss_of(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean over tokens."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(0, 1))


def block_plan(sequence: bool) -> dict[str, Any]:
    """How torch's tensor parallelism splits a block."""
    tokens = Shard(1) if sequence else Replicate()
    wide, back = ColwiseParallel(input_layouts=tokens), RowwiseParallel(output_layouts=tokens)
    plan: dict[str, Any] = {"qkv": wide, "out": back, "up": wide, "down": back}
    norms = {"norm_in": SequenceParallel(), "norm_mid": SequenceParallel()}
    return {**plan, **norms} if sequence else plan


def split_by_tensor(part: Part, mesh: DeviceMesh, sequence: bool) -> None:
    """Turn the weights of a part into DTensors."""
    tokens = Shard(1) if sequence else Replicate()
    for block in part.blocks:
        parallelize_module(block, mesh, block_plan(sequence))
    ends: dict[str, Any] = {
        "words": RowwiseParallel(input_layouts=Replicate(), output_layouts=tokens),
        "norm": SequenceParallel(),
        "head": ColwiseParallel(
            input_layouts=tokens, output_layouts=Shard(-1), use_local_output=False
        ),
    }
    if not sequence:
        del ends["norm"]
    there = {name: how for name, how in ends.items() if getattr(part, name) is not None}
    parallelize_module(part, mesh, there)


def shared(part: Part, mesh: DeviceMesh, at: dict[str, Any], node: int) -> nn.Module:
    """Data parallelism around a part: DDP, or FSDP2 by block."""
    if at["data"] == 1:
        return part
    data = mesh["data"]
    if not at["zero"]:
        if at["tensor"] > 1:
            _pre_dp_module_transform(part)
        return DistributedDataParallel(
            part, process_group=data.get_group(), bucket_cap_mb=BUCKET_MIB,
            gradient_as_bucket_view=True, find_unused_parameters=at["pipeline"] > 1,
        )  # fmt: skip
    if at["zero"] == HSDP:
        data = nodes_mesh(dist.get_world_size() // node, node)
    for module in (*part.blocks, part):
        fully_shard(module, mesh=data, reshard_after_forward=at["zero"] >= 3)
    return part


@cache
def degrees_mesh(pipeline: int, data: int, tensor: int) -> DeviceMesh:
    """Tensor ranks are neighbours, stages are furthest apart."""
    names = ("pipeline", "data", "tensor")
    return init_device_mesh("cpu", (pipeline, data, tensor), mesh_dim_names=names)


@cache
def nodes_mesh(nodes: int, node: int) -> DeviceMesh:
    """Copies over nodes, shards inside them."""
    return init_device_mesh("cpu", (nodes, node), mesh_dim_names=("copies", "shards"))


class Trainer:
    """Steps of one layout; the same tokens and first weights in each."""

    def __init__(self, shape: dict[str, int], at: dict[str, Any], node: int) -> None:
        self.at = at
        t, p, d, v = at["tensor"], at["pipeline"], at["data"], at["virtual"]
        mesh = degrees_mesh(p, d, t)
        place = dict(zip(("p", "d", "t"), mesh.get_coordinate() or (), strict=True))
        parts = [Part(shape, place["p"] + p * turn, p * v) for turn in range(v)]
        for part in parts:
            if t > 1:
                split_by_tensor(part, mesh["tensor"], at["sequence"])
        modules = [shared(part, mesh, at, node) for part in parts]
        weights = [w for module in modules for w in module.parameters()]
        kinds = [[w for w in weights if isinstance(w, DTensor) == kind] for kind in (True, False)]
        groups = [{"params": kind} for kind in kinds if kind]
        self.optimizer = torch.optim.AdamW(groups, lr=1e-3, fused=True)
        draw = torch.Generator().manual_seed(1)
        size = (shape["batch"], shape["sequence"] + 1)
        words = torch.randint(shape["vocabulary"], size, generator=draw).chunk(d)[place["d"]]
        self.words, self.targets = words[:, :-1].contiguous(), words[:, 1:].contiguous()
        self.model, self.first, self.last = modules[0], place["p"] == 0, place["p"] == p - 1
        self.schedule = self.pipeline(modules, mesh, place["p"]) if p > 1 else None

    def pipeline(self, modules: list[nn.Module], mesh: DeviceMesh, place: int) -> Any:
        """The schedule of torch that the layout names."""
        p, v, group = self.at["pipeline"], self.at["virtual"], mesh["pipeline"].get_group()
        stages = [
            PipelineStage(module, place + p * turn, p * v, CPU, group=group)
            for turn, module in enumerate(modules)
        ]
        if self.at["schedule"] == "interleaved":
            return ScheduleInterleaved1F1B(stages, self.at["passes"], loss_fn=loss_of)
        kind = {"gpipe": ScheduleGPipe, "1f1b": Schedule1F1B}[self.at["schedule"]]
        return kind(stages[0], self.at["passes"], loss_fn=loss_of)

    def step(self) -> float:
        """One whole step; the loss on those that have it."""
        with loss_parallel() if self.at["tensor"] > 1 else nullcontext():
            losses: list[Tensor] = []
            if self.schedule is None:
                losses.append(loss_of(self.model(self.words), self.targets))
                losses[0].backward()
            else:
                words = (self.words,) if self.first else ()
                targets = self.targets if self.last else None
                self.schedule.step(*words, target=targets, losses=losses)
        self.optimizer.step()
        self.optimizer.zero_grad()
        values = [one.full_tensor() if hasattr(one, "full_tensor") else one for one in losses]
        return float(torch.stack(values).mean().detach()) if values else 0.0


class Rank:
    """This process, and how it takes times."""

    def __init__(self, task: dict[str, Any], rank: int) -> None:
        self.task, self.rank = task, rank

    def slowest_s(
        self, once: Callable[[], object], repeats: int, warm: int = 1, least_s: float = 0.0
    ) -> list[float]:
        """Seconds of the slowest rank, each after a barrier; of one in a row of ``least_s``."""
        found: list[float] = []
        row = 1
        for number in range(repeats + warm):
            dist.barrier()
            start = time.perf_counter()
            for _ in range(row):
                once()
            took = torch.tensor(time.perf_counter() - start, dtype=torch.float64)
            dist.all_reduce(took, dist.ReduceOp.MAX)
            found.append(float(took) / row)
            if number == warm - 1:
                row = math.ceil(max(1.0, least_s / found[-1]))
        return found[warm:]

    def say(self, **record: Any) -> None:
        """One line of the first rank."""
        if self.rank == 0:
            print(json.dumps(record), flush=True)

    def exchange(self, kind: str, ranks: int, stride: int, size: int) -> None:
        """All groups of ``ranks`` that are ``stride`` apart exchange at once; sizes as a whole."""
        count = self.task["ranks"]
        group = degrees_mesh(count // ranks // stride, ranks, stride)["data"].get_group()
        whole, part = torch.ones(size // 4), torch.ones(size // 4 // ranks)
        after = (self.rank // stride) % ranks

        def send() -> None:
            if after % 2 == 0:
                dist.send(whole, self.rank + stride)
                dist.recv(part, self.rank + stride)
            else:
                dist.recv(whole, self.rank - stride)
                dist.send(part, self.rank - stride)

        if kind == "send":
            part = whole.clone()
        once = {
            "all-reduce": lambda: dist.all_reduce(whole, group=group),
            "all-gather": lambda: dist.all_gather_into_tensor(whole, part, group=group),
            "reduce-scatter": lambda: dist.reduce_scatter_tensor(part, whole, group=group),
            "send": send,
        }[kind]
        seconds = statistics.median(self.slowest_s(once, REPEATS, least_s=ROW_S))
        self.say(exchange=kind, ranks=ranks, stride=stride, bytes=size,
                 seconds=seconds / (2 if kind == "send" else 1))  # fmt: skip

    def block(self, kind: str, sequences: int, tensor: int) -> None:
        """Both passes of a block, or of embedding, head and loss, or an update, all ranks at once.

        sequences: of an update, the blocks whose parameters it is of.
        """
        shape = self.task["shape"]
        hidden = shape["hidden"]
        if kind in ("head", "update"):
            part = Part({**shape, "layers": sequences if kind == "update" else 0}, 0, 1)
            words = torch.ones(sequences, shape["sequence"], dtype=torch.long)
            optimizer = torch.optim.AdamW(part.parameters(), fused=True)
            for weight in part.parameters():
                weight.grad = torch.ones_like(weight)
            once: Callable[[], object] = (
                optimizer.step
                if kind == "update"
                else lambda: loss_of(part(words), words).backward()
            )
        else:
            module: nn.Module = Block(hidden, shape["heads"], shape["ffn"], tensor)
            if kind != "plain":
                mesh = degrees_mesh(self.task["ranks"], 1, 1)["tensor"]
                module = parallelize_module(module, mesh, block_plan(kind == "sequence"))
            x = torch.randn(sequences, shape["sequence"], hidden, requires_grad=True)
            back = torch.randn_like(x)
            once = lambda: module(x).backward(back)  # noqa: E731
        seconds = min(self.slowest_s(once, 2 * REPEATS, least_s=ROW_S))
        self.say(block=kind, sequences=sequences, tensor=tensor, seconds=seconds)

    def layout(self, at: dict[str, Any]) -> None:
        """Steps of one layout; the loss of the last says that it trains as all others."""
        trainer = Trainer(self.task["shape"], at, self.task["node"])
        losses: list[float] = []
        seconds = self.slowest_s(lambda: losses.append(trainer.step()), self.task["steps"], WARM)
        ends = torch.tensor([losses[-1], float(trainer.last)])
        dist.all_reduce(ends)
        self.say(layout=at["name"], seconds=seconds, loss=float(ends[0] / ends[1]))


def main() -> None:
    """Do all that the JSON asks for."""
    warnings.filterwarnings("ignore")
    rank, task = int(sys.argv[1]), json.loads(sys.argv[2])
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": task["address"], "MASTER_PORT": str(task["port"])}
    dist.init_process_group("gloo", rank=rank, world_size=task["ranks"])
    this = Rank(task, rank)
    for kind, sequences, tensor in task["blocks"]:
        this.block(kind, sequences, tensor)
    for kind, ranks, stride, size in task["exchanges"]:
        this.exchange(kind, ranks, stride, size)
    for at in task["layouts"]:
        this.layout(at)
    dist.barrier()
    os._exit(0)  # groups of many meshes end slowly


if __name__ == "__main__":
    main()
