"""What `import dse` offers, and that its examples run."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import numpy as np
import pytest

import dse
from dse.errors import NoFeasiblePoint, StudyError
from tests.pricing import studies


def test_the_public_names() -> None:
    assert set(dse.__all__) == {
        "__version__", "calibrate", "evaluate", "load_study", "rebuild_report", "run",
        "run_studies",
    }  # fmt: skip
    for name in dse.__all__:
        assert getattr(dse, name)


def test_the_examples_in_the_docstrings_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(dse, raise_on_error=False, verbose=False)
    assert found.attempted >= 8
    assert found.failed == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["my-report"]


def test_evaluating_agrees_with_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = studies.written(tmp_path)
    document = dse.run(path)
    assert document == json.loads((tmp_path / "reports" / "small" / "run.json").read_text())
    configs = [{k: v for k, v in p["config"].items() if v} for p in document["front"]]
    found = dse.evaluate(dse.load_study(path), configs)
    np.testing.assert_allclose(found["speedup"], [p["speedup"] for p in document["front"]])
    np.testing.assert_allclose(found["capital"], [p["capital"] for p in document["front"]])
    assert found["extrapolated"].tolist() == [p["extrapolated"] for p in document["front"]]


def test_nothing_to_evaluate_is_no_error(tmp_path: Path) -> None:
    found = dse.evaluate(dse.load_study(studies.written(tmp_path)), [])
    assert found["speedup"].shape == (0,)


def test_many_studies_are_a_list_of_documents_and_failures(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "studies"
    folder.mkdir()
    studies.written(folder, name="a.yaml")
    studies.written(folder, studies.IMPOSSIBLE, "b.yaml")
    found, failed = dse.run_studies([folder], out=tmp_path / "out")
    assert found == json.loads((tmp_path / "out" / "small" / "run.json").read_text())
    assert failed["study"] == {"path": str(folder / "b.yaml")}
    assert failed["exit_status"] == 3
    assert "none of 2,304 points meets every constraint" in failed["error"]
    assert capfd.readouterr() == ("", "")
    before = (tmp_path / "out" / "small" / "run.json").read_bytes()
    assert dse.run_studies([folder], out=tmp_path / "out", resume=True)[0] == found
    assert (tmp_path / "out" / "small" / "run.json").read_bytes() == before


@pytest.mark.parametrize("point", [{"gpsu": 4}, {"gpus": "four"}, {"gpus": ""}])
def test_a_point_that_cannot_be_is_refused(point: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(StudyError):
        dse.evaluate(dse.load_study(studies.written(tmp_path)), [point])


def test_nothing_feasible_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoFeasiblePoint, match="rejects most"):
        dse.run(studies.written(tmp_path, studies.IMPOSSIBLE))


def test_a_run_in_python_prints_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    dse.run(studies.written(tmp_path), out=tmp_path / "here", engine="guided", budget=200, seed=3)
    assert capfd.readouterr() == ("", "")
    assert (tmp_path / "here" / "report.html").exists()
