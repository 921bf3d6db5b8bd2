"""What `dse catalog` shows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dse.commands.entry_kinds import SHIPPED
from tests.commands.command import dse, refused


@pytest.mark.parametrize("kind", list(SHIPPED))
def test_studies_and_profiles_are_listed_shown_and_printed(kind: str, tmp_path: Path) -> None:
    listed = json.loads(dse("catalog", kind, "--json", cwd=tmp_path).stdout)
    files = SHIPPED[kind].names()
    assert [row["name"] for row in listed] == list(files)
    table = dse("catalog", kind, cwd=tmp_path).stdout
    for name, path in files.items():
        assert name in table
        printed = dse("catalog", kind, name, "--yaml", cwd=tmp_path)
        assert printed.stdout == path.read_text(encoding="utf-8")
    shown = dse("catalog", kind, next(iter(files)), cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert len(shown.stdout.splitlines()) > 10
    data = json.loads(dse("catalog", kind, next(iter(files)), "--json", cwd=tmp_path).stdout)
    assert data["name"] == next(iter(files))
    counts = {row["kind"]: row["entries"]
              for row in json.loads(dse("catalog", "--json", cwd=tmp_path).stdout)}  # fmt: skip
    assert counts[kind] == len(files)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("studies ethernet-upgade", "did you mean ethernet-upgrade?"),
        ("study", "did you mean studies?"),
        ("ethernet-upgrade", "did you mean studies ethernet-upgrade?"),
        ("profils", "did you mean profiles?"),
        ("studies --yaml", "--yaml: prints the file of one entry; write for example"),
        ("studies example --yaml --json", "are two forms"),
        ("regions germany --yaml", "use --json"),
    ],
)
def test_what_is_not_there_gets_a_line(asked: str, said: str, tmp_path: Path) -> None:
    assert said in refused(dse("catalog", *asked.split(), cwd=tmp_path))


def test_the_script_for_a_shell_is_printed(tmp_path: Path) -> None:
    """Of the shell that started it, which `; exit` keeps in place."""
    command = f"{sys.executable} -m dse --show-completion; exit $?"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "_DSE_COMPLETE" in done.stdout
