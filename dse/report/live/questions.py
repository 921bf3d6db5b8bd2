"""What somebody changes of a study, as the page of ``dse serve`` sends it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dse.errors import DseError
from dse.report.recommendation import LEAST_REGRET, RULES
from dse.search.certainty.usefulness import SPEED_PER_DOLLAR
from dse.spelling import enumerated
from dse.study.choices import too_sure

LIVE_RULES = tuple(rule for rule in RULES if rule != LEAST_REGRET)  # that one needs draws


class Refused(DseError):
    """What is asked cannot be: one line for the page."""


class Superseded(Exception):
    """A newer question has come; nobody waits for this answer any more."""


@dataclass(frozen=True)
class Question:
    """What is changed of a study. values: of an axis, the labels that are left; an axis that is not
    among them keeps all. ranges: of a continuous axis, the values that are tried, as they are
    written; see :func:`ranges`. limits: in place of the study's, None for these. prices: by key.
    confidence: with which limits must hold; None for the best estimate."""

    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ranges: Mapping[str, Sequence[str]] = field(default_factory=dict)
    limits: Sequence[str] | None = None
    prices: Mapping[str, float] = field(default_factory=dict)
    rule: str = SPEED_PER_DOLLAR
    confidence: float | None = None


def question(found: object) -> Question:
    """The question that a page sends. Raises :class:`Refused` for what is none."""
    if not isinstance(found, dict) or set(found) - set(vars(Question())):
        keys = enumerated([*vars(Question())])
        raise Refused(f"the question must be a mapping with no other keys than {keys}")
    values, ranges, limits = found.get("values", {}), found.get("ranges", {}), found.get("limits")
    prices, rule = found.get("prices", {}), found.get("rule", SPEED_PER_DOLLAR)
    listed = all(isinstance(each, dict) and all(map(_texts, each.values()))
                 for each in (values, ranges))  # fmt: skip
    numbers = isinstance(prices, dict) and all(map(_number, prices.values()))
    if not (listed and numbers and (limits is None or _texts(limits))):
        raise Refused("values and limits must be texts, and prices numbers")
    sure = found.get("confidence")
    if sure is not None and not (_number(sure) and 0 < sure < 1):
        raise Refused("the confidence must be a number between 0 and 100 %")
    if sure is not None and (problem := too_sure(sure)[0]):
        raise Refused(problem)
    return Question(values, ranges, limits, prices, str(rule), sure)


def _texts(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(one, str) for one in found)


def _number(found: object) -> bool:
    return isinstance(found, int | float) and not isinstance(found, bool)
