"""The rooms of the package and the doors between them (docs: DESIGN, sections 1 and 2)."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dse

PACKAGE = Path(dse.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# From the lowest to the highest; a room imports from those below its own line, and from itself.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("dse.errors", "dse.spelling"),
    ("dse.units", "dse.yaml_source", "dse.ray_session"),
    ("dse.catalog", "dse.study"),
    ("dse.model",),
    ("dse.calibration",),
    ("dse.pricing",),
    ("dse.search", "dse.fleet"),
    ("dse.report",),
    ("dse.progress", "dse.options", "dse.terminal"),
    ("dse.session_guided",),
    ("dse.session", "dse.session_check", "dse.session_fleet", "dse.session_calibrate"),
    ("dse.batch", "dse.cli_calibrate"),
    ("dse",),
    ("dse.commands",),
    ("dse.cli",),
)
ALONE = {"dse.model"}  # imports nothing of the package but itself


def below(room: str) -> set[str]:
    """The rooms that one may import from."""
    (level,) = (at for at, rooms in enumerate(LAYERS) if room in rooms)
    return set() if room in ALONE else {other for rooms in LAYERS[:level] for other in rooms}


# What a room may take from outside the standard library, where that is a matter of design.
TAKES = {
    "dse.errors": set(),
    "dse.units": {"pint"},
    "dse.yaml_source": {"yaml"},
    "dse.catalog": {"numpy", "rich"},
    "dse.study": {"numpy", "pydantic", "yaml"},
    "dse.model": {"numpy"},
    "dse.fleet": {"numpy", "scipy", "pyarrow", "pydantic"},
    "dse.session": {"rich"},
    "dse.batch": {"rich"},
    "dse.terminal": {"rich"},
    "dse.progress": {"rich"},
    "dse.cli_calibrate": {"typer"},
    "dse.commands": {"typer", "rich"},
    "dse.cli": set(),
}
IO_MODULES = {"io", "os", "pathlib", "json", "csv", "subprocess", "socket", "tempfile", "shutil",
              "logging", "urllib"}  # fmt: skip
IO_CALLS = {"open", "print", "input", "exec", "eval", "__import__"}
HEAVY = {"numpy", "scipy", "pint", "pydantic", "ray", "optuna", "plotly", "jinja2", "moocore",
         "mpi4py", "torch", "grpc", "plotext", "pyarrow"}  # fmt: skip


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


def imports(path: Path) -> Iterator[str]:
    """Every module a file imports, wherever in it; ``from dse import x`` counts as ``dse.x``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import; write it out"
            assert node.module is not None
            if node.module == "dse":
                yield from (f"dse.{alias.name}" for alias in node.names)
            else:
                yield node.module


def own_rooms(path: Path) -> set[str]:
    found = {room_of(module) for module in imports(path) if module.split(".")[0] == "dse"}
    return found - {"dse.__version__", room_of(name_of(path))}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_imports_only_what_lies_below_it(path: Path) -> None:
    room = room_of(name_of(path))
    assert room in {other for rooms in LAYERS for other in rooms}, f"{room} has no place in LAYERS"
    assert own_rooms(path) <= below(room)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_takes_from_outside_only_what_its_room_may(path: Path) -> None:
    room = room_of(name_of(path))
    if room not in TAKES:
        return
    foreign = {module.split(".")[0] for module in imports(path)} - {"dse"}
    assert foreign - set(sys.stdlib_module_names) <= TAKES[room]


@pytest.mark.parametrize("path", sorted((PACKAGE / "model").rglob("*.py")), ids=name_of)
def test_the_model_does_no_io(path: Path) -> None:
    assert not {module.split(".")[0] for module in imports(path)} & IO_MODULES
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in IO_CALLS, f"{path}:{node.lineno}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_says_what_it_is_for(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), "a module says in its first line what it is for"


@pytest.mark.parametrize("module", ["dse", "dse.cli", "dse.session"])
def test_what_starts_the_command_line_imports_nothing_heavy(module: str, tmp_path: Path) -> None:
    code = f"import sys, {module}; print(*sorted({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        check=True,
    )  # fmt: skip
    assert done.stdout.strip() == ""


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys\nsys.argv = ['dse', '--help']\nfrom dse.cli import main\n"
        f"try:\n    main()\nfinally:\n    print('heavy:', *sorted({HEAVY!r} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        check=True,
    )  # fmt: skip
    assert "Commands:" in done.stdout
    assert done.stdout.splitlines()[-1].strip() == "heavy:"
