"""Ray gives what this process gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.errors import DseError
from dse.search import exhaustive
from dse.search.executors import LocalExecutor, RayExecutor, executor
from dse.search.load import load
from dse.search.run import run
from tests.search import studies


def test_auto_is_this_process_unless_a_cluster_is_named() -> None:
    assert isinstance(executor("auto", None), LocalExecutor)
    assert isinstance(executor("local", "ray://somewhere:1"), LocalExecutor)


@pytest.mark.slow
def test_ray_finds_the_same_front(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path))
    expected = run(problem, "exhaustive", None, None, lambda *_: None, 0, 0)
    cluster = RayExecutor(None)
    try:
        found = run(problem, "exhaustive", cluster, None, lambda *_: None, 0, 0)
    finally:
        cluster.close()
    assert found.executor == "ray"
    assert found.front == expected.front
    assert found.tally.rejected == expected.tally.rejected


@pytest.mark.slow
def test_no_cluster_at_the_address_is_one_line() -> None:
    with pytest.raises(DseError, match=r"no Ray on 127\.0\.0\.1:1"):
        RayExecutor("127.0.0.1:1")


def test_units_cover_the_space_once(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path))
    units = exhaustive.chunks(problem, 100)
    assert sum(box.size for unit in units for box in unit) == problem.space.size
    assert len(units) > 5
