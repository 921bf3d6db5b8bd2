"""Options that several commands share, and those of a search with what may be said in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from dse.errors import DseError, StudyError
from dse.spelling import meant

ENGINES = ("auto", "exhaustive", "guided")
EXECUTORS = ("auto", "local", "ray")
SAMPLERS = ("auto", "nsga2", "nsga3", "tpe", "gp", "random")

StudyPath = Annotated[
    str, typer.Argument(help="A study file, or the name of one that comes with dse.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True)
class Options:
    """What the command line may override; None leaves it to the study."""

    out: Path | None = None
    engine: str | None = None
    executor: str | None = None
    address: str | None = None
    budget: int | None = None
    seed: int | None = None
    resume: bool = False
    within: float | None = None
    sampler: str | None = None
    warm_start: Path | None = None

    def check_names(self) -> None:
        """Raise :class:`StudyError` where an engine, executor or sampler is not known."""
        _one_of(self.engine, ENGINES, "--engine")
        _one_of(self.executor, EXECUTORS, "--executor")
        _one_of(self.sampler, SAMPLERS, "--sampler")

    def check_engine(self, engine: str) -> None:
        """Raise :class:`DseError` where this engine or executor would not heed an option."""
        needs = {
            "--within": ("exhaustive", self.within),
            "--budget": ("guided", self.budget),
            "--sampler": ("guided", self.sampler),
            "--warm-start": ("guided", self.warm_start),
        }
        for option, (needed, value) in needs.items():
            if value is not None and needed != engine:
                raise DseError(
                    f"{option} needs the {needed} engine, and this search is {engine}; leave it "
                    f"out, or add --engine {needed}"
                )
        if self.address and self.executor == "local":
            raise DseError("--address joins a Ray cluster, and --executor local does not; drop one")


def share(text: str | None) -> float | None:
    """``5%`` or ``0.05`` as a number; None stays None."""
    if text is None:
        return None
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        found = float(number) / (100 if percent else 1)
    except ValueError:
        found = float("nan")
    if not 0 < found < 1:
        remedy = "write for example 5%"
        raise StudyError(
            "--within", 0, 0, f"'{text}' is not a percentage between 0 and 100", remedy
        )
    return found


def _one_of(value: str | None, allowed: Sequence[str], option: str) -> None:
    if value is not None and value not in allowed:
        remedy = meant(value, allowed, f"use {', '.join(allowed)}")
        raise StudyError(option, 0, 0, f"'{value}' is not known", remedy)
