"""Writes the rows of work of every workload of the catalogue, a CSV file each.

``python -m benchmarks.rows_of_work`` writes them all anew from the closed forms of
:mod:`dse.catalog` and :mod:`.networks`, or those of the workloads named.
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
from dse.catalog import transformers
from dse.catalog.rows_of_work import ELEMENT_WISE, Layer, Network, WorkRow

FOLDER = catalog.models_dir() / "workloads"
COLUMNS = tuple(field.name for field in fields(WorkRow))

CLOSED_FORMS: dict[str, Callable[[], Network]] = {
    "bert-base-s128": lambda: transformers.encoder(768, 12, 12, 3072, 30522, 128, 19),
    "bert-base-s512": lambda: transformers.encoder(768, 12, 12, 3072, 30522, 512, 76),
    "bert-large-s128": lambda: transformers.encoder(1024, 24, 16, 4096, 30522, 128, 19),
    "bert-large-s512": lambda: transformers.encoder(1024, 24, 16, 4096, 30522, 512, 76),
    "gpt2-124m": lambda: transformers.gpt(768, 12, 12, 50257, 1024),
    "gpt2-medium-355m": lambda: transformers.gpt(1024, 24, 16, 50257, 1024),
    "gpt2-large-774m": lambda: transformers.gpt(1280, 36, 20, 50257, 1024),
    "gpt2-xl-1.5b": lambda: transformers.gpt(1600, 48, 25, 50257, 1024),
    "gpt3-13b": lambda: transformers.gpt(5120, 40, 40, 50257, 2048),
    "gpt3-175b": lambda: transformers.gpt(12288, 96, 96, 50257, 2048),
    "llama2-7b": lambda: transformers.llama(4096, 32, 32, 32, 11008, 32000, 4096),
    "llama2-13b": lambda: transformers.llama(5120, 40, 40, 40, 13824, 32000, 4096),
    "llama2-70b": lambda: transformers.llama(8192, 80, 64, 8, 28672, 32000, 4096),
    "llama3-8b": lambda: transformers.llama(4096, 32, 32, 8, 14336, 128256, 8192),
    "llama3-70b": lambda: transformers.llama(8192, 80, 64, 8, 28672, 128256, 8192),
    "llama3.1-405b": lambda: transformers.llama(16384, 126, 128, 8, 53248, 128256, 8192),
    "t5-base": lambda: transformers.t5(768, 12, 12, 64, 3072, 512, 114),
    "t5-large": lambda: transformers.t5(1024, 24, 16, 64, 4096, 512, 114),
    "t5-3b": lambda: transformers.t5(1024, 24, 32, 128, 16384, 512, 114),
    "t5-11b": lambda: transformers.t5(1024, 24, 128, 128, 65536, 512, 114),
    "transformer-base": lambda: transformer(512, 6, 8, 2048, 33708, 32, 32),
    "transformer-big": lambda: transformer(1024, 6, 16, 4096, 33708, 32, 32),
    "vit-base-16": lambda: transformers.vit(768, 12, 12, 3072, 224, 16),
    "gnmt-v2": recurrent.gnmt,
    "deepspeech2-5x800": lambda: recurrent.deepspeech(800, 5),
    "deepspeech2-7x1760": lambda: recurrent.deepspeech(1760, 7),
    "dlrm-mlperf-v1-dense": recommenders.dlrm,
}
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
    for name in sys.argv[1:] or catalog.names("workloads"):
        write(name, FOLDER / "work" / f"{name}.csv")


if __name__ == "__main__":
    main()
