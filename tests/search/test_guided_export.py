"""A finished run in an Optuna storage, an SQLite file."""

from __future__ import annotations

import shutil
from pathlib import Path

import optuna
import pytest

import dse
from dse.commands.export import export_run
from dse.errors import DseError
from dse.plan import POINTS
from tests.commands.reports import document as read
from tests.pricing import studies

CONTINUOUS = studies.CONTINUOUS.replace(
    "bucket: [4 MiB, 25 MiB]", "bucket: {from: 1 MiB, to: 64 MiB, continuous: true}"
).replace("constraints: [", 'constraints: ["speedup >= 2", ')  # only known of points once priced
LINK, BUCKET = "inter_node_bytes_per_s", "bucket_bytes"
POINTS_PRICED = 60  # a storage takes a while for each


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    study = studies.written(folder, CONTINUOUS)
    out = folder / "out"
    dse.run(study, out=out, points=POINTS_PRICED, seed=1)
    return out


def check(storage: str, finished: Path, count: int = POINTS_PRICED) -> None:
    document = read(finished)
    opened = optuna.storages.RDBStorage(storage)
    study = optuna.load_study(study_name=document["study"]["name"], storage=opened)
    assert len(study.trials) == count
    assert [d.name for d in study.directions] == ["MAXIMIZE", "MINIMIZE"]
    expected = {(p["speedup"], p["capital"]) for p in document["front"]}
    assert {tuple(trial.values) for trial in study.best_trials} == expected
    assert all(trial.constraints["violation"] == 0 for trial in study.best_trials)
    best = study.best_trials[0]
    assert best.user_attrs["on_front"]
    assert best.user_attrs["step_s"] > 0
    assert best.params["gpus"] in (1, 2, 3, 4, 8, 16)
    assert ("ps_servers" in best.params) == (best.params["aggregation"] == "ps-grpc")
    assert study.user_attrs["engine"] == "guided"
    floats = optuna.distributions.FloatDistribution
    for trial in study.trials:
        assert trial.distributions[LINK] == floats(1e9 / 8, 100e9 / 8, log=True)
        assert trial.distributions[BUCKET] == floats(2.0**20, 2.0**26, log=True)
        assert not {"inter_node", "bucket"} & set(trial.params)
    marked = [t for t in study.trials if t.user_attrs["on_front"]]
    assert len(marked) == len(document["front"])
    assert [t.user_attrs["step_s"] for t in marked] == [
        next(
            p["step_s"]
            for p in document["front"]
            if p["numbers"] == {LINK: t.params[LINK], BUCKET: t.params[BUCKET]}
            and (p["speedup"], p["capital"]) == tuple(t.values)
        )
        for t in marked
    ]
    opened.remove_session()
    opened.engine.dispose()


def test_sqlite(finished: Path, tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'x.db'}"
    line = export_run(finished, storage)
    assert f"{POINTS_PRICED} points" in line
    check(storage, finished)
    infeasible = [
        t
        for t in optuna.load_study(study_name="continuous", storage=storage).trials
        if t.constraints["violation"] > 0
    ]
    assert infeasible
    assert not any(trial.user_attrs["feasible"] for trial in infeasible)


def test_only_the_front_and_a_name_that_is_taken(finished: Path, tmp_path: Path) -> None:
    """As of a search that keeps no table of all points."""
    storage, copy = f"sqlite:///{tmp_path / 'x.db'}", tmp_path / "copy"
    shutil.copytree(finished, copy)
    (copy / POINTS).unlink()
    document = read(copy)
    export_run(copy, storage)
    check(storage, copy, len(document["front"]))
    assert "'continuous-2'" in export_run(copy, storage)


@pytest.mark.parametrize(
    ("storage", "words"),
    [
        ("mysql://me:secret@host/x", "write sqlite:///FILE.db"),
        ("sqlite://", "write sqlite:///FILE.db"),
        ("sqlite:///:memory:", "write sqlite:///FILE.db"),
        ("sqlite:///nowhere/at/all/x.db", "unable to open database file; name one, or a new file"),
    ],
)
def test_bad_storages_are_one_line_without_the_password(
    storage: str, words: str, finished: Path
) -> None:
    with pytest.raises(DseError) as caught:
        export_run(finished, storage)
    line = str(caught.value)
    assert words in line
    assert not any(word in line for word in ("secret", "\n", "sqlalche.me", "Background"))


def test_a_file_that_is_no_database(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("accelerator,gpus\n" * 100)
    with pytest.raises(DseError, match=r"not a database; name one"):
        export_run(finished, f"sqlite:///{tmp_path / 'x.db'}")


def test_a_table_of_another_run_is_refused(finished: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished, copy)
    (copy / POINTS).write_text("gpus,cost\n1,2\n")
    with pytest.raises(DseError, match="move it away"):
        export_run(copy, f"sqlite:///{tmp_path / 'x.db'}")
