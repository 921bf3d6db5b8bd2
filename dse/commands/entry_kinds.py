"""The kinds of entries that ``dse catalog`` shows: those of the catalogue, rents, and what else
ships, studies and calibration profiles."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.console_table import Column, console_table
from dse.errors import ArgumentError, DseError
from dse.spelling import meant
from dse.text_source import is_fleet

if TYPE_CHECKING:
    from rich.console import Console

_WHOLE = Column("name", whole=True)


@dataclass(frozen=True)
class Kind:
    """A kind of entry.

    names: of all. rows: one for each, by column; data: all of one, with its sources; both for
    --json. find: the file of one; raises ArgumentError for a row of a table. render_all, render:
    print the list, and one.
    """

    names: Callable[[], Collection[str]]
    rows: Callable[[], list[dict[str, Any]]]
    data: Callable[[str], Any]
    find: Callable[[str], Path]
    render_all: Callable[[Console], None]
    render: Callable[[str, Console], None]


def _catalogued(kind: str) -> Kind:
    """A kind of the catalogue, by its name there."""
    from dse.catalog import names
    from dse.catalog.show import entry_data, kind_data, render_entry, render_kind

    def find(name: str) -> Path:
        from dse.catalog import resolve
        from dse.catalog.store import TABLES, find

        path = find(kind, resolve(kind, name))
        if kind in TABLES:
            problem = f"{kind} are rows of a table, {path.name}"
            raise ArgumentError("--yaml", problem, "use --json")
        return path

    return Kind(
        partial(names, kind),
        partial(kind_data, kind),
        partial(entry_data, kind),
        find,
        lambda screen: render_kind(screen, kind),
        lambda name, screen: render_entry(screen, kind, name),
    )


def _shipped(
    kind: str,
    called: str,
    files: Callable[[], dict[str, Path]],
    row: Callable[[Path], Mapping[str, str]],
    data: Callable[[str, Path], Any],
    render: Callable[[str, Path, Console], None],
) -> Kind:
    """A kind of file that comes with dse. kind: of many, called: of one."""

    def find(name: str) -> Path:
        known = files()
        if name in known:
            return known[name]
        remedy = meant(name, known, f"see dse catalog {kind}")
        raise DseError(f"{name or repr('')}: no such {called}; {remedy}")

    def rows() -> list[dict[str, Any]]:
        return [{"name": name, **row(path)} for name, path in files().items()]

    def render_all(screen: Console) -> None:
        found = rows()
        headings = list(found[0])[1:] if found else []
        columns = [_WHOLE, *(Column(heading, folded=True) for heading in headings)]
        screen.print(console_table(columns, [tuple(one.values()) for one in found], framed=False))
        screen.print(f"dse catalog {kind} NAME shows one, --yaml its file", highlight=False)

    return Kind(
        files,
        rows,
        lambda name: data(name, find(name)),
        find,
        render_all,
        lambda name, screen: render(name, find(name), screen),
    )


def studies() -> dict[str, Path]:
    """The studies that come with dse, those of fleets too, by their names."""
    from dse.catalog.store import shipped_studies

    return shipped_studies()


def _study_row(path: Path) -> Mapping[str, str]:
    from dse.yaml_source import read_yaml

    return {"what": str(read_yaml(path).data["description"]), "answered by": _command(path)}


def _study_data(name: str, path: Path) -> Any:
    from dse.yaml_source import read_yaml

    file = read_yaml(path).data
    return {"name": name, "answered by": _command(path), "path": str(path), "file": file}


def _render_study(name: str, path: Path, screen: Console) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    screen.print(f"{path}\n", style="dim", highlight=False, markup=False, soft_wrap=True)
    # Without the line that tells editors of the schema beside it.
    print("\n".join(line for line in lines if "yaml-language-server" not in line))
    screen.print(f"answer it: {_command(path)} {name}", highlight=False)
    screen.print(f"change it: dse catalog studies {name} --yaml > mine.yaml", highlight=False)


def _command(path: Path) -> str:
    return "dse fleet" if is_fleet(path) else "dse run"


def _profiles() -> dict[str, Path]:
    from dse.catalog import models_dir

    files = sorted((models_dir() / "calibrations").glob("*.yaml"))
    return {path.stem: path for path in files}


def _profile_row(path: Path) -> Mapping[str, str]:
    from dse.calibration import read_profile
    from dse.calibration.number_text import size_text, span_text

    found = read_profile(path)
    device = "" if found.device == "cpu" else f" on {found.device}"
    return {
        "machine": f"{found.system or found.name}{device}",
        "library": f"{found.library} {found.version}",
        "link": found.link,
        "ranks": span_text(*found.ranks),
        "nodes": f"{found.max_nodes:,}",
        "messages": " to ".join(size_text(size) for size in found.message_bytes),
        "source": found.source,
    }


def _profile_data(_: str, path: Path) -> Any:
    from dse.calibration import profile_data, read_profile

    return profile_data(read_profile(path))


def _render_profile(_: str, path: Path, screen: Console) -> None:
    from dse.calibration import read_profile, show_profile

    show_profile(read_profile(path), screen)


def _rents() -> Kind:
    """Rents by accelerator and class of sellers; of one accelerator the offers."""
    from dse.catalog.rents import rent_data, rented

    def data(name: str) -> list[dict[str, Any]]:
        from dse.catalog import resolve
        from dse.catalog.rents import offers
        from dse.catalog.store import UnknownName

        name = name if name in rented() else resolve("accelerators", name)
        found = [asdict(one) for one in offers() if one.accelerator == name]
        if not found:
            raise UnknownName("offer of rent", name)
        return found

    def find(name: str) -> Path:
        problem = f"the rents of {name} are rows of a table, prices/rents.csv"
        raise ArgumentError("--yaml", problem, "use --json")

    def shown(rows: Sequence[Mapping[str, Any]], screen: Console) -> None:
        columns = [Column(name.replace("_", " "), whole=not at) for at, name in enumerate(rows[0])]
        cells = [tuple(_written(cell) for cell in row.values()) for row in rows]
        screen.print(console_table(columns, cells, framed=False))

    def render_all(screen: Console) -> None:
        shown(rent_data(), screen)
        screen.print("dse catalog rents ACCELERATOR shows the offers of sellers", highlight=False)

    def render(name: str, screen: Console) -> None:
        shown(data(name), screen)

    return Kind(rented, rent_data, data, find, render_all, render)


def _written(cell: Any) -> str:
    """A cell of a table: numbers without digits that nobody asked for."""
    if isinstance(cell, bool):
        return "yes" if cell else ""
    return f"{cell:.5g}" if isinstance(cell, float) else str(cell)


SHIPPED: Mapping[str, Kind] = {
    "studies": _shipped("studies", "study", studies, _study_row, _study_data, _render_study),
    "profiles": _shipped(
        "profiles", "profile", _profiles, _profile_row, _profile_data, _render_profile
    ),
}


def fleet_names() -> tuple[str, ...]:
    """Names of the fleets that come with dse."""
    return tuple(name for name, path in studies().items() if is_fleet(path))


def kinds() -> Mapping[str, Kind]:
    """Every kind by its name, those of the catalogue first."""
    from dse.catalog import KINDS

    return {**{kind: _catalogued(kind) for kind in KINDS}, "rents": _rents(), **SHIPPED}


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
