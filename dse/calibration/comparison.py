"""Which of two profiles is faster at which sizes, by how much, and where that is undecided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from math import exp, hypot, log
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.calibration.arguments import algorithms
from dse.calibration.number_text import short, size_text, time_text
from dse.calibration.prediction_table import Record, prediction_records
from dse.calibration.profile import Profile, local_ranks, usual_ranks_per_node
from dse.console_table import Columns, console_table, numbers
from dse.errors import ArgumentError, OutsideCalibration

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SIZE_RATIO = 4  # between the sizes that are compared unless some are given
LEAST_S = 1e-30  # keeps logarithms finite
UNKNOWN = ""  # the faster one, where that is undecided


@dataclass(frozen=True)
class Compared:
    """Two predictions of one layout and size.

    ratio: seconds of B over seconds of A, above 1 where A is faster; low, high: its 90 % interval,
    with the errors of A and B taken as independent: ``exp(+-hypot(w_A, w_B))`` times the ratio, w
    half the logarithm of high over low of each. faster: 'A', 'B', or '' if the interval includes 1.
    why_outside_a, why_outside_b: why the point lies outside the measured range of each, or ''.
    """

    ranks: int
    ranks_per_node: tuple[int, int]
    bytes: int
    seconds_a: float
    seconds_b: float
    ratio: float
    low: float
    high: float
    faster: str
    algorithm_a: str
    algorithm_b: str
    why_outside_a: str
    why_outside_b: str


@dataclass(frozen=True)
class Comparison:
    """A comparison of two profiles.

    names: of A and B, made distinct. rows: by rank count, then size.
    """

    names: tuple[str, str]
    rows: tuple[Compared, ...]
    warnings: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        """Plain values for --json."""
        return {
            "a": self.names[0],
            "b": self.names[1],
            "summary": summary(self),
            "warnings": list(self.warnings),
            "rows": [asdict(row) for row in self.rows],
        }


def compare(
    a: Profile,
    b: Profile,
    ranks: Sequence[int] | None = None,
    ranks_per_node: int | None = None,
    message_bytes: Sequence[int] | None = None,
    algorithm: str | None = None,
) -> Comparison:
    """Compare at ``ranks`` and ``message_bytes`` (default of both: what both profiles measured).

    Each profile predicts its best: 'auto' if it measured that, else its fastest measured algorithm.
    Rank counts that one profile cannot price are left out, with a warning. Raises StudyError for a
    profile beside itself, and if the profiles have no rank count or size in common and none is
    given, OutsideCalibration if no rank count is left.
    """
    counts = ranks if ranks is not None else _common_ranks(a, b)
    sizes = message_bytes if message_bytes is not None else _common_sizes(a, b)
    if min(counts) < 2:
        problem = "one rank exchanges no messages"
        raise ArgumentError("--ranks", problem, "compare at 2 ranks or more")
    if replace(a, name="") == replace(b, name=""):
        raise ArgumentError("B", f"{b.name} is the same profile as {a.name}", "give another")
    rows, differing = list[Compared](), list[tuple[int, int, int]]()
    refused = dict[int, OutsideCalibration]()
    for n in counts:
        mine, other = (
            min(n, ranks_per_node or _measured_ranks_per_node(profile, n)) for profile in (a, b)
        )
        differing += [(n, mine, other)] * (mine != other)
        try:
            found = (_best(a, algorithm, n, mine, sizes), _best(b, algorithm, n, other, sizes))
        except OutsideCalibration as cause:
            refused[n] = cause
            continue
        rows += [_compared(*pair) for pair in zip(*found, strict=True)]
    if not rows:
        raise next(iter(refused.values()))
    left_out = tuple(f"{n:,} ranks are left out: {cause}" for n, cause in refused.items())
    names = (a.name, b.name) if a.name != b.name else (f"{a.name} (A)", f"{b.name} (B)")
    warnings = left_out + _warnings(a, b, names, differing)
    return Comparison(names, tuple(rows), warnings)


def _common_ranks(a: Profile, b: Profile) -> tuple[int, ...]:
    mine, other = ({point.ranks for point in profile.points} for profile in (a, b))
    if mine & other:
        return tuple(sorted(mine & other))
    listed = " and ".join(", ".join(f"{n:,}" for n in sorted(counts)) for counts in (mine, other))
    problem = f"{a.name} and {b.name} measured no rank count in common: {listed}"
    raise ArgumentError("--ranks", problem, "give --ranks, the counts to compare at")


def _common_sizes(a: Profile, b: Profile) -> tuple[int, ...]:
    low = max(a.message_bytes[0], b.message_bytes[0])
    high = min(a.message_bytes[1], b.message_bytes[1])
    if low > high:
        problem = f"{a.name} and {b.name} measured no size in common"
        raise ArgumentError("--bytes", problem, "give --bytes, the sizes to compare at")
    first = SIZE_RATIO ** np.ceil(np.log(low) / np.log(SIZE_RATIO) - 1e-9)
    steps = int(np.floor(np.log(high / first) / np.log(SIZE_RATIO) + 1e-9)) + 1
    sizes = {round(low), round(high), *(round(first * SIZE_RATIO**k) for k in range(steps))}
    return tuple(sorted(sizes))


def _measured_ranks_per_node(profile: Profile, ranks: int) -> int:
    """The most ranks per node measured at that rank count, or the usual number if none was."""
    found = [local_ranks(profile, point) for point in profile.points if point.ranks == ranks]
    return max(found, default=usual_ranks_per_node(profile, ranks))


def _best(
    profile: Profile, algorithm: str | None, n: int, g: int, sizes: Sequence[int]
) -> list[Record]:
    """The prediction by the fastest algorithm at each size."""
    names = algorithms(profile, algorithm)
    records = prediction_records(profile, names, (n,), g, sizes)
    return [
        min((r for r in records if r["bytes"] == size and not r["why"]), key=itemgetter("seconds"))
        for size in sizes
    ]


def _compared(a: Record, b: Record) -> Compared:
    ratio = b["seconds"] / max(a["seconds"], LEAST_S)
    factor = exp(hypot(_half_width(a), _half_width(b)))
    low, high = ratio / factor, ratio * factor
    return Compared(
        a["ranks"], (a["ranks_per_node"], b["ranks_per_node"]), a["bytes"], a["seconds"],
        b["seconds"], ratio, low, high, "A" if low > 1 else "B" if high < 1 else UNKNOWN,
        a["algorithm"], b["algorithm"], a["why_outside"], b["why_outside"],
    )  # fmt: skip


def _half_width(record: Record) -> float:
    """Half the logarithm of high over low."""
    return log(max(record["high"], LEAST_S) / max(record["low"], LEAST_S)) / 2


def _warnings(
    a: Profile, b: Profile, names: tuple[str, str], differing: Sequence[tuple[int, int, int]]
) -> tuple[str, ...]:
    """differing: rank counts with the ranks per node of A and of B, where these differ."""
    found = []
    if a.device != b.device:
        found.append(
            f"the devices differ ({names[0]}: {a.device}, {names[1]}: {b.device}), so the fabric "
            "is not the only difference"
        )
    if differing:
        n, mine, other = differing[-1]
        found.append(
            f"the ranks per node differ (at {n:,} ranks: {mine:,} and {other:,}), so the "
            "fabric is not the only difference; give --ranks-per-node to compare equal layouts"
        )
    return tuple(found)


def summary(found: Comparison) -> str:
    """Summarise the comparison in one sentence."""
    rows, total = found.rows, len(found.rows)
    parts = []
    for label, name in zip("AB", found.names, strict=True):
        mine = [row for row in rows if row.faster == label]
        if mine:
            factors = [row.ratio if label == "A" else 1 / row.ratio for row in mine]
            median = f"{short(float(np.median(factors)))}x in the median"
            parts.append(f"{name} is faster at {len(mine)} of {total} points ({median})")
    unsure = sum(row.faster == UNKNOWN for row in rows)
    if unsure:
        parts.append(f"{unsure} of {total} points are undecided (the 90 % interval includes 1)")
    outside = sum(bool(row.why_outside_a or row.why_outside_b) for row in rows)
    if outside:
        parts.append(f"{outside} of {total} points lie outside the measured range")
    return "; ".join(parts) + "."


def show_comparison(found: Comparison, out: Console) -> None:
    """Print warnings, a table per rank count, and the summary."""
    for warning in found.warnings:
        out.print(f"[yellow]warning:[/] {warning}", highlight=False)
    for _, group in groupby(found.rows, key=lambda row: row.ranks):
        out.print(_table(found, list(group)))
    for label, name in enumerate(found.names):
        reasons = [(row.why_outside_a, row.why_outside_b)[label] for row in found.rows]
        for reason in dict.fromkeys(reason for reason in reasons if reason):
            out.print(f"* {name}: {reason}", markup=False, highlight=False)
    out.print(f"\n{summary(found)}", markup=False, highlight=False)


def _table(found: Comparison, rows: Sequence[Compared]) -> Table:
    n, (mine, other) = rows[0].ranks, rows[0].ranks_per_node
    local = f"{mine:,}" if mine == other else f"{mine:,} and {other:,}"
    columns: Columns = [
        *numbers("bytes", *found.names, "B / A", "90 % interval", whole=True),
        "faster",
    ]
    cells = []
    for row in rows:
        mark = ["*" * bool(outside) for outside in (row.why_outside_a, row.why_outside_b)]
        faster = found.names["AB".index(row.faster)] if row.faster else "undecided"
        cells.append((
            size_text(row.bytes), time_text(row.seconds_a) + mark[0],
            time_text(row.seconds_b) + mark[1], f"{short(row.ratio)}x",
            f"{short(row.low)}x to {short(row.high)}x", faster,
        ))  # fmt: skip
    return console_table(
        columns, cells, f"allreduce, {n:,} ranks, {local} per node; * outside the measured range"
    )
