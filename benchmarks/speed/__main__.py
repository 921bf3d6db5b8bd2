"""`make bench`: measure all of it, print the tables, write reports/bench/speed.json.

Puts the tables into docs/speed.md and the ratios into README.md, between their markers.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dse
from benchmarks.page import put
from benchmarks.speed import evaluations, filters, growth, scaling, sweeps
from benchmarks.speed.table import Table, number
from dse.calibration.experiment import this_machine, today

ROOT = Path(__file__).parents[2]
OUT = Path("reports/bench/speed.json")
PAGE, README = ROOT / "docs" / "speed.md", ROOT / "README.md"
PACKAGES = ("numpy", "ray", "optuna", "moocore")
MEASURES: dict[str, Callable[[bool], Any]] = {
    "evaluations": lambda _: evaluations.measure(),
    "sweeps": sweeps.measure,
    "workers": lambda _: scaling.measure(),
    "filters": lambda _: filters.measure(),
    "growth": growth.measure,
}
TABLES: dict[str, Callable[[Any], Table]] = {
    "evaluations": evaluations.table,
    "sweeps": sweeps.table,
    "workers": scaling.table,
    "filters": filters.table,
    "growth": growth.table,
}


def where() -> str:
    """Machine, date and versions, in a line."""
    machine = this_machine()
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{machine.cpu}, {machine.cores} cores, {machine.memory_bytes / 1e9:.0f} GB, "
        f"load before {os.getloadavg()[0]:.1f}; {today()}; dse {dse.__version__}, "
        f"Python {machine.python}, {packages}."
    )


def summary(found: dict[str, Any], said: str) -> str:
    """The ratios, for the README."""
    rates = found["evaluations"]
    blocks = rates["dse"][evaluations.BLOCKS]["per_cpu_s"]
    peers = {n: o["per_cpu_s"] for n, o in rates["others"].items() if "per_cpu_s" in o}
    ratios = [f"{number(blocks / rate)} times {name}" for name, rate in peers.items()]
    compared = f": {'; '.join(ratios)}" if ratios else ""
    return (
        f"One core prices {blocks / 1e6:.1f} M design points of BERT-large a second{compared}. "
        f"({said})"
    )


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--no-billion", action="store_true", help="leave out what takes longest")
    parser.add_argument(
        "--only", choices=list(MEASURES), help="this part; nothing is written, but of growth"
    )
    parser.add_argument(
        "--part", type=int, metavar="SECONDS", default=growth.WHOLE_S,
        help="of growth search no more than takes so much CPU time a size",
    )  # fmt: skip
    given = parser.parse_args()
    measures = {**MEASURES, "growth": partial(growth.measure, most_s=given.part)}
    said = where()
    print(said, flush=True)
    found, texts = {}, []
    for name in [given.only] if given.only else MEASURES:
        found[name] = measures[name](not given.no_billion)
        texts.append(TABLES[name](found[name]).text())
        print(f"\n{texts[-1]}", flush=True)
    if "growth" in found and not given.no_billion:
        growth.draw(found["growth"])
        put(PAGE, "growth", f"Measured on {said}\n\n{texts.pop()}")
    if given.only:
        return
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps({"where": said, **found}, indent=1), encoding="utf-8")
    tables = "\n\n".join([f"Measured on {said}", *texts])
    changed = [
        path.name
        for path, text in ((PAGE, tables), (README, summary(found, said)))
        if put(path, "speed", text)
    ]
    print(f"\nwrote {', '.join([str(OUT), *changed])}")


if __name__ == "__main__":
    main()
