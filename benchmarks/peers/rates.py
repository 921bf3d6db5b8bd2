"""What peers say of published rows: the questions, the answers, and the file that keeps them.

The file holds what a peer was asked and what it answered, and nothing that was measured.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.anchors.accelerators import accelerator
from benchmarks.anchors.rows import Row
from benchmarks.peers import FOLDER, Peer, predicted
from dse.catalog import Workload
from dse.catalog.rows_of_work import ATTENTIONS
from dse.pricing.hardware import number

PREDICTED = Path(__file__).parents[1] / "data" / "peer_rates.csv"
FAMILIES = ("encoder", "decoder")  # transformers of one stack of equal blocks
ANSWER = ("peer", "version", "way", "samples_per_s", "date")


class Step(NamedTuple):
    """What sets one question apart from another: a pass of one accelerator.

    batch: samples of the pass. recomputed: whether the backward pass computes the forward pass
    again. shards: accelerators that share weights and optimizer's state, 1 where none do.
    """

    workload: str
    accelerator: str
    precision: str
    batch: int
    recomputed: bool
    shards: int


@dataclass(frozen=True)
class Predictions:
    """What one peer, set one way, says; samples/s of one accelerator by step."""

    peer: str
    version: str
    way: str
    samples_per_s: Mapping[Step, float]


def step_of(row: Row) -> Step:
    """The question to which a published row is the answer."""
    return Step(
        row.workload.name,
        row.accelerator,
        row.precision,
        round(row.batch),
        row.recomputed,
        row.shards,
    )


def asked(peer: Peer, rows: Iterable[Row], folder: Path = FOLDER) -> list[Predictions]:
    """A peer's answers, one of the list for each way to set it. Raises PeerMissing."""
    questions = {step_of(row): question(row) for row in rows}
    said = predicted(peer, list(questions.values()), folder)
    return [
        Predictions(
            peer.name,
            said["version"],
            way,
            {
                step: float(rate)
                for step, rate in zip(questions, rates, strict=True)
                if rate is not None
            },
        )
        for way, rates in said["ways"].items()
    ]


def question(row: Row) -> dict[str, Any]:
    """A step as peers are told of it; peaks are those of data sheets, for boards they lack."""
    board = accelerator(row.accelerator)
    return {
        **step_of(row)._asdict(),
        "family": row.workload.family,
        "params": row.workload.params,
        "peak_flops_per_s": number(board.peak_flops_per_s[row.precision]),
        "memory_bytes_per_s": number(board.memory_bytes_per_s),
        "memory_bytes": number(board.memory_bytes) if board.memory_bytes else None,
        "shape": _shape(row.workload) if row.workload.family in FAMILIES else None,
    }


def _shape(workload: Workload) -> dict[str, int]:
    """Sizes of a transformer, read off its rows of work and layers."""
    attention = [row for row in workload.work or () if row.kind in ATTENTIONS]
    first = attention[0]
    tokens, heads, size = (round(value or 0) for value in (first.m, first.groups, first.k))
    params = dict(zip(workload.layer_names, workload.layer_params.tolist(), strict=True))
    hidden = heads * size
    keys = next(
        (row.n for row in workload.work or () if row.layer.endswith("0.k.w")), float(hidden)
    )
    return {
        "layers": len(attention),
        "hidden": hidden,
        "heads": heads,
        "kv_heads": round((keys or hidden) / size),
        "vocabulary": round(params["embed.word"] / hidden),
        "tokens": tokens,
    }


def write(found: Sequence[Predictions], path: Path, date: str) -> None:
    """One line for each answer."""
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow((*Step._fields, *ANSWER))
        for one in found:
            for step, rate in one.samples_per_s.items():
                recomputed = "yes" if step.recomputed else "no"
                cells = step._replace(recomputed=recomputed)  # type: ignore[arg-type]
                out.writerow((*cells, one.peer, one.version, one.way, f"{rate:.6g}", date))


def read(path: Path = PREDICTED) -> list[Predictions]:
    """What :func:`write` wrote, in its order; nothing where there is no file.

    Raises ValueError with the line where one cannot be read.
    """
    if not path.is_file():
        return []
    found: dict[tuple[str, str, str], dict[Step, float]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        lines = csv.DictReader(file)
        for cells in lines:
            try:
                step, rate = _read_step(cells), float(cells["samples_per_s"])
                key = (cells["peer"], cells["version"], cells["way"])
            except (KeyError, TypeError, ValueError) as cause:
                told = f"{path}, line {lines.line_num}: {cause!r}; write it anew with"
                raise ValueError(f"{told} python -m benchmarks.peers accuracy") from cause
            found.setdefault(key, {})[step] = rate
    return [Predictions(*key, rates) for key, rates in found.items()]


def _read_step(cells: Mapping[str, str]) -> Step:
    return Step(
        cells["workload"],
        cells["accelerator"],
        cells["precision"],
        int(cells["batch"]),
        {"yes": True, "no": False}[cells["recomputed"]],
        int(cells["shards"]),
    )
