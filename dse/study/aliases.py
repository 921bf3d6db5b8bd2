"""Words of a study that stand for names: ``a100``, ``BF16``, ``nccl``, ``budget``.

They give way to the names before anything else is read, so that whatever follows from a study is
the same whichever it was written with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dse.study.axes import AUTO, AXES, BATCH, MICRO_BATCH, RENTAL, AxisRow
from dse.study.mix import MIX
from dse.study.names import Names
from dse.study.quantities import BUILTINS, QUANTITIES
from dse.yaml_source import Loc, Source

_SECTIONS = ("accelerators", "fabrics", "nodes")  # of prices
_WORD = re.compile(r"(?<![\w.])(?<!\d )[^\W\d]\w*")
# Of training: what people ask for that has no price here.
NOT_MODELLED = {
    "offload": "offload to the host",
    "cpu_offload": "offload to the host",
    "sequence_pipeline": "a pipeline of parts of a sequence",
}
_GOALS = ("maximize", "minimize")


@dataclass
class Spelling:
    """What is written otherwise than it is called. values, keys: the names, by place. told: what
    the words mean that could mean several things."""

    names: Names
    values: dict[Loc, str] = field(default_factory=dict)
    keys: dict[Loc, str] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)

    def read(self, loc: Loc, word: Any, kind: str, known: Iterable[str] | None = None) -> None:
        """Note what the word at a place means."""
        if isinstance(word, str) and (name := self.meant(word, kind, known)) != word:
            self.values[loc] = name

    def meant(self, word: str, kind: str, known: Iterable[str] | None = None) -> str:
        """What a word means, which is told where it could mean something else."""
        name = self.names.real(kind, word.strip(), known)
        if name != word:
            line = self.names.told(kind, word)
            self.told += [line] if line and line not in self.told else []
        return name

    def read_keys(self, loc: Loc, data: Any, kind: str) -> None:
        """Note what the keys of a mapping mean, unless two of them mean the same."""
        if isinstance(data, dict):
            meant = {key: self.meant(key, kind) for key in data}
            for key, name in meant.items():
                if name != key and list(meant.values()).count(name) == 1:
                    self.keys[(*loc, key)] = name

    def read_axis(self, loc: Loc, data: Any, spec: AxisRow) -> None:
        """Note what the values of an axis mean, one or several."""
        if not spec.names:
            return
        known = spec.choices if spec.kind == "choice" else None
        for at, value in entries(loc, data):
            if isinstance(value, dict):  # a link that is described
                at, value = (*at, "fabric"), value.get("fabric")
            self.read(at, value, spec.names, known)

    def read_axes(self, loc: Loc, data: Any) -> None:
        """Note what the values of several axes mean, each under its name."""
        for name, values in _items(data):
            if name in AXES:
                self.read_axis((*loc, name), values, AXES[name])

    def read_quantities(self, loc: Loc, data: Any) -> None:
        """Note the quantities that the words of constraints mean."""
        known = (*QUANTITIES, *BUILTINS)
        for at, text in entries(loc, data):
            if isinstance(text, str):
                whole = self.names.real("", text, BUILTINS)
                named = (
                    whole
                    if whole in BUILTINS
                    else _WORD.sub(lambda found: self.meant(found[0], "quantities", known), text)
                )
                if named != text:
                    self.values[at] = named

    def applied(self, source: Source) -> Source:
        """The file as it would be with the names in place of the words."""
        return source.renamed(self.values, self.keys) if self.values or self.keys else source


def with_axes_in_space(source: Source) -> Source:
    """A study with every axis under ``space`` and by its name.

    An axis of one value may stand beside ``space``, and ``micro_batch`` is ``batch_per_gpu``.
    Raises :class:`~dse.errors.StudyError` where one is given twice.
    """
    data = source.data
    if not isinstance(data, dict) or not isinstance(data.get("space"), dict):
        return source
    rows = AXES | {MICRO_BATCH: AXES[BATCH]}
    for key in (key for key in data if key in NOT_MODELLED):
        what = f"{key}: {NOT_MODELLED[key]} is not modelled"
        raise source.error((key,), what, "drop it", key=True)
    outside = [key for key in data if key in rows and key != RENTAL]
    for key in outside:
        if key in data["space"]:
            problem = f"{key} stands in space, too"
            raise source.error((key,), problem, "keep one of the two", key=True)
        several = isinstance(data[key], dict) and rows[key].kind != "link"
        several |= isinstance(data[key], list) and len(data[key]) > 1
        if several or (data[key] == AUTO and rows[key].divisors):
            remedy = f"write {key} below space"
            raise source.error((key,), f"{key}: several values outside of space", remedy, key=True)
    source = source.moved(outside, "space") if outside else source
    keys: dict[Loc, str] = {}
    for section in ("space", "baseline"):
        found = source.data.get(section)
        if isinstance(found, dict) and MICRO_BATCH in found:
            if BATCH in found:
                problem = f"{MICRO_BATCH} and {BATCH} are one axis"
                place = (section, MICRO_BATCH)
                raise source.error(place, problem, "keep one of the two", key=True)
            keys[section, MICRO_BATCH] = BATCH
    return source.renamed({}, keys) if keys else source


def with_real_names(source: Source, names: Names) -> tuple[Source, tuple[str, ...]]:
    """A study with names in place of the words that stand for them, and what to tell of these."""
    spelling, data = Spelling(names), source.data
    if not isinstance(data, dict):
        return source, ()
    spelling.read(("workload",), data.get("workload"), "workloads")
    spelling.read_keys((MIX,), data.get(MIX), "workloads")
    for loc, word in ((("workload", key), word) for key, word in _items(data.get("workload"))):
        spelling.read(loc, word if loc[1] == "config" else None, "workloads")
    spelling.read(("region",), data.get("region"), "regions")
    spelling.read_keys(("calibration",), data.get("calibration"), "fabrics")
    for key in ("space", "baseline"):
        spelling.read_axes((key,), data.get(key))
    for at, condition in entries(("when",), data.get("when")):
        if isinstance(condition, dict):
            axis = condition.get("axis")
            if isinstance(axis, str) and axis in AXES:
                spelling.read_axis((*at, "values"), condition.get("values"), AXES[axis])
            spelling.read_axes((*at, "if"), condition.get("if"))
    for at, entry in entries(("owned",), data.get("owned")):
        spelling.read_axes(at, entry)
    for at, prices in entries(("prices",), data.get("prices")):
        for section in _SECTIONS:
            if isinstance(prices, dict):
                spelling.read_keys((*at, section), prices.get(section), section)
    for goal, aims in _items(data.get("objectives")):
        if goal in _GOALS:
            spelling.read_quantities(("objectives", goal), aims)
    spelling.read_quantities(("constraints",), data.get("constraints"))
    return spelling.applied(source), tuple(spelling.told)


def _items(data: Any) -> Iterable[tuple[str, Any]]:
    return data.items() if isinstance(data, Mapping) else ()


def entries(loc: Loc, data: Any) -> Iterator[tuple[Loc, Any]]:
    """The entries of a list, or a value that stands alone, with their places."""
    if isinstance(data, list):
        yield from (((*loc, at), value) for at, value in enumerate(data))
    else:
        yield loc, data
