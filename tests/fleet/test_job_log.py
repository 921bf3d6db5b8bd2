"""Jobs out of what schedulers log."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.errors import StudyError
from dse.fleet.job_log import TABLE, is_log
from dse.fleet.job_table import REQUIRED
from tests.fleet import logs, small
from tests.fleet.logs import read


def test_sacct_without_its_steps(tmp_path: Path) -> None:
    log = read(tmp_path, logs.SACCT)
    assert log.form == TABLE
    assert [job.name for job in log.jobs] == ["101", "102", "103_1", "103_2", "104"]
    first, second, *_, last = log.jobs
    assert (first.gpus, first.gpu_type, first.nodes, first.hours) == (8, "v100", 1, 24)
    assert (second.gpus, second.gpu_type, second.gpu_hours) == (32, "a100", 3200)
    assert second.labels == ("bert_large_pretrain_v3",)
    assert last.gpus == 0
    assert log.columns["seconds"] == "ElapsedRaw"


def test_sacct_as_csv_with_elapsed_times_and_a_separator_at_the_end(tmp_path: Path) -> None:
    one, two = read(tmp_path, logs.SACCT_CSV, "log.csv").jobs
    assert (one.gpus, one.nodes, one.hours, one.gpu_hours) == (4, 2, 26, 104)
    assert (two.gpus, two.gpu_type, two.hours) == (2, "a100", 0.5)
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
