"""A profile's predicted seconds at every combination asked for, as records and as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dse.calibration.measured_range import speed_at, usual_ranks_per_node
from dse.calibration.number_text import gbps, size_text, time_text
from dse.calibration.prediction import predict, rules_of, why_outside
from dse.calibration.profile import Profile
from dse.console_table import Column, console_table, numbers
from dse.errors import OutsideCalibration
from dse.model.aggregation.algorithms import node_count
from dse.model.arrays import Array

if TYPE_CHECKING:
    from rich.table import Table

Record: TypeAlias = dict[str, Any]


def prediction_records(
    profile: Profile,
    algorithms: Sequence[str],
    ranks: Sequence[int],
    ranks_per_node: int | None,
    message_bytes: Sequence[int],
    link_bytes_per_s: float | None = None,
) -> list[Record]:
    """One record per algorithm, rank count and size, in that order.

    Keys: bytes, ranks, seconds, low, high (90 % interval), in_range, ranks_per_node, algorithm,
    why_outside (empty inside the measured range), why (the reason if nothing can be predicted and
    the times are None, else empty), link_bytes_per_s (at which the prediction holds; None inside
    one node, or if not known), rules and library_choice (whose rules chose the algorithm, and
    the one they chose; empty if it was given or measured). ``ranks_per_node`` None: see
    :func:`usual_ranks_per_node`; a partly filled node counts the ranks it has.
    ``link_bytes_per_s`` None: the one measured.
    Raises OutsideCalibration as :func:`predict` does if no record can be predicted, and for a link
    speed if the profile does not state its own.
    """
    records: list[Record] = []
    refused: list[OutsideCalibration] = []
    for algorithm in algorithms:
        speed = speed_at(profile, algorithm, link_bytes_per_s)
        for n in ranks:
            local = usual_ranks_per_node(profile, n) if ranks_per_node is None else ranks_per_node
            local = min(local, n)
            sizes = np.array(message_bytes, dtype=np.float64)
            link = speed if node_count(n, local) > 1 else None
            try:
                found = predict(profile, algorithm, n, sizes, local, link_bytes_per_s)
            except OutsideCalibration as cause:
                refused.append(cause)
                records += [_unpriced(algorithm, n, local, size, cause) for size in message_bytes]
                continue
            choices = _rule_choices(profile, algorithm, n, local, sizes)
            for size, own, *times, inside in zip(message_bytes, choices, *found, strict=True):
                why = why_outside(profile, algorithm, n, size, local, link_bytes_per_s)
                seconds, low, high = map(float, times)
                records.append({
                    "bytes": size, "ranks": n, "seconds": seconds, "low": low, "high": high,
                    "in_range": bool(inside), "ranks_per_node": local, "algorithm": algorithm,
                    "why_outside": why, "why": "",
                    "link_bytes_per_s": link, **own,
                })  # fmt: skip
    if refused and all(record["why"] for record in records):
        raise refused[0]
    return records


def _rule_choices(
    profile: Profile, algorithm: str, ranks: int, local: int, sizes: Array
) -> list[dict[str, str]]:
    """For each size, whose rules choose and the algorithm they choose; empty without rules."""
    rules = rules_of(profile, algorithm)
    if rules is None:
        return [{"rules": "", "library_choice": ""} for _ in sizes]
    choices = np.broadcast_to(rules(ranks, local, sizes), sizes.shape)
    return [
        {"rules": rules.title, "library_choice": rules.algorithms[int(at)].priced_as}
        for at in choices
    ]


def _unpriced(
    algorithm: str, ranks: int, local: int, size: int, cause: OutsideCalibration
) -> Record:
    return {
        "bytes": size, "ranks": ranks, "seconds": None, "low": None, "high": None,
        "in_range": False, "ranks_per_node": local, "algorithm": algorithm,
        "why_outside": "cannot be priced", "why": str(cause), "link_bytes_per_s": None,
        "rules": "", "library_choice": "",
    }  # fmt: skip


def server_records(
    profile: Profile,
    algorithm: str,
    workers: Sequence[int],
    servers: Sequence[int],
    message_bytes: Sequence[int],
    link_bytes_per_s: float | None = None,
) -> list[Record]:
    """One record per number of workers, number of servers, and size; ``ranks`` are the workers.

    Keys: bytes, ranks, servers, seconds, low, high (90 % interval), in_range, algorithm,
    why_outside (empty inside), link_bytes_per_s (at which it holds; None if not known).
    ``link_bytes_per_s`` None: the fastest measured. Raises OutsideCalibration if one is given and
    the profile does not state its own.
    """
    speed = speed_at(profile, algorithm, link_bytes_per_s)
    sizes = np.array(message_bytes, dtype=np.float64)
    records = []
    for m in workers:
        for p in servers:
            found = predict(
                profile, algorithm, m, sizes, link_bytes_per_s=link_bytes_per_s, servers=p
            )
            for at, size in enumerate(message_bytes):
                why = why_outside(profile, algorithm, m, size, None, link_bytes_per_s, p)
                records.append({
                    "bytes": size,
                    "ranks": m,
                    "servers": p,
                    "seconds": float(found.seconds[at]),
                    "low": float(found.low[at]),
                    "high": float(found.high[at]),
                    "in_range": bool(found.in_range[at]),
                    "algorithm": algorithm,
                    "why_outside": why,
                    "link_bytes_per_s": speed,
                })  # fmt: skip
    return records


def prediction_table(profile: Profile, records: Sequence[Record]) -> Table:
    """The records in readable units, one row each."""
    several = len({record["algorithm"] for record in records}) > 1
    title = f"allreduce time predicted by {profile.name}, 90 % interval{title_of(records)}"
    rules = next((record["rules"] for record in records if record["rules"]), "")
    columns = [
        *([Column("algorithm", whole=True)] if several else []),
        *numbers("ranks", "per node", "bytes", "time", "low", "high", whole=True),
        *([Column("library's choice", whole=True)] if rules else []),
        _outside_column(records),
    ]
    rows = []
    for record in records:
        cells = [record["algorithm"]] if several else []
        times = ("-" if record[key] is None else time_text(record[key])
                 for key in ("seconds", "low", "high"))  # fmt: skip
        rows.append((
            *cells, f"{record['ranks']:,}", f"{record['ranks_per_node']:,}",
            size_text(record["bytes"]), *times, *([record["library_choice"]] if rules else []),
            record["why_outside"],
        ))  # fmt: skip
    return console_table(
        columns,
        rows,
        title if several else f"{title}, {records[0]['algorithm']}",
        f"the library's choice was not measured; chosen here by {rules}" if rules else None,
    )


def _outside_column(records: Sequence[Record]) -> Column:
    """The column that says why a record lies outside; without a heading if none does."""
    outside = any(not record["in_range"] for record in records)
    return Column("outside the measured range" if outside else "", style="yellow")


def server_table(profile: Profile, records: Sequence[Record]) -> Table:
    """The records in readable units, one row each."""
    title = f"push and pull predicted by {profile.name}, 90 % interval{title_of(records)}"
    counts = numbers("workers", "servers", "bytes", "time", "low", "high", whole=True)
    rows = [
        (
            f"{record['ranks']:,}",
            f"{record['servers']:,}",
            size_text(record["bytes"]),
            *(time_text(record[key]) for key in ("seconds", "low", "high")),
            record["why_outside"],
        )
        for record in records
    ]
    columns = [*counts, _outside_column(records)]
    return console_table(columns, rows, f"{title}, {records[0]['algorithm']}")


def unpriced_reasons(records: Sequence[Record]) -> list[str]:
    """The reasons why some records have no time, each once."""
    return list(dict.fromkeys(record["why"] for record in records if record["why"]))


def title_of(records: Iterable[Mapping[str, Any]]) -> str:
    """', links of 25 Gbps' for the title of a table of records; '' if no speed is known."""
    speeds = sorted({r["link_bytes_per_s"] for r in records if r["link_bytes_per_s"] is not None})
    return f", links of {' and '.join(gbps(speed) for speed in speeds)} Gbps" if speeds else ""
