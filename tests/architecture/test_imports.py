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
    ("dse.version", "dse.errors", "dse.spelling", "dse.console_table"),
    ("dse.units", "dse.text_source", "dse.mistakes"),
    ("dse.yaml_source", "dse.currencies", "dse.text_table"),
    ("dse.catalog", "dse.study"),
    ("dse.model",),
    ("dse.calibration",),
    ("dse.pricing",),
    ("dse.search", "dse.fleet"),
    ("dse.decision",),
    ("dse.report",),
    ("dse.prices",),
    ("dse.draft",),
    ("dse.search_options",),
    ("dse.plan",),
    ("dse.api", "dse.torch_workload"),
    ("dse.commands",),
    ("dse",),
    ("dse.__main__",),
)
ALONE = {"dse.model"}  # imports nothing of the package but itself


def below(room: str) -> set[str]:
    """The rooms that one may import from."""
    (level,) = (at for at, rooms in enumerate(LAYERS) if room in rooms)
    return set() if room in ALONE else {other for rooms in LAYERS[:level] for other in rooms}


# What a room, or one file of it, may take from outside the standard library, where that is a matter
# of design.
TAKES = {
    "dse": {"numpy"},
    "dse.__main__": set(),
    "dse.version": set(),
    "dse.errors": set(),
    "dse.console_table": {"rich"},
    "dse.units": {"pint"},
    "dse.text_table": set(),
    "dse.text_source": set(),
    "dse.mistakes": set(),
    "dse.yaml_source": {"yaml"},
    "dse.currencies": set(),
    "dse.catalog": {"numpy", "rich"},
    "dse.study": {"numpy", "pydantic", "yaml"},
    "dse.model": {"numpy"},
    "dse.fleet": {"numpy", "scipy", "pydantic"},
    "dse.commands": {"typer", "rich"},
    "dse.commands.main": set(),
    "dse.commands.serve": {"typer", "starlette", "uvicorn"},
}
IO_MODULES = {"io", "os", "pathlib", "json", "csv", "subprocess", "socket", "tempfile", "shutil",
              "logging", "urllib"}  # fmt: skip
IO_CALLS = {"open", "print", "input", "exec", "eval", "__import__"}
HEAVY = {"numpy", "scipy", "pint", "pydantic", "ray", "optuna", "plotly", "jinja2", "moocore",
         "mpi4py", "torch", "grpc", "pyarrow"}  # fmt: skip


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
    return found - {room_of(name_of(path))}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_imports_only_what_lies_below_it(path: Path) -> None:
    room = room_of(name_of(path))
    assert room in {other for rooms in LAYERS for other in rooms}, f"{room} has no place in LAYERS"
    assert own_rooms(path) <= below(room)


def files_imported(path: Path, files: frozenset[str]) -> set[str]:
    """Those of ``files``, as modules, that one of them imports anywhere in it.

    ``from a import b`` is the file a.b where there is one, else a: its ``__init__``, if a package.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found.update(name if name in files else str(node.module) for name in names)
    return found & files - {name_of(path)}


def circles(imported: dict[str, set[str]]) -> set[str]:
    """The files from which imports lead back to themselves."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        ahead = list(imported[start])
        while ahead:
            if (one := ahead.pop()) not in seen:
                seen.add(one)
                ahead.extend(imported[one])
        return seen

    return {name for name in imported if name in reached(name)}


def test_no_imports_of_files_run_in_a_circle() -> None:
    """Those for annotations and those inside of functions count: they are dependences, too."""
    files = frozenset(map(name_of, MODULES))
    found = circles({name_of(path): files_imported(path, files) for path in MODULES})
    assert not found


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_takes_from_outside_only_what_its_room_may(path: Path) -> None:
    name = name_of(path)
    allowed = TAKES.get(name, TAKES.get(room_of(name)))
    if allowed is None:
        return
    foreign = {module.split(".")[0] for module in imports(path)} - {"dse"}
    assert foreign - set(sys.stdlib_module_names) <= allowed


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


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("dse", HEAVY),
        ("dse.commands.main", HEAVY),
        ("dse.commands.app", HEAVY),
        ("dse.catalog", {"pint", "yaml", "rich"}),
        ("dse.calibration", {*HEAVY, "yaml"}),
        # All of a run and of its report, but for what only guided searches and fleets draw with.
        ("dse.search.run, dse.report.assembly, dse.report.write, dse.report.page", {"scipy"}),
    ],
)
def test_nothing_heavy_is_imported_without_need(
    module: str, heavy: set[str], tmp_path: Path
) -> None:
    code = f"import sys, {module}; print(*sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        check=True,
    )  # fmt: skip
    assert done.stdout.strip() == ""


# What only a search, its report or a measurement needs; a module stands for all below it.
OF_SEARCHES = ("scipy", "ray", "optuna", "plotly", "jinja2", "moocore", "mpi4py", "torch", "grpc",
               "pyarrow", "dse.search.run", "dse.search.guided", "dse.search.executors",
               "dse.search.runlog", "dse.calibration.runners",
 "dse.report.assembly", "dse.fleet")  # fmt: skip
# The table of runners, which the help of calibrate run is made of, and what holds it.
OF_HELP = {"dse.calibration", "dse.calibration.runners", "dse.calibration.runners.registry",
           "dse.calibration.runners.started_rank"}  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "said", "unneeded"),
    [
        (["--help"], "Commands:", (*sorted(HEAVY), "dse.study", "dse.catalog", "dse.calibration",
                                   "dse.pricing", "dse.search", "dse.fleet", "dse.report")),
        (["check", "ps-vs-allreduce"], "ok: 103,680 points", OF_SEARCHES),
        (["check", "tf-aggregation"], "ok: ", OF_SEARCHES),
    ],
)  # fmt: skip
def test_a_short_command_imports_only_what_it_needs(
    arguments: list[str], said: str, unneeded: tuple[str, ...], tmp_path: Path
) -> None:
    code = (
        f"import sys\nsys.argv = ['dse', *{arguments!r}]\nfrom dse.commands.main import main\n"
        f"unneeded = tuple(f'{{name}}.' for name in {unneeded!r})\n"
        "try:\n    main()\nfinally:\n"
        f"    found = [m for m in sys.modules if m not in {sorted(OF_HELP)!r}]\n"
        "    print('unneeded:', *(m for m in found if f'{m}.'.startswith(unneeded)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        check=True,
    )  # fmt: skip
    assert said in done.stdout
    assert done.stdout.splitlines()[-1].strip() == "unneeded:"


def test_a_circle_is_found_however_long_it_is() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}) == {"a", "b", "c"}
