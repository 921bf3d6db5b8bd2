"""Design points priced per second on one core: dse, other tools, and Optuna's loop around dse.

All are asked about the study question.yaml. What each one's answer holds is told in docs/speed.md.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import numpy as np

from benchmarks.peers import FOLDER, PEERS, Peer, PeerMissing, ask
from benchmarks.peers.rate import one_core, rate
from benchmarks.speed.sweeps import measured, sweep, sweep_priced, swept
from benchmarks.speed.table import Table, at_least, number
from dse.api import Study
from dse.catalog import fabric
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.search.run import labels_of

QUESTION = Path(__file__).parent / "question.yaml"
SECONDS, REPEATS = 1.0, 3
SCATTERED = 100_000  # points anywhere in the space, in one call of study.price
TOGETHER = f"study.price, {SCATTERED:,} scattered points a call"
TARGET_TOGETHER = 1e6  # of them per second and core
POINTS = 20_000  # drawn from the space, priced one after the other
BLOCKS = "dse, blocks, every point priced"
TARGET = 1_000  # times the fastest peer's rate
BITS = 1e9
TRIALS = 200  # of one Optuna study; more make its samplers slower
SAMPLERS = ("NSGAIISampler", "TPESampler", "RandomSampler")
Point: TypeAlias = Mapping[str, str]
Axes: TypeAlias = Mapping[str, Sequence[str]]
Objective: TypeAlias = Callable[[Point], tuple[float, float]]


def question_of(problem: Problem) -> dict[str, Any]:
    """What the peers are asked, as JSON. gbps: the bandwidth of each network, by name."""
    axes = {axis.name: axis for axis in problem.space.data_axes}
    return {
        "accelerator": list(axes["accelerator"].labels),
        "gpus": [int(text) for text in axes["gpus"].labels],
        "batch_per_gpu": [int(text) for text in axes["batch_per_gpu"].labels],
        "gbps": {
            name: (fabric(name).bytes_per_s or 0.0) * 8 / BITS for name in axes["inter_node"].labels
        },
    }


def drawn(problem: Problem, count: int) -> list[Point]:
    """Points of the space by chance, as study.price takes them."""
    chance = random.Random(0)
    at = [chance.randrange(problem.space.size) for _ in range(count)]
    return [labels_of(problem, problem.space.point(index)) for index in at]


def scattered(problem: Problem, count: int) -> dict[str, Any]:
    """Points of the space by chance, as columns: numbers as arrays, names as lists."""
    chance = np.random.default_rng(0)
    found: dict[str, Any] = {}
    for axis in problem.study.axes:
        at = chance.integers(0, len(axis.values), count)
        numbers = all(isinstance(value, int) for value in axis.values)
        found[axis.name] = (
            np.array(axis.values)[at] if numbers else [axis.labels[place] for place in at]
        )
    return found


def optuna_loop(sampler: str, objective: Objective, axes: Axes, trials: int) -> tuple[float, float]:
    """An Optuna study of two objectives, kept in memory; sampler: one of Optuna's, by name.

    Seconds of CPU and of the clock that went by outside of the objective.
    """
    import optuna

    inside_cpu_s = inside_s = 0.0

    def timed(trial: optuna.Trial) -> tuple[float, float]:
        nonlocal inside_cpu_s, inside_s
        point = {name: trial.suggest_categorical(name, values) for name, values in axes.items()}
        began = time.process_time(), time.perf_counter()
        values = objective(point)
        inside_cpu_s += time.process_time() - began[0]
        inside_s += time.perf_counter() - began[1]
        return values

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        directions=["maximize", "minimize"], sampler=getattr(optuna.samplers, sampler)()
    )
    began = time.process_time(), time.perf_counter()
    study.optimize(timed, n_trials=trials)
    return (time.process_time() - began[0] - inside_cpu_s,
            time.perf_counter() - began[1] - inside_s)  # fmt: skip


def ours(
    study: Path, seconds: float, repeats: int, count: int, trials: int
) -> dict[str, dict[str, Any]]:
    """Rates of dse's ways to price a study, and of Optuna's loop."""
    problem = load(study)
    points = drawn(problem, count)
    axes = {axis.name: axis.labels for axis in (*problem.space.looped, *problem.space.data_axes)}
    scripted = Study(problem)
    columns = scattered(problem, SCATTERED)

    def one(point: Point) -> tuple[float, float]:
        found = scripted.price([point])
        return float(found["speedup"][0]), float(found["capital_usd"][0])

    found = {}
    with one_core():
        for name, action in ((BLOCKS, sweep_priced), ("dse, a search (most not priced)", sweep)):
            times = swept(study, action, repeats)
            found[name] = {"per_cpu_s": times["points_per_s_per_core"],
                           "per_s": times["points"] / times["wall_s"]}  # fmt: skip
        together = rate(lambda _: scripted.price(columns), seconds, repeats)
        found[TOGETHER] = {key: calls * SCATTERED for key, calls in together.items()}
        found["study.price, a point a call"] = rate(
            lambda at: one(points[at % len(points)]), seconds, repeats
        )
        for sampler in SAMPLERS:
            found |= _optuna_rates(sampler, one, axes, trials, repeats)
    return found


def _optuna_rates(
    sampler: str, objective: Objective, axes: Axes, trials: int, repeats: int
) -> dict[str, dict[str, Any]]:
    """With the time in the objective, and without."""
    outside: list[tuple[float, float]] = []
    whole = measured(lambda: outside.append(optuna_loop(sampler, objective, axes, trials)), repeats)
    alone = (median(cpu_s for cpu_s, _ in outside), median(wall_s for _, wall_s in outside))
    return {
        f"Optuna's loop, {sampler}, {name}": {"per_cpu_s": trials / cpu_s, "per_s": trials / wall_s}
        for name, (cpu_s, wall_s) in (("study.price", whole), ("its own part", alone))
    }


def others(
    question: Mapping[str, Any],
    seconds: float,
    repeats: int,
    peers: Sequence[Peer] = PEERS,
    folder: Path = FOLDER,
) -> dict[str, dict[str, Any]]:
    """Rates of the peers' ways to be asked; ``missing``: why one has none."""
    found: dict[str, dict[str, Any]] = {}
    for peer in peers:
        try:
            said = ask(peer, question, seconds, repeats, folder)
        except PeerMissing as why:
            found[peer.name] = {"missing": str(why)}
            continue
        for way, rates in said["ways"].items():
            found[f"{peer.name} {said['version']}, {way}"] = rates
    return found


def measure(
    study: Path = QUESTION,
    seconds: float = SECONDS,
    repeats: int = REPEATS,
    count: int = POINTS,
    trials: int = TRIALS,
) -> dict[str, Any]:
    """All of them, one after the other."""
    problem = load(study)
    return {
        "points": problem.space.size,
        "dse": ours(study, seconds, repeats, count, trials),
        "others": others(question_of(problem), seconds, repeats),
    }


def fastest(found: Mapping[str, Any], text: bool = True) -> float | None:
    """Evaluations per second of CPU of the fastest peer; None where no peer has a number.

    text: only as the peers come; else also with the text left out that one makes for its log.
    """
    rates = [
        one["per_cpu_s"]
        for name, one in found["others"].items()
        if "per_cpu_s" in one and not (text and "left out" in name)
    ]
    return max(rates, default=None)


def table(found: dict[str, Any]) -> Table:
    """Rates, and how many times as many blocks price."""
    blocks = found["dse"][BLOCKS]["per_cpu_s"]
    rows = []
    for name, one in {**found["dse"], **found["others"]}.items():
        if "missing" in one:
            rows.append((name, one["missing"], "", "", ""))
            continue
        ratio = blocks / one["per_cpu_s"]
        target = ""
        if name in found["others"] and one["per_cpu_s"] in (fastest(found), fastest(found, False)):
            target = at_least(ratio, TARGET, f"{TARGET:,}")
        if name == TOGETHER:
            target = at_least(one["per_cpu_s"], TARGET_TOGETHER, f"{TARGET_TOGETHER:,.0f}")
        rows.append(
            (name, number(one["per_cpu_s"]), number(one["per_s"]), f"{number(ratio)} x", target)
        )
    return Table(
        "Evaluations",
        ("by", "a second of CPU", "a second", "dse in blocks", "target"),
        rows,
        f"The study has {found['points']:,} points. One core, medians; Optuna: {TRIALS:,} trials.",
    )
