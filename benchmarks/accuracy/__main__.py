"""How accurate: `make accuracy` predicts what others, or this machine, have measured.

Prints a table, writes reports/accuracy/accuracy.json, and puts the table into README.md between its
markers. Held out means: the predictor saw nothing of the group it is judged on.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from dse import catalog
from dse.calibration import Profile, read_profile
from dse.model import compute, precision
from dse.search.placement import DEFAULT_EFFICIENCY
from dse.search.problem import model_layers

HERE = Path(__file__).parent
PROFILE = Path("calibrations/this-machine.yaml")
OUT = Path("reports/accuracy/accuracy.json")
README = HERE.parent / "README.md"
BEGIN, END = "<!-- accuracy: begin -->", "<!-- accuracy: end -->"


def row(data: str, predictor: str, ratio: np.ndarray[Any, Any]) -> dict[str, Any]:
    """One line of the scoreboard from predicted / measured ratios."""
    error = np.abs(ratio - 1)
    return {
        "data": data,
        "predictor": predictor,
        "points": len(ratio),
        "median": float(np.median(error)),
        "p90": float(np.quantile(error, 0.9)),
        "bias": float(np.median(ratio) - 1),
    }


def single_accelerator() -> list[dict[str, Any]]:
    """Steps of one accelerator by the roofline; nothing is fitted, so every row is held out."""
    predicted: dict[str, list[float]] = {"dse roofline": [], "FLOPs / (peak e)": []}
    with (HERE / "data" / "single_accelerator.csv").open(encoding="utf-8") as file:
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
    data = "one accelerator, 5 CNNs, K80 and P100 (TensorFlow 2017)"
    return [row(data, name, np.array(ratios)) for name, ratios in predicted.items()]


def this_machine(profile: Profile) -> list[dict[str, Any]]:
    """Allreduce on this machine, every rank count predicted by a fit that has not seen it."""
    rows = []
    for name in profile.measured_algorithms:
        points = [point for point in profile.points if point.algorithm == name]
        ratios = np.array([point.held_out_s / point.measured_s for point in points])
        rows.append(row(f"{name} here, other rank counts", "dse, steps", ratios))
        fit = profile.fit(name)
        rows.append({"data": f"{name} here, other rank counts", "predictor": "textbook alpha-beta",
                     "points": len(points), "median": fit.textbook_error,
                     "p90": fit.textbook_error_p90, "bias": None})  # fmt: skip
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """The scoreboard as Markdown."""
    lines = ["| predicted | by | points | median error | 90 % of errors below | bias |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for r in rows:
        bias = "" if r["bias"] is None else f"{r['bias']:+.0%}"
        lines.append(f"| {r['data']} | {r['predictor']} | {r['points']} | {r['median']:.0%} "
                     f"| {r['p90']:.0%} | {bias} |")  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    """Predict, compare, print, write."""
    profile = read_profile(PROFILE)
    rows = [*single_accelerator(), *this_machine(profile)]
    text = table(rows)
    machine = profile.machine.get("cpu", profile.machine.get("cpu_model", "this machine"))
    note = f"{machine}, {profile.cores} cores, {profile.library} {profile.version}, {profile.date}"
    print(text + f"\n\nhere = {note}")
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps({"rows": rows, "here": note}, indent=1), encoding="utf-8")
    content = README.read_text(encoding="utf-8")
    if BEGIN in content:
        head, _, rest = content.partition(BEGIN)
        _, _, tail = rest.partition(END)
        README.write_text(f"{head}{BEGIN}\n{text}\n\nhere = {note}\n{END}{tail}", encoding="utf-8")
        print(f"updated {README.name}")


if __name__ == "__main__":
    main()
