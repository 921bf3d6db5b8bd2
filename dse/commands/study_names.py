"""The studies that come with dse, in the help of the commands that take one, and in completion."""

from __future__ import annotations

from collections.abc import Iterable
from glob import escape, glob
from typing import Any

import typer
import typer.core

from dse.commands.entry_kinds import kinds
from dse.commands.shipped import fleet_names, study_names

_STUDY_ENDINGS = (".yaml", ".yml", "/")


class TakesStudy(typer.core.TyperCommand):
    """A command whose help ends with the names of the studies that come with dse."""

    takes, names = "Studies", staticmethod(study_names)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the names."""
        names = ", ".join(self.names())
        formatter.write_paragraph()
        formatter.write_text(f"{self.takes} that come with dse: {names} (dse catalog studies).")


class TakesFleet(TakesStudy):
    """The same of fleets."""

    takes, names = "Fleets", staticmethod(fleet_names)


def studies_beginning(incomplete: str) -> list[str]:
    """Names and files of studies that begin so, for the completion of shells."""
    return _completed(study_names(), incomplete)


def fleets_beginning(incomplete: str) -> list[str]:
    """Names of fleets that come with dse and begin so, and files here."""
    return _completed(fleet_names(), incomplete)


def kinds_beginning(incomplete: str) -> list[str]:
    """Kinds of the catalogue that begin so."""
    return [kind for kind in kinds() if kind.startswith(incomplete)]


def entries_beginning(ctx: typer.Context, incomplete: str) -> list[str]:
    """Entries that begin so, of the kind that is given before."""
    kind = kinds().get(str(ctx.params.get("kind")))
    known = kind.names() if kind else ()
    return [name for name in known if name.startswith(incomplete)]


def _completed(names: Iterable[str], incomplete: str) -> list[str]:
    here = (path for pattern in ("*", "*/") for path in glob(escape(incomplete) + pattern))
    files = sorted({path for path in here if path.endswith(_STUDY_ENDINGS)})
    return [*(name for name in names if name.startswith(incomplete)), *files]
