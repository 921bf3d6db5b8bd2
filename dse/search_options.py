"""What a run may override of its study; the command line and Python take the same."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from dse.draft import Draft, option
from dse.errors import ArgumentError
from dse.mistakes import Mistakes
from dse.spelling import alternatives, meant

if TYPE_CHECKING:
    from dse.study.questions import Questions

NAMES = {
    "engine": ("auto", "exhaustive", "guided"),
    "executor": ("auto", "local", "ray"),
}
WHOLE = {"points": (1, 10**9), "seed": (0, 2**63 - 1)}  # the least and the most of each
REPORTED = ("out", "resume")  # only of a run that leaves a report
_OUT = "Folder of the report [default: reports/STUDY]."
_ASKED = {row.name: row.metadata["help"] for row in fields(Draft)}  # of what studies are asked, too


@dataclass(frozen=True)
class SearchOptions:
    """How a study is searched, and where its report goes; None leaves it to the study.

    Fields are the options of ``dse run``, with their help, and the arguments of
    :func:`dse.run`, which also takes numbers and paths. Raises :class:`ArgumentError` for what
    cannot be, with all that is wrong.
    """

    out: str | PathLike[str] | None = field(default=None, metadata={"help": _OUT})
    engine: str | None = option("auto, exhaustive or guided.")
    executor: str | None = option("auto, local or ray.")
    address: str | None = option("Ray cluster to join.")
    points: int | None = option("Points the guided engine may price.")
    seed: int | None = option("Seed of everything random.")
    resume: bool = option("Continue where a run stopped.", default=False)
    deadline: str | None = option(_ASKED["deadline"])
    budget: str | None = option(_ASKED["budget"])
    power: str | None = option(_ASKED["power"])
    confidence: str | float | None = option(_ASKED["confidence"])

    def __post_init__(self) -> None:
        given = [row.name for row in fields(self) if getattr(self, row.name) is not None]
        mistakes = Mistakes()
        mistakes.parts(self._read, given)
        mistakes.part(lambda: self.questions)  # refuses what is none
        mistakes.told()

    def _read(self, name: str) -> None:
        """Take a value as the command line or Python gives it for what it means."""
        given = getattr(self, name)
        if name in NAMES and given not in NAMES[name]:
            remedy = meant(given, NAMES[name], f"use {', '.join(NAMES[name])}")
            raise ArgumentError(f"--{name}", f"'{given}' is not known", remedy)
        if name in WHOLE:
            given = _whole(name, given)
        elif name == "out":
            given = folder(given)
        object.__setattr__(self, name, given)

    @property
    def questions(self) -> Questions:
        """What is asked beside the study."""
        from dse.study.questions import Questions

        return Questions(self.deadline, self.budget, self.power, self.confidence)

    def as_arguments(self) -> str:
        """What is given, as one writes it in Python."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        return ", ".join(f"{name}={value!r}" for name, value in given.items() if value is not False)

    def check_unreported(self) -> None:
        """Raise :class:`ArgumentError` where an option is of a report, and none is written."""
        for name in REPORTED:
            if getattr(self, name):
                problem, remedy = "is of a run that writes a report", "leave it out, or use dse.run"
                raise ArgumentError(f"--{name.replace('_', '-')}", problem, remedy)

    def check_engine(self, engine: str) -> None:
        """Raise :class:`ArgumentError` where this engine or executor would not heed an option."""
        if self.points is not None and engine != "guided":
            problem = f"needs the guided engine, and this search is {engine}"
            raise ArgumentError("--points", problem, "leave it out, or add --engine guided")
        if self.address and self.executor == "local":
            problem = "joins a Ray cluster, and --executor local does not"
            raise ArgumentError("--address", problem, "drop one")


class SearchArguments(TypedDict, total=False):
    """What :meth:`dse.Study.search` takes: fields of :class:`SearchOptions`."""

    engine: str
    executor: str
    address: str
    points: int
    seed: int
    deadline: str
    budget: str
    power: str
    confidence: str | float


class RunArguments(SearchArguments, total=False):
    """What :func:`dse.run` takes besides."""

    resume: bool


HELP = {row.name: row.metadata["help"] for row in fields(SearchOptions)}


def of_arguments(given: Mapping[str, Any]) -> SearchOptions:
    """What Python gives by name; raises :class:`ArgumentError` for a name that is none of them."""
    for name in given:
        if name not in HELP:
            remedy = meant(name, HELP, f"use {alternatives(HELP)}")
            raise ArgumentError(name, "no such argument", remedy)
    return SearchOptions(**given)


def folder(text: str | PathLike[str]) -> Path:
    """A folder by name; raises :class:`ArgumentError` for none."""
    if not str(text):
        raise ArgumentError("--out", "is empty", "name a folder, or . for this one")
    return Path(text)


def _whole(name: str, given: Any) -> int:
    """A whole number within the limits of :data:`WHOLE`, also from text such as 2e4."""
    least, most = WHOLE[name]
    found: float = math.nan
    with suppress(TypeError, ValueError):
        whole_text = isinstance(given, str) and "e" not in given.lower()
        found = int(given) if whole_text or isinstance(given, Integral) else float(given)
    if not least <= found <= most or found != int(found):
        problem = f"'{given}' is not a whole number from {least:,} to {most:,}"
        raise ArgumentError(f"--{name}", problem, "write for example 2000")
    return int(found)
