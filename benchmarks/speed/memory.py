"""The most memory that this process has had, and all that it began."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dse.search.engine_choice import KIBIBYTE, peak_bytes


def peak_bytes_of_all() -> int:
    """The most memory that this process has had, and all begun from it: of Ray its workers, raylet,
    head and agents. Of those, pages that they share count once (Linux's PSS); what a process had at
    its highest above what it has now counts in full, as if all had been at their highest at once.
    """
    found: dict[int, dict[str, str]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended, or is another user's
            text = "".join((process / part).read_text() for part in ("status", "smaps_rollup"))
            rows = (line.split(":", 1) for line in text.splitlines() if ":" in line)
            found[int(process.name)] = {name: value.strip() for name, value in rows}
    below = [rows for process, rows in found.items() if os.getpid() in _above(process, found)]
    return peak_bytes() + sum(
        _kib(rows, "Pss") + _kib(rows, "VmHWM") - _kib(rows, "VmRSS") for rows in below
    )


def _kib(rows: dict[str, str], name: str) -> int:
    return int(rows[name].split()[0]) * KIBIBYTE


def _above(process: int, found: dict[int, dict[str, str]]) -> Iterator[int]:
    """The processes that a process comes from, its parent first."""
    while process in found:
        process = int(found[process]["PPid"])
        yield process
