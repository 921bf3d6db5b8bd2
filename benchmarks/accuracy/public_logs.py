"""Allreduce that others measured: fitted on some sizes or rank counts, judged on the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.accuracy.board import Line
from dse.calibration.experiment import Experiment, Measurement
from dse.calibration.fitting.profile import fit_experiments
from dse.calibration.importers.logs import import_logs
from dse.calibration.prediction import predict

TABLE = Path(__file__).parents[1] / "data" / "allreduce.csv"
Keep = Callable[[Measurement], bool]


def lines() -> list[Line]:
    """One line per held-out group, the textbook's below it."""
    everything = import_logs([TABLE])
    systems = _by(everything.samples, lambda s: (s.system, s.library, s.version, s.link))
    layouts = _by(everything.samples, lambda s: (s.system, s.library, s.version, s.link, s.ranks))
    single = [s for s in systems if {m.nodes for m in s} == {1} and max(m.ranks for m in s) == 8
              and len({m.ranks for m in s}) > 1]  # fmt: skip
    polaris = [s for s in systems if s[0].system == "polaris"]
    lassen = [s for s in systems if s[0].system == "lassen"]
    rails = [[m for m in s if m.nodes > 1] for s in systems if s[0].system == "cluster01"]
    return [
        *_judged("every other size inside one configuration, NCCL and OSU",
                 [_alternate(layout) for layout in layouts], (0.05, 0.15)),
        *_judged("2 and 4 GPUs -> 8 GPUs, one node",
                 [_split(s, lambda m: m.ranks < 8) for s in single], (0.08, 0.20)),
        *_judged("Polaris, 2 nodes -> 8 nodes, TCP and OFI",
                 [_split(s, lambda m: m.nodes == 2) for s in polaris], (0.15, 0.35)),
        *_judged("Lassen, 4, 8, 16 nodes -> 32 nodes",
                 [_split(s, lambda m: m.nodes < 32) for s in lassen], (0.12, 0.30)),
        *_judged("cluster01, 10 nodes, 1 and 2 GPUs a node -> 4 a node",
                 [_split(s, lambda m: m.ranks_per_node < 4) for s in rails if s], None),
    ]  # fmt: skip


def _by(
    samples: Sequence[Measurement], key: Callable[[Measurement], object]
) -> list[list[Measurement]]:
    groups: dict[object, list[Measurement]] = {}
    for sample in samples:
        groups.setdefault(key(sample), []).append(sample)
    return list(groups.values())


def _split(samples: list[Measurement], keep: Keep) -> tuple[list[Measurement], list[Measurement]]:
    return [s for s in samples if keep(s)], [s for s in samples if not keep(s)]


def _alternate(samples: list[Measurement]) -> tuple[list[Measurement], list[Measurement]]:
    """Every other size is held out, the smallest and the largest never."""
    ordered = sorted(samples, key=lambda s: s.bytes)
    kept = {s.bytes for i, s in enumerate(ordered) if i % 2 == 0 or i == len(ordered) - 1}
    return _split(ordered, lambda s: s.bytes in kept)


def _judged(
    data: str,
    groups: Sequence[tuple[list[Measurement], list[Measurement]]],
    target: tuple[float, float] | None,
) -> list[Line]:
    ratios, inside, textbook = [], [], []
    for train, test in groups:
        about = Experiment("held-out", "", "", None, tuple(replace(s, run=1) for s in train))
        profile = fit_experiments([about], "held-out")
        n, g, m, t = (np.array([float(getattr(s, name)) for s in test])
                      for name in ("ranks", "ranks_per_node", "bytes", "median_s"))  # fmt: skip
        seconds, low, high, _ = predict(profile, "auto", n, m, g)
        ratios.append(seconds / t)
        inside.append((low <= t) & (t <= high))
        textbook.append(_textbook(train, n, m) / t)
    return [
        Line(data, "dse", np.concatenate(ratios), np.concatenate(inside), target),
        Line(data, "textbook alpha-beta ring", np.concatenate(textbook)),
    ]


def _textbook(train: Sequence[Measurement], ranks: np.ndarray, size: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    """``2(n-1) alpha + 2(n-1)/n m beta``, relative least squares over all sizes."""
    n, m, t = (
        np.array([float(getattr(s, name)) for s in train])
        for name in ("ranks", "bytes", "median_s")
    )
    matrix = np.stack([2 * (n - 1), 2 * (n - 1) / n * m], axis=1) / t[:, None]
    scale = matrix.max(axis=0)
    alpha, beta = (
        np.maximum(np.linalg.lstsq(matrix / scale, np.ones(t.size), rcond=None)[0], 0) / scale
    )
    return np.asarray(2 * (ranks - 1) * alpha + 2 * (ranks - 1) / ranks * size * beta)
