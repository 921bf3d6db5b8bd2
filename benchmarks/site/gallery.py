"""Reports of the studies that come with dse, each with a picture.

``python -m benchmarks.site.gallery`` makes them in build/gallery, again only where the study, the
catalogue or dse itself has changed. Without Chromium there are no pictures.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.site.links import ROOT, home
from dse.commands.entry_kinds import SHIPPED

FOLDER = ROOT / "build" / "gallery"
PICTURE, ANSWER, MADE = "picture.png", "answer.txt", "made-from"
SHOWN = ("*.html", PICTURE, "front.csv", "bom.csv")
PICTURE_HEIGHT = 800
ANSWER_LINES = 2


@dataclass(frozen=True)
class Shipped:
    """A study or fleet that comes with dse. file: its path. command: what makes its report, such
    as "dse run"."""

    name: str
    description: str
    file: Path
    command: str

    @property
    def folder(self) -> Path:
        """Where its report is."""
        return FOLDER / self.name

    @property
    def page(self) -> Path | None:
        """Its report; None where there is none."""
        return next(self.folder.glob("*.html"), None)


def shipped() -> list[Shipped]:
    """All of them, in the order of their names."""
    return [
        Shipped(row["name"], row["what"], SHIPPED["studies"].find(row["name"]), row["answered by"])
        for row in SHIPPED["studies"].rows()
    ]


def files() -> Iterator[Path]:
    """What the site shows of the reports that are there."""
    for study in shipped():
        yield from (path for pattern in SHOWN for path in sorted(study.folder.glob(pattern)))


def pages() -> Iterator[tuple[str, str]]:
    """Place on the site and Markdown: the gallery, by what has been made."""
    lines = [
        "---",
        "hide: [navigation]",
        "---",
        "",
        "# Gallery",
        "",
        "The studies that come with dse, each with the page that its command writes. "
        "What they answer, and whether to believe it: [Answers](../answers.md).",
        "",
    ]
    if not any(files()):
        lines += ["This build of the site has no reports; `make docs` runs the studies first.", ""]
    for study in shipped():
        source = home(study.file.relative_to(ROOT).as_posix())
        command = f"`{study.command} {study.name}`, from [this file](../{source})"
        lines += [f"## {study.name}", "", f"{study.description}.", "", command, ""]
        lines += _report(study)
    yield "gallery/index.md", "\n".join(lines)


def _report(study: Shipped) -> Iterator[str]:
    """Picture, answer and link, of those that there are."""
    if study.page is None:
        return
    page = f"{study.name}/{study.page.name}"
    if (study.folder / PICTURE).is_file():
        yield f"[![The report of {study.name}]({study.name}/{PICTURE})]({page})"
        yield ""
    for line in (study.folder / ANSWER).read_text(encoding="utf-8").splitlines():
        yield f"> {line}"
    yield from ("", f"[Open the report]({page})", "")


def make(study: Shipped) -> bool:
    """Run a study and take its picture, unless that was done with the same code and data."""
    state = _state(study)
    made = study.folder / MADE
    if made.is_file() and made.read_text(encoding="utf-8") == state:
        return False
    shutil.rmtree(study.folder, ignore_errors=True)
    words = [*study.command.split(), study.name, "--out", str(study.folder)]
    command = [sys.executable, "-m", *words]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    said = [line for line in done.stdout.splitlines() if line.strip()]
    answer = next((n for n, line in enumerate(said) if line.startswith("Recommended")), len(said))
    text = "\n".join(said[answer : answer + ANSWER_LINES])
    (study.folder / ANSWER).write_text(text, encoding="utf-8")
    _picture(study)
    made.write_text(state, encoding="utf-8")
    return True


def _picture(study: Shipped) -> None:
    from benchmarks.picture import take
    from dse.errors import OutputError

    assert study.page is not None
    try:
        take(study.page, study.folder / PICTURE, PICTURE_HEIGHT)
    except OutputError as error:
        print(f"no picture of {study.name}: {error}", file=sys.stderr)


def _state(study: Shipped) -> str:
    """A hash of all that a report follows from, but the profiles of this machine."""
    return hashlib.sha256(_code() + study.file.read_bytes()).hexdigest()


@cache
def _code() -> bytes:
    """A hash of dse and of the catalogue, templates and all."""
    digest = hashlib.sha256()
    for folder in ("dse", "models"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return digest.digest()


def main() -> None:
    """Make what is missing or out of date, and say so."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for study in shipped():
        print(f"{study.name}: {'made' if make(study) else 'as it was'}", flush=True)


if __name__ == "__main__":
    main()
