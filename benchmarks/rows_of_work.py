"""Writes the rows of work of every workload of the catalogue, a CSV file each.

``python -m benchmarks.rows_of_work`` writes them all anew from the sizes in files of transformers
and the closed forms of :mod:`.networks`, or those of the workloads named. A file of sizes alone
needs no table.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from dataclasses import astuple, fields
from pathlib import Path

import numpy as np

from benchmarks.networks import convolutional, recommenders, recurrent
from benchmarks.networks.transformer import transformer
from dse import catalog
from dse.catalog.model_config import described
from dse.catalog.rows_of_work import ELEMENT_WISE, Layer, Network, WorkRow
from dse.catalog.store import find, read_file
from dse.catalog.workloads import TRANSFORMER

FOLDER = catalog.models_dir() / "workloads"
COLUMNS = tuple(field.name for field in fields(WorkRow))

CLOSED_FORMS: dict[str, Callable[[], Network]] = {
    "transformer-base": lambda: transformer(512, 6, 8, 2048, 33708, 32, 32),
    "transformer-big": lambda: transformer(1024, 6, 16, 4096, 33708, 32, 32),
    "gnmt-v2": recurrent.gnmt,
    "deepspeech2-5x800": lambda: recurrent.deepspeech(800, 5),
    "deepspeech2-7x1760": lambda: recurrent.deepspeech(1760, 7),
    "dlrm-mlperf-v1-dense": recommenders.dlrm,
}
# Workloads with tables, and those among them whose files have the sizes of a transformer.
TABLED = tuple(path.stem for path in sorted((FOLDER / "work").glob("*.csv")))
TRANSFORMERS = tuple(name for name in TABLED if catalog.workload(name).sizes is not None)
# Networks that are in the catalogue as the layers of their modules, and the side of their pictures.
PICTURES = {
    "alexnet": 224,
    "inception-v3": 299,
    "mobilenet-v1": 224,
    "nasnet-large": 331,
    "resnet50": 224,
    "resnet101": 224,
    "resnet152": 224,
    "vgg16": 224,
}
# Case studies of Alibaba-PAI, of which only totals are known, and their batch on an accelerator.
TOTALS = {
    "pai-bert": 12,
    "pai-gcn": 512,
    "pai-multi-interests": 2048,
    "pai-nmt": 6144,
    "pai-resnet50": 64,
    "pai-speech": 32,
}


def layers(name: str) -> tuple[Layer, ...]:
    """The layer table of a workload."""
    names, kinds, table = catalog.read_layers(FOLDER / "layers" / f"{name}.csv")
    params, flops, outputs, _ = table.tolist()
    return tuple(
        Layer(label, kind, *numbers)
        for label, kind, *numbers in zip(names, kinds, params, flops, outputs, strict=True)
    )


def totals(table: tuple[Layer, ...], batch: int) -> Network:
    """Rows where only the memory traffic of a step is known: both passes, per sample.

    Outputs are written and read in the forward pass, weights read, and the backward pass moves
    twice as much: ``6 outputs + 3 params / batch`` elements. The update of the weights is apart.
    """
    rows = []
    for layer in table:
        moved = 6 * (layer.output_elems or 0.0) + 3 * layer.params / batch
        if moved:
            parts = {"fused_elems": moved, "eager_elems": moved, "kernels": 0.0}
            rows.append(WorkRow(layer.name, ELEMENT_WISE, **parts))
    return Network("other", table, tuple(rows))


def network(name: str) -> Network:
    """A workload of the catalogue with its rows of work."""
    if name in CLOSED_FORMS:
        return CLOSED_FORMS[name]()
    if name in TRANSFORMERS:
        tokens = catalog.workload(name).tokens_per_sample
        file, sequence = read_file(find("workloads", name)), None if tokens is None else int(tokens)
        return described(file, (TRANSFORMER,), sequence).network
    table = layers(name)
    if name in PICTURES:
        return convolutional.convolutional(table, 3.0 * PICTURES[name] ** 2)
    return totals(table, TOTALS[name])


def write(name: str, path: Path) -> None:
    """The rows of work of a workload as a table; an empty cell means: does not apply."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in network(name).rows:
            writer.writerow(_written(cell) for cell in astuple(row))


def _written(cell: str | float | None) -> str:
    if cell is None or isinstance(cell, str):
        return cell or ""
    return np.format_float_positional(cell, precision=3, trim="-")


def main() -> None:
    """Write every table, or those of the workloads named on the command line."""
    for name in sys.argv[1:] or TABLED:
        write(name, FOLDER / "work" / f"{name}.csv")


if __name__ == "__main__":
    main()
