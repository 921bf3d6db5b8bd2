"""What comes with dse besides the catalogue: studies and calibration profiles."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.console_table import Column, console_table
from dse.errors import DseError
from dse.spelling import meant
from dse.text_source import is_fleet

if TYPE_CHECKING:
    from rich.console import Console

_WHOLE = Column("name", whole=True)


@dataclass(frozen=True)
class Shipped:
    """A kind of file that comes with dse.

    kind: of many, called: of one. row: what a list shows of a file, by column. content: all of it,
    for --json. printed: prints one.
    """

    kind: str
    called: str
    folder: Callable[[], Path]
    row: Callable[[Path], Mapping[str, str]]
    content: Callable[[Path], Any]
    printed: Callable[[Path, Console], None]

    def names(self) -> Collection[str]:
        """The name of every file, sorted."""
        return self.files()

    def files(self) -> dict[str, Path]:
        """Every file, by its name, sorted."""
        return {path.stem: path for path in sorted(self.folder().glob("*.yaml"))}

    def find(self, name: str) -> Path:
        """The file of this name. Raises :class:`DseError` with those that may be meant."""
        files = self.files()
        if name in files:
            return files[name]
        remedy = meant(name, files, f"see dse catalog {self.kind}")
        raise DseError(f"{name or repr('')}: no such {self.called}; {remedy}")

    def rows(self) -> list[dict[str, Any]]:
        """A row for each file."""
        return [{"name": name, **self.row(path)} for name, path in self.files().items()]

    def data(self, name: str) -> Any:
        """All of one file, for --json."""
        return self.content(self.find(name))

    def render(self, name: str, screen: Console) -> None:
        """Print one file."""
        self.printed(self.find(name), screen)

    def render_all(self, screen: Console) -> None:
        """Print the list."""
        rows = self.rows()
        headings = list(rows[0])[1:] if rows else []
        columns = [_WHOLE, *(Column(heading, folded=True) for heading in headings)]
        screen.print(console_table(columns, [tuple(row.values()) for row in rows], framed=False))
        screen.print(f"dse catalog {self.kind} NAME shows one, --yaml its file", highlight=False)


def fleet_names() -> tuple[str, ...]:
    """Names of the fleets that come with dse."""
    return tuple(name for name, path in KINDS["studies"].files().items() if is_fleet(path))


def _studies() -> Path:
    from dse.catalog.store import shipped_studies

    return shipped_studies()


def _profiles() -> Path:
    from dse.catalog import models_dir

    return models_dir() / "calibrations"


def _study(path: Path) -> Mapping[str, Any]:
    """The content of a study's file, or of a fleet's."""
    from dse.yaml_source import read_yaml

    data: Mapping[str, Any] = read_yaml(path).data
    return data


def _command(data: Mapping[str, Any]) -> str:
    return "dse fleet" if "fleet" in data else "dse run"


def _study_row(path: Path) -> Mapping[str, str]:
    data = _study(path)
    return {"what": str(data["description"]), "answered by": _command(data)}


def _study_data(path: Path) -> Any:
    data = _study(path)
    return {"name": path.stem, "answered by": _command(data), "path": str(path), "file": data}


def _render_study(path: Path, screen: Console) -> None:
    """Print the question of a study, its file, and what to do with it."""
    name, command = path.stem, _command(_study(path))
    screen.print(f"{path}\n", style="dim", highlight=False, markup=False, soft_wrap=True)
    print(_without_schema(path.read_text(encoding="utf-8")))
    screen.print(f"answer it: {command} {name}", highlight=False)
    screen.print(f"change it: dse catalog studies {name} --yaml > mine.yaml", highlight=False)


def _without_schema(text: str) -> str:
    """A file without the line that tells editors of the schema beside it."""
    return "\n".join(line for line in text.splitlines() if "yaml-language-server" not in line)


def _profile_row(path: Path) -> Mapping[str, str]:
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


def _profile_data(path: Path) -> Any:
    from dse.calibration import profile_data, read_profile

    return profile_data(read_profile(path))


def _render_profile(path: Path, screen: Console) -> None:
    from dse.calibration import read_profile, show_profile

    show_profile(read_profile(path), screen)


KINDS: Mapping[str, Shipped] = {
    shipped.kind: shipped
    for shipped in (
        Shipped("studies", "study", _studies, _study_row, _study_data, _render_study),
        Shipped("profiles", "profile", _profiles, _profile_row, _profile_data, _render_profile),
    )
}
