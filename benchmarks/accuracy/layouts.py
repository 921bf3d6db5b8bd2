"""Steps and memory of transformers laid out over many accelerators, as others measured them.

The rows are in benchmarks/data/layouts.csv; :mod:`.layout_board` judges them.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from dse import catalog
from dse.calibration.fitting import layouts
from dse.calibration.fitting.layouts import Run, adjusted, fitted
from dse.catalog.stacks import layout_stacks
from dse.model.arrays import ArrayLike
from dse.model.memory import Room
from dse.model.parallel.layouts import ALL_TO_ALL, RING, Layouts
from dse.model.parallel.memory import Kept, States, heaviest_bytes
from dse.model.parallel.mesh import Mesh
from dse.model.parallel.shape import Block, Latent, Transformer
from dse.model.parallel.step import ParallelStep, Runtime, Step
from dse.model.precision import PRECISIONS
from dse.pricing import devices, hardware
from dse.pricing.draws import DRAWS, normal
from dse.pricing.laid_out import ALLOCATOR, CONTEXT_BYTES
from dse.pricing.layout_rates import Spread
from dse.pricing.tiers import tiers

DATA = Path(__file__).parents[1] / "data"
Row = Mapping[str, str]
# What a run's own settings say beside its stack's file, by the column ``overlap``.
SETTINGS: Mapping[str, dict[str, Any]] = {
    "0": {"hides_tensor": 0.0, "hides_gradients": False, "hides_weights": False},
    "1": {},
    "experts": {"hides_experts": True},
    "every-copy": {"deduplicates": False},
    "bf16-gradients": {"gradient_bytes": 2.0},  # the network carries no more in the time measured
}
NETWORK = {"nanotron": "aws-efa-v2"}  # elsewhere InfiniBand
TRAYS = {"gb200": (18.0, 4.0)}  # of a domain, and accelerators of each
EXCHANGE = {"simumax, dense": ALL_TO_ALL}  # of context; elsewhere a ring
ALIKE = ("model", "gpus", "global_batch", "sequence")  # rows among which the fastest is sought
RANKED = {"nanotron": "256"}  # the batch of all but 9 runs; elsewhere every batch
BALANCED = ("simumax, mixtures",)  # by force; elsewhere as routers leave it


@cache
def models() -> Mapping[str, Transformer]:
    """The transformers of the rows, by name."""
    found = {}
    with (DATA / "layout_models.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            size = {
                key: int(row[key]) for key in row if key not in ("model", "latent") and row[key]
            }
            block = Block(
                size["hidden"], size["heads"], size["head_size"], size["kv_heads"], size["ffn"],
                bool(size["gated"]), size["experts"], size["chosen"], size["expert_ffn"],
                size["shared_ffn"], bias=bool(size["bias"]), rotary=not size["bias"],
                latent=Latent(*map(int, row["latent"].split("/"))) if row["latent"] else None,
            )  # fmt: skip
            runs = ((block, size["layers"]),)
            if dense := size.get("dense_layers"):
                plain = replace(block, experts=0, chosen=0, expert_ffn=0, shared_ffn=0,
                                ffn=size["dense_ffn"])  # fmt: skip
                runs = ((plain, dense), (block, size["layers"] - dense))
            found[row["model"]] = Transformer(
                row["model"], runs, size["vocabulary"], bool(size["tied"]), size["positions"]
            )
    return found


@cache
def rows(source: str = "") -> tuple[Row, ...]:
    """The rows of one source, or all, failed runs among them."""
    with (DATA / "layouts.csv").open(newline="", encoding="utf-8") as file:
        return tuple(row for row in csv.DictReader(file) if source in ("", row["source"]))


def measured(source: str) -> list[Row]:
    """Those that ran."""
    return [row for row in rows(source) if row["step_s"]]


def seconds(found: Sequence[Row]) -> np.ndarray:
    """Measured steps."""
    return np.array([float(row["step_s"]) for row in found])


def laid_out(found: Sequence[Row], schedule: str) -> Layouts:
    """Rows of one model and schedule as the model wants them."""

    def column(name: str) -> np.ndarray:
        return np.array([float(row[name]) for row in found])

    one = np.ones(len(found))
    mesh = Mesh(
        *(column(k) for k in ("tensor", "context", "pipeline", "data", "expert")), one,
        column("node"),
    )  # fmt: skip
    micro, batch = column("micro_batch"), column("global_batch")
    return Layouts(
        mesh, micro, np.maximum(1.0, batch / (micro * mesh.data)), column("sequence"),
        column("sequence_parallel") > 0, column("zero"), column("recompute"), column("virtual"),
        schedule, imbalance=1.0 if found[0]["source"] in BALANCED else 1.2,
        exchange=EXCHANGE.get(found[0]["source"], RING),
    )  # fmt: skip


def step_model(row: Row) -> ParallelStep:
    """The model of a row from its stack's file and the catalogue."""
    stack = layout_stacks()[row["stack"]]
    runtime = Runtime(**{
        name: getattr(stack, name) for name in Runtime.__dataclass_fields__ if hasattr(stack, name)
    })  # fmt: skip
    for setting in row["overlap"].split():
        runtime = replace(runtime, **SETTINGS[setting])
    machines = hardware.machines("accelerator", [row["device"]], catalog.default_prices())
    device, wide = (
        devices.by_law(machines, form, stack.kernels).take(np.zeros((), dtype=np.int64))
        for form in (row["precision"], "bf16" if row["precision"] == "fp8" else row["precision"])
    )
    chip = machines[0].accelerator
    cards = float(row["cards_gbps"]) / 8 * 1e9
    known = tiers(
        machines[0].intra_bytes_per_s, cards, (), str(chip.generation),
        NETWORK.get(row["source"], "ib-ndr"),
    )  # fmt: skip
    trays, tray = TRAYS.get(row["device"], (1.0, 1.0))
    return ParallelStep(
        models()[row["model"]], device, PRECISIONS[row["precision"]],
        replace(known.tiers, trays=trays, tray=tray), runtime, wide,
    )  # fmt: skip


KEY = ("overlap", "model", "schedule", "precision", "stack", "source", "device", "cards_gbps")


def groups(found: Sequence[Row], key: Sequence[str] = KEY) -> list[np.ndarray]:
    """Positions of rows that are alike."""
    of = defaultdict(list)
    for at, row in enumerate(found):
        of[tuple(row[name] for name in key)].append(at)
    return [np.array(at) for at in of.values()]


def steps(found: Sequence[Row], factors: Mapping[str, float] | None = None) -> Step:
    """Every term of each row. factors: of a fit, see :func:`.fitting.layouts.fitted`."""
    out = np.zeros((len(Step._fields), len(found)))
    for at in groups(found):
        some = [found[k] for k in at]
        model = adjusted(step_model(some[0]), factors or {})
        out[:, at] = model.step(laid_out(some, some[0]["schedule"]))
    return Step(*out)


def holds(spread: Spread, ahead: Step, measured_s: np.ndarray) -> np.ndarray:
    """Whether measured steps lie in the 90 % interval, drawn as studies draw it."""

    def factor(term: str, each: ArrayLike) -> np.ndarray:
        return np.exp(each * normal(f"layouts: {term}", DRAWS)[:, None])

    drawn = ahead.taking(
        factor("computing", spread.computing), lambda term: factor(term, spread.exchange)
    )
    low, high = np.quantile(drawn.step_s, (0.05, 0.95), axis=0)
    return np.asarray((low <= measured_s) & (measured_s <= high))


def fit(found: Sequence[Row]) -> Mapping[str, float]:
    """Factors that some rows tell."""
    runs = []
    for at in groups(found):
        some = [found[k] for k in at]
        layouts = laid_out(some, some[0]["schedule"])
        runs.append(Run(step_model(some[0]), layouts, seconds(some)))
    return fitted(runs)


def passes(found: Sequence[Row]) -> np.ndarray:
    """Micro-batches that pass a stage, with those in which the pipeline fills."""
    m = [float(r["global_batch"]) / (float(r["micro_batch"]) * float(r["data"])) for r in found]
    return np.array(m) + [float(r["pipeline"]) - 1 for r in found]


def stalled(found: Sequence[Row]) -> np.ndarray:
    """Runs of a pipeline whose micro-batches take far longer than those of their like."""
    each = seconds(found) / passes(found)
    pipeline = np.array([float(row["pipeline"]) for row in found])
    like = [(row["model"], row["tensor"], row["pipeline"]) for row in found]
    return layouts.stalled(each, pipeline, like)


@dataclass(frozen=True)
class Ranking:
    """How well the fastest layout of a group is found. share: speed of the layout chosen over the
    best measured, of each group; correlation: Spearman's, likewise."""

    share: np.ndarray
    correlation: np.ndarray

    @property
    def close(self) -> int:
        """Groups within 5 % of the best."""
        return int((self.share > 0.95).sum())


def ranking(found: Sequence[Row], ahead_s: np.ndarray) -> Ranking:
    """Of rows :data:`ALIKE`, three or more; runs of one layout alone rank nothing."""
    share, correlation, took = [], [], seconds(found)
    for at in groups(found, ALIKE):
        first = found[at[0]]
        told = RANKED.get(first["source"], first["global_batch"]) == first["global_batch"]
        if told and len(at) > 2 and np.ptp(ahead_s[at]) > 1e-6 * ahead_s[at].min():
            share.append(took[at].min() / took[at][ahead_s[at].argmin()])
            correlation.append(spearmanr(ahead_s[at], took[at]).statistic)
    return Ranking(np.array(share), np.array(correlation))


def memory_gb(found: Sequence[Row]) -> np.ndarray:
    """Peak of the heaviest rank, by the stack's file."""
    out = np.zeros(len(found))
    for at in groups(found):
        some = [found[k] for k in at]
        first = some[0]
        stack, model = layout_stacks()[first["stack"]], models()[first["model"]]
        kept = Kept(**stack.kept)
        states = States(gradients=max(stack.gradient_bytes, 2.0))
        layouts = laid_out(some, first["schedule"])
        parts = heaviest_bytes(model, layouts, stack.rule, kept, states)
        out[at] = parts.sum(axis=0) / 1e9
    return out


def room(found: Sequence[Row]) -> Room:
    """Memory of the accelerator of rows of one source, beside what the heaviest rank needs."""
    stack = layout_stacks()[found[0]["stack"]]
    machine, *_ = hardware.machines("accelerator", [found[0]["device"]], catalog.default_prices())
    has = hardware.number(machine.accelerator.memory_bytes)
    free = has - memory_gb(found) * 1e9 * (1 + ALLOCATOR) - CONTEXT_BYTES
    return Room(has, free, stack.memory_spread)


def fills(found: Sequence[Row]) -> np.ndarray:
    """Which rows' software takes as few micro-batches."""
    p = np.array([float(row["pipeline"]) for row in found])
    least = [layout_stacks()[row["stack"]].fills for row in found]
    return np.asarray((passes(found) >= 2 * (p - 1)) | ~np.array(least))
