"""Predicted seconds of a profile at every combination asked for: records, and a table of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dse.calibration.asked import check_ranks_per_node, usual_ranks_per_node
from dse.calibration.library_part import AUTO
from dse.calibration.prediction import predict
from dse.calibration.profile import Profile
from dse.calibration.words import size_text, span_text, time_text
from dse.model.collectives import node_count

if TYPE_CHECKING:
    from rich.table import Table

Record: TypeAlias = dict[str, Any]


def prediction_records(
    profile: Profile,
    algorithms: Sequence[str],
    ranks: Sequence[int],
    ranks_per_node: int | None,
    message_bytes: Sequence[int],
) -> list[Record]:
    """One record per algorithm, rank count and size, in that order.

    Keys: bytes, ranks, seconds, low, high (90 % interval), in_range, ranks_per_node, algorithm,
    why_outside (empty inside). ``ranks_per_node`` None: see :func:`asked.usual_ranks_per_node`; a
    node that is not full counts the ranks it has.
    Raises OutsideCalibration as :func:`profile.predict` does.
    """
    check_ranks_per_node(ranks_per_node, ranks)
    records = []
    for algorithm in algorithms:
        for n in ranks:
            local = usual_ranks_per_node(profile, n) if ranks_per_node is None else ranks_per_node
            local = min(local, n)
            seconds, low, high, inside = predict(
                profile, algorithm, n, np.array(message_bytes, dtype=np.float64), local
            )
            for at, size in enumerate(message_bytes):
                record = {
                    "bytes": size,
                    "ranks": n,
                    "seconds": float(seconds[at]),
                    "low": float(low[at]),
                    "high": float(high[at]),
                    "in_range": bool(inside[at]),
                    "ranks_per_node": local,
                    "algorithm": algorithm,
                    "why_outside": "",
                }
                if not record["in_range"]:
                    record["why_outside"] = why_outside(profile, algorithm, n, local, size)
                records.append(record)
    return records


def why_outside(
    profile: Profile, algorithm: str, ranks: int, ranks_per_node: int, message_bytes: float
) -> str:
    """What of a point was not measured, and what was: '1,000 ranks; measured 2-8'."""
    reasons = []
    if not profile.ranks[0] <= ranks <= profile.ranks[1]:
        reasons.append(f"{ranks:,} rank{'s' * (ranks != 1)}; measured {span_text(*profile.ranks)}")
    low, high = profile.message_bytes
    if not low <= message_bytes <= high:
        measured = f"{size_text(low)} to {size_text(high)}"
        reasons.append(f"{size_text(message_bytes)}; measured {measured}")
    nodes = int(node_count(ranks, ranks_per_node))
    if nodes > profile.max_nodes:
        reasons.append(f"{nodes:,} nodes; measured {span_text(1, profile.max_nodes)}")
    if profile.auto is not None and algorithm == AUTO:
        least, most = profile.auto.ranks_per_node
        if not least <= ranks_per_node <= most:
            many = f"{ranks_per_node:,} rank{'s' * (ranks_per_node != 1)} per node"
            reasons.append(f"{many}; measured {span_text(least, most)}")
    if algorithm not in profile.measured_algorithms:
        measured = ", ".join(profile.measured_algorithms)
        reasons.append(f"{algorithm} was not measured; its steps cost as those of {measured}")
    return ", and ".join(reasons) or "not measured like this"


def prediction_table(profile: Profile, records: Sequence[Record]) -> Table:
    """The records with human units, one row each."""
    from rich.table import Table

    several = len({record["algorithm"] for record in records}) > 1
    title = f"allreduce by {profile.name}, 90 % interval"
    table = Table(title=title if several else f"{title}, {records[0]['algorithm']}")
    if several:
        table.add_column("algorithm", no_wrap=True)
    for column in ("ranks", "per node", "bytes", "time", "low", "high"):
        table.add_column(column, justify="right", no_wrap=True)
    outside = any(not record["in_range"] for record in records)
    table.add_column("outside of what was measured" if outside else "", style="yellow")
    for record in records:
        cells = [record["algorithm"]] if several else []
        times = (time_text(record[key]) for key in ("seconds", "low", "high"))
        table.add_row(
            *cells, f"{record['ranks']:,}", f"{record['ranks_per_node']:,}",
            size_text(record["bytes"]), *times, record["why_outside"],
        )  # fmt: skip
    return table
