"""Sources of uncertainty as people speak of them: names of draws that belong together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

COMPUTING, COMMUNICATION, PRICE, WATTS = "computing", "communication", "price", "watts"
_OF_A_NETWORK = ("nic of ", "switch_port of ", "cable of ", "uplink of ")


def source_of(name: str) -> str:
    """The source that a name of draws belongs to.

    Names read ``kind: detail``. All of computing is one source and all watts are one, communication
    is one for each algorithm, prices one for each part, where a network's parts count as one;
    anything else is its own. A source is its own source.
    """
    kind, _, detail = name.partition(": ")
    if kind in (COMPUTING, WATTS):
        return kind
    if kind == COMMUNICATION:
        return f"{COMMUNICATION}: {detail.partition(', ')[0]}"
    if kind == PRICE:
        return f"{PRICE}: {part_of(detail)}"
    return name


def part_of(part: str) -> str:
    """What a buyer asks a price for: the network cards, switches and cables of a fabric are one."""
    for prefix in _OF_A_NETWORK:
        if part.startswith(prefix):
            return f"network {part.removeprefix(prefix)}"
    return part


def sources(asked: Iterable[str]) -> Mapping[str, frozenset[str]]:
    """The names of each source, in the order of the alphabet."""
    found: dict[str, set[str]] = {}
    for name in sorted(asked):
        found.setdefault(source_of(name), set()).add(name)
    return {source: frozenset(names) for source, names in found.items()}
