"""Jobs out of what schedulers log."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from dse.errors import StudyError
from tests.fleet import logs
from tests.fleet.logs import read


def test_sacct_without_its_steps(tmp_path: Path) -> None:
    log = read(tmp_path, logs.SACCT)
    assert log.title == "sacct of Slurm"
    assert log.names == ["resnet50-imagenet", "bert_large_pretrain_v3", "sweep", "sweep",
                         "preprocess"]  # fmt: skip
    assert log.gpus.tolist() == [8, 32, 1, 1, 0]
    assert log.gpu_hours[:2].tolist() == [192, 3200]
    assert log.nodes[:2].tolist() == [1, 4]
    assert log.columns["seconds"] == "ElapsedRaw"
    assert log.steps == 2


def test_sacct_as_csv_with_elapsed_times_and_a_separator_at_the_end(tmp_path: Path) -> None:
    text = "JobID,JobName,AllocGRES,Elapsed,NNodes\n7,vgg16,gpu:4,1-02:00:00,2\n"
    log = read(tmp_path, text + "8,gpt2,gpu:a100:2,00:30:00,1\n", "log.csv")
    assert (log.gpus.tolist(), log.gpu_hours.tolist()) == ([4, 2], [104, 1])
    text = "".join(f"{line}|\n" for line in logs.SACCT.splitlines()[1:])
    assert read(tmp_path, logs.SACCT.splitlines()[0] + "\n" + text).gpus[0] == 8


def test_sacct_as_json(tmp_path: Path) -> None:
    log = read(tmp_path, logs.SACCT_JSON, "log.json")
    assert log.names == ["vgg16", "gpt2", "later"]
    assert log.gpus.tolist() == [12, 2, 0]
    assert log.gpu_hours[:2].tolist() == [24, 1]
    assert log.nodes[:2].tolist() == [2, 1]
    assert log.waited.tolist() == [False, False, True]


def test_helios_tells_its_servers(tmp_path: Path) -> None:
    log = read(tmp_path, logs.HELIOS, "log.csv")
    assert (log.title, log.columns["nodes"]) == ("Helios", "node_num")
    assert log.nodes.tolist() == [8, 1, 1]
    assert log.gpu_hours.tolist() == [8, 0, 4]
    for name, other in (("num_node", "gpu_num"), ("servers", "gpus"), ("node_count", "num_gpus")):
        renamed = logs.HELIOS.replace("node_num", name).replace("gpu_num", other)
        same = read(tmp_path, renamed.replace("state", "pod_phase"), "log.csv")
        assert (same.nodes.tolist(), same.gpu_hours.tolist()) == ([8, 1, 1], [8, 0, 4])
        assert same.columns["status"] == "pod_phase"


def test_pods_hold_parts_of_gpus_from_when_they_are_scheduled(tmp_path: Path) -> None:
    log = read(tmp_path, logs.PODS, "log.csv")
    assert log.title == "Alibaba, pods of 2023"
    assert log.cnodes.tolist() == [1, 4, 0, 2]
    assert log.gpus.tolist() == [0.25, 4, 0, 2]
    assert log.gpu_hours[:3].tolist() == [0.5, 4, 0]
    assert log.waited.tolist() == [False, False, False, True]


def test_the_tasks_of_a_job_of_pai_together(tmp_path: Path) -> None:
    log = read(tmp_path, logs.PAI, "log.csv")
    assert log.title == "Alibaba PAI, 2020"
    assert log.names == ["a1", "b2", "c3", "d4"]
    assert log.classes == ["ps-worker", "", "", ""]
    assert log.cnodes.tolist() == [16, 1, 16, 0]  # b2 shares its GPU with others
    assert log.gpu_hours[:2].tolist() == [16, 1]
    assert np.isnan(log.gpu_hours[2])
    header = "Job_Name,task name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,x"
    assert read(tmp_path, f"{header}\n{logs.PAI}", "log.csv").cnodes[0] == 16


def test_the_attempts_of_a_job_of_philly_together(tmp_path: Path) -> None:
    log = read(tmp_path, logs.PHILLY, "log.json")
    assert log.title == "Microsoft Philly"
    assert (log.gpus.tolist(), log.nodes.tolist()) == ([2, 0, 1], [2, 0, 1])
    assert log.gpu_hours[0] == 2 + 4  # on the GPUs of each attempt


def test_columns_that_a_study_names(tmp_path: Path) -> None:
    text = "Tag,Cards,gpus,Run time (h),Pods\nresnet50,4,99,2,3\n"
    named = {"name": "Tag", "gpus": "Cards", "hours": "Run time (h)", "replicas": "Pods"}
    log = read(tmp_path, text, "log.csv", named)
    assert (log.names, log.gpus.tolist(), log.gpu_hours.tolist()) == (["resnet50"], [12], [24])
    for name, hours in (("hours", [96, 8]), ("seconds", [96 / 3600, 8])):
        log = read(tmp_path, "gpus,duration\n8,12\n8,1:00:00\n", "log.csv", {name: "duration"})
        assert log.gpu_hours.tolist() == pytest.approx(hours)
    plain = read(tmp_path, "Name,GPUs,Hours,batch per GPU\nx,4,2,64\n", "log.csv")
    assert (plain.gpu_hours.tolist(), plain.batch.tolist()) == ([8], [64])


@pytest.mark.parametrize(
    "name", ["123.pbs01", "123[5].pbs01", "123[].pbs01", "7.sdb", "20260501.2"]
)
def test_ids_of_other_schedulers_are_no_steps(name: str, tmp_path: Path) -> None:
    log = read(tmp_path, f"job,gpus,hours\n{name},8,1\n55,8,1\n", "log.csv")
    assert (log.names, log.steps) == ([name, "55"], 0)


def test_steps_of_slurm_are_counted_where_their_jobs_are(tmp_path: Path) -> None:
    names = ("7", "7.batch", "7.extern", "7.interactive", "7.0", "8_1", "8_1.2", "9+0", "9+0.0",
             "8_[2-4%2]", "10.batch", "11.0", "12.0")  # fmt: skip
    log = read(tmp_path, "job|gpus|hours\n" + "".join(f"{name}|8|1\n" for name in names))
    assert log.names == ["7", "8_1", "9+0", "8_[2-4%2]", "11.0", "12.0"]
    assert log.steps == 7


def test_a_row_that_is_commented_out_is_a_remark(tmp_path: Path) -> None:
    log = read(tmp_path, "# exported\nname,gpus,hours\n#bert,8,3\nresnet50,1,2\n", "log.csv")
    assert log.names == ["resnet50"]


def test_dates_without_a_zone_are_one_length_wherever_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "gpus,start,end\n1,2026-03-28T12:00:00,2026-03-29T12:00:00\n"
    for zone in ("UTC", "Europe/Berlin"):  # where clocks were put forward that night
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        try:
            assert read(tmp_path, text).gpu_hours[0] == 24
        finally:
            monkeypatch.undo()
            time.tzset()


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("", "", "the file is empty"),
        ("# only this\n", "", "only remarks"),
        ("JobID  JobName  NNodes  State\n", ":1:1", "sacct of Slurm prints for people, which is "
         "not read; give sacct --parsable2"),
        ('{"apiVersion": "v1", "items": []}', ":1:1", "is the JSON of Kubernetes, which is not"),
        ("JobId=101 JobName=x\n", ":1:1", "is what scontrol of Slurm prints, which is not read"),
        ("05/01/2026 10:00:00;E;1.pbs;user=a\n", ":1:1", "is the accounting log of PBS"),
        ("JobID|State\n1|x\n", ":1:1", "no column tells the GPUs of a job"),
        ("gpus,hours\n8\n", ":2:1", "1 values where the header has 2 columns"),
        ("gpus,hours\n8,many\n", ":2:3", "hours: 'many' is not a number, nor [days-]hours:"),
        ("gpus,seconds,start,end\n8,60,0,3600\n", ":2:3", "'60' is far from the seconds between"),
        ("Job Id: 1.pbs\n    Job_Name = x\n", ":1:1", "is what qstat of PBS prints, which is not"),
        ("=====\nqname all.q\n", ":1:1", "is what qacct of Grid Engine prints, which is not"),
        ("JOBID USER STAT\n1 a RUN\n", ":1:1", "is what bjobs of LSF prints, which is not read"),
        (" ID OWNER SUBMITTED\n", ":1:1", "is what condor_history of HTCondor prints, which is"),
        ("name,gpus,duration\na,8,12\nb,8,24.5\n", ":2:5", "duration: '12' is of no known unit; "
         "name the column in the study, columns: {hours: NAME} or {seconds: NAME}"),
        ("name,gpu_num,Elapsed\na,8,12\n", ":2:5", "Elapsed: '12' is of no known unit"),
        ("gpus,servers,hours\n16,300,1\n", ":2:4", "servers: '300' is more than the job has GPUs"),
        (f"JobID|AllocTRES|ElapsedRaw\n1|gpu={'9' * 5000}|3600\n", ":2:3", "more than anybody has"),
        ("gpus,nodes\n8,1e-320\n", ":2:3", "nodes: '1e-320' is less than a server"),
        ("gpus,hours\n8,1e6\n", ":2:3", "hours: '1e6' makes the job longer than 20 years"),
        ("gpus,start,end\n8,0,1e9\n", ":2:5", "end: '1e9' makes the job longer than 20 years"),
        ("gpus,start,end\n8,yesterday,2\n", ":2:3", "start: 'yesterday' is not a date, nor sec"),
        ("a,ps,x,Failed,0,1,2,3,100,T4\n", ":1:6", "inst_num: 'x' is not a number"),
        ('[{"jobid": ', ":1:12", "the log breaks off here"),
        ('{"jobid": 1}', "", "neither of sacct --json nor of Philly's cluster_job_log"),
        ("gpus\x00,hours\n", ":1:5", "not a text file"),
    ],
)  # fmt: skip
def test_what_is_wrong(text: str, place: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError) as error:
        read(tmp_path, text)
    assert str(error.value).startswith(f"{tmp_path / 'log.txt'}{place}: ")
    assert said in str(error.value)


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="no column 'Tagg', which the study names for name; "
                                         "did you mean Tag"):  # fmt: skip
        read(tmp_path, "Tag,gpus\nx,1\n", columns={"name": "Tagg"})
