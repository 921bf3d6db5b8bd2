"""A price list as a table: CSV with a row for each item."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from dse.catalog import decimal_mark
from dse.catalog.accelerators import Accelerator, accelerator
from dse.catalog.aliases import clear_aliases
from dse.catalog.fabrics import PARTS, UPLINK, Fabric, fabric
from dse.catalog.nodes import Node, node
from dse.catalog.store import models_dir, names
from dse.delimiter import SEMICOLON, cell_columns, delimiter_of
from dse.errors import StudyError
from dse.mistakes import Mistakes
from dse.spelling import alike, alternatives, enumerated, real_name, same
from dse.text_source import text_of
from dse.units import UnitError

ENDINGS = (".csv", ".tsv")  # of files that are tables
ITEM, PRICE = "item", "price"
# Columns; those besides the first two may be left out, and be empty in a row.
COLUMNS = (ITEM, PRICE, "currency", "rate", "date", "valid_until", "quote", "discount", "class",
           "vendor", "includes", "term", "status", "source", "detail")  # fmt: skip
_NUMBERS = (PRICE, "rate", "discount")  # columns of numbers
_EURO = ("€", "EURO", "EUROS")  # what people write for EUR
_MOST_BYTES = 1_000_000
_SECTIONS = ("currencies", "extras", "accelerators", "nodes", "fabrics")
_TEXTS = ("title", "as_of", "includes")  # whose value is a word, without a source
# What of a machine has a price, and what else a list says of it.
_PRICED = {
    "accelerators": ("purchase", "hourly", "used", "host", "includes", "sold_in", "sold_until"),
    "nodes": ("purchase", "hourly"),
}
_HOURLY = "hourly"
_UNKNOWN = "unknown"
_NAMELESS = "extras"  # where anything may be, and so a row whose item is not known
Loc = tuple[str | int, ...]
_Cells = dict[str, tuple[str, tuple[int, int]]]  # of a row: by its column, text and place


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
        self._places: dict[Loc, tuple[int, int]] = {}
        self._texts: dict[Loc, str] = {}
        self._read(_text(path))

    def error(self, loc: Loc, problem: str, remedy: str = "") -> StudyError:
        """The error to raise for the value at ``loc``: of its cell, else of its row's price."""
        for end in range(len(loc), 0, -1):
            if loc[:end] in self._places:
                return StudyError(self.path, *self._places[loc[:end]], problem, remedy)
        return StudyError(self.path, 1, 1, problem, remedy)

    def written(self, loc: Loc) -> str:
        """The price of an item as it is written."""
        return self._texts.get(loc, "")

    def _read(self, text: str) -> None:
        first = text.split("\n", 1)[0]
        mark = delimiter_of(first)
        columns: list[str] = []
        rows: list[_Cells] = []
        for line, written, cells in self._lines(text, mark):
            places = [(line, column) for column in cell_columns(written, mark, len(cells))]
            if not columns:
                columns = self._header(cells, places)
                continue
            self._wide(columns, cells, places)
            rows.append(
                {
                    column: (cell, place)
                    for column, cell, place in zip(columns, cells, places, strict=False)
                }
            )
        if not columns:
            raise StudyError(self.path, 0, 0, "the file is empty", f"begin it with {HEADER}")
        if not rows:
            raise StudyError(
                self.path,
                0,
                0,
                "holds only a header, so that every price would be the catalogue's",
                "add a row for each item, or name no such list",
            )
        numbers = (row[column][0] for row in rows for column in _NUMBERS if column in row)
        # Where semicolons part cells, commas are as likely decimal as not.
        usual = decimal_mark.usual(numbers, "" if mark == SEMICOLON else decimal_mark.POINT)
        # A price of exactly three decimals is rare: only other prices tell that one is meant.
        prices = decimal_mark.usual(row[PRICE][0] for row in rows if PRICE in row)
        marks = dict.fromkeys(_NUMBERS, usual)
        self.mistakes.parts(lambda row: self._row(row, {**marks, PRICE: prices}, usual), rows)

    def _lines(self, text: str, mark: str) -> Iterator[tuple[int, str, list[str]]]:
        """(line, its text, its cells) of all rows but empty ones and remarks."""
        lines = text.split("\n")
        reader = csv.reader(io.StringIO(text), delimiter=mark, skipinitialspace=True, strict=True)
        while True:
            line = reader.line_num + 1
            try:
                row = next(reader, None)
            except csv.Error as cause:
                if reader.line_num > line or "unexpected end" in str(cause):
                    raise self._unclosed(line, lines) from None
                raise StudyError(self.path, line, 1, f"not CSV: {cause}", "check quotes") from None
            if row is None:
                return
            cells = [cell.strip() for cell in row]
            if not any(cells) or cells[0].startswith("#"):
                continue
            if reader.line_num > line:
                raise self._unclosed(line, lines)
            yield line, lines[line - 1], cells

    def _unclosed(self, line: int, lines: list[str]) -> StudyError:
        """Of a quote that is not closed on its line, which swallows the next ones."""
        column = lines[line - 1].rfind('"') + 1
        return StudyError(self.path, line, column, "this quote is not closed on its line",
                          "close it, or leave it out")  # fmt: skip

    def _wide(self, columns: list[str], cells: list[str], places: list[tuple[int, int]]) -> None:
        """Refuse a row of more cells than there are columns."""
        if len(cells) > len(columns) and any(cells[len(columns) :]):
            more = f"{len(cells)} cells, but {len(columns)} columns"
            raise StudyError(self.path, *places[len(columns)], more,
                             "put a value with a comma in quotes")  # fmt: skip

    def _header(self, cells: list[str], places: list[tuple[int, int]]) -> list[str]:
        columns = [cell.lower().replace(" ", "_") for cell in cells]
        missing = [column for column in (ITEM, PRICE) if column not in columns]
        unknown = {column: cell for column, cell in zip(columns, cells, strict=True)
                   if column not in COLUMNS}  # fmt: skip
        if unknown:
            first, *others = unknown
            place = places[columns.index(first)]
            listed = enumerated([f"'{cell}'" for cell in unknown.values()])
            problem = f"unknown {'columns' if others else 'column'} {listed}"
            if missing:
                problem += f", and no {enumerated(missing)}"
            near = () if missing or others else alike(first, COLUMNS)
            remedy = f"did you mean {alternatives(near)}?" if near else (
                f"columns are {enumerated(COLUMNS)}; {ITEM} and {PRICE} must be there"
            )  # fmt: skip
            raise StudyError(self.path, *place, problem, remedy)
        for column, place in zip(columns, places, strict=True):
            if columns.count(column) > 1:
                raise StudyError(self.path, *place, f"column {column} twice", "keep one")
        if missing:
            problem = f"no column {enumerated(missing)}"
            raise StudyError(self.path, 1, 1, problem, f"begin with {HEADER}")
        return columns

    def _row(self, cells: _Cells, marks: Mapping[str, str], usual: str) -> None:
        """marks: decimal mark of each column of numbers, empty where nothing tells; usual: that of
        the table, which tells what parts thousands, too."""
        found = {column: cell for column, (cell, _) in cells.items()}
        at = {column: place for column, (_, place) in cells.items()}
        place, written = at[ITEM], found.get(PRICE, "")
        if not written:
            problem = f"{found[ITEM] or 'this row'} has no price"
            self.mistakes.note(StudyError(self.path, *place, problem, "write one, or unknown"))
            found[PRICE] = _UNKNOWN
        for column in (column for column in _NUMBERS if column in found):
            try:
                mark = marks[column]
                if not mark and decimal_mark.of_thousands(found[column], usual):
                    mark = usual
                found[column] = decimal_mark.with_point(found[column], mark)
            except UnitError as cause:
                self.mistakes.note(StudyError(self.path, *at[column], cause.problem, cause.remedy))
                found[column] = _UNKNOWN if column == PRICE else ""
        if found.get("currency", "").upper() in _EURO:
            found["currency"] = "EUR"
        nameless = _NAMELESS, f"{found[ITEM]} of line {place[0]}"
        loc = self.mistakes.part(lambda: self._item(found[ITEM], place)).otherwise(nameless)
        if loc == nameless and "/" in found[PRICE]:
            found[PRICE] = _UNKNOWN  # what it would be per is not known
        if loc in self._places:
            problem = f"{found[ITEM]} again, first on line {self._places[loc][0]}"
            raise StudyError(self.path, *place, problem, "keep one of them")
        section = self.data
        for step in loc[:-1]:
            section = section.setdefault(str(step), {})
            self._places.setdefault(loc[: loc.index(step) + 1], place)
        rest = {key: value for key, value in found.items() if value and key not in (ITEM, PRICE)}
        leaf = str(loc[-1])
        if loc[0] in _PRICED and leaf == _HOURLY:  # one for each term
            section.setdefault(leaf, []).append({"value": found[PRICE], **rest})
            loc, leaf = (*loc, len(section[leaf]) - 1), ""
        if leaf:
            section[leaf] = written if leaf in _TEXTS else {"value": found[PRICE], **rest}
        self._places[loc] = at.get(PRICE, place)
        self._texts[loc] = self._texts[(*loc, "value")] = written
        for key in rest:
            self._places[(*loc, key)] = at[key]

    def _item(self, item: str, place: tuple[int, int]) -> Loc:
        """Where a list in YAML has the item: ``25gbe nic`` under fabrics."""
        words = item.split()
        if len(words) > 1 and words[0] in _SECTIONS:
            return (words[0], *words[1:])
        if (whole := "_".join(words)) in self._general:
            return (whole,)
        cuts = range(len(words), 0, -1)  # names may have blanks: "NVIDIA H100 PCIe hourly"
        parts = [(" ".join(words[:cut]), "_".join(words[cut:])) for cut in cuts]
        for head, rest in parts:
            for kind in ("accelerators", "nodes"):
                name = _meant(kind, head)
                if name in names(kind):
                    if rest and rest not in _PRICED[kind]:
                        raise self._unpriced(kind, name, item, place)
                    return (kind, name, rest or "purchase")
            name = _meant("fabrics", head)
            if name in names("fabrics"):
                if rest in (*PARTS, UPLINK):
                    return ("fabrics", name, rest)
                remedy = f"write {alternatives([f'{name} {part}' for part in (*PARTS, UPLINK)])}"
                raise StudyError(self.path, *place, f"'{item}' is no part that is sold", remedy)
        known = [*self._general, *(name for kind in _SECTIONS[2:] for name in names(kind))]
        near = alike(whole, known) or alike(words[0] if words else "", known)
        hint = f"did you mean {alternatives(near)}?" if near else "see dse catalog"
        problem = f"'{item}' is no accelerator, node, part of a network or other item"
        raise StudyError(self.path, *place, problem, hint)

    def _unpriced(self, kind: str, name: str, item: str, place: tuple[int, int]) -> StudyError:
        """Of what no accelerator or node has a price for. A node is sold with its host, and that of
        accelerators alone goes by their name."""
        problem = f"'{item}' is nothing that has a price of its own"
        written = [name, *(f"{name} {part}" for part in _PRICED[kind] if part != "purchase")]
        if kind == "nodes" and item.split()[-1] == "host":
            bare = node(name).accelerator
            return StudyError(
                self.path, *place, f"{problem}: {node(name).title} is sold with its host",
                f"write {name} for the whole machine, or '{bare} host' for the host of "
                f"{accelerator(bare).title} bought apart",
            )  # fmt: skip
        return StudyError(self.path, *place, problem, f"write {alternatives(written)}")


def _meant(kind: str, word: str) -> str:
    """The name of the entry that a word means: its name, an alias, or its title, by which bills
    call it; the word itself where it means none."""
    others = {**_titled(kind, models_dir()), **clear_aliases(kind)}
    return real_name(word, names(kind), others)


@cache
def _titled(kind: str, _: Path) -> Mapping[str, tuple[str, ...]]:
    """Names by their titles."""
    read: Mapping[str, Callable[[str], Accelerator | Node | Fabric]] = {
        "accelerators": accelerator, "nodes": node, "fabrics": fabric,
    }  # fmt: skip
    return {same(read[kind](name).title): (name,) for name in names(kind)}


HEADER = f"{ITEM},{PRICE},currency,date"


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as cause:
        reason = cause.strerror or str(cause)
        raise StudyError(str(path), 0, 0, f"cannot be read: {reason}", "name a file") from None
    if len(content) > _MOST_BYTES:
        raise StudyError(str(path), 0, 0, "too large", f"at most {_MOST_BYTES:,} bytes are read")
    text = text_of(str(path), content, "CSV in UTF-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")
