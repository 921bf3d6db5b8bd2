"""Logged jobs as a fleet: what is matched, assumed and left out, and that the report says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dse import catalog
from dse.errors import StudyError
from dse.fleet.answers import answer, load_population
from dse.fleet.document import FleetDocument
from dse.fleet.reader import read_fleet
from dse.fleet.study import FleetStudy
from dse.fleet.workload_matching import Matcher, step_of_gpu
from dse.model.precision import PRECISIONS
from dse.report import fleet_jobs, fleet_log, fleet_page, fleet_readiness
from dse.report.fleet_words import answer_lines, decision
from tests.fleet import logs, small

ALL_MATCH = "workload,gpus,hours,batch_per_gpu,class\n" + "".join(
    f"resnet50,{gpus},1,{batch},\n" for gpus in (1, 4, 8) for batch in (32, 64)
)


def study(folder: Path, text: str, name: str = "log.txt", more: str = "") -> FleetStudy:
    (folder / name).write_text(text, encoding="utf-8")
    path = folder / "study.yaml"
    path.write_text(logs.STUDY.format(log=name) + more, encoding="utf-8")
    return read_fleet(path)


def document(folder: Path, text: str, name: str = "log.txt", more: str = "") -> FleetDocument:
    return answer(study(folder, text, name, more), versions={"dse": "0", "numpy": "2"})


@pytest.mark.parametrize(
    ("label", "workload"),
    [
        ("resnet50", "resnet50"),
        ("ResNet_50-imagenet.v2", "resnet50"),
        ("train/BERT large", "bert-large-s512"),
        ("bert-large-s512-run3", "bert-large-s512"),
        ("llama-2-7b-hf", "llama2-7b"),
        ("gpt2-medium", "gpt2-medium-355m"),
        ("vgg16x", "vgg16"),
        ("resnet500", None),
        ("myresnet50", None),
        ("gpt2", "gpt2-124m"),
        ("gpt2-7b", None),
        ("llama2", None),
        ("sweep", None),
        ("", None),
    ],
)
def test_a_name_means(label: str, workload: str | None) -> None:
    assert Matcher({}).workload((label,)) == workload


@pytest.mark.parametrize(
    ("label", "workload"),
    [
        ("gpt-3-1.3b-pile", None),
        ("gpt-3-13b-pile", "gpt3-13b"),
        ("llama-2-1.3b", None),
        ("llama-2-13b-chat", "llama2-13b"),
        ("t5-3-baseline", None),
        ("gpt2_1_3b", None),
        ("gpt2-xl-15b", None),
        ("gpt2-xl-1p5b", "gpt2-xl-1.5b"),
        ("resnet-10-1", None),
        ("resnet50_2", "resnet50"),
        ("wide_resnet50_2", None),
        ("resnet50-large-batch", "resnet50"),
        ("distil-bert-base", None),
        ("swin_transformer_base", None),
        ("vit_large_ft", None),
        ("large-vit", None),
        ("ViT-L/14", None),
        ("vitl14", None),
        ("ViT-H", None),
        ("vit_base_patch32_224", None),
        ("ViT-B/32", None),
        ("vital-signs", None),
        ("vit-run-3", "vit-base-16"),
        ("vit-h100", "vit-base-16"),
        ("ViT-B/16", "vit-base-16"),
        ("vitb16", "vit-base-16"),
        ("google/vit-base-patch16-224", "vit-base-16"),
        ("gpt2-tiny", None),
        ("gpt2-base", "gpt2-124m"),
        ("gpt2-small-lr", "gpt2-124m"),
        ("gpt2-h100", "gpt2-124m"),
        ("gpt2-b32", "gpt2-124m"),
        ("gpt2-large-batch", "gpt2-large-774m"),
    ],
)
def test_a_name_that_tells_another_size_means_nothing(label: str, workload: str | None) -> None:
    assert Matcher({}).workload((label,)) == workload
    own = Matcher({label: "alexnet"})
    assert own.workload((f"run-{label}",)) == "alexnet", "what the study says counts as it stands"


@pytest.mark.parametrize(
    ("label", "workload"),
    [
        ("vision-resnet50", "resnet50"),
        ("computer-vision-resnet50", "resnet50"),
        ("team-vision-llama2-7b", "llama2-7b"),
        ("vision-bert-large", "bert-large-s512"),
        ("vision-transformer-base", None),
        ("vision_transformer_big", None),
    ],
)
def test_vision_is_a_network_only_before_transformer(label: str, workload: str | None) -> None:
    assert Matcher({}).workload((label,)) == workload


@pytest.mark.parametrize(
    ("label", "workload"),
    [
        ("vit-base-32gpu", "vit-base-16"),
        ("vit-b-32gpus", "vit-base-16"),
        ("vit-b32gpus", "vit-base-16"),
        ("vitb32gpus", "vit-base-16"),
        ("vit_base_14nodes", "vit-base-16"),
        ("vit-base-32-gpus", "vit-base-16"),
        ("vit-b-160gpus", "vit-base-16"),
        ("vit-l-32gpus", None),
        ("vit-l32gpus", None),
        ("vit-b-32", None),
        ("vitb32x8", None),
        ("vitb16x8", "vit-base-16"),
        ("ViT-B/8", None),
        ("vit_base_patch32clip", None),
        ("vit_patch32_224", None),
    ],
)
def test_a_count_of_gpus_or_nodes_is_no_patch(label: str, workload: str | None) -> None:
    assert Matcher({}).workload((label,)) == workload


@pytest.mark.parametrize(
    ("label", "workload"),
    [
        ("gpt2-xl-10b-tok", "gpt2-xl-1.5b"),
        ("gpt2-xl-10b-tokens", "gpt2-xl-1.5b"),
        ("bert-large-1m_steps", "bert-large-s512"),
        ("llama2-7b-100b-tokens", "llama2-7b"),
        ("gpt2-xl-10b", None),
        ("gpt2-7b-tokenizer", None),
        ("gpt2-7b-token-classification", None),
        ("gpt2-s", "gpt2-124m"),
        ("gpt2-m", None),
        ("gpt2-micro-batch", "gpt2-124m"),
        ("gpt2-mini_batch", "gpt2-124m"),
        ("vit-micro-batch", "vit-base-16"),
        ("gpt2-micro", None),
        ("vit-large-batch", None),
    ],
)
def test_tokens_steps_and_micro_batches_are_no_sizes(label: str, workload: str | None) -> None:
    assert Matcher({}).workload((label,)) == workload


@pytest.mark.parametrize("word", sorted(catalog.aliases()["workloads"]))
def test_a_word_means_what_it_means_in_a_study(word: str) -> None:
    """Where it means anything: a family (``gpt3``) names no job's workload."""
    assert Matcher({}).workload((word,)) in (None, catalog.resolve("workloads", word))


def test_names_of_the_study_come_first_and_the_first_label_that_means_any() -> None:
    matcher = Matcher({"resnet50-search": "vgg16", "ranker": "dlrm-mlperf-v1-dense"})
    assert matcher.workload(("Ranker_v2",)) == "dlrm-mlperf-v1-dense"
    assert matcher.workload(("resnet50-search-1",)) == "vgg16"
    assert matcher.workload(("nothing", "resnet50")) == "resnet50"


def test_a_size_that_a_label_tells_holds_for_those_after_it() -> None:
    assert Matcher({}).workload(("vit_large", "vit-ft")) is None
    assert Matcher({}).workload(("gpt2-7b", "gpt2")) is None
    assert Matcher({}).workload(("sweep", "gpt2")) == "gpt2-124m"


def test_the_work_of_a_gpu_by_hand() -> None:
    network, found = catalog.workload("vgg16"), step_of_gpu("vgg16", 64.0)
    assert PRECISIONS["fp32"].gradient_bytes == 4
    assert found.flops == pytest.approx(3 * network.forward_flops * 64, rel=1e-3)
    assert found.weight_bytes == pytest.approx(2 * network.params * 4, rel=1e-3)
    assert found.input_bytes == (network.input_bytes or 0.0) * 64
    twice = step_of_gpu("vgg16", 128.0)
    weights = 3 * network.params * 4
    assert twice.memory_bytes - weights == pytest.approx(2 * (found.memory_bytes - weights))


def test_jobs_of_sacct_by_size_with_their_own_work(tmp_path: Path) -> None:
    found = load_population(study(tmp_path, logs.SACCT))
    groups = {group.architecture: group for group in found.groups}
    assert set(groups) == {"1w1g", "allreduce-local", "allreduce-cluster"}
    own = groups["allreduce-cluster"]
    assert own.gpu_hours.tolist() == [3200]
    step = step_of_gpu("bert-large-s512", 32.0)
    assert np.asarray(own.jobs.flops).tolist() == [step.flops]
    assert np.asarray(own.jobs.weight_bytes).tolist() == [step.weight_bytes]
    assert own.assumed is not None
    assert groups["1w1g"].assumed is not None
    assert not own.assumed.any()
    assert groups["1w1g"].assumed.all()


def test_jobs_are_priced_on_the_servers_that_they_held(tmp_path: Path) -> None:
    """The same eight GPUs on one server and on two: only the latter exchange over Ethernet."""
    header, eight, *_ = logs.SACCT.splitlines()
    text = "\n".join((header, eight, eight.replace("101|", "105|").replace("|1|COM", "|2|COM")))
    one, two = document(tmp_path, text + "\n").named
    assert (one.cnodes, two.cnodes) == (8, 8)
    assert (one.architecture, two.architecture) == ("allreduce-local", "allreduce-cluster")
    assert two.own_model.comm_s > 3 * one.own_model.comm_s
    assert two.data_s == pytest.approx(one.data_s / 2), "four share the PCIe of a server"


def test_what_was_matched_assumed_and_left_out_is_told(tmp_path: Path) -> None:
    found = document(tmp_path, logs.SACCT)
    log = found.log
    assert log is not None
    assert [(row.name, row.jobs) for row in log.matched] == [("bert-large-s512", 1),
                                                             ("resnet50", 1)]  # fmt: skip
    assert (log.unmatched, log.unmatched_share) == (1, pytest.approx(2 / (2 + 192 + 3200)))
    assert sum(log.left_out.values()) == 2
    assert log.without_batch == 2
    text = fleet_page.render_markdown(found)
    for words in (
        "2 of 3 jobs in the log name a workload that dse knows; the others hold",
        "up to a billion parameters",
        "sweep (1). Say in the study what they are: workloads:",
        "The log gives no batch for 2 jobs of a known workload: each GPU takes 32 samples",
        "The log has 3 jobs that held GPUs, for 3,394 GPU-hours in all. Left out: 1 job that ran "
        "for less than 4 seconds of a GPU, or not at all; 1 job that held no GPU; 2 rows of steps, "
        "such as 101.batch, which are part of their jobs.",
        "tres from AllocTRES",
        "the 90 % intervals do not cover it",
        "| not matched | 1 |",
        "| v100 | 1 |",
    ):
        assert words in text
    page = fleet_page.render_page(found)
    assert 'id="log"' in page
    assert "Jobs by GPU" in page


def test_the_answer_says_on_what_types_of_gpu_the_jobs_ran(tmp_path: Path) -> None:
    (line,) = (line for line in answer_lines(document(tmp_path, logs.SACCT)) if "of GPU" in line)
    assert line == (
        "The log names 2 types of GPU (a100 94 % of the GPU-hours, v100 5.7 %); all jobs are "
        "priced on the study's hardware, whatever they ran on."
    )
    header = "workload,gpus,hours,gpu_type\n"
    many = "".join(f"resnet50,1,{20 - at},kind-{at}\n" for at in range(5))
    (line,) = (line for line in answer_lines(document(tmp_path, header + many)) if "of GPU" in line)
    assert "names 5 types of GPU (the most common: kind-0 22 % of the GPU-hours, kind-1" in line
    assert "kind-3" not in line
    bare = document(tmp_path, "workload,gpus,hours\nresnet50,1,1\n")
    assert not any("of GPU" in line for line in answer_lines(bare))


FAILED = """\
JobID|JobName|AllocTRES|ElapsedRaw|NNodes|State
1|resnet50|gres/gpu=8|36000|1|COMPLETED
2|resnet50|gres/gpu=8|18000|1|FAILED
3|resnet50|gres/gpu=4|7200|1|CANCELLED by 1001
4|resnet50|gres/gpu=4|3600|1|OUT_OF_ME+
5|resnet50|gres/gpu=8|86400|1|TIMEOUT
6|resnet50|gres/gpu=8|0|1|CANCELLED by 1001
"""


def test_jobs_that_failed_are_told_and_count_unless_the_study_says_otherwise(
    tmp_path: Path,
) -> None:
    """Three of the five that ran: 40, 8 and 4 of 80 + 40 + 8 + 4 + 192 GPU-hours."""
    found = document(tmp_path, FAILED)
    (line,) = (line for line in answer_lines(found) if "cancelled" in line)
    assert line == (
        "3 jobs that failed or were cancelled held 52 GPU-hours, 16 % of all; they count like the "
        "others, since the GPUs were busy ('failed_jobs: leave out' in the study leaves such jobs "
        "out)."
    )
    assert line in fleet_page.render_markdown(found).replace("\\", "")
    assert found.population.jobs == 5
    assert sum(job.gpu_hours for job in found.named) == pytest.approx(324)
    without = document(tmp_path, FAILED, more="failed_jobs: leave out\n")
    assert without.population.jobs == 2
    assert sum(job.gpu_hours for job in without.named) == pytest.approx(272)
    assert (
        "3 jobs that failed or were cancelled held 52 GPU-hours, 16 % of all; they are left out, "
        "as the study says."
    ) in answer_lines(without)
    silent = document(tmp_path, FAILED.replace("State", "Partition"))
    assert not any("cancelled" in line for line in answer_lines(silent))
    header, *rows = FAILED.splitlines()
    only = "\n".join((header, *rows[1:4])) + "\n"
    with pytest.raises(StudyError, match="no job in it can be used: 3 failed or were cancelled"):
        document(tmp_path, only, more="failed_jobs: leave out\n")


@pytest.mark.parametrize(
    ("text", "name", "jobs", "failed"),
    [(logs.PAI, "log.csv", 3, 1), (logs.PHILLY, "log.json", 2, 1)],
)
def test_failed_jobs_of_public_traces(
    text: str, name: str, jobs: int, failed: int, tmp_path: Path
) -> None:
    log = document(tmp_path, text, name).log
    assert log is not None
    assert log.failed is not None
    assert log.failed.jobs == failed
    without = document(tmp_path, text, name, "failed_jobs: leave out\n")
    assert without.population.jobs == jobs - failed


def test_a_headline_that_stands_on_a_minority_of_the_fleet_says_so(tmp_path: Path) -> None:
    header = "workload,gpus,hours\n"
    third = header + "resnet50,8,35\nsecret,8,65\n"
    what, _ = decision(document(tmp_path, third))
    assert what.endswith(" (the workload of only 35 % of the GPU-hours is known)")
    assert what in fleet_page.render_page(document(tmp_path, third)).replace("\u00a0", " ")
    half, _ = decision(document(tmp_path, third.replace("65", "34")))
    assert half == what.partition(" (")[0]
    none, _ = decision(document(tmp_path, header + "secret,8,65\n"))
    assert none.endswith(" (no job's workload is known)")


def test_runs_of_one_name_are_told_together(tmp_path: Path) -> None:
    runs = ("ranker-v2", "ranker-v2", "ranker_v2-17", "nightly-1", "nightly-20", "nightly-20-3",
            "ctr_7", "2026", "resnet50-4")  # fmt: skip
    log = document(tmp_path, "workload,gpus,hours\n" + "".join(f"{run},1,1\n" for run in runs)).log
    assert log is not None
    assert [(seen.name, seen.jobs) for seen in log.unmatched_labels] == [
        ("nightly", 3), ("ranker-v2", 2), ("ranker_v2-17", 1), ("ctr_7", 1), ("2026", 1)
    ]  # fmt: skip
    given = document(
        tmp_path,
        "workload,gpus,hours\n" + "".join(f"{run},1,1\n" for run in runs),
        more="workloads: {nightly: resnet50}\n",
    ).log
    assert given is not None
    assert (given.unmatched, given.matched[0].jobs) == (5, 4), "what is told can be named"


def test_others_take_the_work_of_matched_jobs_of_their_class(tmp_path: Path) -> None:
    rows = "".join(f"resnet50,8,1,{16 * n},\n" for n in range(1, 9)) + "secret,8,100,,\n" * 40
    text = "workload,gpus,hours,batch_per_gpu,class\n" + rows
    found = load_population(study(tmp_path, text))
    (group,) = found.groups
    assert group.assumed is not None
    known = {step_of_gpu("resnet50", 16.0 * n).flops for n in range(1, 9)}
    drawn = np.asarray(group.jobs.flops)[group.assumed]
    assert set(drawn) <= known
    assert len(set(drawn)) > 4  # a spread, not one value
    assert found.log is not None
    assert found.log.stands_for == "matched jobs of their class"
    again = load_population(study(tmp_path, text))
    assert np.array_equal(np.asarray(again.groups[0].jobs.flops), np.asarray(group.jobs.flops))


def test_with_workloads_batch_and_class_of_study_and_log(tmp_path: Path) -> None:
    more = "workloads: {ranker: dlrm-mlperf-v1-dense}\nbatch_per_gpu: 64\n"
    found = document(tmp_path, logs.KUBERNETES, "log.csv", more)
    log = found.log
    assert log is not None
    assert log.unmatched == 0
    assert {row.name for row in log.matched} == {"resnet50", "dlrm-mlperf-v1-dense"}
    notes = " ".join(fleet_log.notes(found))
    assert "The log gives no batch for 1 job of a known workload" in notes
    assert "each GPU takes 64 samples in a step, as the study says" in notes
    assert "not matched" not in fleet_page.render_markdown(found)
    classed = document(tmp_path, ALL_MATCH.replace("4,1,32,", "4,1,32,PS/Worker"))
    assert {row.architecture for row in classed.classes} >= {"ps-worker", "1w1g"}


@pytest.mark.parametrize(("text", "name"), [(logs.PAI, "log.csv"), (logs.PHILLY, "log.json")])
def test_public_traces_are_priced_as_classes(text: str, name: str, tmp_path: Path) -> None:
    found = document(tmp_path, text, name)
    log = found.log
    assert log is not None
    assert log.unmatched == found.population.jobs > 0
    assert (log.unmatched_share, log.without_hours) == (1, 1)
    notes = " ".join(fleet_log.notes(found))
    assert "The log does not name the workload of any of them." in notes
    assert f"Read as the log of {log.form}." in notes


def test_without_times_jobs_count_by_gpus(tmp_path: Path) -> None:
    found = document(tmp_path, "gpus,model\n8,resnet50\n1,vgg16\n")
    assert found.population.counted_by == "cNodes"
    assert "The log has no times that can be read, so jobs count by their GPUs" in " ".join(
        fleet_log.notes(found)
    )


def test_a_table_with_flops_has_no_log(tmp_path: Path) -> None:
    found = answer(read_fleet(small.written(tmp_path)))
    assert found.log is None
    assert fleet_log.notes(found) == []
    assert "scheduler" not in fleet_page.render_markdown(found)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("workloads: {ranker: resnet5O}\n", "no such workload; did you mean resnet50"),
        ("columns: {gpuz: Cards}\n", "unknown key 'gpuz'; did you mean"),
        ("batch_per_gpu: 0\n", "batch_per_gpu"),
        ("failed_jobs: drop\n", "failed_jobs"),
        ("columns: {workload: Tag}\n", "no column 'Tag', which the study names for workload"),
        ("workloads: {'?': resnet50}\n", "'?' is no name"),
    ],
)
def test_a_wrong_study_of_a_log(more: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError) as error:
        document(tmp_path, logs.SACCT, more=more)
    assert said in str(error.value)
    assert str(error.value).count("\n") == 0


def test_no_job_can_be_used_and_keys_of_a_table(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="no job in it can be used: 1 held no GPU; give"):
        document(tmp_path, "gpus,hours\n0,5\n")
    with pytest.raises(StudyError, match=r":2:1: class: 'what' is not known; use 1w1g"):
        document(tmp_path, "gpus,hours,class\n1,5,what\n")
    path = small.written(tmp_path, small.STUDY + "batch_per_gpu: 3\n")
    with pytest.raises(StudyError, match="batch_per_gpu: the population is no scheduler's log"):
        read_fleet(path)
    path = small.written(tmp_path, small.STUDY + "failed_jobs: leave out\n")
    with pytest.raises(StudyError, match="failed_jobs: the population is no scheduler's log"):
        read_fleet(path)


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("Job Name", "{job: Job Name}"),
        ("Bezeichnung", "{job: Bezeichnung}"),
        ("Bezeichnung", "{workload: Bezeichnung}"),
        ("Job", "{hours: hours}"),
    ],
)
def test_a_column_named_as_that_of_the_job_still_names_its_workload(
    header: str, columns: str, tmp_path: Path
) -> None:
    text = f"{header},gpus,hours\nresnet50-17,8,10\nvgg16-2,8,10\n"
    said = fleet_log.summary(document(tmp_path, text, "log.csv", f"columns: {columns}\n"))
    assert said == "2 of 2 jobs in the log name a workload that dse knows."


def test_ids_are_no_names_of_workloads(tmp_path: Path) -> None:
    found = document(tmp_path, "id,gpus,hours\n40210,8,10\n40211,8,10\n", "log.csv",
                     "columns: {job: id}\n")  # fmt: skip
    assert found.log is not None
    assert found.log.unmatched_labels == ()


def test_the_answer_tells_all_gpu_hours_and_what_is_left_out(tmp_path: Path) -> None:
    told = "The log has 5 jobs that held GPUs, for 706 GPU-hours in all. Left out: 1 job that "
    hours = (8 * 36000 + 8 * 18000 + 4 * 7200 + 4 * 3600 + 8 * 86400) / 3600
    for more in ("", "failed_jobs: leave out\n"):
        found = document(tmp_path, FAILED, more=more)
        assert found.log is not None
        assert found.log.gpu_hours == hours
        (line,) = (line for line in answer_lines(found) if "GPU-hours in all" in line)
        assert line.startswith(told.replace("706", f"{hours:,.0f}"))
        for text in (fleet_page.render_markdown(found), fleet_page.render_page(found)):
            assert line in text
    text = "workload,gpus,hours\nresnet50,8,1\nresnet50,4,\n"
    assert fleet_log.total(document(tmp_path, text)) == (
        "The log has 2 jobs that held GPUs, for 12 GPU-hours in all (1 without a time, counted as "
        "long as the median)."
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "name,gpus,time\nresnet50,8,16:28:54\nvgg16,8,04:00:00\n",
            "'time' looks like how long jobs ran: name it in the study, columns: {seconds: time}.",
        ),
        ("name,gpus,Hours of run\nresnet50,8,16\n", "columns: {hours: Hours of run}."),
        (
            "name,gpus,wall (min)\nresnet50,8,16\n",
            "'wall (min)' looks like how long jobs ran: write hours or seconds there, and name it",
        ),
        (
            "JobID|JobName|AllocTRES|Timelimit|CPUTime\n1|resnet50|gres/gpu=8|02:00:00|16:00:00\n",
            "Give a log that tells how long jobs ran (sacct: ElapsedRaw), or name the column",
        ),
    ],
)
def test_that_a_log_has_no_times_stands_in_the_answer_with_what_to_do(
    text: str, said: str, tmp_path: Path
) -> None:
    more = "money: {gpus: 64, gpu_hour: 2 USD/hour}\n"
    found = document(tmp_path, text, more=more)
    (line,) = (line for line in answer_lines(found) if "no times that can be read" in line)
    assert "dollars rest on that" in line
    assert said in line
    assert line in fleet_page.render_page(found).replace("&#39;", "'")
    assert any("Give a log with the times of jobs" in one for one in fleet_readiness.actions(found))


def test_a_column_of_times_that_is_named_as_advised_is_read(tmp_path: Path) -> None:
    text = "name,gpus,time\nresnet50,8,16:30:00\n"
    found = document(tmp_path, text, more="columns: {seconds: time}\n")
    assert found.log is not None
    assert found.log.gpu_hours == 8 * 16.5
    assert not any("no times" in line for line in answer_lines(found))


def test_workloads_may_be_called_by_other_words_that_are_clear(tmp_path: Path) -> None:
    text = "workload,gpus,hours\nours,8,1\nresnet50,8,1\n"
    found = study(tmp_path, text, more="workloads: {ours: gpt2-xl}\n")
    assert found.log is not None
    assert found.log.workloads == {"ours": "gpt2-xl-1.5b"}
    several = study(tmp_path, text, more="workloads: {ours: bert-large}\n")
    assert several.log is not None
    assert several.log.workloads["ours"] == catalog.resolve("workloads", "bert-large")
    assert any("bert-large" in line for line in several.told)


def test_jobs_are_listed_by_what_they_held_with_the_names_that_the_log_has(
    tmp_path: Path,
) -> None:
    rows = fleet_jobs.rows(document(tmp_path, logs.SACCT))
    assert [row[0] for row in rows] == [
        "102 bert_large_pretrain_v3 (bert-large-s512)",
        "101 resnet50-imagenet (resnet50)",
        "103_1 sweep (not matched)",
    ]
    text = "job name,gpus,hours\nresnet50-1,8,1\n"
    (row,) = fleet_jobs.rows(document(tmp_path, text, more="columns: {job: job name}\n"))
    assert row[0] == "resnet50-1 (resnet50)"


PENDING = """\
JobID|JobName|ReqTRES|State|Start|End
1|resnet50|gres/gpu:a100=8|COMPLETED|2026-03-01T00:00:00|2026-03-01T10:00:00
2|resnet50|gres/gpu:a100=8|COMPLETED|2026-03-01T00:00:00|2026-03-01T10:00:00
3|resnet50|gres/gpu:a100=64|PENDING|Unknown|Unknown
4|resnet50|gres/gpu:a100=64|PENDING|2026-03-09T00:00:00|Unknown
5|resnet50|gres/gpu:a100=64|REQUEUED|Unknown|Unknown
6|resnet50|gres/gpu:a100=64|CANCELLED by 7|None|2026-03-01T10:00:00
7|resnet50|gres/gpu:a100=8|RUNNING|2026-03-01T00:00:00|Unknown
"""


def test_jobs_that_never_started_hold_no_gpus(tmp_path: Path) -> None:
    found = document(tmp_path, PENDING)
    assert fleet_log.total(found) == (
        "The log has 3 jobs that held GPUs, for 240 GPU-hours in all (1 without a time, counted as "
        "long as the median). Left out: 4 jobs that never started."
    )
    header, *rows = PENDING.splitlines()
    with pytest.raises(StudyError, match="no job in it can be used: 2 never started; give"):
        document(tmp_path, "\n".join((header, *rows[2:4])) + "\n")


def test_jobs_of_a_public_trace_that_wait_hold_no_gpus(tmp_path: Path) -> None:
    waiting = "w1,worker,4.0,Waiting,,,600.0,29.3,800.0,V100\n"
    log = document(tmp_path, logs.PAI + waiting, "log.csv").log
    assert log is not None
    assert log.left_out["never started"] == 1


def test_a_log_without_jobs_says_why(tmp_path: Path) -> None:
    with pytest.raises(
        StudyError, match=r"can be used: 2 rows of steps, such as 101\.batch, which"
    ):
        document(tmp_path, "JobID|gpus|hours\n1.batch|8|1\n2.extern|8|1\n")
    with pytest.raises(StudyError, match="can be used: it has no rows below its header; give"):
        document(tmp_path, "JobID|gpus|hours\n")


def test_gpus_of_mixed_jobs_count_for_their_own_types(tmp_path: Path) -> None:
    text = (
        "JobID|JobName|AllocTRES|ElapsedRaw\n"
        "1|resnet50|gres/gpu:a100=6,gres/gpu:v100=2,gres/gpu=8|3600\n"
        "2|resnet50|gres/gpu:v100=8,gres/gpu=8|3600\n"
    )
    log = document(tmp_path, text).log
    assert log is not None
    assert [(row.name, row.jobs, row.share) for row in log.gpu_types] == [
        ("v100", 2, pytest.approx(10 / 16)),
        ("a100", 1, pytest.approx(6 / 16)),
    ]


def test_rows_of_one_id_and_other_readings_are_told_in_the_answer(tmp_path: Path) -> None:
    text = "id,model,gpus,replicas,hours\n1,resnet50,8,2,1\n1,resnet50,8,2,1\n2,resnet50,8,2,1\n"
    found = document(tmp_path, text, "log.csv")
    (line,) = (line for line in answer_lines(found) if "'replicas' is not read" in line)
    assert line.endswith(
        "2 rows share their 'id' with another row: each counts as a job of its own, and their "
        "GPU-hours add up, as those of a requeued job should."
    )
    for told in found.log.readings if found.log else ():
        assert told in fleet_page.render_markdown(found).replace("\\", "")
    assert fleet_log.readings(document(tmp_path, ALL_MATCH)) == ""
