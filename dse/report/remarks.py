"""The remarks of a run in words, and what of the run they are found in."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from typing import Any

from dse.decision.remarks import (
    Answer,
    Doubt,
    Remark,
    Side,
    State,
    Turn,
    remarks,
    state,
)
from dse.pricing.bill_of_rent import bills
from dse.pricing.problem import Problem
from dse.report import words
from dse.report.certainty.facts import Choice, PriceFlip
from dse.report.certainty.titles import NETWORK, part_title, rented
from dse.report.design_point import Point
from dse.report.document import RemarkLine, RunDocument
from dse.study import Value
from dse.study.axes import HARDWARE

_LIKELY = 0.5  # probability to meet the limits from which a purchase is offered
_TIMES = "times today's"  # the unit of a price of many parts at once


class _Filled(string.Formatter):
    """Writes numbers as :mod:`dse.report.words` does; what follows the colon is their unit."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """A number with its unit: ``%`` a share, ``n`` a count, ``B`` bytes."""
        match format_spec:
            case "":
                return str(value)
            case "%":
                return words.percent(value)
            case "n":
                return words.count(value)
            case "B":
                return words.size(value)
        return words.shown(value, format_spec)


def line(remark: Remark) -> RemarkLine:
    """A remark in words."""
    fill = _Filled()
    sentence, action = (fill.vformat(text, (), remark.facts)
                        for text in (remark.row.sentence, remark.row.action))  # fmt: skip
    return RemarkLine(
        name=remark.row.name,
        blocks=remark.row.blocks,
        sentence=words.capital(sentence),
        action=action,
        facts=remark.facts,
    )


def of_study(problem: Problem) -> tuple[RemarkLine, ...]:
    """What there is to remark of a study before it is searched."""
    return tuple(map(line, remarks(problem)))


def of_run(
    problem: Problem, document: RunDocument, values: Mapping[str, Value | None]
) -> tuple[tuple[RemarkLine, ...], State]:
    """What there is to remark of a run, and how near it is to being signed. values: of the
    recommended point."""
    found = remarks(problem, _answer(problem, document, values))
    nearest = max(map(wins, rivals(document)), default=0.0)
    return tuple(map(line, found)), state(found, nearest)


def rivals(document: RunDocument) -> list[Choice]:
    """The purchases of other machines, or of another count, than the recommended one, by falling
    share of outcomes in which they win against it; of the same machines the likeliest. A rival
    meets the limits as probably as the study asks, and else in half of the outcomes, or as the
    recommended purchase does where that is less."""
    if document.certainty is None:
        return []
    best, *others = document.certainty.choices
    asked = document.confidence.asked if document.confidence else None
    least = min(asked or _LIKELY, best.meets_all)
    own = words.machines(document.recommended.config)
    found = [one for one in others if not one.alike and words.machines(one.config) != own]
    likely = sorted((one for one in found if one.meets_all >= least), key=wins)
    return [*{words.machines(one.config): one for one in likely}.values()][::-1]


def wins(rival: Choice) -> float:
    """The share of outcomes in which a rival is worth more than the recommended choice."""
    return (1.0 - rival.beaten) * rival.decided if rival.beaten is not None else 0.0


def _answer(problem: Problem, document: RunDocument, values: Mapping[str, Value | None]) -> Answer:
    sure, asked, without = document.certainty, document.confidence, document.without_buying
    return Answer(
        problem=problem,
        recommended=_side(problem, values, document.recommended),
        baseline=_side(problem, problem.study.baseline.values, document.baseline),
        priced=document.counts.points if document.engine == "guided" else 0,
        space=document.counts.space or 0,
        turns=tuple(_turns(document)),
        doubt=_doubt(document),
        met=sure.choices[0].met if sure else {},
        asked=asked.asked if asked else None,
        idle_gain=_for_nothing(document),
        settings=_settings(document) if without else "",
    )


def _doubt(document: RunDocument) -> Doubt | None:
    """The first source is the largest."""
    sure = document.certainty
    if sure is None or not sure.sources:
        return None
    first = sure.sources[0]
    return Doubt(source=first.source, share=max(first.gain_total, first.cost_total),
                 regret=sure.choices[0].regret)  # fmt: skip


def _side(problem: Problem, values: Mapping[str, Value | None], point: Point) -> Side:
    return Side(
        values=values,
        evaluation=problem.point(values),
        bill=tuple(item for items in bills(problem, values).values() for item in items),
        computing=point.computing,
        extrapolated=bool(point.run and point.run.extrapolated),
    )


def _for_nothing(document: RunDocument) -> float:
    """The speedup of the baseline's machines with other software, where they may be used instead;
    NaN where not."""
    found, best = document.without_buying, document.recommended
    if found is None or found.missed or found.speedup is None or not _settings(document):
        return float("nan")
    same = all(found.config.get(axis) == best.config.get(axis) for axis in HARDWARE)
    costs = best.quantity("capital") if document.owned else 1.0
    return float("nan") if same and not costs else found.speedup


def _settings(document: RunDocument) -> str:
    """What to set on the baseline's machines."""
    found = document.without_buying
    steps = found.steps if found else ()
    return ", ".join(f"{change.axis.replace('_', ' ')} {change.after}"
                     for step in steps for change in step.changes if change.after)  # fmt: skip


def _turns(document: RunDocument) -> Iterator[Turn]:
    """Prices that change the answer within what sellers may ask, the largest share first."""
    for flip in document.certainty.flips if document.certainty else ():
        known = flip.known
        if known is None or known.offered:
            continue
        low, high = known.bounds
        for end in (flip.rise, flip.fall):
            others = end is not None and _others(document, end.config)
            network = flip.share > 0 and flip.part.startswith(NETWORK)
            if end and end.config and low <= end.factor <= high and (others or network):
                yield _turn(document, flip, end.factor, end.config)


def _others(document: RunDocument, config: Mapping[str, str]) -> bool:
    """Whether a purchase is of other machines, or of another count, than the recommended one."""
    return bool(config) and words.machines(config) != words.machines(document.recommended.config)


def _turn(document: RunDocument, flip: PriceFlip, factor: float, config: Mapping[str, str]) -> Turn:
    known = flip.known
    assert known is not None
    unit = _TIMES if known.usd is None else "USD/hour" if rented(flip.part) else "USD"
    usd = 1.0 if known.usd is None else known.usd
    return Turn(
        part=words.without_vendor(part_title(flip.part).removeprefix("the ")),
        own=flip.share > 0,
        usd=usd,
        at=usd * factor,
        unit=unit,
        instead=called(document, config),
    )


def called(document: RunDocument, config: Mapping[str, str]) -> str:
    """A purchase by its machines, and by its network where the recommended one has the same."""
    own, name = document.recommended.config, words.machines(config)
    if words.machines(own) == name:
        axes = [axis for axis in HARDWARE if config.get(axis) and config[axis] != own.get(axis)]
        return f"the same {', '.join(words.phrase(axis, config[axis]) for axis in axes)}"
    return words.without_vendor(name)
