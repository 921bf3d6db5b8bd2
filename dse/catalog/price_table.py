"""A price list as a table: CSV with a row for each item."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from dse.catalog import fabrics
from dse.catalog.aliases import clear_aliases
from dse.catalog.store import candidates, names
from dse.errors import StudyError
from dse.mistakes import Mistakes
from dse.spelling import alike, alternatives, enumerated, real_name
from dse.text_source import text_of
from dse.text_table import text_table

ENDING = ".csv"  # of files that are tables
ITEM, PRICE, CURRENCY = "item", "price", "currency"
# Columns; those besides the first two may be left out, and be empty in a row.
COLUMNS = (ITEM, PRICE, CURRENCY, "date", "valid_until", "quote", "class", "vendor",
           "includes", "term", "status", "source", "detail")  # fmt: skip
_HEADER = f"{ITEM},{PRICE},{CURRENCY},date"
_MOST_BYTES = 1_000_000
_PURCHASE, _HOURLY, _UNKNOWN = "purchase", "hourly", "unknown"
_FREE = ("extras", "currencies")  # sections whose entries have names of the buyer's choice
# What of a thing of the catalogue a row may be of; nothing: its purchase.
_PARTS = {
    "accelerators": ("", _HOURLY, "used", "host", "sold_in", "sold_until"),
    "nodes": ("", _HOURLY),
    "fabrics": (*fabrics.PARTS, fabrics.UPLINK),
}
_TEXTS = ("title", "as_of")  # whose value is a word, without a source
_PER = {_HOURLY: "/hour", "electricity": "/kWh"}  # what an amount in a currency is for
Loc = tuple[str | int, ...]


class PriceTable:
    """A table that was read: the data that a list in YAML would have, with its places.

    mistakes: of rows. What else such a row says is in the data all the same, so that whoever reads
    on finds what is wrong with that, too, and tells all at once.
    """

    def __init__(self, path: Path, general: Sequence[str]) -> None:
        """general: items that are no part of a section, such as host."""
        self.path = str(path)
        self.data: dict[str, Any] = {}
        self.mistakes = Mistakes()
        self._general = tuple(general)
        self._places: dict[Loc, tuple[int, str]] = {}  # row and column
        self._written: dict[Loc, str] = {}
        self._table = text_table(self.path, _text(path), marks=",", short=True)
        self._check_header()
        for row in range(len(self._table.rows)):
            self.mistakes.part(partial(self._row, row))
        if not self._places:
            self.mistakes.told()
            remedy = f"begin it with {_HEADER}, and add a row for each item"
            raise StudyError(self.path, 0, 0, "holds no price", remedy)

    def error(self, loc: Loc, problem: str, remedy: str = "") -> StudyError:
        """The error to raise for the value at ``loc``: of its cell, else of its row."""
        for end in range(len(loc), 0, -1):
            for key, (row, column) in self._places.items():
                if key[:end] == loc[:end]:
                    return self._table.wrong(row, column, problem, remedy)
        return StudyError(self.path, 1, 1, problem, remedy)

    def written(self, loc: Loc) -> str:
        """The text of the value at ``loc``, a price with its currency."""
        return self._written.get(loc, "")

    def _check_header(self) -> None:
        columns = list(self._table.header)
        for at, name in enumerate(columns):
            if name not in COLUMNS or name in columns[:at]:
                kind = "a second" if name in COLUMNS else "unknown"
                remedy = f"columns are {enumerated(COLUMNS)}, parted by commas"
                raise self._table.wrong(-1, at, f"{kind} column '{name}'", remedy)
        for name in (ITEM, PRICE):
            if name not in columns:
                raise self._table.wrong(-1, 0, f"no column {name}", f"begin with {_HEADER}")

    def _row(self, at: int) -> None:
        named = zip(self._table.header, self._table.rows[at], strict=True)
        row = {name: text for name, text in named if text}
        item, price = row.pop(ITEM, ""), row.pop(PRICE, "")
        if not price:
            problem = f"{item or 'this row'} has no price"
            wrong = self._table.wrong(at, ITEM, problem, f"write one, or {_UNKNOWN}")
            self.mistakes.note(wrong)
        nameless = _FREE[0], f"row {at}"
        loc = self.mistakes.part(lambda: self._loc(at, item)).otherwise(nameless)
        if not price or loc == nameless:  # what else the row says is judged all the same
            price = _UNKNOWN
        if (*loc, "value") in self._places:
            first = self._table.lines[self._places[(*loc, "value")][0] + 1]
            problem = f"{item} again, first on line {first}"
            raise self._table.wrong(at, ITEM, problem, "keep one of them")
        currency = row.pop(CURRENCY, "")
        if currency and price != _UNKNOWN:
            price = f"{price} {currency}{_PER.get(str(loc[-1]), '')}"
        section = self.data
        for step in loc[:-1]:
            section = section.setdefault(str(step), {})
        leaf, texts = str(loc[-1]), {"value": price, **row}
        if leaf == _HOURLY:  # one for each term
            section.setdefault(leaf, []).append(texts)
            loc = (*loc, len(section[leaf]) - 1)
        else:
            section[leaf] = price if leaf in _TEXTS else texts
        self._places |= {(*loc, key): (at, PRICE if key == "value" else key) for key in texts}
        self._written |= {(*loc, key): text for key, text in texts.items()}

    def _loc(self, at: int, item: str) -> Loc:
        """Where a list in YAML has an item: ``25gbe switch port`` under fabrics."""
        words = item.split()
        whole = "_".join(words)
        if len(words) > 1 and words[0] in _FREE:
            return (words[0], "_".join(words[1:]))
        if whole in self._general:
            return (whole,)
        for cut in range(len(words), 0, -1):  # names may have blanks: "NVIDIA H100 PCIe hourly"
            for kind, parts in _PARTS.items():
                known = names(kind)
                name = real_name(" ".join(words[:cut]), known, clear_aliases(kind))
                part = "_".join(words[cut:])
                if name in known and part in parts:
                    return (kind, name, part or _PURCHASE)
                if name in known:
                    remedy = f"write {alternatives([f'{name} {one}'.strip() for one in parts])}"
                    raise self._table.wrong(at, ITEM, f"'{item}' is no item with a price", remedy)
        known = (*self._general, *(name for kind in _PARTS for name in candidates(kind, item)))
        near = alike(whole, known) or alike(words[0] if words else "", known)
        hint = f"did you mean {alternatives(near)}?" if near else "see dse catalog"
        problem = f"'{item}' is no accelerator, node, part of a network or other item"
        raise self._table.wrong(at, ITEM, problem, hint)


def _text(path: Path) -> str:
    from dse.yaml_source import read_bytes

    return text_of(str(path), read_bytes(str(path), _MOST_BYTES, "CSV"), "CSV in UTF-8")
