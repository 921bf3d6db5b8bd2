"""Options of the commands, made from the fields of the dataclasses that hold them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from functools import wraps
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dse.commands.study_names import studies_beginning
from dse.draft import Draft
from dse.errors import ArgumentError
from dse.mistakes import Mistakes
from dse.spelling import meant
from dse.units import UnitError, parse

if TYPE_CHECKING:
    from dse.study.questions import Questions

NAMES = {
    "engine": ("auto", "exhaustive", "guided"),
    "executor": ("auto", "local", "ray"),
    "sampler": ("auto", "nsga2", "nsga3", "tpe", "gp", "random"),
}
WHOLE = {"points": (1, 10**9), "seed": (0, 2**63 - 1)}  # the least and the most of each
_OUT = (
    "Folder of the report [default: reports/STUDY]; of several studies, the folder that holds "
    "theirs."
)
_WARM_START = "Folder of an earlier run whose front a guided search begins with."
_HELP = {row.name: row.metadata["help"] for row in fields(Draft)}  # of what studies are asked, too

StudyPath = Annotated[
    str,
    typer.Argument(
        help="A study file, or the name of one that comes with dse.",
        autocompletion=studies_beginning,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _option(text: str, default: Any = None) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class Report:
    """Where a report goes, and how its study is searched; None leaves it to the study.

    Raises :class:`ArgumentError` for what cannot be, with all that is wrong.
    """

    out: Path | None = field(default=None, metadata={"help": _OUT})
    engine: str | None = _option("auto, exhaustive or guided.")
    long: bool = _option("Print all remarks, too.", default=False)

    def __post_init__(self) -> None:
        mistakes = Mistakes()
        for row in fields(self):
            if getattr(self, row.name) is not None:
                mistakes.part(lambda name=row.name: self._read(name))  # type: ignore[misc]
        mistakes.told()

    def _read(self, name: str) -> None:
        """Take a value as the command line or Python gives it for what it means."""
        given = getattr(self, name)
        if name in NAMES and given not in NAMES[name]:
            remedy = meant(given, NAMES[name], f"use {', '.join(NAMES[name])}")
            raise ArgumentError(f"--{name}", f"'{given}' is not known", remedy)
        if name in WHOLE:
            given = _whole(name, given)
        elif name == "within":
            given = _share(given)
        elif name == "out":
            given = folder(given)
        elif name == "warm_start":
            given = Path(given)
        object.__setattr__(self, name, given)


@dataclass(frozen=True)
class Options(Report):
    """What the command line may override of a study."""

    executor: str | None = _option("auto, local or ray.")
    address: str | None = _option("Ray cluster to join.")
    points: int | None = _option("Points the guided engine may price.")
    seed: int | None = _option("Seed of everything random.")
    resume: bool = _option("Continue where a run stopped.", default=False)
    within: float | None = _option(
        "Also list points within this distance of the front, such as 5%."
    )
    sampler: str | None = _option(
        "Sampler of a guided search: auto, nsga2, nsga3, tpe, gp or random."
    )
    warm_start: Path | None = field(default=None, metadata={"help": _WARM_START})
    deadline: str | None = _option(_HELP["deadline"])
    budget: str | None = _option(_HELP["budget"])
    power: str | None = _option(_HELP["power"])
    confidence: str | float | None = _option(_HELP["confidence"])

    def __post_init__(self) -> None:
        mistakes = Mistakes()
        mistakes.part(super().__post_init__)
        mistakes.part(lambda: self.questions)  # refuses what is none
        mistakes.told()

    @property
    def questions(self) -> Questions:
        """What is asked beside the study."""
        from dse.study.questions import Questions

        return Questions(self.deadline, self.budget, self.power, self.confidence)

    def check_engine(self, engine: str) -> None:
        """Raise :class:`ArgumentError` where this engine or executor would not heed an option."""
        needs = {"within": "exhaustive", "points": "guided", "sampler": "guided",
                 "warm_start": "guided"}  # fmt: skip
        for name, needed in needs.items():
            if getattr(self, name) is not None and needed != engine:
                problem = f"needs the {needed} engine, and this search is {engine}"
                raise ArgumentError(f"--{name.replace('_', '-')}", problem,
                                    f"leave it out, or add --engine {needed}")  # fmt: skip
        if self.address and self.executor == "local":
            problem = "joins a Ray cluster, and --executor local does not"
            raise ArgumentError("--address", problem, "drop one")


def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command whose parameters that are dataclasses are given as options, one a field.

    Fields are made with their help as metadata; they are text, or a flag where their default is
    one. What is wrong with several dataclasses is told at once.
    """
    own = inspect.signature(command, eval_str=True).parameters
    kinds = {name: one.annotation for name, one in own.items() if is_dataclass(one.annotation)}

    @wraps(command)
    def called(**given: Any) -> Any:
        mistakes = Mistakes()
        made = {}
        for name, kind in kinds.items():
            said = {row.name: given.pop(row.name) for row in fields(kind)}
            said = {field: value for field, value in said.items() if value is not None}
            made[name] = mistakes.part(lambda kind=kind, said=said: kind(**said))  # type: ignore[misc]
        mistakes.told()
        return command(**given, **{name: part() for name, part in made.items()})

    def parameters() -> Iterator[inspect.Parameter]:
        for name, one in own.items():
            if name not in kinds:
                yield one.replace(kind=one.KEYWORD_ONLY)
                continue
            for row in fields(kinds[name]):
                flag = row.default is False
                names = [f"--{row.name}"] if flag else []
                yield inspect.Parameter(
                    row.name, one.KEYWORD_ONLY, default=False if flag else None,
                    annotation=Annotated[bool if flag else str | None,
                                         typer.Option(*names, help=row.metadata["help"])],
                )  # fmt: skip

    found = list(parameters())
    called.__signature__ = inspect.Signature(found)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in found}
    return called


def folder(text: str | Path) -> Path:
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


def _share(given: str | float) -> float:
    """``5%`` or ``0.05`` as a number."""
    try:
        found = parse(given, "share")
    except UnitError:
        found = math.nan
    if not 0 < found < 1:
        problem = f"'{given}' is not a percentage between 0 and 100"
        raise ArgumentError("--within", problem, "write for example 5%")
    return found
