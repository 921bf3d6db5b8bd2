"""`dse ask` and `dse init`: studies from a few options."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

from dse import catalog
from dse.calibration import write_profile
from dse.calibration.importers.throughput import throughput_profile
from dse.commands.entry_kinds import SHIPPED, fleet_names
from dse.draft import LARGEST_BATCH, Draft, draft_of
from dse.errors import ArgumentError
from dse.fleet import read_fleet
from dse.pricing import constraints
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report.training_runs import said
from tests.commands.command import dse, files, refused
from tests.report.brief import briefly

ASKED = ["ask", "--workload", "bert-large", "--gpus", "8..256", "--on", "a100,h100"]
ASKED += ["--network", "100,200,400", "--budget"]
STUDY = Path("study.yaml")


def drafted(
    workload: str = "resnet50", on: str = "h100", gpus: str = "8", **more: object
) -> Problem:
    return draft_of({"workload": workload, "on": on, "gpus": gpus, **more}).problem(STUDY)


def text(
    workload: str = "bert-large", on: str = "h100", gpus: str = "8..64", **more: object
) -> str:
    return drafted(workload, on, gpus, **more).study.source.text


def test_one_line_is_an_answer_and_its_study(tmp_path: Path) -> None:
    done = dse(*ASKED, "2 MUSD", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "a100 means a100-sxm4-80gb here" in done.stdout
    kept = Path("reports", "bert-large-s512-cluster", "study.yaml")
    assert f"study: {kept}" in done.stdout
    document = json.loads((tmp_path / kept.with_name("run.json")).read_text())
    assert document["recommended"]["capital"] <= 2e6
    with briefly():
        again = dse("run", str(kept), "--out", "again", "--json", cwd=tmp_path)
    assert json.loads(again.stdout)["recommended"] == document["recommended"]


@pytest.mark.usefixtures("brief")
def test_a_study_that_somebody_changed_is_kept(tmp_path: Path) -> None:
    asked = ("ask", "--workload", "resnet50", "--on", "h100", "--gpus", "8", "--network", "hdr",
             "--out", "here", "--json")  # fmt: skip
    document = json.loads(dse(*asked, cwd=tmp_path).stdout)
    assert document["baseline"]["config"]["inter_node"] == "ib-hdr"
    assert {path.name for path in tmp_path.iterdir()} == {"here"}
    (tmp_path / "here" / "study.yaml").write_text("mine")
    assert dse(*asked, cwd=tmp_path).returncode == 0
    assert (tmp_path / "here" / "study.yaml.1").read_text() == "mine"
    assert "h100-sxm" in dse("explain", "here", "--row", "1", cwd=tmp_path).stdout


def fits(problem: Problem) -> bool:
    return all(mask.all() for name, mask in constraints.demands(problem.baseline, problem.study)
               if name == constraints.FITS)  # fmt: skip


@pytest.mark.parametrize("name", catalog.names("workloads"))
def test_every_network_of_the_catalogue_can_be_asked_about(name: str) -> None:
    """Memory that is unknown is not judged, but of layouts; what is known not to fit is refused."""
    known, problem, refusal = catalog.workload(name).activation_bytes is not None, None, ""
    try:
        problem = drafted(name)
    except ArgumentError as error:
        refusal = error.on_command_line()
    if problem is None:
        assert known
        laid_out = f"--on: no layout of {name} that the study allows fits its accelerators"
        assert refusal.startswith((f"--on: {name} does not fit in h100-sxm", laid_out))
    else:
        assert fits(problem)
        told = "what fits in memory is not known" in problem.study.source.text
        assert told != (known or problem.study.laid_out)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "--workload: is missing; write for example --workload bert-large"),
        ("--workload bert-larg", "--workload: 'bert-larg': no such workload; did you mean"),
        ("--workload resnet50 --on h1oo", "--on: 'h1oo': no such accelerator; did you mean h100"),
        ("--workload resnet50 --on a100,dgx-h100", "--on: 'dgx-h100': no such accelerator"),
        ("--workload resnet50 --on tpu-v4", "--on: tpu-v4 has no known"),
        ("--workload resnet50 --gpus many", "--gpus: 'many' is not a number; write a whole number"),
        ("--workload resnet50 --gpus 0", "--gpus: 0 is zero; write a whole number"),
        ("--workload gpt2 --on H100:8 --gpus 10", "--gpus: 10 leaves the last host partly filled"),
        ("--workload resnet50 --gpus 64..8", "--gpus: the range runs from 64 down to 8"),
        ("--workload resnet50 --stack tunedd", "--stack: 'tunedd': no such stack; did you mean"),
        ("--workload resnet50 --network 50", "'50gbe': no such fabric; did you mean 10gbe, 25gbe"),
        ("--workload resnet50 --network ib-xdr", "--network: ib-xdr: its latency is unknown"),
        ("--workload resnet50 --minimize fun", "--minimize: 'fun': no such objective; use capital"),
        (
            "--workload resnet50 --minimize run",
            "--minimize: objective per_run needs a target; add "
            "--samples 115e6, --tokens 300e9 or --quality",
        ),
        (
            "--workload vgg16 --deadline 7d",
            "--deadline: time_to_target needs a target; add --",
        ),
        ("--workload resnet50 --budget 5", "--budget: 5 has no unit"),
        (
            "--workload resnet50 --confidence 0.9",
            "--confidence: there is no limit to be sure of; add --deadline or --budget",
        ),
        (
            "--workload resnet50 --tokens 1e6 --quality mlperf-resnet50",
            "--tokens: target gives tokens and quality; give one of",
        ),
        (
            "--workload resnet50 --quality mlperf-bert",
            "--quality: mlperf-bert is a quality of bert-large-s512, not of resnet50",
        ),
        ("--workload resnet50 --tokens 1e9", "--tokens: how many tokens a sample of resnet50 has"),
        (
            "--workload resnet50 --budget 2MEUR",
            "--budget: 'MEUR' is in a currency of which no rate "
            "is given; add 'currencies: {EUR: ... USD}' with what one EUR is worth to a list of "
            "--prices, or write it in USD",
        ),
        ("--workload resnet50 --engine quick", "--engine: 'quick' is not known; use auto, exha"),
        (
            "--workload resnet50 --on l40s,gb200",
            "--on: whole machines are compared, and l40s stands",
        ),
        ("--workload gpt2 --gpus h100:8 --on b200", "--gpus: names accelerators, as --on does"),
        ("--workload gpt2 --on h100:8,a100:4", "--on: 'h100:8,a100:4' does not tell one size of"),
        ("--workload resnet50 --sequence 384", "--sequence: resnet50 has no sequences of tokens"),
        ("--workload google/gemma-9", "--workload: 'google/gemma-9' is no file, and no repository"),
        ("--workload gpt2-xl --on v100", "--on: gpt2-xl-1.5b does not fit in v100-sxm2-16gb"),
    ],
)
def test_what_cannot_be_asked_gets_a_line(given: str, said: str, tmp_path: Path) -> None:
    assert said in refused(dse("ask", *given.split(), cwd=tmp_path))
    assert files(tmp_path) == {}


def test_all_mistakes_of_a_question_are_told(tmp_path: Path) -> None:
    """None that follows from another, and ten at most."""
    asked = "--workload x --budget 2 --on h1000,foo --gpus 8,x --network a,b,c,50 --samples y"
    done = dse("ask", *asked.split(), "--confidence", "2", cwd=tmp_path)
    assert (done.returncode, files(tmp_path)) == (2, {})
    *told, last = done.stderr.splitlines()
    assert (len(told), last) == (10, "dse: 1 more mistake; correct these first")
    assert {line.split(": ")[1] for line in told} == {
        "--budget", "--confidence", "--workload", "--on", "--gpus", "--network"
    }  # fmt: skip
    init = dse("init", "--on", "h1oo", "--gpus", "0", cwd=tmp_path)
    assert [line.split(": ")[1] for line in init.stderr.splitlines()] == ["--on", "--gpus"]


def test_limits_stand_in_the_study() -> None:
    limited = {"deadline": "7 d", "budget": "1,000 USD", "power": "90 kW"}
    study = yaml.safe_load(text(minimize="run", samples=1e9, confidence="90%", **limited))
    assert study["constraints"] == [
        "fits_memory", "time_to_target <= 7 d", "per_run <= 1000 USD", "power <= 90 kW"
    ]  # fmt: skip
    assert (study["confidence"], study["objectives"]["minimize"]) == (0.9, "per_run")
    rented = yaml.safe_load(text(budget="50 USD/hour"))
    assert rented["constraints"][1] == "hourly <= 50 USD/hour"
    assert rented["objectives"]["minimize"] == "hourly"


@pytest.mark.parametrize("tokens", ["100B", "100 B", "0.1T", "100e9"])
def test_tokens_are_read_as_they_are_printed(tokens: str) -> None:
    problem = drafted("bert-large", tokens=tokens)
    assert problem.study.target is not None
    assert problem.study.target.tokens == 100e9
    assert said(problem) == "100 B tokens"


@pytest.mark.usefixtures("brief")
def test_a_sum_is_no_budget_for_rent_by_the_hour(tmp_path: Path) -> None:
    done = dse(*ASKED, "3 MUSD", "--minimize", "rent", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "--budget: 3 MUSD is a sum, and rent by the hour is minimized; write" in done.stderr
    assert '--budget "50 USD/hour", or minimize per_run' in done.stderr
    done = dse(*ASKED, "3 MUSD", "--minimize", "run", "--tokens", "1e9", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    kept = tmp_path / "reports" / "bert-large-s512-cluster" / "study.yaml"
    assert "per_run <= 3 MUSD" in yaml.safe_load(kept.read_text())["constraints"]


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("8..256", {"from": 8, "to": 256, "scale": "linear", "step": 8}),
        ("8..1024", {"from": 8, "to": 1024, "scale": "linear", "step": 8}),
        ("8..1032", {"from": 8, "to": 1032, "scale": "doubling"}),
        ("1..64", {"from": 1, "to": 64, "scale": "doubling"}),
        ("8..60", {"from": 8, "to": 60, "scale": "doubling"}),
        ("8..8", [8]),
        ("64, 8", [8, 64]),
    ],
)
def test_a_range_counts_whole_hosts(given: str, written: object) -> None:
    assert yaml.safe_load(text("resnet50", gpus=given))["space"]["gpus"] == written


@pytest.mark.parametrize(
    ("asked", "space"),
    [
        (Draft("resnet50", "v100, a100", "1..64", "25"),
         {"gpus_per_node": [1, 2, 4, 8], "precision": "fp16", "inter_node": ["25gbe"]}),
        (Draft("bert-base", "k80", "4,12", "10 Gbps, IB_HDR"),
         {"gpus": [4, 12], "gpus_per_node": [4, 6], "precision": "fp32",
          "inter_node": ["10gbe", "ib-hdr"]}),
        (Draft("bert-large", "h100", "8", "100, 100 Gbps,100g,100GbE, 100 gbit/s, NDR400"),
         {"inter_node": ["100gbe", "ib-ndr"]}),
        (Draft("gpt2-small", "p4de, p5", "8..32"),
         {"node": ["aws-p4de.24xlarge", "aws-p5.48xlarge"]}),
        (Draft("openai-community/gpt2", "H100:4,a100:4", "4..64", sequence="512",
               precision="bf16,tf32"),
         {"gpus": {"from": 4, "to": 64, "scale": "linear", "step": 4}, "gpus_per_node": [4],
          "precision": ["bf16", "tf32"]}),
        (Draft("bert-large", gpus="H100:8"), {"accelerator": ["h100-sxm"], "gpus": [8]}),
        (Draft("bert-large", "GB200", "8..64"), {"node": ["gb200-nvl72-tray"]}),
        (Draft("bert-large", "h200, h100,gb200", "8"),
         {"node": ["hgx-h200", "dgx-h100", "gb200-nvl72-tray"]}),
        (Draft("resnet50", "a100", "3"), {"gpus_per_node": [4]}),  # in one host, not in three
        (Draft("resnet50", "a100", "3,6"), {"gpus_per_node": [4, 8]}),
        (Draft("resnet50", "a100", "5,16"), {"gpus_per_node": [8]}),
        (Draft("mobilenet-v1", "b200", "8"), {"gpus": [8], "optimizer": "momentum"}),
        (Draft("resnet50", "a100", "8", accumulation="4, 1,4"), {"accumulation": [4, 1]}),
        (Draft("resnet50", "a100", "8", stack="tuned, plain"), {"stack": ["tuned", "plain"]}),
    ],
)  # fmt: skip
def test_what_is_left_open_suits_what_is_said(asked: Draft, space: dict[str, object]) -> None:
    problem = asked.problem(STUDY)
    found = yaml.safe_load(problem.study.source.text)
    assert {key: found["space"][key] for key in space} == space
    batches = found["space"]["batch_per_gpu"]
    assert max(batches) <= LARGEST_BATCH
    assert problem.study.name == asked.name
    first = int(re.split(r"\D", (asked.gpus or "").split(":")[-1])[0])
    assert problem.study.baseline.values["gpus"] == first
    tokens = problem.workload.tokens_per_sample
    assert asked.sequence is None or int(asked.sequence) == tokens
    assert found["baseline"]["batch_per_gpu"] in batches


@pytest.mark.parametrize(
    ("gpus", "per_node"), [("3", 4), ("6,12", 864), ("1,16", 81), ("9,10", 5321), ("8..64", 8)]
)
def test_only_hosts_that_some_cluster_fills_are_drafted(gpus: str, per_node: int) -> None:
    problem = drafted("llama3-8b", gpus=gpus)
    assert problem.study.values("gpus_per_node") == (*map(int, str(per_node)),)
    assert problem.point(problem.study.baseline.values).whole_nodes().all()


def test_what_comes_in_racks_is_asked_about_in_racks() -> None:
    """Trays of four with their own network, in domains of 72."""
    asked = Draft("llama3-8b", "gb200", "8..72")
    problem = asked.problem(STUDY)
    assert problem.study.values("node") == ("gb200-nvl72-tray",)
    assert problem.study.axis("inter_node") is problem.study.axis("gpus_per_node") is None
    assert problem.tables.node == 72
    assert asked.notes == ("gb200 means gb200-nvl72-tray here, in which it is sold",)
    points = problem.points_at({**problem.study.baseline.values, "gpus": 72})
    assert (float(np.max(points.domain)), float(np.max(points.bill.bought))) == (72, 18)


def test_more_passes_a_step_are_searched_where_they_are_asked_for() -> None:
    """And only there: without a quality to reach, larger batches would always look better."""
    alone, several = drafted(), drafted(accumulation=[1, 2, 4])
    assert several.points == 3 * (alone.points or 0)
    assert several.study.baseline.global_batch == alone.study.baseline.global_batch


def test_own_training_rates_of_these_accelerators_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    header = "workload,accelerator,samples_per_s,precision,batch_per_gpu\n"
    Path("calibrations").mkdir()
    for name, accelerator in (("ours", "h100-sxm"), ("others", "v100-sxm2-16gb")):
        Path("t.csv").write_text(f"{header}bert-large-s512,{accelerator},90,fp16,8\n")
        write_profile(throughput_profile("t.csv", name), f"calibrations/{name}.yaml")
    found = text(network=400)
    assert yaml.safe_load(found)["calibration"] == ["ours", "aws-p5-node"]
    assert "# ours: 1 training rate" in found
    assert "calibration" not in yaml.safe_load(text(on="p100", gpus="8,16", network=100))
    assert "others" in yaml.safe_load(text(on="v100", gpus="8", network=100))["calibration"]
    Path("t.csv").write_text(f"{header}gnmt-v2,h100-sxm,90,fp16,8\n")
    write_profile(throughput_profile("t.csv", "stranger"), "calibrations/stranger.yaml")
    shutil.copy("calibrations/ours.yaml", "calibrations/the-same.yaml")
    named = yaml.safe_load(text(network=400))["calibration"]
    assert named == ["ours", "aws-p5-node"]  # no other tells more
    Path("calibrations/the-same.yaml").unlink()
    path = Path("calibrations/ours.yaml")
    path.write_text(path.read_text().replace("stack: vendor", "stack: vendorx"))
    named = yaml.safe_load(text(network=400))["calibration"]
    assert named == ["aws-p5-node"]  # none could be priced by it


def test_what_nccl_chose_and_somebody_timed_is_not_searched_beside_estimates() -> None:
    study = yaml.safe_load(text(gpus="8,16", network=100))
    assert study["calibration"]
    assert study["space"]["aggregation"] == ["auto-nccl"]
    unknown = yaml.safe_load(text(on="p100", gpus="8,16", network=100))
    assert "calibration" not in unknown
    assert unknown["space"]["aggregation"] == ["auto-nccl", "ring-nccl", "tree-nccl"]


def test_paths_lead_to_where_they_lead_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    models = Path(os.path.relpath(load("ps-vs-allreduce").study.path)).parents[2] / "models"
    asked = Draft(str(models / "workloads" / "resnet50.yaml"), "h100", "8")
    assert asked.problem(Path("below", "study.yaml")).workload.name == "resnet50"


@pytest.mark.usefixtures("brief")
def test_a_draft_is_written_checked_and_run(tmp_path: Path) -> None:
    options = ("--workload", "bert-large", "--on", "h100", "--gpus", "8..64", "--network",
               "100,ndr", "--budget", "200 USD/hour")  # fmt: skip
    done = dse("init", "mine.yaml", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    study = yaml.safe_load((tmp_path / "mine.yaml").read_text())
    assert study["space"]["inter_node"] == ["100gbe", "ib-ndr"]
    assert study["objectives"]["minimize"] == "hourly"
    assert dse("check", "mine.yaml", cwd=tmp_path).returncode == 0
    assert dse("run", "mine.yaml", cwd=tmp_path).returncode == 0
    again = dse("init", "mine.yaml", *options, cwd=tmp_path)
    assert "is there already; name another file, or add --force" in refused(again)
    (tmp_path / "folder").mkdir()
    assert "is a folder" in refused(dse("init", "folder", cwd=tmp_path))
    assert dse("init", "mine.yaml", "--force", cwd=tmp_path).returncode == 0
    assert yaml.safe_load((tmp_path / "mine.yaml").read_text())["workload"] == "resnet50"


@pytest.mark.usefixtures("brief")
def test_quotes_count_before_the_catalogue(tmp_path: Path) -> None:
    (tmp_path / "rates.yaml").write_text("currencies: {EUR: 1.1 USD}\n")
    (tmp_path / "quotes.csv").write_text(
        "item,price,currency\nNVIDIA H200,20000,EUR\nslingshot-11 nic,1,EUR\n"
        "slingshot-11 switch port,1,EUR\nslingshot-11 cable,1,EUR\n"
    )
    asked = ("ask", "--workload", "resnet50", "--on", "h200", "--gpus", "8", "--network",
             "slingshot", "--out", "out")  # fmt: skip
    said_ = refused(dse(*asked, cwd=tmp_path))
    assert "--network: slingshot-11 has no known price" in said_
    assert said_.endswith("or give the number in a list of --prices")
    missing = dse(*asked, "--prices", "a.csv,b.csv", cwd=tmp_path).stderr.splitlines()
    assert [line[: len("dse: --prices: no file 'a.csv'")] for line in missing] == [
        "dse: --prices: no file 'a.csv'", "dse: --prices: no file 'b.csv'"
    ]  # fmt: skip
    late = dse(*asked, "--prices", "quotes.csv,rates.yaml", cwd=tmp_path)
    assert "quotes.csv:2:13: '20000 EUR': no rate of the currency EUR is given" in late.stderr
    done = dse(*asked, "--prices", "rates.yaml,quotes.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    bill = json.loads((tmp_path / "out" / "run.json").read_text())["bills"]["recommended"]
    assert any(line["unit_usd"] == pytest.approx(22_000) for line in bill)
    assert dse("check", "out/study.yaml", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("name", SHIPPED["studies"].names())
def test_a_copy_of_what_ships_can_be_read_where_it_lies(
    name: str, calibrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = dse("catalog", "studies", name, "--yaml", cwd=calibrated)
    assert done.returncode == 0, done.stderr
    monkeypatch.chdir(calibrated)
    Path(f"{name}.yaml").write_text(done.stdout)
    beside = SHIPPED["studies"].find(name).with_suffix("")
    if beside.is_dir():
        shutil.copytree(beside, beside.name)
    if name in fleet_names():
        assert read_fleet(Path(f"{name}.yaml")).name == name
    else:
        assert load(f"{name}.yaml").study.content_hash == load(name).study.content_hash


@pytest.mark.usefixtures("brief")
def test_a_question_in_python_is_that_of_the_command_line(tmp_path: Path) -> None:
    import dse as api

    dse("init", "--workload", "bert-large", "--on", "a100,h100", "--gpus", "8,16", "--budget",
        "1 MUSD", "study.yaml", cwd=tmp_path)  # fmt: skip
    study = api.draft_study("bert-large", on=["a100", "h100"], gpus=[8, 16], budget="1 MUSD")
    assert study.problem.study.content_hash == load(tmp_path / "study.yaml").study.content_hash
    assert study.search().recommended.speedup > 1
    single = api.draft_study(
        "resnet50", on="h100", gpus=64, samples=1e9, confidence=0.9, power="1 MW"
    )
    assert (single.axes["gpus"], single.problem.study.confidence) == ((64,), 0.9)


def test_mistakes_of_a_question_in_python_name_its_arguments() -> None:
    import dse as api

    with pytest.raises(ArgumentError) as caught:
        api.draft_study("resnet50", on="h100", deadline="7 d")
    assert str(caught.value).startswith("deadline: time_to_target needs a target; add samples")
    with pytest.raises(api.StudyError) as several:
        api.draft_study("resnet5", gpus=0, confidence=2)
    assert {one.file for one in several.value.mistakes} == {"workload", "gpus", "confidence"}
    with pytest.raises(TypeError, match="gpu"):
        api.draft_study("resnet50", gpu=8)
