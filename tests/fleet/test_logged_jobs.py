"""Logged jobs as a fleet: which are priced, which are not, and that the answer says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dse import catalog
from dse.errors import StudyError
from dse.fleet.answers import answer, load_population
from dse.fleet.document import FleetDocument, LogSummary
from dse.fleet.logged_jobs import LogTerms, step_of_gpu
from dse.fleet.reader import read_fleet
from dse.fleet.study import FleetStudy
from dse.model.precision import PRECISIONS
from dse.report.fleet_page import render_markdown, render_page
from dse.report.fleet_words import answer_lines
from tests.fleet import logs, small


def study(folder: Path, text: str, name: str = "log.txt", more: str = "") -> FleetStudy:
    (folder / name).write_text(text, encoding="utf-8")
    path = folder / "study.yaml"
    path.write_text(logs.STUDY.format(log=name) + more, encoding="utf-8")
    return read_fleet(path)


def document(folder: Path, text: str, name: str = "log.txt", more: str = "") -> FleetDocument:
    return answer(study(folder, text, name, more), versions={"dse": "0", "numpy": "2"})


def summary(found: FleetDocument) -> LogSummary:
    assert found.log is not None
    return found.log


def test_the_first_pattern_that_matches_counts() -> None:
    terms = LogTerms({}, {"bert-l*": "bert-large-s512", "BERT*": "bert-base-s128", "x?": "vgg16"})
    names = ("bert-large-3", "Bert-tiny", "x1", "x12", "my-bert", "")
    assert [terms.workload(name) for name in names] == [
        "bert-large-s512", "bert-base-s128", "vgg16", "", "", "",
    ]  # fmt: skip


def test_jobs_whose_name_matches_are_priced_and_the_others_named(tmp_path: Path) -> None:
    found = document(tmp_path, logs.SACCT)
    log = summary(found)
    assert [(row.name, row.jobs) for row in log.workloads] == [("bert-large-s512", 1),
                                                               ("resnet50", 1)]  # fmt: skip
    assert (log.jobs, log.gpus, log.gpu_hours) == (3, 41, 192 + 3200 + 2)
    assert (log.unmatched.jobs, log.unmatched_names) == (1, {"sweep": 1})
    assert log.unmatched.share == pytest.approx(2 / 3394)
    assert found.population.jobs == 2
    assert found.population.counted_by == "GPU-hours"
    (line,) = (line for line in answer_lines(found) if line.startswith("Not priced"))
    assert "1 job" in line
    assert "sweep (1)" in line


def test_a_log_of_which_nothing_is_known_is_counted_and_not_priced(tmp_path: Path) -> None:
    found = document(tmp_path, logs.HELIOS, "log.csv")
    assert found.classes == found.upgrades == ()
    assert found.intervals is None
    assert summary(found).unmatched.share == 1
    assert summary(found).gpu_hours == 12
    assert summary(found).left_out == {"that held no GPU": 1}
    for text in (answer_lines(found)[0], render_page(found), render_markdown(found)):
        assert "12.0" in text


@pytest.mark.parametrize(
    ("text", "name", "jobs", "gpu_hours"),
    [
        (logs.SACCT_JSON, "log.json", 2, 25),
        (logs.PODS, "log.csv", 2, 4.5),
        (logs.PHILLY, "log.json", 1, 6),
        (logs.PAI, "log.csv", 2, 17),
    ],
)
def test_gpu_hours_of_every_log(
    text: str, name: str, jobs: int, gpu_hours: float, tmp_path: Path
) -> None:
    log = summary(document(tmp_path, text, name))
    assert (log.jobs, log.gpu_hours) == (jobs, gpu_hours)


def test_one_pattern_prices_a_whole_trace(tmp_path: Path) -> None:
    text = logs.HELIOS.replace("1,u0", "b1,u0").replace("3,u1", "b3,u1")
    found = document(tmp_path, text, "log.csv")
    assert [row.architecture for row in found.classes] == [
        "allreduce-local", "allreduce-cluster", "all",
    ]  # fmt: skip
    (group,) = (g for g in load_population(study(tmp_path, text, "log.csv")).groups
                if g.architecture == "allreduce-cluster")  # fmt: skip
    assert np.asarray(group.jobs.per_server).tolist() == [1]  # 8 GPUs on 8 servers


def test_jobs_are_priced_on_the_servers_that_the_log_gives(tmp_path: Path) -> None:
    spread = "name,gpus,hours,nodes\nb1,8,1,4\n"
    packed = "name,gpus,hours\nb1,8,1\n"
    one, other = (document(tmp_path, text, "log.csv") for text in (spread, packed))
    assert [row.architecture for row in one.classes] == ["allreduce-cluster"]
    assert [row.architecture for row in other.classes] == ["allreduce-local"]
    assert any("no servers" in line for line in answer_lines(other))


def test_a_class_that_the_log_tells_is_taken(tmp_path: Path) -> None:
    text = "name,gpus,hours,class\nb1,8,1,PS/Worker\nb2,8,1,\n"
    found = document(tmp_path, text, "log.csv")
    assert {row.architecture for row in found.classes} == {"ps-worker", "allreduce-local", "all"}
    with pytest.raises(StudyError, match=r"log.csv:2:8: class: 'ring' is not known"):
        document(tmp_path, "name,gpus,hours,class\nb1,8,1,ring\n", "log.csv")


def test_a_batch_is_the_logs_else_the_studys(tmp_path: Path) -> None:
    text = "name,gpus,hours,batch_per_gpu\nb1,1,1,8\nb2,1,1,\n"
    for more, usual in (("", 32), ("batch_per_gpu: 64\n", 64)):
        population = load_population(study(tmp_path, text, "log.csv", more))
        (group,) = population.groups
        expected = [step_of_gpu("bert-base-s128", batch)["flops"] for batch in (8.0, usual)]
        assert np.asarray(group.jobs.flops).tolist() == expected
        assert population.log is not None
        assert (population.log.without_batch, population.log.batch_per_gpu) == (1, usual)


def test_without_times_jobs_count_by_their_gpus(tmp_path: Path) -> None:
    found = document(tmp_path, "name,gpus,minutes\nb1,1,60\nb2,8,60\n", "log.csv")
    assert found.population.counted_by == "cNodes"
    assert summary(found).gpu_hours is None
    assert any("no times" in line for line in answer_lines(found))


def test_the_work_of_a_gpu_is_that_of_three_forward_passes() -> None:
    network = catalog.workload("resnet50")
    one, two = step_of_gpu("resnet50", 1.0), step_of_gpu("resnet50", 2.0)
    assert one["flops"] == pytest.approx(3 * network.forward_flops)
    assert two["flops"] == pytest.approx(2 * one["flops"])
    gradients = network.params * PRECISIONS["fp32"].gradient_bytes
    assert one["weight_bytes"] == two["weight_bytes"] == pytest.approx(2 * gradients)
    assert one["memory_bytes"] < two["memory_bytes"] < 2 * one["memory_bytes"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name,gpus,hours\nb1,0,1\n", "no job in it can be used: 1 job that held no GPU"),
        ("name,gpus,status\nb1,8,PENDING\n#b2,8,x\n",
         "1 job that never started"),
        ("name,gpus,hours\n", "it has no rows"),
    ],
)  # fmt: skip
def test_a_log_of_no_jobs_is_refused(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError) as error:
        document(tmp_path, text, "log.csv")
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("more", "place", "said"),
    [
        ("columns: {gpu: gpus}\n", "7:11", "did you mean gpus?"),
        ("columns: {gpus: 5}\n", "7:17", "5 is not text"),
        ("batch_per_gpu: 0\n", "7:16", "out of range"),
        ("jobs: 100\n", "7:1", "the population is a scheduler's log, not drawn; leave it out"),
    ],
)
def test_a_mistake_about_a_log_gets_one_line(
    more: str, place: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(StudyError) as error:
        study(tmp_path, logs.SACCT, more=more)
    assert str(error.value).startswith(f"{tmp_path / 'study.yaml'}:{place}: ")
    assert said in str(error.value)


def test_an_unknown_workload_is_placed(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    (tmp_path / "log.txt").write_text(logs.SACCT)
    path.write_text(logs.STUDY.format(log="log.txt").replace("resnet50,", "resnet5000,"))
    with pytest.raises(StudyError, match=r"study.yaml:6:27: .*no such workload"):
        read_fleet(path)


def test_what_only_a_log_has_is_refused_for_a_table(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="the population is a table of jobs, not a scheduler's"):
        read_fleet(small.written(tmp_path, small.STUDY + "workloads: {a: resnet50}\n"))
