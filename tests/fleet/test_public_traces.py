"""Jobs out of two public traces."""

from __future__ import annotations

from pathlib import Path

from dse.fleet.public_traces import PAI, PHILLY
from tests.fleet import logs
from tests.fleet.logs import read


def test_the_tasks_of_a_job_of_pai_together(tmp_path: Path) -> None:
    log = read(tmp_path, logs.PAI, "log.csv")
    servers, shared, running, none = log.jobs
    assert log.form == PAI
    assert (servers.gpus, servers.architecture, servers.gpu_hours) == (16, "ps-worker", 16)
    assert (shared.gpus, shared.gpu_hours, shared.gpu_types) == (1, 1, {"T4": 1})  # half a GPU, 2 h
    assert (running.gpus, running.gpu_hours) == (16, None)
    assert none.gpus == 0
    header = (
        "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type"
    )
    for first in (header, header.title()):
        assert read(tmp_path, f"{first}\n{logs.PAI}", "log.csv").jobs[0].gpus == 16


def test_the_attempts_of_a_job_of_philly_together(tmp_path: Path) -> None:
    log = read(tmp_path, logs.PHILLY, "log.json")
    job, none, running = log.jobs
    assert log.form == PHILLY
    assert (job.gpus, job.nodes, job.hours, job.gpu_hours) == (2, 2, 3, 2 + 4)
    assert none.gpus == 0
    assert (running.gpus, running.hours) == (1, None)


def test_gpus_of_the_tasks_of_a_job_of_pai_by_type(tmp_path: Path) -> None:
    tasks = (
        "m1,worker,3.0,Terminated,0.0,10.0,,,100.0,V100\n"
        "m1,evaluator,1.0,Terminated,0,9,,,50.0,T4\n"
    )
    (job,) = read(tmp_path, tasks, "log.csv").jobs
    assert (job.gpus, job.gpu_types) == (4, {"V100": 3, "T4": 1})
