"""What runs on host 0 of the lab, where a Ray cluster can be reached.

Started as ``python -m benchmarks.lab.ray_driver``. Its first line of standard input is a task as
JSON: ``address`` of the cluster, and either ``members``, the addresses of the nodes to wait for,
with ``limit_s``, or the fields of a ``plan`` and of a ``request``, and ``out``, the measurement
file to write. One rank is placed on each node.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from benchmarks.lab.waiting import until
from dse.calibration.experiment import write_experiment
from dse.calibration.runners.plan import MeasurePlan
from dse.calibration.runners.ray_session import ray_session
from dse.calibration.runners.registry import Request
from dse.calibration.runners.torch_distributed import measure_ray
from dse.errors import DseError

Task = dict[str, Any]


def wait(task: Task) -> None:
    """Return once the cluster has exactly the wanted nodes."""
    wanted = set(task["members"])
    with ray_session(task["address"]) as ray:

        def complete() -> bool:
            return wanted == {n["NodeManagerAddress"] for n in ray.nodes() if n["Alive"]}

        until(complete, task["limit_s"], f"the Ray cluster has the nodes {sorted(wanted)}")


def measure(task: Task) -> None:
    """Measure across the cluster and write what was found."""
    lists = {key: tuple(value) for key, value in task["plan"].items() if isinstance(value, list)}
    plan = MeasurePlan(**{**task["plan"], **lists})
    request = Request(address=task["address"], **task["request"])
    found = measure_ray(plan, request)
    write_experiment(found, task["out"])


def main() -> int:
    """Do what standard input says; 1 and one line where that fails."""
    task = json.loads(sys.stdin.readline())
    try:
        (wait if "members" in task else measure)(task)
    except DseError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
