"""`dse ask` and `dse init`: studies from a few answers."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from dse import catalog
from dse.calibration import write_profile
from dse.calibration.importers.throughput import throughput_profile
from dse.commands.answers import Answers
from dse.commands.draft import LARGEST_BATCH, Draft
from dse.commands.shipped import fleet_names, study_names
from dse.errors import ArgumentError
from dse.pricing.load import load
from dse.report.training_runs import said
from tests.commands.command import DEADLINE_S, dse, environment, files, refused
from tests.report.brief import briefly

ASKED = ["ask", "--workload", "bert-large", "--gpus", "8..256", "--on", "a100,h100"]
ASKED += ["--network", "100,200,400", "--budget"]


def typed(text: str, *arguments: str, cwd: Path, monkeypatch: pytest.MonkeyPatch):
    """A command with answers from a pipe."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    return dse(*arguments, cwd=cwd)


def test_one_line_is_a_study_and_its_answer(tmp_path: Path) -> None:
    done = dse(*ASKED, "2 MUSD", "--save", "made/study.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "a100 means a100-sxm4-80gb here" in done.stdout
    assert "Recommended: " in done.stdout
    report = tmp_path / "reports" / "bert-large-s512-cluster"
    document = json.loads((report / "run.json").read_text())
    assert document["recommended"]["capital"] <= 2e6
    text = (tmp_path / "made" / "study.yaml").read_text()
    for line in text.splitlines():
        assert line in done.stdout
    with briefly():
        again = dse("run", "made/study.yaml", "--out", "again", "--json", cwd=tmp_path)
    assert json.loads(again.stdout)["recommended"] == document["recommended"]
    assert refused(dse(*ASKED, "2 MUSD", "--save", "made/study.yaml", cwd=tmp_path)).startswith(
        "dse: made/study.yaml: is there already"
    )


def test_without_a_file_only_the_report_is_written(tmp_path: Path) -> None:
    done = dse("ask", "--workload", "resnet50", "--on", "h100", "--gpus", "8", "--network", "hdr",
               "--out", "here", "--json", cwd=tmp_path)  # fmt: skip
    document = json.loads(done.stdout)
    assert document["baseline"]["config"]["inter_node"] == "ib-hdr"
    assert {path.name for path in tmp_path.iterdir()} == {"here"}
    explained = dse("explain", "here", "--row", "1", cwd=tmp_path)
    assert "h100-sxm" in explained.stdout


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "--workload: is missing; write for example --workload bert-large"),
        ("--workload bert-larg", "--workload: 'bert-larg': no such workload; did you mean"),
        ("--workload mine.yaml", "--workload: no file 'mine.yaml'"),
        ("--workload resnet50 --on h1oo", "--on: 'h1oo': no such accelerator; did you mean h100"),
        (
            "--workload resnet50 --on a100,dgx-h100",
            "partly accelerators and partly whole machines; ask twice, with --on dgx-h100 --out "
            "reports/machines and with --on a100 --out reports/accelerators, then 'dse compare "
            "reports/machines reports/accelerators'",
        ),
        ("--workload resnet50 --on ,", "--on: is empty"),
        ("--workload resnet50 --on tpu-v4", "--on: tpu-v4 has no known"),
        ("--workload resnet50 --gpus many", "--gpus: 'many' is not a number of accelerators"),
        ("--workload resnet50 --gpus 0", "--gpus: '0' is not a number of accelerators"),
        ("--workload resnet50 --gpus 64..8", "--gpus: '64..8' goes down; write 8..64"),
        ("--workload resnet50 --gpus 99999999", "--gpus: '99999999' is not a number"),
        ("--workload resnet50 --network 50", "there is no Ethernet of 50 Gbps; use 10, 25, 100"),
        (
            "--workload resnet50 --network ib-xdr",
            "--network: ib-xdr: its latency is unknown; use another, and write inter_node: "
            "[{bandwidth: 100 Gbps, latency: 2 us}] in the study that --save keeps",
        ),
        ("--workload resnet50 --accumulation 0", "--accumulation: '0' is not a number of passes"),
        ("--workload resnet50 --accumulation 1..4", "write for example 1,2,4"),
        ("--workload resnet50 --network wire", "--network: 'wire': no such fabric"),
        ("--workload resnet50 --minimize fun", "--minimize: 'fun' is nothing to minimize; use buy"),
        ("--workload resnet50 --minimize run", "add --quality mlperf-resnet50, or --samples 115e6"),
        ("--workload vgg16 --deadline 7d", "add --samples 115e6 or --tokens 300e9"),
        ("--workload resnet50 --budget 5", "--budget: 5 has no unit"),
        ("--workload resnet50 --power -1kW", "--power: must be positive"),
        ("--workload resnet50 --confidence 0.9", "--confidence: there is no limit to be sure of"),
        ("--workload resnet50 --samples x", "--samples: 'x' is not a quantity; write for example"),
        (
            "--workload resnet50 --tokens 1e6 --quality mlperf-resnet50",
            "--tokens: target gives tokens and quality; give one of",
        ),
        (
            "--workload resnet50 --quality mlperf-bert",
            "--quality: mlperf-bert is a quality of bert-large-s512, not of resnet50",
        ),
        (
            "--workload resnet50 --epochs 90",
            "--epochs: how many samples an epoch has is missing; add --epoch-samples 1.28e6",
        ),
        (
            "--workload resnet50 --epoch-samples 1e6",
            "--epoch-samples: epoch_samples without",
        ),
        (
            "--workload resnet50 --tokens 1e9",
            "--tokens: how many tokens a sample of resnet50 has is "
            "not known; give --samples, or a workload file with tokens_per_sample",
        ),
        (
            "--workload bert-large-s512 --tokens 100",
            "--tokens: a run of less than one sample of 512 tokens; give all tokens of a run",
        ),
        (
            "--workload resnet50 --budget 2MEUR",
            "--budget: 'MEUR' is in a currency of which no rate is given; add 'currencies: {EUR: "
            "... USD}' with what one EUR is worth to a list of --prices, or write it in USD",
        ),
        ("--workload resnet50 --engine quick", "--engine: 'quick' is not known; use auto, exha"),
        ("--workload llama3-70b --on v100", "--on: llama3-70b does not fit in v100-sxm2-16gb"),
        ("--workload resnet50 --force", "--force: overwrites the file of --save"),
    ],
)
def test_what_cannot_be_asked_gets_a_line(given: str, said: str, tmp_path: Path) -> None:
    assert said in refused(dse("ask", *given.split(), cwd=tmp_path))
    assert files(tmp_path) == {}


def test_networks_are_offered_that_have_all_their_prices(tmp_path: Path) -> None:
    """The catalogue knows no price of a cable of 40 Gbps; a list may."""
    with pytest.raises(ArgumentError, match=r"use 10, 25, 100, 200, 400, 800, or a name of"):
        _ = Answers(network="50").networks
    offer = tmp_path / "offer.csv"
    offer.write_text("item,price,currency\n40gbe cable,90,USD\n")
    with pytest.raises(ArgumentError, match=r"use 10, 25, 40, 100, 200, 400, 800, or a name of"):
        _ = Answers(network="50", prices=str(offer)).networks


def test_all_mistakes_of_a_question_are_told(tmp_path: Path) -> None:
    """In the order in which they are asked, none that follows from another, and ten at most."""
    asked = "--engine quick --force --budget 2 --on a100,h1000,foo --gpus 8..x --deadline 7d"
    done = dse("ask", *asked.split(), cwd=tmp_path)
    assert (done.returncode, files(tmp_path)) == (2, {})
    assert [line.split(": ")[:2] for line in done.stderr.splitlines()] == [
        ["dse", option] for option in
        ("--workload", "--on", "--on", "--gpus", "--budget", "--engine", "--force")
    ]  # fmt: skip
    more = "--workload x --network a,b,c,50 --samples y --confidence 2 --power z"
    many = dse("ask", *asked.split(), *more.split(), cwd=tmp_path)
    *told, last = many.stderr.splitlines()
    assert (len(told), last) == (10, "dse: 4 more mistakes; correct these first")
    yes = dse("init", "--yes", "--on", "h1oo", "--gpus", "0", cwd=tmp_path)
    assert [line.split(": ")[1] for line in yes.stderr.splitlines()] == ["--on", "--gpus"]


def test_what_the_study_of_a_question_cannot_be_is_told_of_its_options(tmp_path: Path) -> None:
    done = dse("ask", "--workload", "resnet50", "--on", "tpu-v4,h100", "--quality", "mlperf-bert",
               cwd=tmp_path)  # fmt: skip
    first, second = done.stderr.splitlines()
    assert first.startswith("dse: --on: tpu-v4 has no known link to its host")
    assert second.startswith("dse: --quality: mlperf-bert is a quality of bert-large-s512")


@pytest.mark.usefixtures("brief")
def test_a_run_may_be_counted_in_epochs(tmp_path: Path) -> None:
    done = dse("ask", "--workload", "resnet50", "--on", "h100", "--gpus", "8,16", "--minimize",
               "run", "--epochs", "90", "--epoch-samples", "1.28e6", "--engine", "guided",
               "--save", "study.yaml", "--out", "out", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    study = yaml.safe_load((tmp_path / "study.yaml").read_text())
    assert study["target"] == {"epochs": 90, "epoch_samples": "1.28e6"}
    document = json.loads((tmp_path / "out" / "run.json").read_text())
    assert document["engine"] == "guided"
    assert document["recommended"]["run"]["samples"] == 90 * 1.28e6


def test_limits_stand_in_the_study() -> None:
    answers = Answers("resnet50", deadline="7 d", budget="1,000 USD", power="90 kW",
                      minimize="run", samples="1e9", confidence_given="90%")  # fmt: skip
    study = yaml.safe_load(Draft(answers).text)
    assert study["constraints"] == [
        "fits_memory", "time_to_target <= 7 d", "per_run <= 1000 USD", "power <= 90 kW"
    ]  # fmt: skip
    assert (study["confidence"], study["objectives"]["minimize"]) == (0.9, "per_run")
    rented = yaml.safe_load(Draft(Answers("resnet50", budget="50 USD/hour")).text)
    assert rented["constraints"][1] == "hourly <= 50 USD/hour"
    assert rented["objectives"]["minimize"] == "hourly"


@pytest.mark.parametrize("tokens", ["100B", "100 B", "0.1T", "100e9"])
def test_tokens_are_read_as_they_are_printed(tokens: str) -> None:
    problem = Draft(Answers("bert-large", "h100", "8", "100", tokens=tokens)).problem("s.yaml")
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
    assert "per_run <= 3 MUSD" in done.stdout


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("8..256", "{from: 8, to: 256, scale: linear, step: 8}"),
        ("16 to 48", "{from: 16, to: 48, scale: linear, step: 8}"),
        ("8..1024", "{from: 8, to: 1024, scale: linear, step: 8}"),
        ("8..1032", "{from: 8, to: 1032, scale: doubling}"),
        ("1..64", "{from: 1, to: 64, scale: doubling}"),
        ("8..60", "{from: 8, to: 60, scale: doubling}"),
        ("8..8", "[8]"),
        ("64, 8", "[8, 64]"),
    ],
)
def test_a_range_counts_whole_hosts(given: str, written: str) -> None:
    assert Answers(gpus=given).gpus_written == written


@pytest.mark.parametrize(
    ("answers", "space"),
    [
        (Answers("resnet50", "v100, a100", "1..64", "25"),
         {"gpus_per_node": [1, 2, 4, 8], "precision": "fp16", "inter_node": ["25gbe"]}),
        (Answers("bert-large", "k80", "4,12", "10 Gbps, IB_HDR"),
         {"gpus": [4, 12], "gpus_per_node": [4, 8], "precision": "fp32",
          "inter_node": ["10gbe", "ib-hdr"]}),
        (Answers("gpt2-small", "p4de, p5", "8-32"),
         {"node": ["aws-p4de.24xlarge", "aws-p5.48xlarge"]}),
        (Answers("mobilenet-v1", "b200", "8"), {"gpus": [8], "optimizer": "momentum"}),
        (Answers("resnet50", "a100", "8", accumulation="4, 1,4"), {"accumulation": [1, 4]}),
    ],
)  # fmt: skip
def test_what_is_left_open_suits_what_is_said(answers: Answers, space: dict[str, object]) -> None:
    draft = Draft(answers)
    found = yaml.safe_load(draft.text)
    assert {key: found["space"][key] for key in space} == space
    batches = found["space"]["batch_per_gpu"]
    assert max(batches) <= LARGEST_BATCH
    problem = draft.problem("study.yaml")
    assert problem.study.name == answers.name
    assert found["baseline"]["gpus"] == answers.counts[0]
    assert found["baseline"]["batch_per_gpu"] in batches


def test_more_passes_a_step_are_searched_where_they_are_asked_for() -> None:
    """And only there: without a quality to reach, larger batches would always look better."""
    alone = Draft(Answers("resnet50", "a100", "8"))
    assert "  # accumulation: [1, 2, 4]" in alone.text
    several = Draft(replace(alone.answers, accumulation="1,2,4"))
    assert several.problem("s.yaml").points == 3 * (alone.problem("s.yaml").points or 0)
    assert several.problem("s.yaml").study.baseline.global_batch == 8 * int(
        alone.baseline["batch_per_gpu"]
    )


def test_the_first_that_fits_is_the_baseline() -> None:
    draft = Draft(Answers("gpt2-xl-1.5b", "v100, h100", "8"))
    assert draft.baseline["accelerator"] == "h100-sxm"


def test_a_profile_of_several_nodes_is_taken_only_where_it_is_ones_own() -> None:
    text = Draft(Answers("bert-large", "a100,h100")).text
    assert "# runs inside one node; none between nodes" in text
    study = yaml.safe_load(text)
    assert study["calibration"]
    assert not {"h100-cluster01", "polaris-ofi-nccl-2.21"} & set(study["calibration"])


def test_profiles_say_what_they_are_good_for_and_which_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "calibrations").mkdir()
    shipped = catalog.models_dir() / "calibrations"
    shutil.copy(shipped / "h100-cluster01.yaml", "calibrations/slow.yaml")
    shutil.copy(shipped / "aws-p5-node.yaml", "calibrations/ours.yaml")
    text = Draft(Answers("bert-large", "h100", "8..64", "100,400")).text
    said = " ".join(line.strip("# ") for line in text.splitlines())
    assert "slow is not among the profiles: how fast its network was is not known" in said
    assert re.search(r"ours: good for .* are missed by \d.*; taken before aws-p5-node", said)
    assert yaml.safe_load(text)["calibration"][0] == "ours"
    assert "slow" not in yaml.safe_load(text)["calibration"]


def test_own_training_rates_of_these_accelerators_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    header = "workload,accelerator,samples_per_s,precision,batch_per_gpu\n"
    Path("calibrations").mkdir()
    for name, accelerator in (("ours", "h100-sxm"), ("others", "v100-sxm2-16gb")):
        Path("t.csv").write_text(f"{header}bert-large-s512,{accelerator},90,fp16,8\n")
        write_profile(throughput_profile("t.csv", name), f"calibrations/{name}.yaml")
    text = Draft(Answers("bert-large", "h100", "8..64", "400")).text
    assert yaml.safe_load(text)["calibration"] == ["ours", "aws-p5-node"]
    assert "# ours: 1 training rate of yours" in text
    unmeasured = Draft(Answers("bert-large", "p100", "8,16", "100")).text
    assert "calibration" not in yaml.safe_load(unmeasured)
    alone = Draft(Answers("bert-large", "v100", "8", "100")).text
    assert "others" in yaml.safe_load(alone)["calibration"]
    Path("t.csv").write_text(f"{header}gnmt-v2,h100-sxm,90,fp16,8\n")
    write_profile(throughput_profile("t.csv", "stranger"), "calibrations/stranger.yaml")
    shutil.copy("calibrations/ours.yaml", "calibrations/the-same.yaml")
    text = Draft(Answers("bert-large", "h100", "8..64", "400")).text
    assert yaml.safe_load(text)["calibration"] == ["ours", "aws-p5-node"]  # no other tells more
    Path("calibrations/the-same.yaml").unlink()
    path = Path("calibrations/ours.yaml")
    path.write_text(path.read_text().replace("stack: vendor", "stack: vendorx"))
    text = Draft(Answers("bert-large", "h100", "8..64", "400")).text
    assert yaml.safe_load(text)["calibration"] == ["aws-p5-node"]  # none could be priced by it


def test_what_nccl_chose_and_somebody_timed_is_not_searched_beside_estimates() -> None:
    measured = Draft(Answers("bert-large", "h100", "8,16", "100"))
    study = yaml.safe_load(measured.text)
    assert study["calibration"]
    assert study["space"]["aggregation"] == ["auto-nccl"]
    assert "# as measured; not measured: ring-nccl, tree-nccl" in measured.text
    unknown = yaml.safe_load(Draft(Answers("bert-large", "p100", "8,16", "100")).text)
    assert "calibration" not in unknown
    assert unknown["space"]["aggregation"] == ["auto-nccl", "ring-nccl", "tree-nccl"]


@pytest.mark.parametrize(
    ("workload", "said"),
    [("llama2-7b", "it fits in "), ("gpt3-175b", "; no accelerator of the catalogue holds it")],
)
def test_what_does_not_fit_is_told_what_it_fits(workload: str, said: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        _ = Draft(Answers(workload, "a100", "8")).baseline
    problem, found, rest = str(caught.value).partition(said)
    assert found
    assert "does not model sharding (ZeRO, FSDP, tensor or pipeline parallelism)" in problem
    if said.startswith("it fits"):
        named = rest.rpartition("on ")[2]
        assert Draft(Answers(workload, named, "8")).baseline["accelerator"] == named


def test_a_study_is_called_by_its_network(tmp_path: Path) -> None:
    config = {"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 2, "n_positions": 128,
              "vocab_size": 1000}  # fmt: skip
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    assert Answers(str(path)).name.startswith("gpt2-")


def test_paths_count_from_where_the_study_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    models = Path(os.path.relpath(load("ps-vs-allreduce").study.path)).parents[1] / "models"
    answers = Answers(str(models / "workloads" / "resnet50.yaml"), "h100", "8")
    draft = Draft(answers, folder="below")
    assert draft.problem("study.yaml").workload.name == "resnet50"


@pytest.mark.usefixtures("brief")
def test_answers_come_from_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "bert-large\nh100\n8..64\n100,ndr\nrent 200 USD/hour\n"
    done = typed(said, "init", "mine.yaml", cwd=tmp_path, monkeypatch=monkeypatch)
    assert done.returncode == 0, done.stderr
    assert "wrote mine.yaml: " in done.stdout
    study = yaml.safe_load((tmp_path / "mine.yaml").read_text())
    assert study["space"]["inter_node"] == ["100gbe", "ib-ndr"]
    assert study["objectives"]["minimize"] == "hourly"
    assert dse("check", "mine.yaml", cwd=tmp_path).returncode == 0
    ran = dse("run", "mine.yaml", cwd=tmp_path)
    assert "Recommended: " in ran.stdout
    again = typed(said, "init", "mine.yaml", cwd=tmp_path, monkeypatch=monkeypatch)
    assert "is there already; name another file, or add --force" in refused(again)
    done = typed("\n" * 5, "init", "mine.yaml", "--force", cwd=tmp_path, monkeypatch=monkeypatch)
    assert "workload: resnet50" in (tmp_path / "mine.yaml").read_text()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("bert-large\nh1oo\n", "--on: 'h1oo': no such accelerator"),
        ("bert-large\n", "the answers end before question 2 of 5"),
        ("\n\nx\n", "--gpus: 'x' is not a number"),
        ("\n\n\n\nbuy 5\n", "--budget: 5 has no unit"),
        ("\n\n\n\nrun\n", "--minimize: run is that of a whole run"),
    ],
)
def test_a_wrong_answer_from_a_pipe_ends_it(
    said: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = typed(said, "init", cwd=tmp_path, monkeypatch=monkeypatch)
    assert why in refused(done)
    assert files(tmp_path) == {}


@pytest.mark.usefixtures("brief")
def test_quotes_count_before_the_catalogue(tmp_path: Path) -> None:
    (tmp_path / "rates.yaml").write_text("currencies: {EUR: 1.1 USD}\n")
    (tmp_path / "quotes.csv").write_text(
        "item,price,currency\nNVIDIA H200,20000,EUR\nslingshot-11 nic,1,EUR\n"
        "slingshot-11 switch port,1,EUR\nslingshot-11 cable,1,EUR\n"
    )
    asked = ("ask", "--workload", "resnet50", "--on", "h200", "--gpus", "8", "--network",
             "slingshot", "--out", "out")  # fmt: skip
    said = refused(dse(*asked, cwd=tmp_path))
    assert "--network: slingshot-11 has no known price" in said
    assert said.endswith("or give the number in a list of --prices")
    missing = dse(*asked, "--prices", "a.csv,b.csv", cwd=tmp_path).stderr.splitlines()
    assert [line[: len("dse: --prices: no file 'a.csv'")] for line in missing] == [
        "dse: --prices: no file 'a.csv'", "dse: --prices: no file 'b.csv'"
    ]  # fmt: skip
    late = dse(*asked, "--prices", "quotes.csv,rates.yaml", cwd=tmp_path)
    assert "quotes.csv:2:13: '20000 EUR': no rate of the currency EUR is given" in late.stderr
    done = dse(*asked, "--prices", "rates.yaml,quotes.csv", "--save", "kept/study.yaml",
               cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    bill = json.loads((tmp_path / "out" / "run.json").read_text())["bills"]["recommended"]
    assert any(line["unit_usd"] == pytest.approx(22_000) for line in bill)
    assert dse("check", "kept/study.yaml", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("far.csv", "item,price\n" + "\n" * 90 + "h100-sxm,-5 USD\n", "far.csv:92:10: "),
        ("near.yaml", "# ours\n" * 7 + "accelerators:\n  h100-sxm: {purchase:          -5 USD}\n",
         "near.yaml:9:33: "),
    ],
)  # fmt: skip
def test_a_mistake_in_a_price_list_keeps_its_place(
    name: str, text: str, place: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    said = refused(dse("ask", "--workload", "resnet50", "--on", "h100-sxm", "--gpus", "8",
                       "--prices", name, cwd=tmp_path))  # fmt: skip
    assert said.startswith(place)
    assert "-5 USD" in said


def test_what_options_say_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = typed("h100\n8\n\n", "init", "--workload", "vgg16", "--budget", "1 MUSD", cwd=tmp_path,
                 monkeypatch=monkeypatch)  # fmt: skip
    assert done.returncode == 0, done.stderr
    study = yaml.safe_load((tmp_path / "study.yaml").read_text())
    assert (study["workload"], study["space"]["gpus"]) == ("vgg16", [8])
    machines = typed("dgx-h100\n8\nbuy\n", "init", "n.yaml", "--workload", "vgg16", cwd=tmp_path,
                     monkeypatch=monkeypatch)  # fmt: skip
    assert machines.returncode == 0, machines.stderr  # they bring their network: not asked


def test_at_a_terminal_a_wrong_answer_is_asked_for_again(tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    started = subprocess.Popen(
        [sys.executable, "-m", "dse", "init"], cwd=tmp_path, env=environment(), stdin=follower,
        stdout=follower, stderr=follower, close_fds=True,
    )  # fmt: skip
    os.close(follower)
    os.write(leader, b"vgg16\nh1oo\nh100\n8\n\nbuy\n")
    said, until = b"", time.monotonic() + DEADLINE_S
    while time.monotonic() < until:
        if select.select([leader], [], [], 1.0)[0]:
            try:
                said += os.read(leader, 65536)
            except OSError:  # its end is closed
                break
        elif started.poll() is not None:
            break
    assert started.wait(DEADLINE_S) == 0, said
    os.close(leader)
    text = said.decode()
    assert text.count("On which accelerators") == 2
    assert "no such accelerator; did you mean h100-sxm" in text
    assert "accelerator: [h100-sxm]" in (tmp_path / "study.yaml").read_text()


@pytest.mark.parametrize("name", [*study_names(), *fleet_names()])
def test_a_copy_of_what_ships_can_be_read_where_it_lies(
    name: str, calibrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = dse("init", "--from", name, cwd=calibrated)
    assert done.returncode == 0, done.stderr
    monkeypatch.chdir(calibrated)
    text = Path(f"{name}.yaml").read_text()
    assert "$schema" not in text
    assert "search_spaces/" not in text
    if name in study_names():
        assert load(f"{name}.yaml").study.content_hash == load(name).study.content_hash
    else:
        from dse.fleet import read_fleet

        assert read_fleet(Path(f"{name}.yaml")).name == name


def test_copies_are_not_made_over_files_nor_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "billion.yaml").write_text("mine")
    assert "is there already" in refused(dse("init", "--from", "billion", cwd=tmp_path))
    assert "did you mean billion?" in refused(dse("init", "--from", "bilion", cwd=tmp_path))
    said = refused(dse("init", "--from", "billion", "--yes", cwd=tmp_path))
    assert "copies a study as it is" in said
    (tmp_path / "folder").mkdir()
    assert "is a folder" in refused(dse("init", "folder", "--from", "billion", cwd=tmp_path))
    assert (tmp_path / "billion.yaml").read_text() == "mine"


def test_answers_are_read_alike_from_python() -> None:
    with pytest.raises(ArgumentError):
        _ = Answers(gpus="8...").counts
    assert Answers(gpus="8 to 32").counts == (8, 32)
    typed = "100, 100 Gbps,100g,100GbE, 100Gb, 100 gbit/s, 100GigE"
    assert Answers(network=typed).networks == ("100gbe",)
    assert Answers(network="hdr, NDR400, 25GbE").networks == ("ib-hdr", "ib-ndr", "25gbe")


@pytest.mark.usefixtures("brief")
def test_a_question_in_python_is_that_of_the_command_line(tmp_path: Path) -> None:
    import dse as api

    dse("init", "--workload", "bert-large", "--on", "a100,h100", "--gpus", "8,16", "--budget",
        "1 MUSD", "study.yaml", "--yes", cwd=tmp_path)  # fmt: skip
    kept = tmp_path / "python.yaml"
    study = api.draft_study(
        "bert-large", on=["a100", "h100"], gpus=[8, 16], budget="1 MUSD", out=kept
    )
    assert study.problem.study.content_hash == load(tmp_path / "study.yaml").study.content_hash
    assert load(kept).study.content_hash == study.problem.study.content_hash
    assert study.search().recommended.speedup > 1
    single = api.draft_study(
        "resnet50", on="h100", gpus=64, samples=1e9, confidence=0.9, power="1 MW"
    )
    assert (single.axes["gpus"], single.problem.study.confidence) == (("64",), 0.9)


def test_mistakes_of_a_question_in_python_name_its_arguments() -> None:
    import dse as api

    with pytest.raises(ArgumentError) as caught:
        api.draft_study("resnet50", on="h100", epochs=90)
    assert str(caught.value).startswith("epochs: how many samples an epoch has is missing")
    with pytest.raises(api.StudyError) as several:
        api.draft_study("resnet5", gpus=0, confidence=2)
    assert [one.file for one in several.value.mistakes] == ["workload", "gpus", "confidence"]
