"""Reading what the owner of a cluster has already: ``owned`` in a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from dse.mistakes import Mistakes, each
from dse.spelling import enumerated
from dse.study.axes import MACHINES
from dse.study.cursor import Cursor
from dse.study.definition import Axis, OwnedHardware
from dse.study.names import Names
from dse.study.values import given_value

_MOST = 10**7  # of anything
# The keys of an entry by what it names; the first counts the machines.
_KEYS_OF = {
    "accelerator": ("gpus", "gpus_per_node", "nics_per_node"),
    "node": ("nodes", "nics_per_node"),
}
# Counts: the least, the most, and what they are of.
_COUNTS = {
    "gpus": (1, _MOST, "how many accelerators stand there"),
    "gpus_per_node": (1, 1024, "how many a host holds; 1 when absent"),
    "nodes": (1, _MOST, "how many machines of the type node stand there"),
    "nics_per_node": (1, 64, "network cards of a node; 1 when absent"),
}
_KEYS = (*MACHINES, "inter_node", *_COUNTS)
_EXAMPLE = "{accelerator: v100-sxm2-16gb, gpus: 64, gpus_per_node: 8, inter_node: 100gbe}"
_ENTRY: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        **{name: {"type": "string", "description": f"a name of `dse catalog {name}s`"}
           for name in MACHINES},
        "inter_node": {"type": ["string", "object"],
                       "description": "the network that joins them, as in space"},
        **{key: {"type": "integer", "minimum": least, "description": what}
           for key, (least, _, what) in _COUNTS.items()},
    },
}  # fmt: skip
OWNED_SCHEMA = {"anyOf": [_ENTRY, {"type": "array", "items": _ENTRY, "minItems": 1}]}


_Axes: TypeAlias = Mapping[str, Callable[[], Axis]]


def read_owned(at: Cursor, axes: _Axes, names: Names) -> tuple[OwnedHardware, ...]:
    """The entries, one or a list.

    axes: of the space, whose labels they may use; any of them may be mistaken.
    """
    if at.value is None or at.value == []:
        raise at.wrong("owned is empty", f"write owned: {_EXAMPLE}, or drop it", key=True)
    return each(lambda place: _entry(place, axes, names), at.each())


def _entry(at: Cursor, axes: _Axes, names: Names) -> OwnedHardware:
    mistakes = Mistakes()
    at = at.keys(_KEYS, (), mistakes)
    mistakes.told()
    keys = at.given()
    machine = next((name for name in MACHINES if name in keys), "")
    if not machine:
        raise at.wrong("owned: this entry names no machines", f"write {_EXAMPLE}")
    own = _KEYS_OF[machine]
    for key in keys:
        if key not in (machine, *own, "inter_node"):
            problem = f"owned: {key} does not go with {machine}"
            raise at.at(key).wrong(problem, f"drop it; write {own[0]}: 8", key=True)
    _check_space(at.at(machine), machine, axes)
    if own[0] not in keys:
        raise at.wrong(f"owned: missing key '{own[0]}'", f"add {own[0]}: 8")
    counts = mistakes.by_key(
        lambda key: at.at(key).whole(*_COUNTS[key][:2]), [key for key in _COUNTS if key in keys]
    )
    values = mistakes.by_key(
        lambda key: given_value(axes.get(key, _no_axis), key, at.at(key), names)[0],
        [key for key in (*MACHINES, "inter_node") if key in keys],
    )
    mistakes.told()
    whole = {key: count() for key, count in counts.items()}
    return OwnedHardware(
        axis=machine,
        machine=str(values[machine]()),
        count=whole[own[0]],
        gpus_per_node=whole.get("gpus_per_node"),
        inter_node=values["inter_node"]() if "inter_node" in values else None,
        nics_per_node=whole.get("nics_per_node"),
    )


def _no_axis() -> None:
    """Of what is no axis of the space."""


def _check_space(place: Cursor, machine: str, axes: _Axes) -> None:
    """Raise where an entry names machines in another way than the space does."""
    other = next(name for name in MACHINES if name != machine)
    if machine not in axes and other in axes:
        problem = f"owned: the space has {other}, not {machine}"
        remedy = f"write {enumerated((other, *_KEYS_OF[other][:-1]))}"
        raise place.wrong(problem, remedy, key=True)
