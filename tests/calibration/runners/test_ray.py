"""Torch ranks as actors of a real local Ray; the actors are gone whatever happens."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dse.calibration.runners.plan import MeasurePlan
from dse.calibration.runners.registry import Request
from dse.calibration.runners.torch_distributed import measure_ray
from dse.errors import MeasurementError
from tests.processes import command, disturbed
from tests.ray_head import beside_a_head

SIZES = (64, 512)
PLAN = MeasurePlan(ranks=(2, 3), sizes_bytes=SIZES)


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """One Ray for all tests here: a user's own session is used, and kept."""
    pytest.importorskip("torch")
    from dse.calibration.runners.ray_session import ray_session

    with ray_session(None) as module:
        yield module


def test_actors_are_measured_and_verified(ray: Any) -> None:
    told: list[tuple[int, int, str]] = []
    found = measure_ray(PLAN, Request(15.0, progress=lambda *step: told.append(step)))
    assert all(sample.verified for sample in found.samples)
    assert {(s.transport, s.library, s.nodes) for s in found.samples} == {("gloo", "torch", 1)}
    cells = {(s.collective, s.ranks, s.bytes) for s in found.samples}
    least, every = ({("allreduce", n, m) for n in (2, 3) for m in sizes}
                    for sizes in (SIZES[:1], SIZES))  # fmt: skip
    assert least <= cells <= every, "the largest may not fit in the time on a busy machine"
    assert found.machine is not None
    assert found.machine.cores >= 1
    assert f"Ray {ray.__version__}" in found.notes[0]
    assert (told[0][0], told[-1][0]) == (0, told[-1][1])
    assert ray.is_initialized()


def measuring() -> list[int]:
    """The three actors that measure: Ray makes the method their command line."""
    running = [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]
    found = [pid for pid in running if command(pid).startswith("ray::RankActor.measure")]
    return found if len(found) == 3 else []


def test_an_actor_that_dies_is_an_error_and_none_is_left(ray: Any) -> None:
    assert ray.is_initialized()
    with (  # Ray ends the others in its own time
        disturbed(measuring, lambda found: os.kill(found[1], signal.SIGKILL), ending_s=30.0),
        pytest.raises(MeasurementError, match=r"rank \d of 3: its Ray actor died"),
    ):
        measure_ray(PLAN, Request(120.0))


@pytest.mark.evidence
def test_a_running_cluster_is_joined_by_its_address() -> None:
    """A head of its own; the package is sent to its workers."""
    pytest.importorskip("torch")
    code = (
        "import sys; from dse.calibration.runners.plan import MeasurePlan; "
        "from dse.calibration.runners.torch_distributed import measure_ray; "
        "from dse.calibration.runners.registry import Request; "
        "plan = MeasurePlan(ranks=(2,), sizes_bytes=(64,)); "
        "found = measure_ray(plan, Request(14.0, address=sys.argv[1])); "
        "print(len(found.samples), found.samples[0].transport)"
    )
    count, transport = beside_a_head(code, cpus=2).split()
    assert int(count) >= 3
    assert transport == "gloo"
