"""A run on a Ray cluster that has no node to search yet, as one that an autoscaler scales up."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.search.executors.ray_lots import Waiting
from tests.commands.command import DEADLINE_S
from tests.pricing.studies import SMALL, written
from tests.ray_head import a_head

RUN = """
import subprocess, sys, tempfile
address, folder = sys.argv[1:]
run = subprocess.Popen(
    [sys.executable, "-u", "-m", "dse", "run", "study.yaml", "--address", address, "--out", "here",
     "--engine", "exhaustive"],
    cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
print(next((line for line in run.stdout if line.startswith("waiting")), "it did not wait"), end="")
with tempfile.TemporaryDirectory(prefix="r", ignore_cleanup_errors=True) as short, subprocess.Popen(
    [sys.executable, "-c", "from ray.scripts.scripts import main; main()", "start", "--block",
     f"--address={address}", "--num-cpus=1", f"--temp-dir={short}"],
    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as node:
    rest = run.stdout.read()
    print("done" if run.wait() == 0 else rest)
    node.terminate()
"""


def test_what_is_waited_for_is_told_once() -> None:
    waiting = Waiting(100.0)
    assert waiting.told(0, 104.0) == ""
    assert "no CPU" in waiting.told(0, 105.5)
    assert waiting.told(0, 200.0) == ""
    assert "none of the 8 CPUs" in waiting.told(8, 201.0)
    assert waiting.told(8, 300.0) == ""
    busy = Waiting(0.0)
    assert busy.told(8, 59.0) == ""
    busy.over()
    assert (busy.told(8, 500.0), busy.told(0, 500.0)) == ("", "")


@pytest.mark.slow
def test_a_cluster_without_a_node_to_search_is_waited_for(tmp_path: Path) -> None:
    """Work is asked for all the same, or no autoscaler would start a node."""
    written(tmp_path, SMALL)
    with a_head(cpus=0) as beside:
        said = beside(RUN, str(tmp_path), limit_s=DEADLINE_S).splitlines()
    assert said == ["waiting for a node: the Ray cluster has no CPU that could search", "done"]
    assert (tmp_path / "here" / "front.csv").read_text().count("\n") > 1
