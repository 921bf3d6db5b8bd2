"""Layouts of a small decoder across the lab: trained by torch over gloo, and predicted.

Eight ranks share two cores. Blocks are timed with all ranks computing at once; in a pipeline fewer
do, by what its schedule leaves idle. What is predicted rests on a profile of the same network and
the same blocks, never on a step.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from benchmarks.lab.measure import MBPS, RESULTS
from benchmarks.lab.network import INTERFACE, Lab, network
from dse.errors import MeasurementError
from dse.model.arrays import Array, ArrayLike
from dse.model.compute import Device, roofline_device
from dse.model.parallel.exchanges import Tiers
from dse.model.parallel.layouts import NONE, Layouts
from dse.model.parallel.mesh import Group, Mesh, group
from dse.model.parallel.shape import Block, Transformer
from dse.model.parallel.sharding import Cut, layer
from dse.model.parallel.step import UPDATE_BYTES, ParallelStep, Runtime
from dse.model.precision import PRECISIONS

WORKER = Path(__file__).parent / "layouts_worker.py"
PORT = 29877
RANKS, CORES = 8, 2
SETS = tuple(product((2, 4), (200.0, 500.0)))  # hosts, Mbps
SHAPE = {"hidden": 256, "heads": 8, "ffn": 704, "layers": 8, "vocabulary": 512,
         "sequence": 128, "batch": 8}  # fmt: skip
KIB = 1024
STEPS, PROFILE = "layouts.csv", "layouts-profile.csv"
COLUMNS = {
    STEPS: ("hosts", "mbps", "layout", "seconds", "loss"),
    PROFILE: ("hosts", "mbps", "exchange", "ranks", "stride", "bytes", "block", "sequences",
              "tensor", "seconds"),
}  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """Degrees of one layout. zero: 0 to 3, 4 copied over nodes; passes follow from it all."""

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    zero: int = 0
    sequence: bool = False
    schedule: str = "1f1b"
    virtual: int = 1

    def passes(self, batch: int) -> int:
        """Micro-batches of a step: of one sequence in pipelines, else all at once."""
        return batch // self.data if self.pipeline > 1 else 1

    @property
    def name(self) -> str:
        """Degrees in a word."""
        words = [f"{letter}{n}" for letter, n in
                 (("t", self.tensor), ("p", self.pipeline), ("d", self.data)) if n > 1]  # fmt: skip
        words += ["sp"] * self.sequence + [f"z{self.zero}"] * (self.zero > 0)
        return "-".join(words + [self.schedule] * (self.pipeline > 1))


LAYOUTS = (
    *(Layout(data=8, zero=zero) for zero in (0, 2, 3, 4)),
    Layout(tensor=8),
    Layout(tensor=8, sequence=True),
    Layout(tensor=4, data=2),
    Layout(tensor=4, data=2, zero=3, sequence=True),
    Layout(tensor=2, data=4),
    Layout(tensor=2, data=4, sequence=True),
    Layout(tensor=2, data=4, zero=2),
    Layout(pipeline=8),
    Layout(pipeline=8, schedule="gpipe"),
    Layout(pipeline=4, data=2),
    Layout(pipeline=4, data=2, zero=1),
    Layout(pipeline=4, data=2, schedule="interleaved", virtual=2),
    Layout(pipeline=4, tensor=2),
    Layout(pipeline=4, tensor=2, schedule="interleaved", virtual=2),
    Layout(pipeline=2, data=4),
    Layout(pipeline=2, data=4, zero=1, schedule="gpipe"),
    Layout(pipeline=2, tensor=2, data=2, zero=1),
    Layout(pipeline=2, tensor=4, sequence=True),
)
BLOCKS = (
    *(("plain", sequences, 1) for sequences in (1, 2, 4, 8)),
    *((kind, s, t) for kind in ("tensor", "sequence") for s, t in product((1, 2, 4, 8), (2, 4, 8))),
    *(("head", sequences, 1) for sequences in (1, 4)),
    *(("update", layers, 1) for layers in (1, 4, 8)),
)
EXCHANGES = (
    *(
        (kind, ranks, stride, size * KIB)
        for kind in ("all-reduce", "all-gather", "reduce-scatter")
        for ranks, stride in ((8, 1), (4, 1), (2, 1), (4, 2), (2, 2), (2, 4))
        for size in (16, 128, 1024)
    ),
    *(("send", 2, stride, size * KIB) for stride in (1, 2, 4) for size in (32, 128, 512)),
)


def run(lab: Lab, task: Mapping[str, Any], limit_s: float) -> list[dict[str, Any]]:
    """What the ranks measured, one record each; ``task`` as the worker wants it."""
    ranks = task["ranks"]
    node = ranks // lab.hosts
    whole = {"address": lab.address(0), "port": PORT, "node": node, **task}
    alike = ["env", "OMP_NUM_THREADS=1", "TORCH_CPP_LOG_LEVEL=ERROR",
             f"GLOO_SOCKET_IFNAME={INTERFACE}", sys.executable, "-P", str(WORKER)]  # fmt: skip
    started = [
        subprocess.Popen(
            [*lab.prefix(rank // node), *alike, str(rank), json.dumps(whole)],
            stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL, text=True,
        )
        for rank in range(ranks)
    ]  # fmt: skip
    try:
        said, _ = started[0].communicate(timeout=limit_s)
        failed = [one.wait(timeout=10) for one in started]
    except subprocess.TimeoutExpired as cause:
        raise MeasurementError(f"layouts took more than {limit_s:g} s") from cause
    finally:
        for one in started:
            one.kill()
            one.wait()
    if any(failed):
        raise MeasurementError(f"ranks of layouts ended with {failed}")
    return [json.loads(line) for line in said.splitlines()]


def task_of(
    chosen: Sequence[Layout], ranks: int, shape: Mapping[str, int], steps: int
) -> dict[str, Any]:
    """What the worker is told to do: steps of layouts, and no profile."""
    wanted = [
        {**dataclasses.asdict(o), "name": o.name, "passes": o.passes(shape["batch"])}
        for o in chosen
    ]
    return {"ranks": ranks, "shape": shape, "steps": steps, "layouts": wanted,
            "exchanges": (), "blocks": ()}  # fmt: skip


def measure(hosts: int, mbps: float, steps: int = 5, limit_s: float = 1500.0) -> Set:
    """Profile and steps of every layout on eight ranks."""
    task = task_of(LAYOUTS, RANKS, SHAPE, steps) | {"exchanges": EXCHANGES, "blocks": BLOCKS}
    with network(hosts, mbps * MBPS) as lab:
        return Set(hosts, mbps, tuple(run(lab, task, limit_s)))


def save(found: Iterable[Set], folder: Path = RESULTS) -> None:
    """Add sets to both files, steps and profile, in seconds; blocks are of no network."""
    for this in found:
        where = {"hosts": this.hosts, "mbps": f"{this.mbps:g}"}
        add(folder / STEPS, this.of("layout"), where)
        add(folder / PROFILE, this.of("exchange"), where)
        add(folder / PROFILE, this.of("block"), {})


def add(path: Path, records: Sequence[Mapping[str, Any]], where: Mapping[str, Any]) -> None:
    """Add rows to a file, and its header where it is new."""
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS[path.name], restval="", lineterminator="\n")
        if new:
            writer.writeheader()
        for record in records:
            writer.writerow({**where, **{k: written(v) for k, v in record.items()}})


def written(value: Any) -> str:
    """Of a cell: floats short, lists with blanks."""
    if isinstance(value, list):
        return " ".join(map(written, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def load(folder: Path = RESULTS) -> list[Set]:
    """The sets of both files, each with all blocks."""
    found: dict[tuple[int, float], list[Mapping[str, Any]]] = defaultdict(list)
    blocks: list[Mapping[str, Any]] = []
    for name in (STEPS, PROFILE):
        with (folder / name).open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                record = {k: read(k, v) for k, v in row.items() if v}
                if "block" in record:
                    blocks.append(record)
                else:
                    found[record.pop("hosts"), record.pop("mbps")].append(record)
    return [Set(*key, (*records, *blocks)) for key, records in sorted(found.items())]


def read(column: str, cell: str) -> Any:
    """A cell as what its column holds."""
    if column in ("layout", "exchange", "block"):
        return cell
    if column == "seconds" and " " in cell:
        return [float(word) for word in cell.split()]
    return float(cell) if column in ("seconds", "mbps", "loss") else int(cell)


# The prediction.

BLOCK = Block(SHAPE["hidden"], SHAPE["heads"], SHAPE["hidden"] // SHAPE["heads"], SHAPE["heads"],
              SHAPE["ffn"], rotary=False)  # fmt: skip
MODEL = Transformer("small", ((BLOCK, SHAPE["layers"]),), SHAPE["vocabulary"])
FP32 = PRECISIONS["fp32"]
AVERAGE_HALF = 1.5  # passes: gloo gathers in one, and scatters sums as an all-reduce and a slice


@dataclass(frozen=True)
class Ring(Tiers):
    """Links under gloo, which has one ring over all ranks where the model has trees of nodes.

    Each rank sends ``(n - 1) / n`` of the data to the next in every pass, so a node's cards carry
    that for each group that touches it, on however few nodes. Every step of the ring waits:
    ``call_s`` inside a node, ``hop_s`` between nodes.
    """

    def _ring_s(self, group: Group, whole: ArrayLike, share: ArrayLike, passes: float) -> Array:
        sent = passes * (group.ranks - 1) / group.ranks * np.asarray(whole)
        across = np.where(group.nodes > 1, sent * group.together / self.cards_bytes_per_s, 0.0)
        return np.asarray(np.maximum(sent / self.link_bytes_per_s, across) / share)

    def _steps_s(self, group: Group, passes: float) -> Array:
        each = np.where(group.nodes > 1, self.hop_s, self.call_s)
        return np.asarray(passes * (group.ranks - 1) * each)

    def all_reduce_s(self, group: Group, whole: ArrayLike) -> Array:
        """Two passes of the ring."""
        return self._steps_s(group, 2) + self._ring_s(group, whole, self.all_reduce, 2)

    def halves_s(self, group: Group, whole: ArrayLike) -> Array:
        """The mean of all-gather and reduce-scatter."""
        passes = AVERAGE_HALF
        return self._steps_s(group, passes) + self._ring_s(group, whole, self.halves, passes)

    def send_s(self, group: Group, own: ArrayLike) -> Array:
        """One way."""
        inside, beyond = self._shares("sends")
        cards = self.cards_bytes_per_s * beyond / group.together
        speed = np.where(group.nodes > 1, cards, self.link_bytes_per_s * inside)
        start = np.where(group.nodes > 1, self.hop_s, self.call_s)
        return np.where(group.ranks > 1, start + np.asarray(own) / speed, 0.0)


@dataclass(frozen=True)
class Set:
    """One shape of cluster and rate: its profile, and the steps of layouts by name."""

    hosts: int
    mbps: float
    records: tuple[Mapping[str, Any], ...]

    def of(self, field: str) -> list[Mapping[str, Any]]:
        """Records of exchanges, blocks or layouts."""
        return [record for record in self.records if field in record]

    @property
    def steps_s(self) -> dict[str, float]:
        """Median step of each layout."""
        found: dict[str, list[float]] = defaultdict(list)
        for record in self.of("layout"):
            found[record["layout"]] += record["seconds"]
        return {name: statistics.median(values) for name, values in found.items()}


def fitted_tiers(kind: type[Tiers], this: Set) -> Tiers:
    """Shares and latencies of exchanges, by least squares of logarithms over the profile alone.

    All-gather and reduce-scatter count as their mean, because the model has one number for both.
    """
    node = RANKS // this.hosts
    times = {(r["exchange"], r["ranks"], r["stride"], r["bytes"]): r["seconds"]
             for r in this.of("exchange")}  # fmt: skip
    rows: list[tuple[Callable[[Tiers, Group, float], Array], Group, int, float]] = []
    for (what, ranks, stride, size), seconds in times.items():
        where = group(ranks, stride, node, RANKS)
        if what == "all-reduce":
            rows.append((lambda t, g, b: t.all_reduce_s(g, b), where, size, seconds))
        elif what == "all-gather":
            both = (seconds + times["reduce-scatter", ranks, stride, size]) / 2
            rows.append((lambda t, g, b: t.halves_s(g, b), where, size, both))
        elif what == "send":
            nodes = 2.0 if stride >= node else 1.0
            ends = Group(np.asarray(2.0), np.asarray(nodes), np.asarray(float(min(stride, node))))
            rows.append((lambda t, g, b: t.send_s(g, b), ends, size, seconds))

    def made(values: Array) -> Tiers:
        link, reduce, halves, send, call, hop = np.exp(values)
        return kind(
            link, this.mbps * MBPS, reduce, halves, cards=halves, call_s=call, hop_s=hop,
            shared=0.0, sends=send, sends_across=send,
        )  # fmt: skip

    def off(values: Array) -> list[float]:
        tiers = made(values)
        return [float(np.log(f(tiers, g, b) / seconds)) for f, g, b, seconds in rows]

    first = np.log([1e9, 0.8, 0.6, 0.8, 1e-3, 2e-3])
    most = np.array([np.log(1e12), 0.0, 0.0, 0.0, 0.0, 0.0])  # no link carries more than its rate
    bounds = (np.full(6, -20.0), most + 1e-9)
    return made(least_squares(off, first, bounds=bounds, loss="soft_l1", f_scale=0.2).x)


def one(value: float) -> Array:
    """An array of one point."""
    return np.array([value])


def fitted_device(this: Sequence[Mapping[str, Any]], kind: str) -> tuple[Device, float, float]:
    """A rank's computing from blocks of ``kind``, updates and heads: device, eager, loss bytes.

    The least time of each counts, since other programs only add to it.
    """
    least: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for r in sorted(this, key=lambda r: -r["seconds"]):
        least[r["block"], r["sequences"], r["tensor"]] = r
    this = list(least.values())
    rate = statistics.median(
        UPDATE_BYTES * (r["sequences"] * BLOCK.params + MODEL.embedding_params + MODEL.head_params)
        / r["seconds"] for r in this if r["block"] == "update"
    )  # fmt: skip
    rows = [r for r in this if r["block"] == kind]

    def made(values: Array) -> Device:
        flops, start, _ = np.exp(values)
        device = roofline_device(flops, rate, 1e9, 1e9, 1.0, 1.0, flops)
        return dataclasses.replace(device, law=dataclasses.replace(device.law, start_s=start))

    def off(values: Array) -> list[float]:
        device, eager = made(values), float(np.exp(values[2]))
        found = []
        for r in rows:
            cut = Cut(one(r["tensor"]), one(1), one(1), one(1), np.array([False]),
                      one(r["sequences"]), one(SHAPE["sequence"]))  # fmt: skip
            took = layer(BLOCK, cut, device, FP32, device, eager, fused=True).total_s
            found.append(float(np.log(took[0] / r["seconds"])))
        return found

    best = least_squares(off, np.log([1e10, 1e-3, 1.0]), loss="soft_l1", f_scale=0.1).x
    device, eager = made(best), float(np.exp(best[2]))
    heads = [r for r in this if r["block"] == "head"]
    size = SHAPE["sequence"] * MODEL.vocabulary
    products = 6.0 * size * MODEL.hidden / device.law.reached_flops_per_s
    left = [
        (r["seconds"] - r["sequences"] * products - 3 * device.law.start_s) * rate
        / (r["sequences"] * size) for r in heads
    ]  # fmt: skip
    return device, eager, max(0.0, float(statistics.median(left)))


def laid_out(layout: Layout, hosts: int) -> Layouts:
    """The layout as the model has it."""
    ones = one(1)
    mesh = Mesh(one(layout.tensor), ones, one(layout.pipeline), one(layout.data), ones, ones,
                one(RANKS // hosts))  # fmt: skip
    passes = layout.passes(SHAPE["batch"])
    of_rank = SHAPE["batch"] // layout.data
    return Layouts(
        mesh, one(of_rank // passes), one(passes), one(SHAPE["sequence"]),
        np.array([layout.sequence]), one(layout.zero), one(NONE), one(layout.virtual),
        layout.schedule,
    )  # fmt: skip


def sharing(layout: Layout) -> float:
    """How much longer computing takes than where all ranks compute at once.

    ``m / (m + (p - 1) / v)`` of the ranks compute at once, but never fewer than have a core each.
    """
    passes = layout.passes(SHAPE["batch"])
    busy = passes / (passes + (layout.pipeline - 1) / layout.virtual)
    return max(CORES / RANKS, busy)


def predicted(this: Set, kind: type[Tiers]) -> dict[str, float]:
    """Seconds of a step of each layout, from the profile of the set.

    Read in torch: FSDP2 waits for its exchanges where there are no streams, pipelines for their
    sends. DDP alone hides, but not with DTensors: these are made at the start of the forward pass,
    so their gradients come last. Inputs are gathered once, and stages send whole activations.
    """
    blocks = this.of("block")
    devices = {kind: fitted_device(blocks, kind) for kind in ("plain", "tensor", "sequence")}
    tiers = fitted_tiers(kind, this)
    found = {}
    for layout in LAYOUTS:
        split = "sequence" if layout.sequence else "tensor"
        device, eager, loss = devices[split if layout.tensor > 1 else "plain"]
        hides = layout.zero == 0 and layout.tensor == 1
        runtime = Runtime(
            eager, host_s=0.0, host_tensor_s=0.0, loss_bytes=loss,
            gradient_bytes=FP32.gradient_bytes, regathers=False, scatters=False,
            hides_sends=False, hides_gradients=hides, hides_weights=False,
        )  # fmt: skip
        device = dataclasses.replace(device, factor=sharing(layout))
        step = ParallelStep(MODEL, device, FP32, tiers, runtime)
        found[layout.name] = float(step.step(laid_out(layout, this.hosts)).step_s[0])
    return found


KINDS: Mapping[str, type[Tiers]] = {"tiers": Tiers, "ring": Ring}


@dataclass(frozen=True)
class Judged:
    """How far off a set's predictions are. errors: predicted over measured - 1, by layout. chosen,
    fastest: names of the layouts predicted and measured fastest. loss: what the choice costs, of
    the fastest step."""

    errors: Mapping[str, float]
    chosen: str
    fastest: str
    loss: float

    @property
    def median(self) -> float:
        """Of absolute errors."""
        return statistics.median(map(abs, self.errors.values()))


def judged(this: Set, kind: type[Tiers]) -> Judged:
    """Predictions of a set against its steps."""
    measured, found = this.steps_s, predicted(this, kind)
    errors = {name: found[name] / seconds - 1 for name, seconds in measured.items()}
    chosen = min(measured, key=found.__getitem__)
    fastest = min(measured, key=measured.__getitem__)
    return Judged(errors, chosen, fastest, measured[chosen] / measured[fastest] - 1)


def report(sets: Sequence[Set]) -> str:
    """The errors and the choices of every set, as tables."""
    lines = ["| hosts x ranks | Mbps | links | median error | within 10 % | predicted fastest "
             "| measured fastest | slower by |", "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    every: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in KINDS}
    for this, (name, kind) in product(sets, KINDS.items()):
        one_set = judged(this, kind)
        for layout, error in one_set.errors.items():
            every[name][layout].append(error)
        near = sum(abs(e) <= 0.1 for e in one_set.errors.values())
        lines.append(
            f"| {this.hosts} x {RANKS // this.hosts} | {this.mbps:g} | {name} "
            f"| {one_set.median:.1%} | {near} of {len(one_set.errors)} | {one_set.chosen} "
            f"| {one_set.fastest} | {one_set.loss:.1%} |"
        )
    lines += ["", "| layout | measured s, by set | error with tiers | with ring |",
              "|---|---|---|---|"]  # fmt: skip
    for layout in every["ring"]:
        steps = ", ".join(f"{this.steps_s[layout]:.2f}" for this in sets if layout in this.steps_s)
        signed = [", ".join(f"{e:+.0%}" for e in every[name][layout]) for name in KINDS]
        lines.append(f"| {layout} | {steps} | {signed[0]} | {signed[1]} |")
    return "\n".join(lines)
