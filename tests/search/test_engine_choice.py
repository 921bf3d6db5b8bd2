"""dse.search.engine_choice: how long an exhaustive search takes."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dse.model import fusion
from dse.model.aggregation.tensorwise import PHASES
from dse.pricing.load import load
from dse.search import engine_choice
from tests.pricing import studies


def test_the_estimate_knows_that_fusion_follows_the_tensors_many_times(tmp_path: Path) -> None:
    """Once for every phase of every cycle that a busy loop may come to."""
    fusing = studies.PAPER.replace(studies.EVERY_APPROACH, "horovod-mpi").split("when:")[0]
    fusing += "objectives: {maximize: speedup, minimize: capital}\n"
    one_by_one = fusing.replace("horovod-mpi", "baidu-mpi")
    found = {}
    for name, text in (("fused", fusing), ("one by one", one_by_one)):
        problem = load(studies.written(tmp_path, text, f"{name}.yaml"))
        rest = problem.space.size * engine_choice.SECONDS_PER_POINT + engine_choice.SECONDS_PER_SLAB
        found[name] = engine_choice.estimate(problem).seconds - rest
    assert found["one by one"] == pytest.approx(8 * 161 * engine_choice.SECONDS_PER_TENSOR)
    assert found["fused"] == pytest.approx(found["one by one"] * PHASES * len(fusion.SLOWED))


def test_memory_is_of_this_process_and_not_of_the_one_that_started_it() -> None:
    """The one that starts it has had 600 MB."""
    own = "from dse.search.engine_choice import peak_bytes; print(peak_bytes())"
    code = (
        "import subprocess, sys; large = bytearray(600_000_000); "
        f"subprocess.run([sys.executable, '-c', {own!r}], check=True)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 5e6 < int(done.stdout) < 500e6


@pytest.mark.parametrize(("platform", "unit"), [("linux", 1024), ("darwin", 1)])
def test_memory_is_told_where_no_file_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str, unit: int
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(resource, "getrusage", lambda _: SimpleNamespace(ru_maxrss=80_000))
    assert engine_choice.peak_bytes(tmp_path / "status") == 80_000 * unit
    (tmp_path / "status").write_text("Name:\tpython\n")  # some containers leave it out
    assert engine_choice.peak_bytes(tmp_path / "status") == 80_000 * unit
