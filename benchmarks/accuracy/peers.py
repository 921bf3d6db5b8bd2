"""Other tools on published rates of one accelerator, beside dse on the very same rows.

What llm-analysis and mlsysim say is kept in benchmarks/data/peer_rates.csv (``python -m
benchmarks.peers accuracy``); Calculon's efficiencies are a formula
(:mod:`benchmarks.anchors.calculon`). Nothing of theirs is fitted here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy.board import Floats, Line
from benchmarks.anchors import calculon
from benchmarks.anchors.held_out import Mask, Predicted
from benchmarks.anchors.rows import Row
from benchmarks.peers.rates import PREDICTED, Predictions, read, step_of

CALCULON = "Calculon's efficiencies"


@dataclass(frozen=True)
class Peer:
    """name: of the tool, with its version. ways: how it was set -> predicted samples/s of the
    rows, (rows,), NaN where it has no answer.
    """

    name: str
    ways: dict[str, Floats]

    @property
    def answered(self) -> Mask:
        """The rows that all ways have an answer to, (rows,)."""
        return np.asarray(np.isfinite(list(self.ways.values())).all(axis=0))


def lines(rate: str, ours: Predicted, rows: Sequence[Row]) -> list[Line]:
    """Each peer, and dse, on the rows that the peer has words for.

    rate: what is predicted. ours: dse's predictions. rows: those rows, (points of ours,).
    """
    measured = np.array([row.samples_per_s for row in rows])
    found: list[Line] = []
    for peer in peers(rows, read(PREDICTED)):
        covered = peer.answered
        if not covered.any():
            continue
        data = f"{rate}, rows within reach of {peer.name}"
        part = ours.part(covered)
        found += [
            *(Line(data, way, (says / measured)[covered]) for way, says in peer.ways.items()),
            Line(data, "dse", part.ratio, part.inside, again=True),
        ]
    return found


def peers(rows: Sequence[Row], kept: Sequence[Predictions]) -> list[Peer]:
    """Those of the file, then Calculon's efficiencies."""
    steps = [step_of(row) for row in rows]
    ways: dict[str, dict[str, Floats]] = {}
    for one in kept:
        says = np.array([one.samples_per_s.get(step, np.nan) for step in steps])
        name = f"{one.peer} {one.version}"
        ways.setdefault(name, {})[f"{one.peer}, {one.way}"] = says
    seconds = np.array([calculon.step_s(row) or np.nan for row in rows])
    formula = {f"dse's rows of work at {CALCULON}": np.array([r.batch for r in rows]) / seconds}
    return [*(Peer(name, said) for name, said in ways.items()), Peer(CALCULON, formula)]
