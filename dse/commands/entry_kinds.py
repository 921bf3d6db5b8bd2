"""The kinds of entries that ``dse catalog`` shows: those of the catalogue, and what else ships."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dse.commands.shipped import KINDS as SHIPPED
from dse.commands.shipped import Shipped

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Catalogued:
    """A kind of the catalogue, by its name there, with the methods of :class:`.Shipped`."""

    kind: str

    def names(self) -> Collection[str]:
        """The names of all entries, sorted."""
        from dse.catalog import names

        return names(self.kind)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each entry."""
        from dse.catalog.show import kind_data

        return kind_data(self.kind)

    def data(self, name: str) -> Any:
        """All of one entry, with its sources."""
        from dse.catalog.show import entry_data

        return entry_data(self.kind, name)

    def find(self, name: str) -> Path:
        """The file of one entry. Raises :class:`ArgumentError` for one that is a row of a table."""
        from dse.catalog import resolve
        from dse.catalog.store import TABLES, find
        from dse.errors import ArgumentError

        path = find(self.kind, resolve(self.kind, name))
        if self.kind in TABLES:
            problem = f"{self.kind} are rows of a table, {path.name}"
            raise ArgumentError("--yaml", problem, "use --json")
        return path

    def render_all(self, screen: Console) -> None:
        """Print the list."""
        from dse.catalog.show import render_kind

        render_kind(screen, self.kind)

    def render(self, name: str, screen: Console) -> None:
        """Print one entry."""
        from dse.catalog.show import render_entry

        render_entry(screen, self.kind, name)


Kind: TypeAlias = Catalogued | Shipped


def kinds() -> Mapping[str, Kind]:
    """Every kind by its name, those of the catalogue first."""
    from dse.catalog import KINDS

    return {**{kind: Catalogued(kind) for kind in KINDS}, **SHIPPED}


def kind_named(word: str) -> Kind:
    """The kind of this name. Raises :class:`UnknownName` with the kinds or entries that may be
    meant."""
    from dse.catalog.store import UnknownName, entries_like
    from dse.spelling import alike

    known = kinds()
    if word in known:
        return known[word]
    exact = [f"{kind} {word}" for kind, shipped in SHIPPED.items() if word in shipped.names()]
    meant = exact or alike(word, known) or entries_like(word) or known
    raise UnknownName("kind of catalogue entry", word, tuple(meant))
