"""A price list as a table: CSV with a row for each item."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from dse.catalog import fabrics
from dse.catalog.aliases import clear_aliases
from dse.catalog.store import names
from dse.errors import StudyError
from dse.mistakes import Mistakes
from dse.spelling import alike, alternatives, enumerated, real_name
from dse.text_source import text_of
from dse.text_table import cell_columns

ENDING = ".csv"  # of files that are tables
ITEM, PRICE, CURRENCY = "item", "price", "currency"
# Columns; those besides the first two may be left out, and be empty in a row.
COLUMNS = (ITEM, PRICE, CURRENCY, "date", "valid_until", "quote", "discount", "class", "vendor",
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


class _Cell(NamedTuple):
    """The text of a cell, and where it starts."""

    text: str
    line: int
    column: int


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
        self._cells: dict[Loc, _Cell] = {}
        columns: list[str] = []
        for number, line in enumerate(_lines(path), 1):
            row = self._split(number, line)
            if not row or row[0].text.startswith("#"):
                continue
            if columns:
                self.mistakes.part(partial(self._row, columns, row))
            else:
                columns = self._header(row)
        if not self._cells:
            self.mistakes.told()
            remedy = f"begin it with {_HEADER}, and add a row for each item"
            raise StudyError(self.path, 0, 0, "holds no price", remedy)

    def error(self, loc: Loc, problem: str, remedy: str = "") -> StudyError:
        """The error to raise for the value at ``loc``: of its cell, else of its row."""
        for end in range(len(loc), 0, -1):
            for key, cell in self._cells.items():
                if key[:end] == loc[:end]:
                    return self._wrong(cell, problem, remedy)
        return StudyError(self.path, 1, 1, problem, remedy)

    def written(self, loc: Loc) -> str:
        """The text of the value at ``loc``, a price with its currency."""
        return self._cells[loc].text if loc in self._cells else ""

    def _wrong(self, cell: _Cell, problem: str, remedy: str) -> StudyError:
        return StudyError(self.path, cell.line, cell.column, problem, remedy)

    def _split(self, number: int, line: str) -> list[_Cell]:
        """The cells of a line, without empty ones at its end."""
        try:
            texts = next(csv.reader([line], skipinitialspace=True, strict=True), [])
        except csv.Error as cause:
            problem, remedy = f"not CSV: {cause}", "close each quote on its line"
            raise StudyError(self.path, number, 1, problem, remedy) from None
        starts = cell_columns(line, ",", len(texts))
        cells = [_Cell(text.strip(), number, at) for text, at in zip(texts, starts, strict=True)]
        while cells and not cells[-1].text:
            cells.pop()
        return cells

    def _header(self, cells: list[_Cell]) -> list[str]:
        columns = [cell.text for cell in cells]
        for cell in cells:
            if cell.text not in COLUMNS or columns.count(cell.text) > 1:
                kind = "a second" if cell.text in COLUMNS else "unknown"
                remedy = f"columns are {enumerated(COLUMNS)}, parted by commas"
                raise self._wrong(cell, f"{kind} column '{cell.text}'", remedy)
        for name in (ITEM, PRICE):
            if name not in columns:
                raise self._wrong(cells[0], f"no column {name}", f"begin with {_HEADER}")
        return columns

    def _row(self, columns: list[str], cells: list[_Cell]) -> None:
        if len(cells) > len(columns):
            problem = f"{len(cells)} cells, but {len(columns)} columns"
            raise self._wrong(cells[len(columns)], problem, "put a value with a comma in quotes")
        row = {name: cell for name, cell in zip(columns, cells, strict=False) if cell.text}
        item = row.pop(ITEM, cells[0]._replace(text=""))
        price = row.pop(PRICE, None)
        if price is None:
            problem = f"{item.text or 'this row'} has no price"
            self.mistakes.note(self._wrong(item, problem, f"write one, or {_UNKNOWN}"))
        nameless = _FREE[0], f"line {item.line}"
        loc = self.mistakes.part(lambda: self._loc(item)).otherwise(nameless)
        if price is None or loc == nameless:  # what else the row says is judged all the same
            price = (price or item)._replace(text=_UNKNOWN)
        if (*loc, "value") in self._cells:
            first = self._cells[(*loc, "value")].line
            raise self._wrong(item, f"{item.text} again, first on line {first}", "keep one of them")
        currency = row.pop(CURRENCY, None)
        if currency is not None and price.text != _UNKNOWN:
            amount = f"{price.text} {currency.text}{_PER.get(str(loc[-1]), '')}"
            price = price._replace(text=amount)
        section = self.data
        for step in loc[:-1]:
            section = section.setdefault(str(step), {})
        leaf, written = str(loc[-1]), {"value": price, **row}
        texts = {key: cell.text for key, cell in written.items()}
        if leaf == _HOURLY:  # one for each term
            section.setdefault(leaf, []).append(texts)
            loc = (*loc, len(section[leaf]) - 1)
        else:
            section[leaf] = price.text if leaf in _TEXTS else texts
        self._cells.update({(*loc, key): cell for key, cell in written.items()})

    def _loc(self, item: _Cell) -> Loc:
        """Where a list in YAML has an item: ``25gbe switch port`` under fabrics."""
        words = item.text.split()
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
                    raise self._wrong(item, f"'{item.text}' is no item with a price", remedy)
        known = (*self._general, *(name for kind in _PARTS for name in names(kind)))
        near = alike(whole, known) or alike(words[0] if words else "", known)
        hint = f"did you mean {alternatives(near)}?" if near else "see dse catalog"
        problem = f"'{item.text}' is no accelerator, node, part of a network or other item"
        raise self._wrong(item, problem, hint)


def _lines(path: Path) -> list[str]:
    try:
        content = path.read_bytes()
    except OSError as cause:
        reason = cause.strerror or str(cause)
        raise StudyError(str(path), 0, 0, f"cannot be read: {reason}", "name a file") from None
    if len(content) > _MOST_BYTES:
        raise StudyError(str(path), 0, 0, "too large", f"at most {_MOST_BYTES:,} bytes are read")
    text = text_of(str(path), content, "CSV in UTF-8")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
