"""dse.api: studies, searches and explanations from Python."""

from __future__ import annotations

import pickle
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import dse
from dse.errors import ArgumentError, DseError, StudyError
from dse.report.answer import answer
from dse.report.document import RunDocument
from tests.commands.reports import document
from tests.pricing import studies


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, in which nothing is to appear."""
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def small(tmp_path: Path) -> dse.Study:
    return dse.load_study(studies.written(tmp_path))


# -- studies ---------------------------------------------------------------------------------------


def test_a_study_says_what_it_is(small: dse.Study) -> None:
    assert (small.name, small.workload, small.points) == ("small", "resnet50", 2304)
    assert small.axes["gpus"] == (1, 2, 3, 4, 8, 16)
    assert small.axes["ps_servers"] == (1, 2)
    assert (small.baseline["aggregation"], small.baseline["gpus"]) == ("ps-grpc", 4)
    assert repr(small) == "<study small: resnet50, 2,304 points>"
    assert str(small).startswith("study small: resnet50, 2,304 points\n")
    assert small._repr_html_().startswith("<pre>study small")


def test_a_continuous_axis_has_its_ends(tmp_path: Path) -> None:
    endless = dse.load_study(studies.written(tmp_path, studies.CONTINUOUS))
    assert endless.points is None
    assert "a continuous space" in repr(endless)
    (span,) = endless.axes["inter_node"]
    assert "1 Gbps" in span
    assert "100 Gbps" in span


def test_a_study_is_a_path_a_name_or_a_mapping(tmp_path: Path, empty: Path) -> None:
    path = studies.written(tmp_path)
    found = [
        dse.load_study(path),
        dse.load_study(str(path)),
        dse.load_study(yaml.safe_load(studies.SMALL)),
    ]
    for study in found:
        assert study.axes == found[0].axes
        assert study.price([{"gpus": 16}])["step_s"] == found[0].price([{"gpus": 16}])["step_s"]
    assert dse.load_study("ps-vs-allreduce").name == "ps-vs-allreduce"
    assert not [*empty.iterdir()]


def test_a_mapping_may_hold_tuples_ranges_and_paths(tmp_path: Path) -> None:
    given = yaml.safe_load(studies.SMALL)
    given["space"]["gpus"] = range(1, 5)
    given["space"]["batch_per_gpu"] = (32, 64)
    study = dse.load_study(given)
    assert study.axes["gpus"] == (1, 2, 3, 4)
    assert study.axes["batch_per_gpu"] == (32, 64)
    given["calibration"] = [tmp_path / "not-there.yaml"]
    with pytest.raises(StudyError, match=r"study:.*calibration: no file"):
        dse.load_study(given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (5, "study: int is not a study; give a path, the name of a study, or a mapping"),
        ("study: mine\nworkload: resnet50\n", "study: the text of a study is no path; give"),
        ("s" * 5000, "study: the text of a study is no path; give"),
        (None, "study: NoneType is not a study"),
        ({"workload": object()}, "study: object cannot be written in a file; use text, numbers"),
    ],
)
def test_what_is_no_study_is_refused(given: Any, said: str) -> None:
    with pytest.raises(StudyError) as found:
        dse.load_study(given)
    assert str(found.value).startswith(said)


# -- explanations ----------------------------------------------------------------------------------


def test_a_point_is_explained_as_the_command_does(
    small: dse.Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from dse.commands.explain import explain_point

    given = {"gpus": 16, "aggregation": "ring-mpi"}
    found = small.explain(given)
    explain_point(str(tmp_path / "study.yaml"), [f"{k}={v}" for k, v in given.items()], False)
    assert str(found) == capsys.readouterr().out.rstrip("\n")
    assert (
        repr(small.explain(**given)) == repr(found) == "<explanation of 16 x p100-sxm2-16gb, 2.48x>"
    )
    with pytest.raises(ArgumentError, match=r"^gpus: stands beside points"):
        small.price([{}], gpus=8)
    assert found._repr_html_().startswith("<pre>")
    assert small.explain({}).point.speedup == 1.0
    with pytest.raises(StudyError, match="point: no axis 'gpsu'; did you mean gpus"):
        small.explain({"gpsu": 1})
    mistakes: tuple[Any, ...] = ([8], 8)
    for wrong in mistakes:
        with pytest.raises(StudyError, match=r"point: \w+ is not a point; write it as"):
            small.explain(wrong)
    with pytest.raises(StudyError, match="point: gpus: a list where one value should be"):
        small.explain({"gpus": [8]})
    link = {"bandwidth": "25 Gbps", "latency": "5 us", "fabric": "25gbe"}
    assert small.explain({"inter_node": link}).point.step_s is not None


# -- searches --------------------------------------------------------------------------------------


def test_a_search_writes_and_prints_nothing(
    small: dse.Study, empty: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    result = small.search()
    assert repr(result)
    assert result.front.rows
    assert result.points.rows
    small.search(engine="guided", points=100, seed=1)
    assert not [*empty.iterdir()]
    assert capfd.readouterr() == ("", "")
    of_report = {"out": "here", "resume": True}
    for name, given in of_report.items():
        with pytest.raises(ArgumentError, match=rf"^{name}: is of a run that writes a report"):
            small.search(**{name: given})


def test_the_front_is_a_table_by_rising_cost(small: dse.Study) -> None:
    result = small.search()
    front = result.front
    assert front.rows == len(result.outcome.front)
    assert set(small.axes) <= set(front)
    assert front["feasible"].all()
    assert (np.diff(front["capital_usd"]) > 0).all()
    assert (np.diff(front["speedup"]) > 0).all()
    every = result.points
    assert every.rows == small.points
    good = every["feasible"]
    for gain, cost in zip(front["speedup"], front["capital_usd"], strict=True):
        better = (every["speedup"] > gain) & (every["capital_usd"] <= cost)
        cheaper = (every["speedup"] >= gain) & (every["capital_usd"] < cost)
        assert not (good & (better | cheaper)).any()
    same = small.price({name: front[name] for name in small.axes})
    np.testing.assert_array_equal(same["speedup"], front["speedup"])


def test_the_recommended_point_is_one_of_the_front(small: dse.Study) -> None:
    result = small.search()
    assert isinstance(result.document, RunDocument)
    assert result.recommended.speedup in result.front["speedup"]
    first = answer(result.document)[0]
    assert str(result).startswith(first)
    assert repr(result).startswith("<result of small: 4 points on the front, ")
    with pytest.raises(
        ArgumentError, match=r"figure .layout.; use front, time, waterfall or certa"
    ):
        result.plot("layout")
    (front,) = (trace for trace in result.plot().data if trace.name == "Front")
    assert len(front.x) == 4
    assert result._repr_html_().startswith(f"<p>{escape(first)}</p>")
    assert "<table>" in result._repr_html_()
    explained = result.explain(-1).point
    assert explained.speedup == result.front["speedup"][-1]
    assert result.explain(0).point.costs["capital"] == result.front["capital_usd"][0]
    assert result.explain(np.int64(1)).point.speedup == result.front["speedup"][1]
    last = result.front.rows - 1
    for beyond in (last + 1, -last - 2):
        with pytest.raises(ArgumentError, match=rf"position: .* front of .*; give 0 to {last}"):
            result.explain(beyond)
    others: list[Any] = ["3", 2.0, None]
    for other in others:
        with pytest.raises(ArgumentError, match=r"position: .* is not a whole number; give one"):
            result.explain(other)


@pytest.mark.parametrize("how", ["a study", "a mapping", "a path"])
def test_a_run_takes_a_study_however_it_is_given(how: str, tmp_path: Path) -> None:
    path = studies.written(tmp_path)
    content = yaml.safe_load(path.read_text())
    given = {"a study": dse.load_study(path), "a mapping": content, "a path": str(path)}[how]
    budget = "150 kUSD"
    found = dse.run(given, out=tmp_path / "out", executor="local", budget=budget)
    expected = dse.load_study(path).search(budget=budget)
    assert found["recommended"]["speedup"] == pytest.approx(expected.recommended.speedup)
    assert found == document(tmp_path / "out")
    assert found["command"] == f"dse.run({str(path) if how != 'a mapping' else 'study'!r})"


def test_a_run_takes_the_options_of_the_command_line(tmp_path: Path) -> None:
    path = studies.written(tmp_path)
    found = dse.run(path, tmp_path / "out", executor="local", seed=7)
    assert found["seed"] == 7
    with pytest.raises(ArgumentError, match=r"^points: needs the guided engine"):
        dse.run(path, tmp_path / "out", points=50)
    unknown: dict[str, Any] = {"engin": "guided"}
    with pytest.raises(ArgumentError, match=r"^engin: .*engine"):
        dse.run(path, tmp_path / "out", **unknown)
    with pytest.raises(ArgumentError, match=r"^nonsense: .*budget"):
        dse.load_study(path).search(**{"nonsense": 1})


# -- several processes -----------------------------------------------------------------------------


def test_studies_and_results_travel_between_processes(tmp_path: Path) -> None:
    """In use, with what they remember, of every way to sum gradients that a study names."""
    for text in (studies.SMALL, studies.LARGE):
        study = dse.load_study(studies.written(tmp_path, text))
        asked = {"gpus": [8, 16]}
        expected = study.price(asked, intervals=True)
        found = pickle.loads(pickle.dumps(study)).price(asked, intervals=True)
        for name, column in expected.items():
            np.testing.assert_array_equal(found[name], column, name)
    result = dse.load_study("ethernet-upgrade").search()
    assert repr(pickle.loads(pickle.dumps(result))) == repr(result)


def test_a_result_is_what_a_run_writes(small: dse.Study, tmp_path: Path) -> None:
    page = small.search().write_report(tmp_path / "mine")
    assert page == tmp_path / "mine" / "report.html"
    dse.run(tmp_path / "study.yaml", out=tmp_path / "theirs")
    mine, theirs = (document(tmp_path / name) for name in ("mine", "theirs"))
    assert mine["command"].startswith("dse.load_study(")
    for key in ("created", "command", "timings", "reproduce", "work"):
        mine.pop(key, None)
        theirs.pop(key, None)
    assert mine == theirs


def test_points_of_a_continuous_search_are_priced_as_they_were(tmp_path: Path) -> None:
    study = dse.load_study(studies.written(tmp_path, studies.CONTINUOUS))
    result = study.search(points=150, seed=4)
    assert 0 < result.points.rows <= 150
    front, archive = result.front, result.outcome.archive
    assert archive is not None
    assert front["speedup"].tolist() == pytest.approx([one.gain for one in result.outcome.front])
    assert front["capital_usd"].tolist() == pytest.approx(
        [one.cost for one in result.outcome.front]
    )
    for row in range(front.rows):
        told = result.explain(row).point
        assert (front["step_s"][row], front["speedup"][row]) == (told.step_s, told.speedup)
        assert front["inter_node"][row] == told.config["inter_node"]  # rounded: 80.01 Gbps
    steps = [float(study.problem.point(archive.space.values(one))["step"][0])
             for one in archive.points]  # fmt: skip
    np.testing.assert_array_equal(result.points["step_s"], steps)


def test_a_space_too_large_to_list_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.api.MOST_POINTS", 1000)
    result = dse.load_study(studies.written(tmp_path)).search()
    with pytest.raises(DseError, match="the study has 2,304 points, too many to list"):
        _ = result.points


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"points": 0, "engine": "guided"}, "points: '0' is not a whole number from 1 to"),
        ({"points": -3}, "points: '-3' is not a whole number from 1 to"),
        ({"points": 2.5, "engine": "guided"}, "points: '2.5' is not a whole number"),
        ({"seed": -1}, "seed: '-1' is not a whole number from 0 to"),
        ({"seed": "many"}, "seed: 'many' is not a whole number"),
        ({"engine": "foo"}, "engine: 'foo' is not known; use auto, exhaustive, guided"),
        ({"executor": "lcoal"}, "executor: 'lcoal' is not known; did you mean local?"),
    ],
)
def test_a_wrong_argument_is_named_before_anything_is_searched(
    small: dse.Study, tmp_path: Path, empty: Path, given: dict[str, Any], said: str
) -> None:
    path = tmp_path / "study.yaml"
    for search in (
        lambda: small.search(**given),
        lambda: dse.run(path, **given),
    ):
        with pytest.raises(StudyError) as found:
            search()
        assert str(found.value).startswith(said)
        assert isinstance(found.value, dse.ArgumentError)
    assert not [*empty.iterdir()]


def test_whole_numbers_of_numpy_are_numbers_of_a_search(small: dse.Study) -> None:
    found = small.search(engine="guided", points=np.int64(50), seed=np.int64(2**62 + 1))
    assert (found.seed, type(found.seed)) == (2**62 + 1, int)
    assert repr(found)
