"""Writes what was fitted: models/anchors.yaml and models/anchors.csv."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np

from benchmarks.anchors.fit import COMMON, LEAST_FAMILY
from benchmarks.anchors.rows import Row
from dse.catalog import Anchors
from dse.catalog.anchors import ANCHORS, EFFECTS
from dse.pricing.anchors import FAMILY, OWN_CODE, UNSEEN

DIGITS = 6
HEAD = """\
# What laws and rows of work leave of measured training: benchmarks/anchors, explained in
# docs/compute.md. `make anchors` writes this file and anchors.csv anew; do not edit them.
"""
_DETAILS = {
    FAMILY: f"of families around their mean, at least {LEAST_FAMILY}; the mean has {COMMON}",
    UNSEEN: "a judgement: of generations of accelerators without any row",
    OWN_CODE: "towards slower, as the farthest source in benchmarks/anchors/own_code.py needs",
}
_FASTER = "share of the deviation towards faster, likewise"
_SCATTER = "effects and noise of a family of a few large products, against the others"


def write(found: Anchors, rows: Sequence[Row], folder: Path) -> None:
    """Both files, numbers with :data:`DIGITS` significant digits."""
    today = date.today().isoformat()
    sources = len({row.source for row in rows})
    lines = [
        HEAD.rstrip(),
        f"rows: {_fact(len(rows), f'published rates of {sources} sources', today)}",
        f"noise: {_fact(found.noise, 'of one row')}",
        "deviations:",
        *(
            f"  {name}: {_fact(value, _DETAILS.get(name, 'by marginal likelihood'))}"
            for name, value in found.deviations.items()
        ),
        "scatter:",
        *(f"  {name}: {_fact(value, _SCATTER)}" for name, value in found.scatter.items()),
        "faster:",
        *(f"  {name}: {_fact(value, _FASTER)}" for name, value in found.faster.items()),
    ]
    (folder / ANCHORS).write_text("\n".join(lines) + "\n", encoding="utf-8")
    names = [f"{component}: {level}" for component, level in found.effects]
    with (folder / EFFECTS).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["component", "level", "mean", *names])
        for effect, at in found.effects.items():
            numbers = [found.mean[at], *found.covariance[at]]
            writer.writerow([*effect, *(_number(value) for value in numbers)])


def _number(value: float) -> str:
    return f"{value:.{DIGITS}g}"


def _fact(value: float, detail: str, day: str = "") -> str:
    dated = f", date: '{day}'" if day else ""
    return (
        f"{{value: {np.format_float_positional(float(_number(value)), trim='-')}, "
        f"source: training-throughput, status: derived{dated}, detail: '{detail}'}}"
    )
