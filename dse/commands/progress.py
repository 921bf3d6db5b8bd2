"""What a terminal shows of a run: its lines, and a bar or plain lines of how far it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dse.plan import Listener

if TYPE_CHECKING:
    from dse.search.run import Progress

PLAIN_PROGRESS_S = 2.0  # between progress lines where there is no terminal


class Printer(Listener):
    """Prints what is said, and shows a bar with rate and time left, or lines where there is no
    terminal."""

    def say(self, line: str) -> None:
        """Print a line."""
        print(line)

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """Show how far a search is, on stderr."""
        if sys.stderr.isatty():
            with _bar() as show:
                yield show
        else:
            yield _plain_progress()


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    rate = TextColumn("{task.fields[rate]}")
    columns = (BarColumn(), TextColumn("{task.completed:,.0f}/{task.total:,.0f} points"), rate,
               TimeRemainingColumn())  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=1, rate="")
        begun = time.perf_counter()

        def show(done: int, whole: int) -> None:
            per_s = done / max(time.perf_counter() - begun, 1e-9)
            bar.update(task, completed=done, total=whole, rate=shown_rate(per_s))

        yield show


def _plain_progress() -> Progress:
    begun = time.perf_counter()
    shown = begun

    def show(done: int, whole: int) -> None:
        nonlocal shown
        now = time.perf_counter()
        if now - shown >= PLAIN_PROGRESS_S or (done == whole and shown > begun):
            shown = now
            rate = done / (now - begun)
            left = (whole - done) / rate if rate else 0.0
            print(f"  {done:,} of {whole:,} points, {shown_rate(rate)}, {left:.0f} s left",
                  file=sys.stderr, flush=True)  # fmt: skip

    return show


def shown_rate(per_s: float) -> str:
    """Points per second with three digits or so, from slow models to fast ones."""
    for factor, unit in ((1e6, "M/s"), (1e3, "k/s")):
        if per_s >= factor:
            return f"{per_s / factor:.1f} {unit}"
    return f"{per_s:.0f} points/s"
