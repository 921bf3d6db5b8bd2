"""Options that several commands share, and those of a search with what may be said in each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dse.commands.study_names import studies_beginning
from dse.errors import ArgumentError
from dse.mistakes import Mistakes
from dse.spelling import meant
from dse.units import UnitError, parse

if TYPE_CHECKING:
    from dse.study.questions import Questions

ENGINES = ("auto", "exhaustive", "guided")
EXECUTORS = ("auto", "local", "ray")
SAMPLERS = ("auto", "nsga2", "nsga3", "tpe", "gp", "random")
WHOLE = {"points": (1, 10**9), "seed": (0, 2**63 - 1)}  # the least and the most of each

StudyPath = Annotated[
    str,
    typer.Argument(
        help="A study file, or the name of one that comes with dse.",
        autocompletion=studies_beginning,
    ),
]
Engine = Annotated[str | None, typer.Option(help="auto, exhaustive or guided.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True)
class Options:
    """What the command line may override; None leaves it to the study.

    Raises :class:`ArgumentError` for a name that is not known or a number that cannot be.
    """

    out: Path | None = None
    engine: str | None = None
    executor: str | None = None
    address: str | None = None
    points: int | None = None
    seed: int | None = None
    resume: bool = False
    within: float | None = None
    sampler: str | None = None
    warm_start: Path | None = None
    deadline: str | None = None
    budget: str | None = None
    power: str | None = None
    confidence: str | float | None = None

    def __post_init__(self) -> None:
        mistakes = Mistakes()
        mistakes.part(lambda: _one_of(self.engine, ENGINES, "--engine"))
        mistakes.part(lambda: _one_of(self.executor, EXECUTORS, "--executor"))
        mistakes.part(lambda: _one_of(self.sampler, SAMPLERS, "--sampler"))
        mistakes.part(lambda: self.questions)  # refuses what is none
        mistakes.parts(self._check_whole, WHOLE)
        mistakes.told()

    def _check_whole(self, name: str) -> None:
        if (given := getattr(self, name)) is not None:
            object.__setattr__(self, name, whole(name, given))

    @property
    def questions(self) -> Questions:
        """What is asked beside the study."""
        from dse.study.questions import Questions

        return Questions(self.deadline, self.budget, self.power, self.confidence)

    def check_engine(self, engine: str) -> None:
        """Raise :class:`ArgumentError` where this engine or executor would not heed an option."""
        needs = {
            "--within": ("exhaustive", self.within),
            "--points": ("guided", self.points),
            "--sampler": ("guided", self.sampler),
            "--warm-start": ("guided", self.warm_start),
        }
        for option, (needed, value) in needs.items():
            if value is not None and needed != engine:
                problem = f"needs the {needed} engine, and this search is {engine}"
                raise ArgumentError(option, problem, f"leave it out, or add --engine {needed}")
        if self.address and self.executor == "local":
            problem = "joins a Ray cluster, and --executor local does not"
            raise ArgumentError("--address", problem, "drop one")


def whole(name: str, given: Any) -> int:
    """A whole number within the limits of :data:`WHOLE`, also from text such as 2e4.

    Raises :class:`ArgumentError` for anything else.
    """
    least, most = WHOLE[name]
    found: float = math.nan
    with suppress(TypeError, ValueError):
        whole_text = isinstance(given, str) and "e" not in given.lower()
        found = int(given) if whole_text or isinstance(given, Integral) else float(given)
    if not least <= found <= most or found != int(found):
        problem = f"'{given}' is not a whole number from {least:,} to {most:,}"
        raise ArgumentError(f"--{name}", problem, "write for example 2000")
    return int(found)


def folder(text: str) -> Path:
    """A folder by name; raises :class:`ArgumentError` for none."""
    if not text:
        raise ArgumentError("--out", "is empty", "name a folder, or . for this one")
    return Path(text)


def share(text: str | None) -> float | None:
    """``5%`` or ``0.05`` as a number; None stays None."""
    if text is None:
        return None
    try:
        found = parse(text, "share")
    except UnitError:
        found = float("nan")
    if not 0 < found < 1:
        problem = f"'{text}' is not a percentage between 0 and 100"
        raise ArgumentError("--within", problem, "write for example 5%")
    return found


def _one_of(value: str | None, allowed: Sequence[str], option: str) -> None:
    if value is not None and value not in allowed:
        remedy = meant(value, allowed, f"use {', '.join(allowed)}")
        raise ArgumentError(option, f"'{value}' is not known", remedy)
