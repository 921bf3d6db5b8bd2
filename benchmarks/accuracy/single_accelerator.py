"""Steps of one accelerator by the roofline, in which nothing is fitted."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from benchmarks.accuracy.board import Line
from dse import catalog
from dse.model import compute, precision
from dse.pricing.efficiency import DEFAULT_EFFICIENCY
from dse.pricing.network import model_layers

TABLE = Path(__file__).parents[1] / "data" / "single_accelerator.csv"


def lines() -> list[Line]:
    """The roofline, and FLOPs over peak."""
    predicted: dict[str, list[float]] = {"dse roofline": [], "FLOPs / (peak e)": []}
    with TABLE.open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            device = catalog.accelerator(line["accelerator"])
            layers = model_layers(catalog.workload(line["workload"]))
            number = precision.PRECISIONS[line["precision"]]
            batch, measured = float(line["batch"]), float(line["samples_per_s"])
            machine = compute.Device(
                device.peak_flops_per_s[number.name], device.memory_bytes_per_s,
                device.memory_bytes, 1e10, DEFAULT_EFFICIENCY, DEFAULT_EFFICIENCY,
            )  # fmt: skip
            passes = compute.forward_backward(layers, machine, batch, number)
            update = compute.optimizer_s(layers, machine, number, 4.0)
            step_s = float(passes.forward_s + passes.backward_s + update)
            predicted["dse roofline"].append(batch / step_s / measured)
            flops = 3 * layers.forward_flops.sum() / float(machine.reached_flops_per_s)
            predicted["FLOPs / (peak e)"].append(1 / flops / measured)
    data = "samples/s of one accelerator, 5 CNNs, K80 and P100 (TensorFlow 2017)"
    return [Line(data, name, np.array(ratios)) for name, ratios in predicted.items()]
