"""dse.search.fingerprint: what tells two runs apart."""

from __future__ import annotations

from pathlib import Path

from dse import catalog
from dse.pricing.load import load
from dse.search.fingerprint import difference, fingerprint
from tests.pricing import studies


def test_a_run_is_told_apart_by_the_files_of_its_approaches(tmp_path: Path) -> None:
    paper = load(studies.written(tmp_path, studies.PAPER))
    known = fingerprint(paper, "exhaustive")["catalogue"]
    assert {f"approaches/{name}.yaml" for name in catalog.names("approaches")} <= set(known)


def test_runs_of_the_two_models_are_told_apart(tmp_path: Path) -> None:
    text = studies.CLOSED.replace("overlap: [none, ideal]", "overlap: none")
    mine = load(studies.written(tmp_path, text))
    other = load(studies.written(tmp_path, text.replace("model: pai\n", ""), "other.yaml"))
    assert mine.study.content_hash != other.study.content_hash
    was, now = (fingerprint(one, "exhaustive") for one in (other, mine))
    assert difference(was, now) == "model of the study was absent, is pai"
