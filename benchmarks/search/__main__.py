"""Quality of the guided search: `python -m benchmarks.search` fills the table, run by run.

Every finished run is a line of ``results/runs.jsonl`` (its front, its number of evaluations), and
is not repeated; delete the file to measure again. ``--table`` only prints the table. With seconds
as ``--for``, no run begins after that time. ``--budget 200`` is the small one, in which Optuna's
dearest samplers can be run.

Hypervolume is that of (-log gain, log cost), both scaled to 0..1 by the ends of the reference
front, up to 1.1 in each, as a share of the reference front's. The reference is exact where the
space can be enumerated; else it is the best that is known, from all the runs here and long runs of
ours.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import moocore
import numpy as np

from benchmarks.search.methods import METHODS, dse
from dse.model.arrays import Array
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.search import pareto
from dse.search.run import run

HERE = Path(__file__).parent
RUNS = HERE / "results" / "runs.jsonl"
TABLE = HERE / "results" / "table.md"
BUDGET = 2_000
SMALL_BUDGET = 200
LONG_BUDGET = 6_000  # of the runs that only serve as a reference
SEEDS = range(2, 7)  # the search was tuned on 0 and 1
LONG = "dse, long"
REFERENCE_POINT = 1.1
ENUMERABLE = ("example", "ethernet-upgrade", "ps-vs-allreduce", "gpu-generations")
OTHERS = ("huge", "continuous")
HARD = ("example", *OTHERS)  # where not everybody finds the whole front at once
SLOW = ("Optuna GP",)  # that the small budget only is for


def problem_of(name: str) -> Problem:
    """A study of the table, resolved."""
    own = HERE / "studies" / f"{name}.yaml"
    return load(own if own.exists() else name)


def front_of(numbers: Array) -> Array:
    """The front of priced points, shape (front, 2): gain, cost."""
    feasible = numbers[numbers[:, 2] == 0]
    if len(feasible) == 0:
        return np.zeros((0, 2))
    keep = pareto.nondominated(feasible[:, 0], feasible[:, 1])
    return np.unique(feasible[keep, :2], axis=0)


def exact_front(problem: Problem) -> Array:
    """The front of an enumerable study."""
    found = run(problem, "exhaustive", None, None, lambda *_: None, BUDGET, 0).front
    return np.array([(point.gain, point.cost) for point in found])


def shares(fronts: list[Array], reference: Array) -> list[float]:
    """Hypervolume of fronts, as shares of the reference's."""
    scaled = np.column_stack([-np.log(reference[:, 0]), np.log(reference[:, 1])])
    low, extent = scaled.min(axis=0), np.maximum(np.ptp(scaled, axis=0), 1e-12)

    def volume(front: Array) -> float:
        if len(front) == 0:
            return 0.0
        placed = np.column_stack([-np.log(front[:, 0]), np.log(front[:, 1])])
        return float(moocore.hypervolume((placed - low) / extent, ref=[REFERENCE_POINT] * 2))

    whole = volume(reference)
    return [volume(front) / whole for front in fronts]


def done() -> list[dict[str, Any]]:
    """The finished runs."""
    if not RUNS.is_file():
        return []
    lines = RUNS.read_text(encoding="utf-8").splitlines()
    return [{"budget": BUDGET, **json.loads(line)} for line in lines]


def wanted(
    studies: list[str], methods: list[str], budget: int = BUDGET
) -> Iterator[tuple[str, str, int]]:
    """(study, method, seed) of the runs that are missing."""
    have = {(r["study"], r["method"], r["seed"]) for r in done() if r["budget"] == budget}
    for seed in SEEDS:
        for study in studies:
            for method in (m for m in methods if m != LONG):
                if (study, method, seed) not in have:
                    yield study, method, seed
    for study in OTHERS if budget == BUDGET else ():
        if study in studies and LONG in methods and (study, LONG, 0) not in have:
            yield study, LONG, 0


def measure(studies: list[str], methods: list[str], seconds: float, budget: int) -> None:
    """Run what is missing, and note it."""
    RUNS.parent.mkdir(exist_ok=True)
    begun = time.perf_counter()
    problems: dict[str, Problem] = {}
    for study, method, seed in wanted(studies, methods, budget):
        if time.perf_counter() - begun > seconds:
            return
        if study not in problems:
            problems[study] = problem_of(study)
        started = time.process_time()
        long = method == LONG
        how = dse if long else METHODS[method]
        numbers = how(problems[study], LONG_BUDGET if long else budget, 1000 if long else seed)
        elapsed = time.process_time() - started
        line = {"study": study, "method": method, "seed": seed, "budget": budget,
                "evaluations": len(numbers), "seconds": round(elapsed, 1),
                "front": front_of(numbers).tolist()}  # fmt: skip
        with RUNS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        print(f"{study}, {method}, seed {seed}: {len(numbers)} evaluations, {elapsed:.1f} s",
              flush=True)  # fmt: skip


def table() -> str:
    """Mean and worst share of hypervolume per study and method, with the median time of a run;
    a table for each budget."""
    found = done()
    studies = [s for s in (*ENUMERABLE, *OTHERS) if any(r["study"] == s for r in found)]
    references = {s: reference([r for r in found if r["study"] == s], s) for s in studies}
    return "\n".join(
        f"After {budget:,} evaluations:\n\n{_table(found, references, budget)}"
        for budget in (BUDGET, SMALL_BUDGET)
    )


def reference(runs: list[dict[str, Any]], study: str) -> Array:
    """The exact front of a study, or the best that its runs of any budget found."""
    if study in ENUMERABLE:
        return exact_front(problem_of(study))
    every = np.vstack([np.array(r["front"]).reshape(-1, 2) for r in runs])
    return front_of(np.column_stack([every, np.zeros(len(every))]))


def _table(found: list[dict[str, Any]], references: dict[str, Array], budget: int) -> str:
    lines = ["| study | reference | search | runs | mean | worst | evaluations | seconds |",
             "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for (study, front), method in product(references.items(), METHODS):
        key = (study, method, budget)
        runs = [r for r in found if (r["study"], r["method"], r["budget"]) == key]
        if not runs:
            continue
        kind = "exact" if study in ENUMERABLE else "best known"
        timed = [r["seconds"] for r in runs if r["seconds"] is not None]
        got = shares([np.array(r["front"]).reshape(-1, 2) for r in runs], front)
        lines.append(
            f"| {study} | {kind}, {len(front)} points | {method} | {len(runs)} "
            f"| {np.mean(got):.5f} | {min(got):.5f} | {max(r['evaluations'] for r in runs)} "
            f"| {f'{np.median(timed):.0f}' if timed else '-'} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure what is missing, print the table, write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", action="store_true", help="only the table")
    parser.add_argument("--for", dest="seconds", type=float, default=float("inf"))
    parser.add_argument("--study", action="append", choices=[*ENUMERABLE, *OTHERS])
    parser.add_argument("--method", action="append", choices=[*METHODS, LONG])
    parser.add_argument("--budget", type=int, choices=[BUDGET, SMALL_BUDGET], default=BUDGET)
    given = parser.parse_args()
    if not given.table:
        small = given.budget == SMALL_BUDGET
        studies = given.study or [*HARD] if small else given.study or [*ENUMERABLE, *OTHERS]
        methods = given.method or [m for m in (*METHODS, LONG) if small or m not in SLOW]
        measure(studies, methods, given.seconds, given.budget)
    text = table()
    print(text)
    TABLE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
