"""How sure the answer is, in words: a sentence for the answer, tables for its own section."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from dse.report import words
from dse.report.certainty.advice import OF_AIM
from dse.report.certainty.facts import Bounds, Certainty, Choice, PriceFlip, Turn
from dse.report.document import RunDocument
from dse.search.certainty.flips import FARTHEST
from dse.study.axes import HARDWARE

NOTHING = "This run was made by a version that did not say how sure it is: run the study again."
SURE = 0.995  # a probability that reads 100 %
_WORDS = {"measured": "Measured", "near": "Near what was measured", "estimated": "Estimated"}


class Row(NamedTuple):
    """A purchase: what it is, its role, cells in the order of :func:`heads`."""

    name: str
    role: str
    cells: tuple[str, ...]


def chance(probability: float) -> str:
    """A probability in percent; what is not certain never reads 0 or 100 %."""
    if 0 < probability < 0.005:
        return "< 1 %"
    if 0.995 < probability < 1:
        return "> 99 %"
    return f"{probability:.0%}".replace("%", " %")


def sentences(document: RunDocument) -> list[str]:
    """How sure the answer is, for the answer itself; empty where the document does not say."""
    found = document.certainty
    if found is None:
        return []
    own, *others = found.choices
    rivals = [choice for choice in others if choice.beaten is not None]
    asked = document.confidence
    if asked is not None and asked.reached:
        said = _among_the_sure(document, [one for one in rivals if one.meets_all >= asked.asked])
    else:
        said = (
            f"in {chance(own.best)} of {words.count(found.draws)} draws of what is uncertain this "
            f"purchase is the best by the rule{_against(document, rivals)}.{_limits(own)}"
        )
    return [f"{_WORDS[found.word]}: {said}{_flip(document)} {found.raised_by}"]


def _among_the_sure(document: RunDocument, rivals: list[Choice]) -> str:
    """Whom it beats of those that are as sure as was asked; its own limits are told beside it."""
    asked, found = document.confidence, document.certainty
    assert asked is not None
    assert found is not None
    with_ = f"the limits with at least {chance(asked.asked)} probability"
    if not rivals:
        return f"no other purchase that might be the best meets {with_}."
    nearest = _nearest(rivals)
    return (
        f"of the purchases that meet {with_}, its nearest rival is "
        f"{named(document, nearest.config)}; this one is the better buy in "
        f"{chance(nearest.beaten or 0.0)} of {words.count(found.draws)} draws of what is uncertain."
    )


def _against(document: RunDocument, rivals: list[Choice]) -> str:
    """Whom it beats, how often."""
    if not rivals:
        return ""
    nearest = _nearest(rivals)
    name = named(document, nearest.config)
    won = nearest.beaten or 0.0
    if won < 0.5:
        return f"; more often, in {chance(1 - won)}, {name} is the better buy"
    return f"; it beats its nearest rival, {name}, in {chance(won)}"


def _nearest(rivals: list[Choice]) -> Choice:
    return max(rivals, key=lambda choice: (choice.best, -(choice.beaten or 0.0)))


def odds(document: RunDocument) -> str:
    """How likely the recommended purchase is the best, and what would change the answer, in short;
    empty where the document does not say."""
    found = document.certainty
    if found is None:
        return ""
    return f" Best by the rule in {chance(found.choices[0].best)} of draws.{_flip(document)}"


def _flip(document: RunDocument) -> str:
    """Up to which price it stays recommended."""
    found = document.certainty
    rising = [flip for flip in found.flips if flip.rise] if found else []
    if not rising:
        return ""
    first = min(rising, key=lambda flip: flip.rise.factor if flip.rise else FARTHEST)
    assert first.rise is not None
    rises = _more(first.rise.factor)
    return f" It stays recommended until {first.title} rises {rises}."


def _limits(own: Choice) -> str:
    """The constraints that it may miss."""
    unsure = [f"{text} in {chance(share)}" for text, share in own.met.items() if share < SURE]
    return f" It meets {' and '.join(unsure)} of the draws." if unsure else ""


def limits(document: RunDocument) -> list[str]:
    """Each limit of the study, with the probability that the recommended point meets it."""
    found = document.certainty
    met = found.choices[0].met if found else {}
    return [f"{text} ({chance(share)})" for text, share in met.items()]


def _more(factor: float) -> str:
    if factor >= 2:
        return f"to {words.significant(factor, 2)} times as much"
    return f"by {words.percent(factor - 1)}"


def named(document: RunDocument, config: Mapping[str, str]) -> str:
    """A purchase in a phrase: what is bought of it, by the names that people know."""
    name, gpus = config.get("accelerator"), config.get("gpus", "")
    if name:
        phrase = f"{gpus} x {words.title('accelerator', name)}"
    else:
        node = config.get("node", "")
        phrase = f"{gpus} GPUs in {words.title('node', node)}" if node else f"{gpus} GPUs"
    own = document.recommended.config
    machines = ("accelerator", "node", "gpus")
    alike = all(config.get(axis) == own.get(axis) for axis in machines)
    others = [axis for axis in HARDWARE if axis not in machines]
    rest = [axis for axis in others if config.get(axis) and config[axis] != own.get(axis)]
    if not alike:
        return phrase
    differs = ", ".join(f"{axis.replace('_', ' ')} {config[axis]}" for axis in rest)
    return f"{phrase}{f' with {differs}' * bool(differs)}"


def title(found: Certainty) -> str:
    """The word for the answer."""
    return _WORDS[found.word]


def heads(document: RunDocument) -> tuple[str, ...]:
    """Of the columns of :func:`rows`, the name apart."""
    found = document.certainty
    limits = unsure_limits(found) if found else ()
    timed = found is not None and "time_to_target" in found.choices[0].bands
    return (
        "Best", "On the front", "Recommended is better", "Expected regret",
        words.aim(document, "maximize").title.capitalize(),
        *(words.aim(document, sense).title.capitalize() for sense in document.objectives.minimized),
        *(("Time to target",) if timed and "time_to_target" not in _objectives(document) else ()),
        *(f"Meets {text}" for text in limits),
    )  # fmt: skip


def unsure_limits(found: Certainty) -> tuple[str, ...]:
    """The constraints that some purchase may miss."""
    return tuple(
        text for text in found.choices[0].met
        if any(choice.met.get(text, 1.0) < SURE for choice in found.choices)
    )  # fmt: skip


def _objectives(document: RunDocument) -> tuple[str, ...]:
    return tuple(document.objectives.named(sense) for sense in document.objectives.senses)


def rows(document: RunDocument) -> Iterator[Row]:
    """The purchases near the front, the recommended one first."""
    found = document.certainty
    if found is None:
        return
    shown = [*_objectives(document)]
    if "time_to_target" in found.choices[0].bands and "time_to_target" not in shown:
        shown.append("time_to_target")
    for choice in found.choices:
        yield Row(
            named(document, choice.config),
            choice.role,
            (
                chance(choice.best),
                chance(choice.on_front),
                "" if choice.beaten is None else chance(choice.beaten),
                words.percent(choice.regret),
                *(band(document, choice.bands.get(name), name) for name in shown),
                *(chance(choice.met[text]) for text in unsure_limits(found)),
            ),
        )


def band(document: RunDocument, bounds: Bounds | None, name: str) -> str:
    """A 90 % interval of a quantity; what nobody knows is said to be so."""
    return words.interval(bounds, words.objective(document, name).unit) or words.UNKNOWN


def source_rows(found: Certainty) -> list[tuple[str, str, str, str, str]]:
    """(source, speed from .. to, cost per speed from .. to, their shares of the variance)."""
    return [
        (effect.title, _ends(effect.gain), _ends(effect.cost_per_gain),
         _share(effect.gain_total), _share(effect.cost_total))
        for effect in found.sources
    ]  # fmt: skip


def _ends(bounds: Bounds) -> str:
    return " to ".join(f"{100 * (end - 1):+.0f} %" for end in bounds)


def _share(index: float) -> str:
    return words.percent(min(max(index, 0.0), 1.0))


def flip_lines(document: RunDocument) -> list[str]:
    """What each price decides, a sentence a part."""
    found = document.certainty
    return [_flip_line(document, flip) for flip in found.flips] if found else []


def _flip_line(document: RunDocument, flip: PriceFlip) -> str:
    of = f"{flip.title[:1].upper()}{flip.title[1:]} ({words.percent(flip.share)} of the cost)"
    ends = [
        f"{_until(turn.factor)}, then {_other(document, turn)}"
        for turn in (flip.rise, flip.fall)
        if turn is not None
    ]
    if not ends:
        return f"{of}: no price up to {FARTHEST:g} times, or down to a tenth, changes the answer."
    return f"{of}: the answer holds {'; and '.join(ends)}."


def _until(factor: float) -> str:
    if factor >= 2:
        return f"until it costs {words.significant(factor, 2)} times as much"
    return f"up to {_signed(factor)}" if factor > 1 else f"down to {_signed(factor)}"


def _signed(factor: float) -> str:
    share = 100 * (factor - 1)
    return f"{share:+.1f} %" if abs(share) < 9.95 else f"{share:+.0f} %"


def _other(document: RunDocument, turn: Turn) -> str:
    return named(document, turn.config) if turn.config else "nothing meets the constraints"


def knowledge_lines(found: Certainty) -> list[str]:
    """What it is worth to find out, in sentences."""
    of = OF_AIM[found.rule]
    lines = [
        f"{item.how[:1].upper()}{item.how[1:]}: {words.percent(item.worth)} {of}."
        for item in found.knowledge
    ]
    return [*lines, f"Knowing everything: {words.percent(found.all_known)} {of}."]


def scope(found: Certainty) -> str:
    """What was drawn, in a sentence."""
    of = "" if found.whole else " The space is too large to look for more beside the front."
    return (
        f"{words.count(found.draws)} draws of everything uncertain (computing, communication, what "
        "accelerators lose to one another, launches, decoding, prices), the same for all of "
        f"{words.count(found.points)} points on and near the front, which are "
        f"{words.count(found.purchases)} purchases: what differs in software alone is one, with "
        f"the best software for it in each draw.{of}"
    )
