"""What a misspelt or shortened name was meant to be."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

LONGEST = 80  # a longer text is no misspelt name
MOST = 3
MOST_LISTED = 6  # words of a list that is abridged
LEAST_LIKE = 0.6  # of difflib's ratio: below, two names only share some letters
SURE = 0.85  # above, the first is the one that was meant
LEAST_START = 2  # characters: a shorter beginning says nothing

# What people call links whose names abbreviate it.
_SHORT = {"infiniband": "ib", "ethernet": "gbe"}
_DIGITS = re.compile(r"\d[\doli]*")
_NUMBER = re.compile(r"([a-z]*)[-_ ]?(\d+)")  # h100 of nvidia-h100-80gb, rtx-4090
PRODUCTS = ("accelerators", "nodes", "workloads")  # kinds whose names are of products
_MAKERS = ("nvidia", "geforce", "tesla", "amd", "instinct")  # words that may stand before a product
_LOOKALIKES = str.maketrans({"o": "0", "l": "1", "i": "1", "_": "-", " ": "-"})


def same(name: str) -> str:
    """A name without what makes no difference: upper case, ``-``, ``_`` and blanks."""
    return "".join(name.lower().replace("-", " ").replace("_", " ").split())


def real_name(
    word: str, known: Iterable[str], aliases: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> str:
    """The known name that a word is, in any spelling or by an alias; the word itself where it is
    none. aliases: by their spelling of :func:`same`, the first of each is what it means."""
    wanted = same(word)
    spelt = {same(name): name for name in known}
    if wanted in spelt:
        return word if word in spelt.values() else spelt[wanted]
    return aliases[wanted][0] if wanted in aliases else word


def told(word: str, meanings: Sequence[str]) -> str:
    """What a word that could mean several things means."""
    return f"{word} means {meanings[0]} here, not {alternatives(meanings[1:])}"


def alike(name: str, known: Iterable[str], most: int = MOST) -> tuple[str, ...]:
    """The known name that ``name`` all but is; else at most ``most`` that begin with it, else the
    one meant by spelling, else those that have all of its words, share one, or contain it, else the
    nearest in spelling.

    Upper case, 0 for O, 1 for l or i, and _ for - do not count.
    """
    wanted = _plain(name)
    if len(wanted) < LEAST_START or len(name) > LONGEST:
        return ()
    spelt = {_plain(candidate): candidate for candidate in known}
    likeness = {plain: like(wanted, plain) for plain in spelt}
    ranked = sorted(spelt, key=lambda plain: -likeness[plain])
    words = {word for word in wanted.split("-") if len(word) > LEAST_START}
    sure = [plain for plain in ranked if likeness[plain] > SURE]
    all_words = [plain for plain in ranked if words and words <= {*plain.split("-")}]
    found = (
        [plain for plain in sure[:1] if plain.startswith(wanted)]
        or [plain for plain in ranked if plain.startswith(wanted)]
        or _first(sure, likeness)
        or sorted(all_words, key=lambda plain: plain.count("-"))
        or [plain for plain in ranked if words & set(plain.split("-"))]
        or [plain for plain in ranked if len(wanted) > LEAST_START and wanted in plain]
        or _first([plain for plain in ranked if likeness[plain] >= LEAST_LIKE], likeness)
    )
    return tuple(spelt[plain] for plain in found[:most])


def product(name: str, known: Iterable[str], products: Mapping[str, str]) -> str:
    """What to say of a name that is, or begins with, that of a product which is lacking; '' of
    another, and where a name of the ``known`` is as much of it. products: by :func:`same`."""
    words, said = _unmade(name), {**products, **{same("".join(_unmade(one))): "" for one in known}}
    begins = (same("".join(words[:many])) for many in range(len(words), 0, -1))
    return next((said[one] for one in begins if one in said), "")


def _unmade(name: str) -> list[str]:
    """The words of a name without those of makers."""
    return [word for word in re.split("[-_ ]+", name.strip()) if word.lower() not in _MAKERS]


def of_model(name: str, known: Iterable[str]) -> list[str]:
    """Those of the known products that a name may be a misspelling of.

    They have the number of its model, and letters like those before it: an H20 is no H200, and a
    B100 no H100. A name without a number may be any.
    """
    wanted = _numbers(name)[:1]
    return [one for one in known if not wanted or any(
        digits == other and (not letters or not before or like(letters, before) >= LEAST_LIKE)
        for letters, digits in wanted for before, other in _numbers(one)
    )]  # fmt: skip


def _numbers(name: str) -> list[tuple[str, str]]:
    """The numbers in a name, 1oo for 100, too, each after the letters before it."""
    read = _DIGITS.sub(lambda found: found[0].translate(_LOOKALIKES), name.lower())
    return _NUMBER.findall(read)


def like(one: str, other: str) -> float:
    """How alike two words are, from 0 to 1."""
    return difflib.SequenceMatcher(None, one, other).ratio()


def _first(ranked: Sequence[str], likeness: Mapping[str, float]) -> list[str]:
    """Those that are as likely as the first."""
    return [plain for plain in ranked if likeness[plain] == likeness[ranked[0]]]


def meant(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """'did you mean a or b?' of :func:`alike`; ``otherwise`` where there is none."""
    near = alike(name, known)
    return f"did you mean {alternatives(near)}?" if near else otherwise


def alternatives(words: Iterable[str]) -> str:
    """'a, b or c'."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def enumerated(words: Iterable[str]) -> str:
    """'a, b and c'; with semicolons where one before the last has commas of its own:
    'a; b, of c; and d'."""
    *first, last = words
    if any(", " in word for word in first):
        return f"{'; '.join(first)}; and {last}"
    return f"{', '.join(first)} and {last}" if first else last


def abridged(words: Sequence[str]) -> str:
    """'a, b, c', with '...' behind the first :data:`MOST_LISTED` where there are more."""
    more = ", ..." if len(words) > MOST_LISTED else ""
    return ", ".join(words[:MOST_LISTED]) + more


def _plain(name: str) -> str:
    found = name.strip().lower()
    for long, short in _SHORT.items():
        found = found.replace(long, short)
    return found.translate(_LOOKALIKES)
