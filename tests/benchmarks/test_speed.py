"""The measurements of speed run at tiny sizes, and say what was asked of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.peers import PEERS, Peer, PeerMissing, ask, install
from benchmarks.speed import evaluations, filters, scaling, sweeps
from benchmarks.speed.apart import apart
from dse.pricing.load import load, shipped_studies
from dse.search import bounds

NOT_THERE = "dse-bench-not-there==0"
SMALLER = {  # the rest of the line becomes a comment
    "to: 1024,": "to: 32,",
    "batch_per_gpu: [": "batch_per_gpu: [2, 4]  # [",
    "aggregation: [": "aggregation: [ring-nccl]  # [",
    "bucket: [": "bucket: [25 MiB]  # [",
}


@pytest.fixture
def question(tmp_path: Path) -> Path:
    """The study that the peers are asked about, made small."""
    text = evaluations.QUESTION.read_text(encoding="utf-8")
    for line, small in SMALLER.items():
        assert line in text
        text = text.replace(line, small)
    study = tmp_path / "question.yaml"
    study.write_text(text, encoding="utf-8")
    return study


def test_the_peers_are_asked_what_the_study_asks(question: Path) -> None:
    asked = evaluations.question_of(load(question))
    assert asked["gpus"] == [8, 16, 24, 32]
    assert asked["batch_per_gpu"] == [2, 4]
    assert asked["accelerator"] == ["a100-sxm4-80gb", "h100-sxm"]
    assert asked["gbps"]["100gbe"] == pytest.approx(100)
    assert asked["gbps"]["ib-ndr"] == pytest.approx(400)


def test_every_way_of_dse_has_a_rate(question: Path) -> None:
    found = evaluations.ours(question, seconds=0.0, repeats=1, count=5, trials=3)
    assert next(iter(found)) == evaluations.BLOCKS
    assert len(found) == 4 + 2 * len(evaluations.SAMPLERS)
    assert all(one["per_cpu_s"] > 0 and one["per_s"] > 0 for one in found.values())


def test_a_search_prices_fewer_points_than_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load(shipped_studies()["ps-vs-allreduce"])
    assert sweeps.sweep_priced(problem) == problem.space.size
    monkeypatch.setattr(bounds, "SCREENED_FROM", 1)
    assert 0 < sweeps.sweep(problem) < problem.space.size  # some need not be priced


def test_filters_keep_the_same_points_and_all_have_a_time() -> None:
    found = filters.measure(sizes=(50, 200), repeats=1)
    assert len(found) == 2 * 2 * len(filters.KINDS)
    assert {tuple(line["cpu_s"]) for line in found} == {("dse", "moocore", "Optuna")}
    assert all(s is not None and s >= 0 for line in found for s in line["cpu_s"].values())
    assert all(0 < line["front"] <= line["points"] for line in found)


def broken(tmp_path: Path, script: str = "") -> Peer:
    """A peer whose package does not exist, or whose script is this one."""
    wanted = tmp_path / "broken.txt"
    wanted.write_text("" if script else NOT_THERE, encoding="utf-8")
    asked = tmp_path / "script.py"
    asked.write_text(script, encoding="utf-8")
    return Peer("broken", wanted, ("--no-index",), asked, asked)


def test_a_peer_that_cannot_be_installed_says_why_and_the_rest_goes_on(tmp_path: Path) -> None:
    peer = broken(tmp_path)
    failed = install(peer, tmp_path)
    assert failed.startswith("ERROR: No matching distribution found for dse-bench-not-there")
    with pytest.raises(PeerMissing, match="could not be installed: ERROR: No matching"):
        ask(peer, {}, 0.0, 1, tmp_path)
    other = replace(peer, name="other")
    found = evaluations.others({}, 0.0, 1, [peer, other], tmp_path)
    assert found["broken"]["missing"].startswith("could not be installed")
    assert found["other"]["missing"] == "not installed: make peers"


def test_a_peer_that_fails_says_why_and_one_that_answers_is_heard(tmp_path: Path) -> None:
    failing = broken(tmp_path, "raise ValueError('no such model')")
    assert install(failing, tmp_path) == ""
    with pytest.raises(PeerMissing, match="failed: ValueError: no such model"):
        ask(failing, {}, 0.0, 1, tmp_path)
    answer = (
        "import json, sys\nprint(json.dumps({'version': '1', 'ways': {'asked': sys.argv[1:]}}))"
    )
    said = ask(broken(tmp_path, answer), {"gpus": [8]}, 0.5, 2, tmp_path)
    assert said["ways"]["asked"] == ['{"gpus": [8]}', "0.5", "2"]


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_the_peers_answer(peer: Peer, question: Path) -> None:
    try:
        said = ask(peer, evaluations.question_of(load(question)), 0.0, 1)
    except PeerMissing as why:
        if "failed" in str(why):
            raise
        pytest.skip(str(why))
    assert all(one["per_cpu_s"] > 0 for one in said["ways"].values())


def test_processes_side_by_side_search_the_whole_space(question: Path) -> None:
    found = scaling.processes(str(question), 2, 1)
    assert found["points"] == load(question).space.size
    assert found["wall_s"] > 0


@pytest.mark.slow
def test_ray_searches_the_same_points_and_a_task_takes_time(question: Path) -> None:
    found = scaling.measure(str(question), workers=(1,), repeats=1, empty_tasks=5)
    assert found["ray"]["1"]["points"] == found["processes"]["1"]["points"]
    assert found["ray"]["1"]["task_s"] > 0
    assert len(scaling.table(found).rows) == 1


def test_memory_and_time_of_a_sweep_are_measured_apart() -> None:
    found = apart(sweeps.here, "ps-vs-allreduce")
    assert found["points"] == load(Path("ps-vs-allreduce")).space.size
    assert found["peak_bytes"] > 1e7
