"""What a person asks of a study beyond its file: a deadline, a budget, a limit on power, how sure.

Each is a constraint, read as if the study had it; a limit that the study has on the same quantity
gives way to it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from dse.currencies import named_usd, parted
from dse.errors import ArgumentError
from dse.mistakes import Mistakes
from dse.study.choices import SUREST
from dse.study.constraints import ExpressionError, Rates, parse_constraint
from dse.study.definition import Constraint, Study
from dse.study.quantities import QUANTITIES
from dse.units import UnitError, parse

DEADLINE, BUDGET, POWER, CONFIDENCE = "deadline", "budget", "power", "confidence"
# Dimensions that a budget may have, and what it limits unless the study minimizes another such.
_MONEY = {"usd": "capital", "usd_per_hour": "hourly"}
_DIMENSIONS = {DEADLINE: ("seconds",), BUDGET: tuple(_MONEY), POWER: ("watt",)}
_EXAMPLES = {DEADLINE: "7 d", BUDGET: "2 MUSD", POWER: "200 kW"}
_OF_RENT = (
    f'write for example --{BUDGET} "50 USD/hour", or minimize per_run if the sum is for a whole run'
)
_BELOW = ("<=", "<")


@dataclass(frozen=True)
class Questions:
    """The questions as a person writes them; None is not asked.

    deadline: until when the target must be reached, ``7 d``. budget: money to buy or to rent with,
    ``2 MUSD`` or ``50 USD/hour``. power: what the site can supply, ``200 kW``. confidence: with
    what probability every limit must hold, in (0, 1) or as ``90%``,
    at most :data:`.choices.SUREST`.

    Raises :class:`ArgumentError` for what is no such thing.
    """

    deadline: str | None = None
    budget: str | None = None
    power: str | None = None
    confidence: str | float | None = None

    def __post_init__(self) -> None:
        mistakes = Mistakes()
        mistakes.parts(self._check, _DIMENSIONS)
        if self.confidence is not None:
            sure = mistakes.part(partial(probability, self.confidence))
        mistakes.told()
        if self.confidence is not None:
            object.__setattr__(self, CONFIDENCE, sure())

    def _check(self, name: str) -> None:
        if (text := getattr(self, name)) is not None:
            _amount(name, text, _DIMENSIONS[name])

    def __bool__(self) -> bool:
        return bool(self.written)

    @property
    def written(self) -> dict[str, str]:
        """Those that are asked, by name."""
        return {name: str(value) for name, value in vars(self).items() if value is not None}

    def asked_of(self, study: Study, rates: Rates = dict) -> Study:
        """The study with the questions among its constraints. rates: of currencies.

        Raises :class:`ArgumentError` for a deadline of a study without a target, for a budget in a
        currency without a rate, and for a confidence of one that limits nothing.
        """
        if not self:
            return study
        if self.deadline is not None and study.target is None:
            remedy = "add target: {samples: 115e6} to it"
            remedy = "ask for a speedup: constraints: [speedup >= 3]" if study.mix else remedy
            problem = f"{study.path} does not say how long a run is"
            raise ArgumentError("--deadline", problem, remedy)
        new = tuple(self._constraints(study, rates))
        limited = {constraint.limit.name for constraint in new if constraint.limit}
        # A limit of the study on how much of one of these there may be gives way.
        kept = tuple(
            old for old in study.constraints
            if not (old.limit and old.limit.name in limited and old.limit.comparison in _BELOW)
        )  # fmt: skip
        constraints = (*kept, *new)
        confidence = study.confidence
        if isinstance(self.confidence, float):
            confidence = self.confidence
            if not any(constraint.expression for constraint in constraints):
                remedy = "add --deadline, --budget or --power, or constraints to the study"
                raise ArgumentError("--confidence", "there is no limit to be sure of", remedy)
        asked = json.dumps([study.content_hash, self.written], sort_keys=True)
        return replace(
            study,
            constraints=constraints,
            confidence=confidence,
            questions=self.written,
            content_hash=hashlib.sha256(asked.encode()).hexdigest(),
        )

    def money(self, minimized: Iterable[str] = ()) -> str:
        """The quantity that a budget limits: the money that is minimized, if it is such; else what
        is bought or, for a budget by the hour, rented.

        Raises :class:`ArgumentError` for a sum where rent by the hour is minimized: to limit what
        the same machines cost to buy is not what it can mean.
        """
        dimension = "usd"
        if self.budget is not None:
            dimension, _ = _amount(BUDGET, self.budget, _DIMENSIONS[BUDGET])
        minimized = [*minimized]
        own = [name for name in minimized if QUANTITIES[name].dimension == dimension]
        if self.budget is not None and not own and dimension == "usd" and "hourly" in minimized:
            problem = f"{self.budget.strip()} is a sum, and rent by the hour is minimized"
            raise ArgumentError(f"--{BUDGET}", problem, _OF_RENT)
        return next(iter(own), _MONEY[dimension])

    def limits(self, minimized: Iterable[str]) -> tuple[str, ...]:
        """What is asked as constraints of a study that minimizes these quantities."""
        texts = {
            "time_to_target": self.deadline,
            self.money(minimized): self.budget,
            POWER: self.power,
        }
        return tuple(
            f"{name} <= {' '.join(text.replace(',', '').split())}"
            for name, text in texts.items()
            if text is not None
        )

    def _constraints(self, study: Study, rates: Rates) -> Iterator[Constraint]:
        aims = [objective.name for objective in study.objectives if objective.goal == "minimize"]
        for said in self.limits(aims):
            try:
                found = parse_constraint(said, rates)
            except ExpressionError as cause:  # amounts are checked but for the rate of a budget
                raise ArgumentError(f"--{BUDGET}", cause.problem, cause.remedy) from None
            yield Constraint(found.text, found, 0, 0)


def probability(given: str | float) -> float:
    """``0.9``, ``"0.9"`` or ``"90%"`` as a number in (0, 1), at most what
    the simulated outcomes can show; raises :class:`ArgumentError`."""
    try:
        found = parse(given, "share")
    except UnitError:
        found = float("nan")
    if isinstance(given, bool) or not 0 < found <= SUREST:
        problem = f"must be a probability above 0, at most {SUREST:g}"
        raise ArgumentError("--confidence", problem, "write for example 0.9 or 90%")
    return found


def _amount(name: str, text: Any, dimensions: tuple[str, ...]) -> tuple[str, float]:
    """The dimension of an amount, and its number, which is positive, of a budget at least 0, in
    whatever currency it is; raises :class:`ArgumentError` for another."""
    option, example = f"--{name}", f'write for example --{name} "{_EXAMPLES[name]}"'
    wrong: UnitError | None = None
    read = named_usd(parted(text)[0]) if name == BUDGET and isinstance(text, str) else text
    for dimension in dimensions:
        try:
            found = parse(read, dimension, _EXAMPLES[name])
        except UnitError as cause:
            wrong = wrong or cause
            continue
        if found < 0 or (found == 0 and name != BUDGET):
            raise ArgumentError(option, "must be positive", example)
        return dimension, found
    assert wrong is not None
    problem = wrong.problem.replace(f"'{read}'", f"'{text}'")
    if name == BUDGET and wrong.problem.endswith("has no unit"):
        example = (
            f"write an amount of money, such as {option} \"2 MUSD\"; how many points a guided "
            "search may price is --points of dse run"
        )  # fmt: skip
    raise ArgumentError(option, problem, example)
