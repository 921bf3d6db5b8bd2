"""The wheel works away from the checkout, in an empty folder, and without a network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DEADLINE_S = 400.0


def _run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=_environment(), capture_output=True,
        text=True, timeout=DEADLINE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (command, done.stdout[-3000:], done.stderr[-3000:])
    return done


def _environment() -> dict[str, str]:
    ours = ("DSE_", "PYTHON", "VIRTUAL_ENV")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    scripts = sysconfig.get_path("scripts")  # mpirun is among what the environment borrows
    return {**kept, "PATH": f"{kept.get('PATH', os.defpath)}{os.pathsep}{scripts}"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built in place by the backend that is installed."""
    out = tmp_path_factory.mktemp("dist")
    build = ("-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT)
    _run(sys.executable, *build, cwd=out)
    (found,) = out.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder bin of an environment with the wheel and, borrowed, what it depends on."""
    home = tmp_path_factory.mktemp("fresh")
    venv.create(home, with_pip=False, symlinks=True)
    bin_ = home / "bin"
    (purelib,) = (home / "lib").glob("python*/site-packages")
    # A plain path line adds our packages; files of dse's editable install are not followed.
    (purelib / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = ("-m", "pip", "--python", bin_ / "python", "install", "--no-deps", "--no-index",
               "--ignore-installed", wheel)  # fmt: skip
    _run(sys.executable, *install, cwd=home)
    return bin_


def test_the_wheel_carries_catalogue_studies_and_templates(wheel: Path) -> None:
    assert wheel.name.startswith("cluster_dse-")
    names = set(zipfile.ZipFile(wheel).namelist())

    def below(folder: str, pattern: str) -> set[str]:
        return {str(path.relative_to(ROOT / folder)) for path in (ROOT / folder).rglob(pattern)}

    for folder in ("models", "search_spaces"):
        expected = {f"dse/_data/{folder}/{path}" for path in below(folder, "*.yaml")}
        assert len(expected) >= 4
        assert expected <= names
    assert {f"dse/{path}" for path in below("dse", "*.py")} <= names
    assert "dse/py.typed" in names
    assert {
        f"dse/report/templates/{path}" for path in below("dse/report/templates", "*.*")
    } <= names
    assert {f"dse/report/vendor/{path}" for path in below("dse/report/vendor", "*.*")} <= names
    assert "dse/report/vendor/plotly-basic.min.js.gz" in names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/", "docs/"))]
    assert not [name for name in names if "__pycache__" in name]


def test_the_installed_package_is_the_one_that_runs(installed: Path, tmp_path: Path) -> None:
    code = "import dse, dse.catalog; print(dse.__file__); print(dse.catalog.models_dir())"
    done = _run(installed / "python", "-c", code, cwd=tmp_path)
    for line in done.stdout.splitlines():
        assert Path(line).is_relative_to(installed.parent)
    assert _run(installed / "dse", "--version", cwd=tmp_path).stdout.startswith("dse ")


@pytest.mark.evidence
def test_it_calibrates_and_runs_the_example_in_an_empty_folder(
    installed: Path, tmp_path: Path
) -> None:
    dse = installed / "dse"
    checked = _run(dse, "check", "ethernet-upgrade", cwd=tmp_path)
    assert "points" in checked.stdout
    assert list(tmp_path.iterdir()) == []
    measured = _run(dse, "calibrate", "run", "--budget", "20", "--ranks", "2,3", cwd=tmp_path)
    assert "wrote calibrations/this-machine.yaml" in measured.stdout
    assert "ring" in _run(dse, "calibrate", "show", "calibrations/this-machine.yaml",
                          cwd=tmp_path).stdout  # fmt: skip
    ran = _run(dse, "run", "example", cwd=tmp_path)
    assert ran.stdout.splitlines()[-1].split()[:2] == ["Report:", "reports/example/report.html"]
    report = tmp_path / "reports" / "example"
    document = json.loads((report / "run.json").read_text())
    assert document["counts"]["points"] > 100_000
    own, *shipped = (profile["path"] for profile in document["calibration"])
    assert own == "calibrations/this-machine.yaml"
    assert all(Path(path).is_relative_to(installed.parent) for path in shipped)
    assert (report / "report.html").stat().st_size > 100_000
    assert {path.name for path in tmp_path.iterdir()} == {"calibrations", "reports"}
