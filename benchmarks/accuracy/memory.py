"""What fits into memory, beside what others ran and what ran out of memory: false alarms, misses.

The runs of data-parallel training are in benchmarks/data/memory_runs.csv, layouts in layouts.csv.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy.layouts import DATA, fills, rows
from benchmarks.accuracy.layouts import room as room_of_layouts
from dse import catalog
from dse.model.memory import DOUBT, Room, ledger
from dse.model.precision import OPTIMIZER_STATE_BYTES, PRECISIONS
from dse.pricing import devices
from dse.pricing.network import model_layers

RAN, OUT = "ran", "out of memory"
STACK, GPUS = "vendor", 8  # of the tables
QUESTION_TOKENS = 384  # of SQuAD's samples
MEGATRON = ("simumax, dense", "simumax, mixtures", "dgxc, bf16", "dgxc, fp8")
# Qwen3's norms and activations are computed again, which no mode of dse does; NeMo's do not say.
RECOMPUTED = ("qwen3", "nemo, b200, fp8", "nemo, gb200, bf16", "nemo, gb200, fp8")


@dataclass(frozen=True)
class Run:
    """One setting of a table. outcome: :data:`RAN` or :data:`OUT`."""

    workload: str
    tokens: int
    accelerator: str
    precision: str
    batch: float
    outcome: str

    def room(self, gpus: int = GPUS) -> Room:
        """Of an accelerator's memory."""
        workload = catalog.resized(self.workload, self.tokens)
        numbers = PRECISIONS[self.precision]
        device = devices.alone(workload, self.accelerator, self.precision, STACK)
        software, state = devices.software(STACK), OPTIMIZER_STATE_BYTES["adam"]
        layers = model_layers(workload)
        needed = ledger(layers, device, software, self.batch, numbers, state, gpus).total_bytes
        free = np.asarray(device.memory_bytes - needed)
        return Room(device.memory_bytes, free, software.footprint.spread)


def runs() -> list[Run]:
    """All of them."""
    with (DATA / "memory_runs.csv").open(newline="", encoding="utf-8") as file:
        return [
            Run(row["workload"], int(row["tokens"]), row["accelerator"], row["precision"],
                float(row["batch_per_gpu"]), row["outcome"])
            for row in csv.DictReader(file)
        ]  # fmt: skip


def _judged(name: str, risk: np.ndarray, ran: np.ndarray) -> str:
    """A line: of what ran and what did not, how much is refused, doubted and held to fit."""
    cells = [name]
    for some in (ran, ~ran):
        refused, doubted = risk[some] > 1 - DOUBT, risk[some] > DOUBT
        shares = (refused.sum(), (doubted & ~refused).sum(), (~doubted).sum())
        cells += [str(some.sum()), *map(str, shares)]
    return f"| {' | '.join(cells)} |"


def _layouts(name: str, sources: Sequence[str]) -> str:
    found = [row for source in sources for row in rows(source)]
    parts = [np.asarray(room_of_layouts(rows(source)).out_of_memory) for source in sources]
    ran = np.array([bool(row["step_s"]) for row in found])
    counted = ran | fills(found)
    return _judged(name, np.concatenate(parts)[counted], ran[counted])


def _lines() -> Iterator[str]:
    head = ["runs", "ran", "refused", "may not fit", "fit",
            "failed", "refused", "may not fit", "held to fit"]  # fmt: skip
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    risk = np.array([float(run.room().out_of_memory) for run in runs()])
    ran = np.array([run.outcome == RAN for run in runs()])
    question = np.array([run.tokens == QUESTION_TOKENS for run in runs()])
    yield _judged("BERT of NVIDIA's tables, pre-training", risk[~question], ran[~question])
    yield _judged("BERT of NVIDIA's tables, SQuAD", risk[question], ran[question])
    yield _layouts("nanotron, of what keeps m >= p - 1", ["nanotron"])
    yield _layouts("Megatron Core (SimuMax, dgxc)", MEGATRON)
    yield _layouts("Megatron Core, recomputing parts or not stated (Qwen3, NeMo)", RECOMPUTED)


def table() -> str:
    """False alarms and misses, as Markdown."""
    return "\n".join(_lines())
