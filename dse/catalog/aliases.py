"""What people call things, beside the names of the catalogue: ``a100``, ``100G``, ``nccl``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dse.catalog.store import KINDS, UnknownName, candidates, names, of_file, read_file
from dse.spelling import alike, real_name, same


@of_file("aliases.yaml")
def aliases(path: Path) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """kind -> word, as :func:`~dse.spelling.same` spells it -> the name that it means, and others
    that it could mean. Kinds are those of the catalogue and ``aggregations``, ``quantities`` and
    axes of a study."""
    file = read_file(path)
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for kind, words in file.data.items():
        if not isinstance(words, dict):
            remedy = "write word: [name, others] below it"
            raise file.error((kind,), f"{kind} has no words", remedy, key=True)
        found[kind] = {}
        for word, meanings in words.items():
            if not isinstance(meanings, list) or not meanings:
                problem = f"{word} has no list of names"
                raise file.error((kind, word), problem, f"write {word}: [name, others]")
            found[kind][same(word)] = tuple(map(str, meanings))
    return found


def clear_aliases(kind: str) -> Mapping[str, tuple[str, ...]]:
    """Those that can mean one thing only: what counts where a fact is given, such as a price."""
    return {word: meant for word, meant in aliases().get(kind, {}).items() if len(meant) == 1}


def resolve(kind: str, word: str) -> str:
    """The name of the entry that a word means: its name in any spelling, or an alias.

    Raises :class:`UnknownName` with the nearest names where it means none.

    >>> resolve("accelerators", "A100"), resolve("fabrics", "100G"), resolve("fabrics", "IB_HDR")
    ('a100-sxm4-80gb', '100gbe', 'ib-hdr')
    """
    known = names(kind) if kind in KINDS else ()
    found = real_name(word, known, aliases().get(kind, {}))
    if found not in known:
        raise UnknownName(kind, word, alike(word, candidates(kind, word) if known else ()))
    return found


def also_meant(kind: str, word: str) -> tuple[str, ...]:
    """The other entries that an alias could mean; none of a name or of an alias that is clear."""
    return aliases().get(kind, {}).get(same(word), ())[1:]
