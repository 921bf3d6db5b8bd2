"""How far off layouts of transformers are: steps, memory, what does not fit, what is chosen.

``python -m benchmarks.accuracy.layout_board`` writes its tables alone into docs/accuracy.md, in a
minute; they depend on no machine. Fits see some models or scales of a source, and are judged on
others. What a stack's file owes to which rows is said below the table, by hand.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.accuracy import layout_parts
from benchmarks.accuracy import memory as fits
from benchmarks.accuracy.board import COVERAGE, missed
from benchmarks.accuracy.layouts import (
    DATA,
    Ranking,
    Row,
    fit,
    groups,
    holds,
    measured,
    memory_gb,
    passes,
    ranking,
    rows,
    seconds,
    stalled,
    steps,
)
from benchmarks.lab import layouts as lab
from benchmarks.page import put
from dse.calibration.spread import NORMAL_90
from dse.catalog.stacks import layout_stacks
from dse.model.parallel.step import Step
from dse.pricing.layout_rates import Spread, Told

NAME = "layouts"  # of the markers
PAGE = Path(__file__).parents[2] / "docs" / "accuracy.md"
PEERS = DATA / "layout_peers.csv"
REACH = ("gpus", "tensor", "context", "pipeline", "expert")  # beyond it a fit tells less
STEP = 1.05  # of the spreads that are tried
# Of these models the file's host time is not to be had without a fit: they judge no spread.
SMALL = "vtrain, one node"


@dataclass(frozen=True)
class Target:
    """What was aimed at before: at most such errors, at least such shares of the best speed, parts
    of groups within 5 % of it, and correlations; worst: error of any row, or correlation of any
    group."""

    median: float | None = None
    mean: float | None = None
    worst: float | None = None
    share: float | None = None
    close: float | None = None
    correlation: float | None = None
    least_correlation: float | None = None

    def told(self, line: Judged) -> str:
        """All of it, and what is missed."""
        off, order = np.abs(line.ratio - 1), line.order
        got = {
            "median": (np.median(off), "median {:.3g} %"),
            "mean": (off.mean(), "mean {:.3g} %"),
            "worst": (off.max(), "worst {:.3g} %"),
        }
        if order is not None and len(order.share):
            got["share"] = -order.share.mean(), "share {:.3g}"
            got["close"] = -order.close / len(order.share), "{:.3g} % of groups within 5 %"
        if order is not None and len(order.correlation):
            got["correlation"] = -order.correlation.mean(), "rank {:.3g}"
            got["least_correlation"] = -order.correlation.min(), "none below {:.3g}"
        parts = []
        for name, (found, text) in got.items():
            aim = getattr(self, name)
            if aim is not None:
                late = found > (-aim if found < 0 else aim)
                shown = 100 * aim if text.endswith("%") else aim
                parts.append(text.format(shown) + " missed" * bool(late))
        return ", ".join(parts)


@dataclass(frozen=True)
class Judged:
    """One line. ratio: predicted over measured. order: how its groups were ranked. inside: whether
    each was in the 90 % interval by a spread that had not seen it; shipped: by the stack's own."""

    name: str
    fitted: str
    ratio: np.ndarray
    target: Target
    order: Ranking | None = None
    inside: np.ndarray | None = None
    shipped: np.ndarray | None = None

    def cells(self) -> list[str]:
        """Of the table."""
        off, order = np.abs(self.ratio - 1), self.order
        ranked = ["", "", ""]
        if order is not None and len(order.share):
            ranked[:2] = f"{order.share.mean():.3f}", f"{order.close} of {len(order.share)}"
            if len(order.correlation):
                ranked[2] = f"{order.correlation.mean():.3f}"
        held = ""
        if self.inside is not None:
            share = float(np.mean(self.inside))
            held = f"{share:.0%}" + " missed" * missed(share, len(self.inside))
        if self.shipped is not None:
            held = f"{held} ({np.mean(self.shipped):.0%})".strip()
        return [
            self.name, self.fitted, str(len(self.ratio)), f"{np.median(off):.1%}",
            f"{off.mean():.1%}", *ranked, held, self.target.told(self),
        ]  # fmt: skip


def own(name: str, scale: float = 1.0) -> Spread:
    """A stack's spread, or so many times it."""
    stack = layout_stacks()[name]
    return Spread(scale * stack.computing_spread, scale * stack.exchange_spread)


def scale(sets: Sequence[tuple[str, Step, np.ndarray]]) -> float:
    """Times a stack's spread that 90 % of rows need on average over sets: stack, steps, seconds."""
    found = STEP**-30
    while True:
        held = [holds(own(stack, found), ahead, took).mean() for stack, ahead, took in sets]
        if np.mean(held) >= 0.9:
            return found
        found *= STEP


def _sets(name: str) -> dict[str, list[Row]]:
    """Rows of a stack by source, those of a stack of one source by model."""
    every: dict[str, list[Row]] = {}
    for row in ran():
        if row["stack"] == name and row["source"] != SMALL:
            every.setdefault(row["source"], []).append(row)
    if len(every) > 1:
        return every
    (alone,) = every.values()
    calm = [row for row, late in zip(alone, stalled(alone), strict=True) if not late]
    by: dict[str, list[Row]] = {}
    for row in calm:
        by.setdefault(row["model"], []).append(row)
    return by


def ran() -> list[Row]:
    """All rows that ran."""
    return [row for row in rows() if row["step_s"]]


def scales(name: str) -> dict[str, float]:
    """Times a stack's spread that rows need, by the source or model that was left out; under ``""``
    with none left out."""
    found = {key: (name, steps(some), seconds(some)) for key, some in _sets(name).items()}
    without = {key: [v for k, v in found.items() if k != key] for key in found}
    return {key: scale(left) for key, left in {**without, "": [*found.values()]}.items() if left}


def blind(name: str, found: Sequence[Row], target: Target) -> Judged:
    """Nothing fitted; spreads by the stack's other sources, or models."""
    ahead, took, stack = steps(found), seconds(found), found[0]["stack"]
    times = scales(stack)
    inside = np.zeros(len(found), dtype=bool)
    for at in groups(found, ("source", "model")):
        row = found[at[0]]
        left_out = times.get(row["source"], times.get(row["model"], times[""]))
        inside[at] = holds(own(stack, left_out), _of(ahead, at), took[at])
    return Judged(
        name, "nothing", ahead.step_s / took, target, ranking(found, ahead.step_s), inside,
        holds(own(stack), ahead, took),
    )  # fmt: skip


def _of(ahead: Step, at: np.ndarray) -> Step:
    return Step(*(part[at] for part in ahead))


def split(found: Sequence[Row], count: int, by: str) -> tuple[list[Row], list[Row]]:
    """So many rows to fit, of every other value of a column, and all rows of the other values."""
    values = sorted({row[by] for row in found}, key=lambda v: (len(v), v))
    seen = [row for row in found if row[by] in values[::2]]
    order = np.random.default_rng(0).permutation(len(seen))[:count]
    return [seen[k] for k in sorted(order)], [row for row in found if row[by] in values[1::2]]


def told(some: Sequence[Row], factors: Mapping[str, float], rest: Sequence[Row]) -> Spread:
    """The spread of other rows after a fit to these, as studies have it."""
    ahead, usual = steps(some, factors), own(some[0]["stack"])
    error = float(np.quantile(np.abs(np.log(ahead.step_s / seconds(some))), 0.9) / NORMAL_90)
    busy = (ahead.compute_s + ahead.update_s) / (ahead.step_s - ahead.bubble_s)
    weights = Spread(float(busy @ busy), float((1 - busy) @ (1 - busy)))
    degrees = [
        [np.array([float(row[name]) for row in found]) for name in REACH] for found in (some, rest)
    ]
    reach = [float(each.max()) for each in degrees[0]]
    return Told(factors, error, weights, reach).spread(usual, degrees[1])


def after_fit(
    name: str, found: Sequence[Row], count: int, by: str, target: Target, risk: bool = False
) -> Judged:
    """Fitted on some models or scales, without what stalled there, judged on others. risk: choose
    by the step with what stalls add to it on average."""
    some, rest = split(found, count, by)
    calm = [row for row, late in zip(some, stalled(some), strict=True) if not late]
    factors = fit(calm)
    ahead, took = steps(rest, factors), seconds(rest)
    inside = holds(told(calm, factors, rest), ahead, took)
    by_time = ahead.step_s + (late_s(some, rest) if risk else 0.0)
    values = sorted({row[by] for row in some}, key=lambda v: (len(v), v))
    what = f"{len(some)} of {by} {', '.join(values)}" if by == "gpus" else f"{len(some)}"
    return Judged(name, what, ahead.step_s / took, target, ranking(rest, by_time), inside)


def late_s(some: Sequence[Row], rest: Sequence[Row]) -> np.ndarray:
    """Seconds that stalls add to a step on average, as often and as long as in some rows, by
    pipelines on one node and on more."""
    late, took = stalled(some), seconds(some)
    each = took / passes(some)
    longer = [
        each[k] - min(each[j] for j in at if not late[j])
        for at in groups(some, ("model", "tensor", "pipeline"))
        for k in at
        if late[k]
    ]

    def kind(found: Sequence[Row]) -> np.ndarray:
        beyond = np.array([float(row["gpus"]) > float(row["node"]) for row in found])
        return np.where([row["pipeline"] != "1" for row in found], 1 + beyond, 0)

    often = np.array([0.0, *(late[kind(some) == k].mean() for k in (1, 2))])
    return often[kind(rest)] * passes(rest) * (float(np.median(longer)) if longer else 0.0)


def one_factor(name: str, found: Sequence[Row], count: int, target: Target) -> Judged:
    """One factor on all steps, of the first rows, judged on the rest."""
    ratio = steps(found).step_s / seconds(found)
    factor = float(np.exp(-np.log(ratio[:count]).mean()))
    return Judged(name, f"one factor on {count}", factor * ratio[count:], target)


def memory(name: str, source: str, fitted: str, target: Target) -> Judged:
    """Peak allocated on the heaviest rank. Spreads by other sources are not to be had: few have
    memory."""
    known = [row for row in measured(source) if row["memory_gb"]]
    ratio = memory_gb(known) / np.array([float(row["memory_gb"]) for row in known])
    spread = layout_stacks()[known[0]["stack"]].memory_spread
    return Judged(name, fitted, ratio, target, shipped=np.abs(np.log(ratio)) <= NORMAL_90 * spread)


def in_the_lab(name: str, kind: str) -> Judged:
    """Real ranks in the emulated network, predicted from its profile."""
    sets = [lab.judged(one, lab.KINDS[kind]) for one in lab.load()]
    share = np.array([1 / (1 + one.loss) for one in sets])
    ratio = np.array([1 + error for one in sets for error in one.errors.values()])
    aim = Target(0.10, close=1.0)
    return Judged(name, "the network's profile", ratio, aim, Ranking(share, np.empty(0)))


def board() -> list[Judged]:
    """All lines."""
    every = measured("nanotron")
    calm = [row for row, late in zip(every, stalled(every), strict=True) if not late]
    usual = Target(share=0.95, correlation=0.95)
    found = [
        blind("nanotron without stalls", calm, usual),
        after_fit(
            "the same, other scales", calm, 48, "gpus",
            Target(0.10, 0.16, share=0.93, close=0.5, correlation=0.97, least_correlation=0.75),
        ),
        after_fit("the same, other scales", calm, 200, "gpus",
                  Target(0.09, share=0.97, close=0.625)),
        after_fit("nanotron, all, by expected time", every, 200, "gpus", Target(share=0.95), True),
        blind("vTrain, several nodes", measured("vtrain, several nodes"),
              Target(0.10, share=0.96)),
        after_fit("vTrain, one node, other models", measured(SMALL), 24, "model", Target(0.07)),
        blind("Korthikanti, 22B to 1T", measured("korthikanti"), Target(0.025)),
        blind("SimuMax, B200, dense", measured("simumax, dense"), Target()),
        after_fit("the same, other tensor degrees", measured("simumax, dense"), 4, "tensor",
                  Target(0.04)),
        blind("BigScience", measured("bigscience"), Target(share=0.9)),
        after_fit("the same, other models", measured("bigscience"), 8, "model",
                  Target(0.06, share=0.9)),
    ]  # fmt: skip
    for name, source, aim in (
        ("Llama 3.1, H100, bf16 (dgxc)", "dgxc, bf16", 0.05),
        ("Llama 3.1, H100, fp8 (dgxc)", "dgxc, fp8", 0.10),
        ("Llama 3.1, B200, fp8 (NeMo)", "nemo, b200, fp8", 0.10),
        ("Llama 3.1, GB200, bf16 (dgxc)", "nemo, gb200, bf16", 0.10),
        ("Llama 3.1, GB200, fp8 (dgxc, NeMo)", "nemo, gb200, fp8", 0.10),
        ("DeepSeek-V2, B200 (SimuMax)", "simumax, mixtures", 0.10),
    ):
        found.append(blind(name, measured(source), Target(aim)))
    mixtures = measured("simumax, mixtures")
    found += [
        one_factor("the same", mixtures, 2, Target(0.15)),
        blind("Qwen3-235B, five layouts on 256 H100", measured("qwen3"),
              Target(0.15, correlation=0.8)),
        memory("memory, nanotron", "nanotron", "a fifth", Target(0.07)),
        memory("memory, SimuMax, dense", "simumax, dense", "8 of 22", Target(0.015, worst=0.05)),
        memory("memory, DeepSeek-V2", "simumax, mixtures", "8 of 22", Target(0.015, worst=0.05)),
        memory("memory, BigScience", "bigscience", "nothing", Target()),
    ]  # fmt: skip
    parts = (
        ("activations, Korthikanti's figure 1", "nothing", layout_parts.figure_1(), 0.002),
        ("a layer's forward pass by batch (Galvatron)", "one factor on 3", layout_parts.forward(),
         0.05),
        ("activations of stages (Galvatron)", "one factor on 4 layers", layout_parts.activations(),
         0.05),
        *((f"schedules, {name} over that of 1F1B (zero-bubble, issue 21)", "nothing", ratio, 0.05)
          for name, ratio in layout_parts.schedules().items()),
    )  # fmt: skip
    found += [Judged(name, fitted, ratio, Target(aim)) for name, fitted, ratio, aim in parts]
    found += [
        in_the_lab("lab: 22 layouts over gloo, its ring", "ring"),
        in_the_lab("the same by trees, as studies have them", "tiers"),
    ]
    return found


def table(found: Sequence[Judged]) -> str:
    """All lines in Markdown."""
    head = ["rows", "fitted on", "held out", "median", "mean", "share of best", "within 5 % of it",
            "rank", "in the 90 % interval", "target"]  # fmt: skip
    lines = [head, ["---"] * len(head), *(line.cells() for line in found)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def peers() -> str:
    """Other tools on the same rows, and dse with nothing fitted."""
    with PEERS.open(newline="", encoding="utf-8") as file:
        kept = list(csv.DictReader(file))
    names = list(kept[0])[2:]
    lines = [["rows", "dse, nothing fitted", *names], ["---"] * (len(names) + 2)]
    for row in kept:
        some = measured(row["source"])
        if row["rows"].endswith("without stalls"):
            some = [one for one, late in zip(some, stalled(some), strict=True) if not late]
        ahead = steps(some).step_s
        order = ranking(some, ahead)
        cell = f"{np.abs(ahead / seconds(some) - 1).mean():.1%}"
        if len(order.correlation):
            cell += f"; {order.share.mean():.2f}; {order.correlation.mean():.2f}"
        lines.append([row["rows"], cell, *(row[name] for name in names)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def intervals(found: Sequence[Judged]) -> str:
    """In how many lines intervals hold too few or too many."""
    low, high = COVERAGE
    large = [line for line in found if line.inside is not None and len(line.ratio) >= 20]
    off = [line.name for line in large if missed(float(np.mean(line.inside)), len(line.ratio))]
    return (
        f"Of {len(large)} lines of 20 rows or more with intervals of steps {len(off)} hold fewer "
        f"than {low:.0%} or more than {high:.0%}: {'; '.join(off) or 'none'}."
    )


def text() -> str:
    """What stands between the markers."""
    found = board()
    return "\n\n".join((table(found), intervals(found), fits.table(), peers()))


def main() -> None:
    """Print it and write it."""
    written = text()
    print(written)
    if put(PAGE, NAME, written):
        print(f"updated {PAGE.name}")


if __name__ == "__main__":
    main()
