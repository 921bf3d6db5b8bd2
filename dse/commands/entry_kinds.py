"""The kinds of entries that ``dse catalog`` shows: those of the catalogue, and what else ships,
studies and calibration profiles."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dse.console_table import Column, console_table
from dse.errors import DseError
from dse.spelling import meant
from dse.text_source import is_fleet

if TYPE_CHECKING:
    from rich.console import Console

_WHOLE = Column("name", whole=True)


@dataclass(frozen=True)
class Catalogued:
    """A kind of the catalogue, by its name there, with the methods of :class:`Shipped`."""

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


@dataclass(frozen=True)
class Shipped(ABC):
    """A kind of file that comes with dse. kind: of many, called: of one."""

    kind: str
    called: str

    @abstractmethod
    def names(self) -> dict[str, Path]:
        """Every file, by its name."""

    @abstractmethod
    def row(self, path: Path) -> Mapping[str, str]:
        """A file as the list shows it, by column."""

    @abstractmethod
    def data(self, name: str) -> Any:
        """All of one file, for --json."""

    @abstractmethod
    def render(self, name: str, screen: Console) -> None:
        """Print one file."""

    def find(self, name: str) -> Path:
        """The file of this name. Raises :class:`DseError` with those that may be meant."""
        files = self.names()
        if name in files:
            return files[name]
        remedy = meant(name, files, f"see dse catalog {self.kind}")
        raise DseError(f"{name or repr('')}: no such {self.called}; {remedy}")

    def rows(self) -> list[dict[str, Any]]:
        """A row for each file."""
        return [{"name": name, **self.row(path)} for name, path in self.names().items()]

    def render_all(self, screen: Console) -> None:
        """Print the list."""
        rows = self.rows()
        headings = list(rows[0])[1:] if rows else []
        columns = [_WHOLE, *(Column(heading, folded=True) for heading in headings)]
        screen.print(console_table(columns, [tuple(row.values()) for row in rows], framed=False))
        screen.print(f"dse catalog {self.kind} NAME shows one, --yaml its file", highlight=False)


class Studies(Shipped):
    """Studies, and studies of fleets."""

    def names(self) -> dict[str, Path]:
        from dse.catalog.store import shipped_studies

        return shipped_studies()

    def row(self, path: Path) -> Mapping[str, str]:
        from dse.yaml_source import read_yaml

        file = read_yaml(path).data
        return {"what": str(file["description"]), "answered by": _command(path)}

    def data(self, name: str) -> Any:
        from dse.yaml_source import read_yaml

        path = self.find(name)
        file = read_yaml(path).data
        return {"name": name, "answered by": _command(path), "path": str(path), "file": file}

    def render(self, name: str, screen: Console) -> None:
        path = self.find(name)
        lines = path.read_text(encoding="utf-8").splitlines()
        screen.print(f"{path}\n", style="dim", highlight=False, markup=False, soft_wrap=True)
        # Without the line that tells editors of the schema beside it.
        print("\n".join(line for line in lines if "yaml-language-server" not in line))
        screen.print(f"answer it: {_command(path)} {name}", highlight=False)
        screen.print(f"change it: dse catalog studies {name} --yaml > mine.yaml", highlight=False)


def _command(path: Path) -> str:
    return "dse fleet" if is_fleet(path) else "dse run"


class Profiles(Shipped):
    """Calibration profiles."""

    def names(self) -> dict[str, Path]:
        from dse.catalog import models_dir

        files = sorted((models_dir() / "calibrations").glob("*.yaml"))
        return {path.stem: path for path in files}

    def row(self, path: Path) -> Mapping[str, str]:
        from dse.calibration import read_profile
        from dse.calibration.number_text import size_text, span_text

        found = read_profile(path)
        sizes = " to ".join(size_text(size) for size in found.message_bytes)
        device = "" if found.device == "cpu" else f" on {found.device}"
        return {
            "machine": f"{found.system or found.name}{device}",
            "library": f"{found.library} {found.version}",
            "link": found.link,
            "ranks": span_text(*found.ranks),
            "nodes": f"{found.max_nodes:,}",
            "messages": sizes,
            "source": found.source,
        }

    def data(self, name: str) -> Any:
        from dse.calibration import profile_data, read_profile

        return profile_data(read_profile(self.find(name)))

    def render(self, name: str, screen: Console) -> None:
        from dse.calibration import read_profile, show_profile

        show_profile(read_profile(self.find(name)), screen)


class Rents:
    """Rents by accelerator and class of sellers, with the methods of :class:`.Shipped`."""

    def names(self) -> Collection[str]:
        """The accelerators that somebody rents out."""
        from dse.catalog.rents import rented

        return rented()

    def rows(self) -> list[dict[str, Any]]:
        """A row for each accelerator and class."""
        from dse.catalog.rents import rent_data

        return rent_data()

    def data(self, name: str) -> list[dict[str, Any]]:
        """The offers of one accelerator."""
        from dse.catalog import resolve
        from dse.catalog.rents import offers
        from dse.catalog.store import UnknownName

        name = name if name in self.names() else resolve("accelerators", name)
        found = [asdict(one) for one in offers() if one.accelerator == name]
        if not found:
            raise UnknownName("offer of rent", name)
        return found

    def find(self, name: str) -> Path:
        """The table. Raises :class:`ArgumentError`, since an accelerator has no file of rents."""
        from dse.errors import ArgumentError

        problem = f"the rents of {name} are rows of a table, prices/rents.csv"
        raise ArgumentError("--yaml", problem, "use --json")

    def render_all(self, screen: Console) -> None:
        """Print the table of all."""
        self._print(self.rows(), screen)
        screen.print("dse catalog rents ACCELERATOR shows the offers of sellers", highlight=False)

    def render(self, name: str, screen: Console) -> None:
        """Print the offers of one accelerator."""
        self._print(self.data(name), screen)

    @staticmethod
    def _print(rows: Sequence[Mapping[str, Any]], screen: Console) -> None:
        columns = [Column(name.replace("_", " "), whole=not at) for at, name in enumerate(rows[0])]
        cells = [tuple(_written(cell) for cell in row.values()) for row in rows]
        screen.print(console_table(columns, cells, framed=False))


def _written(cell: Any) -> str:
    """A cell of a table: numbers without digits that nobody asked for."""
    if isinstance(cell, bool):
        return "yes" if cell else ""
    return f"{cell:.5g}" if isinstance(cell, float) else str(cell)


Kind: TypeAlias = Catalogued | Shipped | Rents
STUDIES = Studies("studies", "study")
SHIPPED: Mapping[str, Shipped] = {
    one.kind: one for one in (STUDIES, Profiles("profiles", "profile"))
}


def fleet_names() -> tuple[str, ...]:
    """Names of the fleets that come with dse."""
    return tuple(name for name, path in STUDIES.names().items() if is_fleet(path))


def kinds() -> Mapping[str, Kind]:
    """Every kind by its name, those of the catalogue first."""
    from dse.catalog import KINDS

    return {**{kind: Catalogued(kind) for kind in KINDS}, "rents": Rents(), **SHIPPED}


def kind_named(word: str) -> Kind:
    """The kind of this name. Raises :class:`UnknownName` with the kinds or entries that may be
    meant."""
    from dse.catalog.store import UnknownName, entries_like
    from dse.spelling import alike

    known = kinds()
    if word in known:
        return known[word]
    exact = [f"{kind} {word}" for kind, shipped in SHIPPED.items() if word in shipped.names()]
    likely = exact or alike(word, known) or entries_like(word) or known
    raise UnknownName("kind of catalogue entry", word, tuple(likely))
