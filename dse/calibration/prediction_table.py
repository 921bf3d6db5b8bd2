"""A profile's predicted seconds at every combination asked for, as records and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dse.calibration.number_text import gbps, size_text, time_text
from dse.calibration.prediction import predict, rules_of, why_outside
from dse.calibration.profile import Profile, speed_at, usual_ranks_per_node
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
    servers: Sequence[int] = (),
) -> list[Record]:
    """One record per algorithm, rank count, number of servers and size, in that order.

    Keys: bytes, ranks, seconds, low, high (90 % interval), in_range, ranks_per_node, algorithm,
    why_outside (empty inside the measured range), why (the reason if nothing can be predicted and
    the times are None, else empty), link_bytes_per_s (at which the prediction holds; None inside
    one node, or if not known), rules and library_choice (whose rules chose the algorithm, and
    the one they chose; empty if it was given or measured). ``ranks_per_node`` None: see
    :func:`usual_ranks_per_node`; a partly filled node counts the ranks it has.
    ``link_bytes_per_s`` None: the one measured. With parameter servers, servers too, and ranks are
    the workers, each on a node of its own.
    Raises OutsideCalibration as :func:`predict` does if no record can be predicted, and for a link
    speed if the profile does not state its own.
    """
    records: list[Record] = []
    refused: list[OutsideCalibration] = []
    sizes = np.array(message_bytes, dtype=np.float64)
    for algorithm, n, serving in product(algorithms, ranks, servers or (None,)):
        speed = speed_at(profile, algorithm, link_bytes_per_s)
        local = usual_ranks_per_node(profile, n) if ranks_per_node is None else ranks_per_node
        local = 1 if serving else min(local, n)
        several = serving is not None or node_count(n, local) > 1
        asked = (local, link_bytes_per_s, serving or 1)
        plain: Record = {
            "ranks_per_node": local, "algorithm": algorithm,
            "link_bytes_per_s": speed if several else None,
        }  # fmt: skip
        plain |= {} if serving is None else {"servers": serving}
        try:
            found = predict(profile, algorithm, n, sizes, *asked)
        except OutsideCalibration as cause:
            refused.append(cause)
            times = dict.fromkeys(("seconds", "low", "high"))
            unknown = {"in_range": False, "why_outside": "cannot be priced", "why": str(cause)}
            records += [
                {"bytes": size, "ranks": n, **times, **unknown, **plain, "rules": "",
                 "library_choice": ""}
                for size in message_bytes
            ]  # fmt: skip
            continue
        choices = _rule_choices(profile, algorithm, n, local, sizes)
        for size, own, *seconds, inside in zip(message_bytes, choices, *found, strict=True):
            why = why_outside(profile, algorithm, n, size, *asked)
            records.append({
                "bytes": size, "ranks": n,
                **dict(zip(("seconds", "low", "high"), map(float, seconds), strict=True)),
                "in_range": bool(inside), **plain, "why_outside": why, "why": "", **own,
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


def prediction_table(profile: Profile, records: Sequence[Record]) -> Table:
    """The records in readable units, one row each."""
    served = "servers" in records[0]
    speeds = sorted({r["link_bytes_per_s"] for r in records if r["link_bytes_per_s"] is not None})
    links = f", links of {' and '.join(map(gbps, speeds))} Gbps" if speeds else ""
    rules = next((record["rules"] for record in records if record["rules"]), "")
    outside = any(not record["in_range"] for record in records)
    columns = [
        Column("algorithm", whole=True),
        *numbers(*(("workers", "servers") if served else ("ranks", "per node")), whole=True),
        *numbers("bytes", "time", "low", "high", whole=True),
        *([Column("library's choice", whole=True)] if rules else []),
        Column("outside the measured range" if outside else "", style="yellow"),
    ]
    rows = []
    for record in records:
        times = ("-" if record[key] is None else time_text(record[key])
                 for key in ("seconds", "low", "high"))  # fmt: skip
        rows.append((
            record["algorithm"], f"{record['ranks']:,}",
            f"{record['servers' if served else 'ranks_per_node']:,}", size_text(record["bytes"]),
            *times, *([record["library_choice"]] if rules else []), record["why_outside"],
        ))  # fmt: skip
    return console_table(
        columns,
        rows,
        f"{'push and pull' if served else 'allreduce'} time predicted by {profile.name}, "
        f"90 % interval{links}",
        f"the library's choice was not measured; chosen here by {rules}" if rules else None,
    )
