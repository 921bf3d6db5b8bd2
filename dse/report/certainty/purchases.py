"""What the answer calls a purchase, and which are as good as the recommended one."""

from __future__ import annotations

from collections.abc import Mapping

from dse.report import words
from dse.report.certainty.facts import Ordered
from dse.report.document import RunDocument
from dse.study.axes import HARDWARE
from dse.study.choices import alike

_MACHINES = ("accelerator", "node", "gpus")
_AROUND = tuple(axis for axis in reversed(HARDWARE) if axis not in _MACHINES)


def named(document: RunDocument, config: Mapping[str, str]) -> str:
    """A purchase in a phrase: what is bought of it, by the names that people know.

    Machines alone, and in what the rest differs from the recommended purchase if that has the same
    machines, else from the others that are listed with the same.
    """
    phrase, name = words.machines(config), config.get("accelerator")
    if name and (whole := _ordered(document, config)):
        on = f" on {whole.boards}" * bool(whole.boards)
        sold = f"{whole.accelerators} x {words.title('accelerator', name)}{on}"
        phrase = f"{sold} ({config.get('gpus', '')} in use)"
    own = document.recommended.config
    listed = [choice.config for choice in document.certainty.choices] if document.certainty else []
    beside = [own] if _same_machines(config, own) else [
        other for other in listed if _same_machines(config, other)
    ]  # fmt: skip
    rest = [axis for axis in _AROUND
            if config.get(axis) and any(other.get(axis) != config[axis] for other in beside)
            ]  # fmt: skip
    return ", ".join([phrase, *(words.phrase(axis, config[axis]) for axis in rest)])


def instead(document: RunDocument, config: Mapping[str, str]) -> str:
    """What is recommended at another price; an empty one is of nothing."""
    if not config:
        return "nothing meets the constraints"
    name = named(document, config)
    if document.choices and as_good(document, config):
        return f"{name}, as good to {words.percent(document.choices.resolution)}"
    return name


def as_good(document: RunDocument, config: Mapping[str, str]) -> bool:
    """Whether a point is the same choice as the recommended one; not said of what is unknown."""
    if document.choices is None:
        return False
    mine, theirs = (_objectives_of(document, one) for one in (document.recommended.config, config))
    return len(mine) == len(theirs) and all(
        a is not None and b is not None
        and bool(alike(a, b, document.choices.resolution))
        for a, b in zip(mine, theirs, strict=True)
    )  # fmt: skip


def _objectives_of(document: RunDocument, config: Mapping[str, str]) -> tuple[float | None, ...]:
    """The objectives of a point of the front, or, where there are but two, of a purchase."""
    for point in (document.recommended, *document.front):
        if point.config == config:
            costs = (words.cost(document, point, one) for one in document.objectives.minimized)
            return words.gain(document, point), *costs
    known = document.certainty.choices if document.certainty else ()
    found = next((choice for choice in known if choice.config == config), None)
    return (found.gain, found.cost) if found else ()


def _ordered(document: RunDocument, config: Mapping[str, str]) -> Ordered | None:
    """What is ordered for a purchase that the certainty tells of, where that is not what trains."""
    found = document.certainty
    if found is None:
        return None
    beside = found.next_best
    choices = [*found.choices, *((beside.by_regret, beside.usual) if beside else ())]
    turns = [turn for flip in found.flips for turn in (flip.rise, flip.fall)]
    turns += [turn for item in found.knowledge if item.deciding for turn in item.deciding.turns]
    return next((one.ordered for one in (*choices, *turns) if one and one.config == config), None)


def _same_machines(config: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return all(config.get(axis) == other.get(axis) for axis in _MACHINES)
