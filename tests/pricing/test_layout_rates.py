"""Rates of layouts that a user measured, from a table to what studies say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy import layouts as published
from dse import catalog
from dse.calibration import Profile, profile_data, read_profile, write_profile
from dse.calibration.fitting.layouts import SPREADS, adjusted
from dse.calibration.importers.throughput import read_throughput, throughput_profile
from dse.calibration.throughput_part import RATES, LayoutRate
from dse.catalog.stacks import layout_stacks
from dse.commands.calibrate.import_throughput import import_throughput
from dse.commands.calibrate.profiles import show
from dse.commands.calibrate.suggest import suggest
from dse.errors import StudyError
from dse.model.arrays import Array
from dse.pricing.laid_out import LaidOut
from dse.pricing.layout_rates import REACH, configuration
from dse.pricing.load import of_layouts
from dse.pricing.problem import Problem

MODEL = "nanotron-1.34b"
AXES = ("tensor", "pipeline", "context", "virtual")
HEADER = ("workload,node,gpus,precision,stack,sequence,micro_batch,global_batch,zero,"
          "tensor_parallel,pipeline_parallel,context_parallel,virtual_stages")  # fmt: skip
OURS = ("llama3-8b,dgx-h100,8,bf16,megatron,8192,1,64,1,2,1,1,1", "step_s", 6.0)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    block, layers = published.models()[MODEL].runs[0]
    path = tmp_path / "config.json"
    path.write_text(json.dumps({
        "model_type": "llama", "hidden_size": block.hidden, "intermediate_size": block.ffn,
        "num_hidden_layers": layers, "num_attention_heads": block.heads,
        "num_key_value_heads": block.kv_heads, "max_position_embeddings": 4096,
        "vocab_size": published.models()[MODEL].vocabulary,
        "tie_word_embeddings": published.models()[MODEL].tied,
    }), encoding="utf-8")  # fmt: skip
    return path


def table(folder: Path, rate: str, *rows: str, header: str = HEADER) -> Path:
    path = folder / "runs.csv"
    path.write_text("\n".join((f"{header},{rate}", *rows)) + "\n", encoding="utf-8")
    return path


def line(row: published.Row, workload: str = "config.json") -> str:
    """A published run as a line of a table."""
    degrees = ",".join(row[name] for name in AXES)
    return (
        f"{workload},aws-p5.48xlarge,{row['gpus']},bf16,nanotron,4096,{row['micro_batch']},"
        f"{row['global_batch']},{row['zero']},{degrees},{row['step_s']}"
    )


def read(path: Path) -> list[LayoutRate]:
    found = read_throughput(path, of_layouts().own_layouts.refused).values()
    return [rate for rate in found if isinstance(rate, LayoutRate)]


def profile(path: Path) -> Profile:
    return throughput_profile(path, "ours", read(path))


def steps(problem: Problem, rates: Sequence[LayoutRate], slower: float = 1.0) -> Array:
    """Seconds of runs that do not stall, with a host that takes so many times as long."""
    out = np.zeros(len(rates))
    for rate in dict.fromkeys(rate.workload for rate in rates):
        at = [k for k, one in enumerate(rates) if one.workload == rate]
        mine = replace(problem, workload=catalog.named_workload(rate))
        mine.__dict__["own_layouts"] = problem.own_layouts
        for k in at:
            placed = mine.points_at(configuration(rates[k]))
            assert isinstance(placed, LaidOut)
            (one,) = placed.hardware
            model = adjusted(one.model, {"host_s": slower, "host_tensor_s": slower})
            out[k] = model.step(one.layouts).step_s.item()
    return out


def calm() -> list[published.Row]:
    every = published.measured("nanotron")
    kept = zip(every, published.stalled(every), strict=True)
    return [row for row, out in kept if not out and row["model"] == MODEL]


def fastest(rows: Sequence[published.Row], gpus: int, split: bool, piped: bool) -> published.Row:
    mine = [row for row in rows if row["gpus"] == str(gpus) and (row["tensor"] != "1") == split
            and (row["pipeline"] != "1") == piped]  # fmt: skip
    return min(mine, key=lambda row: float(row["step_s"]))


def test_three_published_runs_move_predictions_of_others_towards_what_was_measured(
    tmp_path: Path,
) -> None:
    """Of vTrain's on one node, whose host takes twice what the stack's file says of larger ones."""
    model = "gpt-1024-16-16"
    rows = [row for row in published.measured("vtrain, one node") if row["model"] == model]
    block, layers = published.models()[model].runs[0]
    (tmp_path / "config.json").write_text(json.dumps({
        "model_type": "gpt2", "n_embd": block.hidden, "n_layer": layers, "n_head": block.heads,
        "n_inner": block.ffn, "n_positions": 2048, "vocab_size": 51_200,
    }), encoding="utf-8")  # fmt: skip

    def told(some: Sequence[published.Row]) -> Path:
        runs = (
            f"config.json,dgx-a100-80gb,{row['gpus']},fp16,megatron-deepspeed,{row['sequence']},"
            f"{row['micro_batch']},{row['global_batch']},{row['zero']},"
            f"{','.join(row[name] for name in AXES)},full,{row['step_s']}"
            for row in some
        )
        return table(tmp_path, "step_s", *runs, header=f"{HEADER},recompute")

    three = [fastest(rows, 8, False, False), fastest(rows, 8, True, False),
             fastest(rows, 8, True, True)]  # fmt: skip
    own = profile(told(three))
    rates = read(told([row for row in rows if row not in three][::5]))
    measured = np.array([rate.rate for rate in rates])
    before, after = (
        np.median(np.abs(np.log(steps(problem, rates) / measured)))
        for problem in (of_layouts(), of_layouts(own))
    )
    assert after < before / 2


@pytest.mark.usefixtures("config")
def test_the_hosts_time_of_a_stack_follows_three_runs(tmp_path: Path) -> None:
    rows = calm()
    small = [row for row in rows if row["micro_batch"] == "1" and row["tensor"] in "18"]
    few = [fastest(small, 8, False, False), fastest(small, 8, True, False),
           fastest(small, 16, True, True)]  # fmt: skip
    truth = steps(of_layouts(), read(table(tmp_path, "step_s", *map(line, few))), 3.0)
    runs = [line({**row, "step_s": str(step)}) for row, step in zip(few, truth, strict=True)]
    problem = of_layouts(profile(table(tmp_path, "step_s", *runs)))
    others = read(table(tmp_path, "step_s", *map(line, rows[::40])))
    wanted, told, blind = (
        steps(of_layouts(), others, 3.0), steps(problem, others), steps(of_layouts(), others),
    )  # fmt: skip
    off, before = (np.abs(np.log(found / wanted)) for found in (told, blind))
    assert np.median(off) < np.median(before) / 2
    assert set(problem.own_layouts.kinds) == {("nanotron", "hopper")}


@pytest.mark.usefixtures("config")
def test_intervals_shrink_where_runs_are_and_open_at_four_times_as_far(tmp_path: Path) -> None:
    rows = [row for row in calm() if row["gpus"] == "8" and row["tensor"] == "2"][:3]
    told = of_layouts(profile(table(tmp_path, "step_s", *map(line, rows)))).own_layouts
    one = told.kinds["nanotron", "hopper"]
    rates = read(table(tmp_path, "step_s", line(rows[0]), line({**rows[0], "gpus": "32"})))
    plain = of_layouts()
    placed = plain.points_at(configuration(rates[0]))
    assert isinstance(placed, LaidOut)
    usual = placed.spread
    near, far = (one.spread(usual, [np.array([getattr(rate, name)]) for name in REACH])
                 for rate in rates)  # fmt: skip
    assert one.left <= near.computing.item() < usual.computing
    assert one.left <= near.exchange.item() < usual.exchange
    assert far.computing.item() == pytest.approx(max(usual.computing, one.left))


@pytest.mark.parametrize(
    ("stack", "node", "gpus", "wider"),
    [
        ("megatron", "dgx-h100", 2304, 1.0), ("megatron", "dgx-b200", 512, 1.0),
        ("megatron", "dgx-a100-80gb", 8, 2.0),  # no published step is of its generation
        ("nanotron", "dgx-h100", 256, 1.0), ("nanotron", "dgx-h100", 512, 1.02),
        ("nanotron", "dgx-h100", 1024, 2.1),  # four times the 32 nodes that were measured
        ("fsdp2", "dgx-h100", 1024, 1.0),  # of which no step is known: judged as wide
    ],
)  # fmt: skip
def test_intervals_are_wider_where_a_stack_was_never_measured(
    stack: str, node: str, gpus: int, wider: float
) -> None:
    found = layout_stacks()[stack]
    rate = LayoutRate(
        "llama3-8b", "bf16", stack, gpus, 8192, 1.0, "step_s", node, global_batch=gpus
    )
    placed = of_layouts().points_at(configuration(rate))
    assert isinstance(placed, LaidOut)
    spread = placed.spread
    assert np.all(spread.computing >= 0.999 * wider * found.computing_spread)
    assert np.all(spread.exchange >= 0.999 * wider * found.exchange_spread)
    if wider == 1.0:
        assert np.all(spread.computing == found.computing_spread)


def test_own_runs_stand_for_the_scale_that_they_are_of(tmp_path: Path) -> None:
    far = OURS[0].replace(",8,bf16,megatron", ",1024,bf16,nanotron").replace(",64,", ",1024,")
    rates = read(table(tmp_path, OURS[1], f"{far},{OURS[2]}"))
    rates = read(table(tmp_path, OURS[1], f"{far},{steps(of_layouts(), rates)[0]}"))
    told, blind = (of_layouts(*own).points_at(configuration(rates[0]))
                   for own in ((profile(tmp_path / "runs.csv"),), ()))  # fmt: skip
    assert isinstance(told, LaidOut)
    assert isinstance(blind, LaidOut)
    usual = layout_stacks()["nanotron"].exchange_spread
    assert np.all(told.spread.exchange <= usual)
    assert np.all(blind.spread.exchange > 2 * usual)


def test_studies_without_rates_of_a_stack_stay_to_the_last_bit(tmp_path: Path) -> None:
    rate = read(table(tmp_path, OURS[1], f"{OURS[0]},{OURS[2]}"))
    own = throughput_profile(tmp_path / "runs.csv", "ours", rate)
    other = replace(rate[0], stack="fsdp2", zero="3")
    values = [of_layouts().points_at(configuration(other))]
    values += [of_layouts(own).points_at(configuration(other))]
    first, second = (one.step_time().step_s for one in values)
    assert first.tobytes() == second.tobytes()
    seen = of_layouts(own).points_at(configuration(rate[0])).step_time().step_s
    assert seen != of_layouts().points_at(configuration(rate[0])).step_time().step_s


def test_every_way_to_write_a_rate_is_the_same_step(tmp_path: Path) -> None:
    step_s, tokens = 6.0, 64 * 4096.0
    row = OURS[0].replace("8192", "4096")  # half of the workload's own
    model = published.models()["llama3.1-8b"]
    ideal = 3 * model.forward_flops(4096) * 4096 / 989.4e12
    written = {
        "tokens_per_s_per_gpu": tokens / 8 / step_s, "tokens_per_s": tokens / step_s,
        "samples_per_s": 64 / step_s, "step_s": step_s, "mfu": 64 * ideal / 8 / step_s,
        "tflops_per_gpu": 64 * ideal / 8 / step_s * 989.4,
    }  # fmt: skip
    assert set(written) == set(RATES)
    for name, value in written.items():
        own = profile(table(tmp_path, name, f"{row},{value!r}"))
        (found,) = of_layouts(own).own_layouts.measured
        assert found.step_s == pytest.approx(step_s, rel=1e-3)


def test_sequence_and_accumulation_follow(tmp_path: Path, config: Path) -> None:
    header = "workload,accelerator,gpus,precision,stack,batch_per_gpu,accumulation"
    rows = ("config.json,h100-sxm,8,bf16,nanotron,2,4,1.5", "llama3-8b,h100-sxm,8,bf16,,1,8,6")
    small, large = read(table(tmp_path, "step_s", *rows, header=header))
    assert (small.sequence, small.sequences, small.passes) == (4096, 64, 4)
    assert small.workload == str(config)
    assert (large.sequence, large.stack, large.sequences) == (8192, "megatron", 64)


def test_repeated_runs_count_as_their_median(tmp_path: Path) -> None:
    rows = [f"{OURS[0]},{step}" for step in (5.0, 5.1, 50.0)]
    often, once = (
        of_layouts(profile(table(tmp_path, "step_s", *some))) for some in (rows, rows[1:2])
    )
    kind = ("megatron", "hopper")
    assert often.own_layouts.kinds[kind].factors == once.own_layouts.kinds[kind].factors


@pytest.mark.usefixtures("config")
def test_a_run_that_stalled_is_left_out_and_said(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    good = fastest(calm(), 16, True, True)
    passes = int(good["global_batch"]) / (int(good["micro_batch"]) * int(good["data"]))
    late = {**good, "gpus": "32", "step_s": str(float(good["step_s"]) + 1.2 * passes)}
    path = table(tmp_path, "step_s", line(good), line(late))
    import_throughput(path, "ours", tmp_path)
    said = capsys.readouterr()
    assert said.out == f"wrote {tmp_path / 'ours.yaml'}: 2 rates\n"
    assert said.err.startswith(f"note: {path}:3: left out: ")
    own = read_profile(tmp_path / "ours.yaml")
    assert len(own.layouts) == 2
    alone = of_layouts(profile(table(tmp_path, "step_s", line(good)))).own_layouts.kinds
    assert of_layouts(own).own_layouts.kinds == alone
    show(str(tmp_path / "ours.yaml"), json=True)
    shown = json.loads(capsys.readouterr().out)
    (factors,) = shown["layout_factors"]
    assert set(factors["factors"]) == set(SPREADS)
    show(str(tmp_path / "ours.yaml"), json=False)
    assert "TP 2, PP 2, DP 4" in capsys.readouterr().out


def test_a_profile_keeps_its_rates(tmp_path: Path) -> None:
    own = profile(table(tmp_path, OURS[1], f"{OURS[0]},{OURS[2]}"))
    write_profile(own, tmp_path / "ours.yaml")
    assert read_profile(tmp_path / "ours.yaml") == own
    assert own.only_rates
    assert profile_data(own)["layouts"][0]["tensor_parallel"] == 2


ROW = OURS[0].split(",")


@pytest.mark.parametrize(
    ("column", "cell", "rate", "place", "said"),
    [
        (0, "llama3-9b", "step_s", 0, "workload: 'llama3-9b' is not known; did you mean"),
        (0, "resnet50", "step_s", 0, "it cannot be priced: resnet50"),
        (4, "megatrn", "step_s", 4, "stack: 'megatrn' is not known; did you mean megatron"),
        (4, "vendor", "step_s", 4, "stack: under vendor nothing is laid out; name "),
        (9, "3", "step_s", 9, "the tensor degree divides the accelerators"),
        (9, "0", "step_s", 9, "tensor_parallel: '0': input should be greater than"),
        (7, "62", "step_s", 6, "micro-batches divide the global batch"),
        (3, "fp7", "step_s", 3, "precision: 'fp7': input should be"),
        (2, "8", "mfu", 13, "mfu: 6 is above the peak; write a share"),
        (2, "8", "step_s,mfu", 14, "mfu: step_s is given, too"),
        (2, "8", "optimizer", 0, "no rate is given; write one under tokens_per_s_per_gpu"),
    ],
)
def test_a_mistake_has_its_place_and_what_would_be_right(
    tmp_path: Path, column: int, cell: str, rate: str, place: int, said: str
) -> None:
    cells = [*ROW[:column], cell, *ROW[column + 1 :], *("6",) * len(rate.split(","))]
    with pytest.raises(StudyError) as found:
        read(table(tmp_path, rate, ",".join(cells)))
    assert said in found.value.problem + "; " + found.value.remedy
    assert (found.value.line, found.value.column) == (2, len(",".join(["", *cells[:place]])) + 1)


def test_a_column_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="1:141: unknown column 'step_time'; did you mean step_s"):
        read(table(tmp_path, "step_time", f"{OURS[0]},6"))


def test_three_runs_are_suggested_for_a_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(
        "study: ours\nworkload: llama3-8b\nspace: {node: dgx-h100, gpus: [8, 16, 32],\n"
        "  tensor_parallel: auto, pipeline_parallel: auto, recompute: full, global_batch: 256}\n"
        "objectives: {maximize: speedup, minimize: capital}\n",
        encoding="utf-8",
    )
    suggest(str(study), None, json=True)
    alone, split, piped = json.loads(capsys.readouterr().out)
    assert (alone["tensor_parallel"], alone["pipeline_parallel"]) == ("1", "1")
    assert split["tensor_parallel"] != "1"
    assert piped["pipeline_parallel"] != "1"
    assert int(piped["gpus"]) > 8
    suggest(str(study), None, json=False)
    _, header, *rows = capsys.readouterr().out.splitlines()
    path = tmp_path / "filled.csv"
    path.write_text("\n".join((header, *(f"{row}9" for row in rows))), encoding="utf-8")
    assert [rate.node for rate in read(path)] == ["dgx-h100"] * 3


@pytest.mark.parametrize(("gpus", "piped"), [("72", []), ("72, 144", ["144"])])
def test_a_pipeline_is_suggested_over_nodes_of_its_own_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], gpus: str, piped: list[str]
) -> None:
    """A domain of fast links has 72 accelerators, the study's other machine 8."""
    study = tmp_path / "study.yaml"
    study.write_text(
        f"study: ours\nworkload: llama3-8b\nspace: {{node: [dgx-h100, gb200-nvl72-tray],\n"
        f"  gpus: [{gpus}], tensor_parallel: [1, 2], pipeline_parallel: [1, 2],\n"
        "  recompute: full, global_batch: 144}\nbaseline: {node: gb200-nvl72-tray}\n"
        "objectives: {maximize: tokens_per_s, minimize: capital}\n",
        encoding="utf-8",
    )
    suggest(str(study), None, json=True)
    runs = json.loads(capsys.readouterr().out)
    assert {run["node"] for run in runs} == {"gb200-nvl72-tray"}
    assert [run["gpus"] for run in runs if run["pipeline_parallel"] != "1"] == piped


def test_suggested_runs_are_points_of_the_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(
        "study: ours\nworkload: llama3.2-1b\nspace: {node: dgx-h100, gpus: [24, 48],\n"
        "  tensor_parallel: [1, 4], pipeline_parallel: [1, 2], micro_batch: [4], zero: [0],\n"
        "  recompute: [full], global_batch: 192}\n"
        "objectives: {maximize: speedup, minimize: capital}\n",
        encoding="utf-8",
    )
    suggest(str(study), None, json=True)
    runs = json.loads(capsys.readouterr().out)
    assert [(run["tensor_parallel"], run["pipeline_parallel"]) for run in runs[:2]] == [
        ("1", "1"), ("4", "1")
    ]  # fmt: skip
    assert runs[2]["pipeline_parallel"] == "2"
    for run in runs:
        assert (run["micro_batch"], run["global_batch"], run["zero"]) == ("4", "192", "0")
        assert (run["gpus"], run["recompute"]) == ("24", "full")
