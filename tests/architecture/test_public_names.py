"""What `import dse` offers, and that its examples run."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import dse
from dse.errors import NoFeasiblePoint
from tests.commands.reports import document as written_document
from tests.pricing import studies


def test_the_public_names() -> None:
    assert set(dse.__all__) == {
        "ArgumentError", "ClusterError", "DseError", "Explanation", "MeasurementError",
        "NoFeasiblePoint", "OutputError", "OutsideCalibration", "Prices", "Result", "Study",
        "StudyError", "__version__", "calibrate", "catalog", "draft_study", "fleet", "load_study",
        "rebuild_report", "run", "workload_from",
    }  # fmt: skip
    assert dse.__all__ == sorted(dse.__all__)
    for name in dse.__all__:
        assert getattr(dse, name)
    assert set(dse.__all__) <= set(dir(dse))
    with pytest.raises(AttributeError, match="module 'dse' has no attribute 'evaluate'"):
        vars(dse)["__getattr__"]("evaluate")


@pytest.mark.parametrize(
    ("name", "least", "written"),
    [
        ("dse", 4, []),
        pytest.param("dse.api", 14, ["my-report"], marks=pytest.mark.evidence),
    ],
)
def test_the_examples_in_the_docstrings_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, least: int, written: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    module = import_module(name)
    names = {each: getattr(dse, each) for each in dse.__all__}
    found = doctest.testmod(module, extraglobs=names, raise_on_error=False, verbose=False)
    assert found.attempted >= least
    assert found.failed == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == written


def test_a_price_agrees_with_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = studies.written(tmp_path)
    document = dse.run(path)
    assert document == written_document(tmp_path / "reports" / "small")
    front = document["front"]
    configs = [{k: v for k, v in p["config"].items() if v} for p in front]
    found = dse.load_study(path).price(configs, intervals=True)
    for column, key in (
        ("speedup", "speedup"), ("capital_usd", "capital"), ("step_s", "step_s"),
        ("comm_s", "comm_s"), ("memory_slack_bytes", "memory_slack_bytes"),
    ):  # fmt: skip
        np.testing.assert_allclose(found[column], [p[key] for p in front], rtol=1e-11)
    assert found["evidence"].tolist() == [p["evidence"] for p in front]
    assert found["feasible"].all()


def test_nothing_feasible_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoFeasiblePoint, match="loosen capital <= 1 USD to 114,600 USD"):
        dse.run(studies.written(tmp_path, studies.IMPOSSIBLE))


def test_a_run_in_python_prints_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    dse.run(studies.written(tmp_path), out=tmp_path / "here", engine="guided", points=200, seed=3)
    assert capfd.readouterr() == ("", "")
    assert (tmp_path / "here" / "report.html").exists()
