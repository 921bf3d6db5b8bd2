"""Reading what the owner of a cluster has already: ``owned`` in a study."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from dse.mistakes import Mistakes, each
from dse.study.axes import AXES
from dse.study.cursor import Cursor
from dse.study.definition import Axis, OwnedHardware
from dse.study.names import Names
from dse.study.quantities import QUANTITIES, RENT
from dse.study.values import given_value

_MOST = 10**7  # of anything
_MACHINES = ("accelerator", "node")
_OF_NETWORK = ("nics", "switches", "cables")
PARTS = ("hosts", *_OF_NETWORK)
RESALE = "resale"
_MOST_USD = 1e9  # for one machine
_KEYS = (*_MACHINES, "gpus", "gpus_per_node", "nodes", "inter_node", "nics_per_node", *PARTS,
         RESALE)  # fmt: skip
_EXAMPLE = "{accelerator: v100-sxm2-16gb, gpus: 64, gpus_per_node: 8, inter_node: 100gbe}"
_COUNT = {"type": "integer", "minimum": 1}
_ENTRY: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "accelerator": {"type": "string", "description": "a name of `dse catalog accelerators`"},
        "node": {"type": "string", "description": "a name of `dse catalog nodes`, with nodes"},
        "gpus": {**_COUNT, "description": "how many accelerators stand there"},
        "gpus_per_node": {**_COUNT, "description": "how many a host holds; 1 when absent"},
        "nodes": {**_COUNT, "description": "how many machines of the type node stand there"},
        "inter_node": {
            "type": ["string", "object"],
            "description": "the network that joins them, as in space",
        },
        "nics_per_node": {**_COUNT, "description": "network cards of a node; 1 when absent"},
        "hosts": {"type": "integer", "minimum": 0, "description": "hosts, where others than such "
                  "a cluster has"},
        "nics": {"type": "integer", "minimum": 0, "description": "network cards, likewise"},
        "switches": {"type": "integer", "minimum": 0, "description": "switches, likewise"},
        "cables": {"type": "integer", "minimum": 0, "description": "cables, likewise"},
        RESALE: {"type": "string", "description": "what one of these accelerators, or one machine "
                 "of the type node, would sell for, such as 2 kUSD; counts in the payback of what "
                 "does not use it"},
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


def check_not_rented(at: Cursor, compared: Iterable[str]) -> None:
    """Raise where a study that owns something compares rents: that takes nothing off them.

    compared: the quantities that the study minimizes or limits.
    """
    for name in compared:
        if RENT in QUANTITIES[name].facts:
            problem = f"owned: {name} is rent, and owned hardware is not rented"
            raise at.wrong(problem, "compare capital or tco, or drop owned", key=True)


def _entry(at: Cursor, axes: _Axes, names: Names) -> OwnedHardware:
    mistakes = Mistakes()
    at = at.keys(_KEYS, (), mistakes)
    mistakes.told()
    keys = at.given()
    machine = next((name for name in _MACHINES if name in keys), "")
    if not machine and not any(part in keys for part in PARTS):
        raise at.wrong("owned: this entry names neither machines nor parts", f"write {_EXAMPLE}")
    if machine:
        _check_machine(at, machine, axes)
    counted, of_machines = ("nodes", "gpus") if machine == "node" else ("gpus", "nodes")
    for_machines = (counted, "gpus_per_node", "nics_per_node", RESALE)
    for key in (of_machines, *(() if machine else for_machines)):
        if key in keys:
            which = machine or "spare parts"
            remedy = f"write {counted}: 8" if machine else f"name the machines: {_EXAMPLE}"
            raise at.at(key).wrong(f"owned: {key} does not go with {which}", remedy, key=True)
    if machine == "node" and "gpus_per_node" in keys:
        problem = "owned: a node has its own accelerators"
        raise at.at("gpus_per_node").wrong(problem, "drop gpus_per_node", key=True)
    if machine and counted not in keys:
        raise at.wrong(f"owned: missing key '{counted}'", f"add {counted}: 8")
    for key in _OF_NETWORK:
        if key in keys and "inter_node" not in keys:
            problem = f"owned: it is not said which network these {key} belong to"
            raise at.at(key).wrong(problem, f"add inter_node: {AXES['inter_node'].example}",
                                   key=True)  # fmt: skip
    limits = {counted: (1, _MOST), "gpus_per_node": (1, 1024), "nics_per_node": (1, 64),
              **dict.fromkeys(PARTS, (0, _MOST))}  # fmt: skip
    counts = mistakes.by_key(
        lambda key: at.at(key).whole(*limits[key]), [key for key in limits if key in keys]
    )
    values = mistakes.by_key(
        lambda key: given_value(axes.get(key, _no_axis), key, at.at(key), names)[0],
        [key for key in (*_MACHINES, "inter_node") if key in keys],
    )
    resale = mistakes.by_key(
        lambda key: at.at(key).quantity("usd", _MOST_USD, zero=True, example="2 kUSD"),
        [RESALE] if RESALE in keys else [],
    )
    mistakes.told()
    whole = {key: count() for key, count in counts.items()}
    return OwnedHardware(
        axis=machine,
        machine=str(values[machine]()) if machine else "",
        count=whole.get(counted, 0),
        gpus_per_node=whole.get("gpus_per_node"),
        inter_node=values["inter_node"]() if "inter_node" in values else None,
        nics_per_node=whole.get("nics_per_node"),
        parts={key: whole[key] for key in PARTS if key in keys},
        resale_usd=resale[RESALE]() if RESALE in keys else None,
    )


def _no_axis() -> None:
    """Of what is no axis of the space."""


def _check_machine(at: Cursor, machine: str, axes: _Axes) -> None:
    """Raise where an entry names machines in another way than the space does."""
    other = next(name for name in _MACHINES if name != machine)
    if at.has(other):
        raise at.at(other).wrong("owned: both node and accelerator", "keep one of the two",
                                 key=True)  # fmt: skip
    if machine not in axes and other in axes:
        remedy = "write accelerator, gpus and gpus_per_node" if other == "accelerator" else (
            "write node and nodes"
        )  # fmt: skip
        problem = f"owned: the space has {other}, not {machine}"
        raise at.at(machine).wrong(problem, remedy, key=True)
