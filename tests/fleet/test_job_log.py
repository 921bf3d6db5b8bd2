"""Jobs out of what schedulers log."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.errors import StudyError
from dse.fleet.job_log import REMARKS, STEPS, TABLE, is_log
from dse.fleet.job_table import REQUIRED
from tests.fleet import logs, small
from tests.fleet.logs import read


def test_sacct_without_its_steps(tmp_path: Path) -> None:
    log = read(tmp_path, logs.SACCT)
    assert log.form == TABLE
    assert [job.name for job in log.jobs] == ["101", "102", "103_1", "103_2", "104"]
    first, second, *_, last = log.jobs
    assert (first.gpus, first.gpu_types, first.nodes, first.hours) == (8, {"v100": 8}, 1, 24)
    assert (second.gpus, second.gpu_types, second.gpu_hours) == (32, {"a100": 32}, 3200)
    assert second.labels == ("bert_large_pretrain_v3",)
    assert last.gpus == 0
    assert log.columns["seconds"] == "ElapsedRaw"
    assert log.no_jobs == {STEPS: 2}


def test_sacct_as_csv_with_elapsed_times_and_a_separator_at_the_end(tmp_path: Path) -> None:
    one, two = read(tmp_path, logs.SACCT_CSV, "log.csv").jobs
    assert (one.gpus, one.nodes, one.hours, one.gpu_hours) == (4, 2, 26, 104)
    assert (two.gpus, two.gpu_types, two.hours) == (2, {"a100": 2}, 0.5)
    text = "".join(f"{line}|\n" for line in logs.SACCT.splitlines()[1:])
    assert read(tmp_path, logs.SACCT.splitlines()[0] + "\n" + text).jobs[0].gpus == 8


def test_kubernetes(tmp_path: Path) -> None:
    one, two = read(tmp_path, logs.KUBERNETES, "log.csv").jobs
    assert (one.gpus, one.batch, one.hours, one.gpu_hours) == (32, 128, 10, 320)
    assert one.labels == ("resnet50", "train-a")
    assert (two.gpus, two.batch, two.hours) == (1, None, 1.5)


def test_columns_that_a_study_names(tmp_path: Path) -> None:
    text = "Tag,Cards,gpus,Run time (h),Whole batch\nresnet50,4,99,2,512\n"
    (job,) = read(tmp_path, text, workload="Tag", gpus="Cards", hours="Run time (h)",
                  global_batch="Whole batch").jobs  # fmt: skip
    assert (job.labels, job.gpus, job.gpu_hours, job.batch) == (("resnet50",), 4, 8, 128)


@pytest.mark.parametrize(
    "name", ["123.pbs01", "123[5].pbs01", "123[].pbs01", "7.sdb", "20260501.2"]
)
def test_ids_of_other_schedulers_are_no_steps(name: str, tmp_path: Path) -> None:
    log = read(tmp_path, f"jobid,gpus,hours\n{name},8,1\n55,8,1\n", "log.csv")
    assert [job.name for job in log.jobs] == [name, "55"]
    assert log.no_jobs == {}


def test_steps_of_slurm_are_counted_where_their_jobs_are(tmp_path: Path) -> None:
    names = ("7", "7.batch", "7.extern", "7.interactive", "7.0", "8_1", "8_1.2", "9+0", "9+0.0",
             "8_[2-4%2]", "10.batch", "11.0", "12.0")  # fmt: skip
    log = read(tmp_path, "jobid|gpus|hours\n" + "".join(f"{name}|8|1\n" for name in names))
    assert [job.name for job in log.jobs] == ["7", "8_1", "9+0", "8_[2-4%2]", "11.0", "12.0"]
    assert log.no_jobs == {STEPS: 7}


def test_a_row_with_a_hash_and_a_number_is_a_job_and_remarks_are_counted(tmp_path: Path) -> None:
    text = "# exported\nname,gpus,hours\n#12,8,2\n# by ann, bob, eve\n# the end\nx,1,2\n"
    log = read(tmp_path, text, "log.csv")
    assert [(job.name, job.gpus) for job in log.jobs] == [("line 3", 8), ("line 6", 1)]
    assert log.no_jobs == {REMARKS: 2}
    assert log.readings == (
        "1 row begins with #, but counts as a job, by an ID such as #12; delete what is not to "
        "count.",
    )


@pytest.mark.parametrize(
    "row", ["#bert,8,3", "# bert,8,3", " #bert,8,3", '"#bert",8,3', "#12 bert,8,3", "#7.a,8,3"]
)
def test_a_row_that_is_commented_out_is_a_remark(row: str, tmp_path: Path) -> None:
    log = read(tmp_path, f"name,gpus,hours\n{row}\nresnet50,1,2\n", "log.csv")
    assert [(job.labels, job.gpu_hours) for job in log.jobs] == [(("resnet50",), 2)]
    assert (log.no_jobs, log.readings) == ({REMARKS: 1}, ())
    text = logs.SACCT.replace("102|", "#102.old|")
    assert [job.name for job in read(tmp_path, text).jobs] == ["101", "103_1", "103_2", "104"]


def test_rows_that_all_begin_with_a_hash_are_jobs(tmp_path: Path) -> None:
    log = read(tmp_path, "name,gpus,hours\n#bert,8,3\n#gpt2,1,2\n# the end\n", "log.csv")
    assert [job.gpu_hours for job in log.jobs] == [24, 2]
    assert log.no_jobs == {REMARKS: 1}
    assert log.readings == (
        "2 rows begin with #, but count as jobs, since no row begins otherwise; delete what is "
        "not to count.",
    )


@pytest.mark.parametrize(
    ("header", "row", "gpus", "replicas"),
    [
        ("gpus_per_node,nodes,workers", "8,2,4", 16, "nodes"),
        ("gpus_per_node,workers", "8,4", 32, "workers"),
        ("GPUs per task,NTasks,Nodes", "1,16,2", 16, "NTasks"),
        ("gpus_per_task,nodes", "4,2", 8, "nodes"),
        ("gpus_per_worker,replicas,workers", "2,9,3", 6, "workers"),
        ("gpus_per_pod,replicas,nodes", "8,4,2", 32, "replicas"),
        ("gpus,replicas", "8,4", 8, None),
        ("gpus,nodes", "8,4", 8, None),
    ],
)
def test_gpus_of_each_times_how_many_there_are(
    header: str, row: str, gpus: float, replicas: str | None, tmp_path: Path
) -> None:
    log = read(tmp_path, f"{header}\n{row}\n", "log.csv")
    assert log.jobs[0].gpus == gpus
    assert log.columns.get("replicas") == replicas
    told = [line for line in log.readings if "'replicas' is not read" in line]
    assert bool(told) is (header == "gpus,replicas")
    assert all("columns: {gpus_each: gpus}" in line for line in told)


def test_gpus_of_a_replica_that_a_study_names_so_are_multiplied(tmp_path: Path) -> None:
    log = read(tmp_path, "gpus,replicas\n8,4\n", "log.csv", gpus_each="gpus")
    assert (log.jobs[0].gpus, log.readings) == (32, ())


def test_gpus_of_several_types_are_told_apart(tmp_path: Path) -> None:
    text = "JobID|AllocTRES|ElapsedRaw\n1|gres/gpu:a100=6,gres/gpu:v100=2,gres/gpu=8|3600\n"
    (job,) = read(tmp_path, text).jobs
    assert (job.gpus, job.gpu_types) == (8, {"a100": 6, "v100": 2})


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.csv", logs.SACCT_CSV, True),
        ("a.csv", logs.KUBERNETES, True),
        ("a.csv", logs.PAI, True),
        ("a.csv", small.TABLE, False),
        ("a.csv", "class,cnodes,flop\n", False),
        ("a.txt", "anything", True),
        ("a.parquet", "gpus", False),
    ],
)
def test_which_files_are_logs(name: str, text: str, expected: bool, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert is_log(path, REQUIRED, {}) is expected


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("", "", "the file is empty"),
        ("# only this\n", "", "only remarks"),
        ("JobID  JobName  NNodes  State\n", ":1:1", "run sacct with --parsable2"),
        ("JobID|State\n1|x\n", ":1:1", "no column tells the GPUs of a job"),
        ("gpus,hours\n8\n", ":2:1", "1 values where the header has 2 columns"),
        ("gpus,hours\n8,many\n", ":2:3", "hours: 'many' is not a number of 0 or more"),
        ("gpus,hours\n-8,1\n", ":2:1", "gpus: '-8' is not a number"),
        ("gpus,hours\ninf,1\n", ":2:1", "gpus: 'inf' is not a number"),
        ("gpus,hours\n1e9,1\n", ":2:1", "is more than anybody has"),
        ("gpus,nodes\n8,1e-320\n", ":2:3", "nodes: '1e-320' is less than a node"),
        ("gpus,hours\n8,1e6\n", ":2:3", "hours: '1e6' makes the job longer than 20 years"),
        ("gpus,start,end\n8,0,1e9\n", ":2:5", "end: '1e9' makes the job longer than 20 years"),
        (
            "gpus,start,end\n8,yesterday,2\n",
            ":2:3",
            "start: 'yesterday' is neither a date nor seconds; write for example 2026-09-30 17:36",
        ),
        ("gpus,start,end\n8,09/30/2026 5:36,2\n", ":2:3", "write for example 2026-09-30 17:36:00"),
        ("gpus,start,end\n8,31.02.2026 5:36,2\n", ":2:3", "is neither a date nor seconds"),
        ("a,ps,x,Failed,0,1,2,3,100,T4\n", ":1:6", "column 3: 'x' is not a number"),
        ("a,ps,1,Failed,0,1,2,3,100,T4\nb,c\n", ":2:1", "2 values where a task has 10"),
        ('[{"jobid": ', ":1:12", "the log breaks off here"),
        ('{"jobid": 1}', "", "not a list of jobs as Philly's"),
        ('[{"jobid": 1, "attempts": 3}]', "", "attempts is no list"),
        ("gpus\x00,hours\n", ":1:5", "not a text file"),
    ],
)
def test_what_is_wrong(text: str, place: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError) as error:
        read(tmp_path, text)
    assert str(error.value).startswith(f"{tmp_path / 'log.txt'}{place}: ")
    assert said in str(error.value)


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="no column 'Tagg', which the study names for workload; "
                                         "did you mean Tag"):  # fmt: skip
        read(tmp_path, "Tag,gpus\nx,1\n", workload="Tagg")


def test_a_count_of_gpus_that_no_integer_holds_is_refused(tmp_path: Path) -> None:
    text = f"JobID|AllocTRES|ElapsedRaw\n1|gres/gpu:a100={'9' * 5000}|3600\n"
    with pytest.raises(StudyError, match=r"log\.txt:2:3: AllocTRES: .* is more than anybody has"):
        read(tmp_path, text)
