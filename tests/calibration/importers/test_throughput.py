"""Tables of a user's own samples per second."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.calibration import read_profile, write_profile
from dse.calibration.importers import throughput
from dse.calibration.importers.throughput import throughput_profile
from dse.calibration.throughput_part import Throughput
from dse.errors import StudyError
from dse.pricing.shapes import training_flops

HEADER = "workload,accelerator,samples_per_s,gpus,precision,batch_per_gpu,stack\n"
GOOD = "bert-large-s128,a100-sxm4-40gb,1200,8,fp16,64,vendor\n"


def table(folder: Path, text: str) -> Path:
    path = folder / "ours.csv"
    path.write_text(text, encoding="utf-8")
    return path


def read_throughput(path: Path) -> list[Throughput]:
    return [*throughput.read_throughput(path).values()]


def test_columns_in_any_order_and_defaults_where_cells_are_empty(tmp_path: Path) -> None:
    text = "batch_per_gpu,precision, workload ,accelerator,samples_per_s,gpus,optimizer\n\n"
    path = table(tmp_path, f"{text}64,fp16,bert-large-s128,a100-sxm4-40gb,1.2e3,8,adam\n"
                           '128,tf32,"resnet50",a100-sxm4-40gb,800,,\n')  # fmt: skip
    bert, images = read_throughput(path)
    assert bert == Throughput(
        "bert-large-s128", "a100-sxm4-40gb", "fp16", "vendor", 64, 1200, 8, optimizer="adam"
    )
    assert images == Throughput("resnet50", "a100-sxm4-40gb", "tf32", "vendor", 128, 800)
    assert bert.pass_s == pytest.approx(64 * 8 / 1200)


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        (HEADER, "1:1", "no row follows the header"),
        (GOOD, "1:1", "unknown column 'bert-large-s128'; the columns are workload, accelerator"),
        (HEADER.replace("gpus", "gpu") + GOOD, "1:36", "unknown column 'gpu'; did you mean gpus"),
        (f"{HEADER}{GOOD}\nbert-large,a100-sxm4-40gb,1200,8,fp16,64,\n", "4:1",
         "workload: 'bert-large' could mean several; write bert-large-s512 or bert-large-s128"),
        (f"{HEADER}resnet50,a100-sxm-40gb,1200,8,fp16,64,\n", "2:10",
         "accelerator: 'a100-sxm-40gb' is not known; did you mean a100-sxm4-40gb"),
        (f"{HEADER}resnet50,a100-sxm4-40gb,fast,8,fp16,64,\n", "2:25",
         "samples_per_s: 'fast': input should be a valid number"),
        (f"{HEADER}resnet50,a100-sxm4-40gb,9,8,half,64,\n", "2:29",
         "precision: 'half': input should be 'fp32', 'tf32', 'fp16', 'bf16' or 'fp8'"),
        (f"{HEADER}resnet50,a100-sxm4-40gb,9,8,fp16,,\n", "2:34",
         "batch_per_gpu: '': field required"),
        (f"{HEADER}resnet50,a100-sxm4-40gb,9,8,fp16,64,vendr\n", "2:37",
         "stack: 'vendr' is not known; did you mean vendor"),
        (f"{HEADER}resnet50,a100-sxm4-40gb,9,8,fp16\n", "2:1", "5 values where the header has 7"),
        (f"{HEADER}mine.yaml,a100-sxm4-40gb,9,8,fp16,64,\n", "2:1", "mine.yaml: no such file"),
    ],
)  # fmt: skip
def test_a_mistake_has_its_place_and_what_would_be_right(
    tmp_path: Path, text: str, place: str, said: str
) -> None:
    path = table(tmp_path, text)
    with pytest.raises(StudyError) as found:
        read_throughput(path)
    assert str(found.value).startswith(f"{path}:{place}: ")
    assert said in str(found.value)


def test_all_mistakes_are_told_at_once_in_their_order(tmp_path: Path) -> None:
    text = f"{HEADER}resnet5,a101,fast,0,half,64,vendr\nresnet50,h100-sxm,900,16,fp16,-1,\n"
    with pytest.raises(StudyError) as found:
        read_throughput(table(tmp_path, text))
    lines = str(found.value).splitlines()
    assert [line.split("ours.csv:")[1].split(": ")[0] for line in lines] == [
        "2:1", "2:9", "2:14", "2:19", "2:21", "2:29", "3:31"
    ]  # fmt: skip


def test_a_quote_within_a_cell_hides_neither_a_mistake_nor_its_place(tmp_path: Path) -> None:
    path = table(tmp_path, 'workload,accelerator"x,samples_per_s,precision,batch_per_gpu\n')
    with pytest.raises(StudyError, match=r"ours.csv:1:10: unknown column 'accelerator"):
        read_throughput(path)
    path = table(tmp_path, f'{HEADER}bert-large-s128,a100"-sxm4-40gb,1200,8,fp16,6x,vendor\n')
    with pytest.raises(StudyError, match=r"ours.csv:2:45: batch_per_gpu: '6x'"):
        read_throughput(path)


@pytest.mark.parametrize(
    ("column", "value"),
    [("samples_per_s", 2400), ("tokens_per_s", 2400 * 1024), ("step_s", 512 / 2400), ("mfu", None),
     ("tokens_per_s_per_gpu", 300 * 1024), ("tflops_per_gpu", 300 * 0.8168)],
)  # fmt: skip
def test_a_rate_may_be_told_in_tokens_or_flops(
    tmp_path: Path, column: str, value: float | None
) -> None:
    """Of 8 H100, which a word names that could mean others, too; mfu is of 989.4 TFLOPS."""
    row = f"h100,8,64,bf16,vendor,{value or 300 * 0.8168 / 989.4}\n"
    head = f"workload,accelerator,gpus,batch_per_gpu,precision,stack,{column}\n"
    notes: list[tuple[int, str]] = []
    found = throughput.read_throughput(
        table(tmp_path, f"{head}gpt2-124m,{row}"), flops=training_flops,
        note=lambda *said: notes.append(said),
    )[2]  # fmt: skip
    assert isinstance(found, Throughput)
    assert found.samples_per_s == pytest.approx(2400, rel=1e-3)
    assert notes == [(2, "h100 means h100-sxm here, not h100-pcie")]
    if column.startswith("tokens"):
        with pytest.raises(StudyError, match="samples of resnet50 have no known number of tokens"):
            read_throughput(table(tmp_path, f"{head}resnet50,{row}"))


def test_columns_in_another_spelling_are_known(tmp_path: Path) -> None:
    text = "Workload,accelerator,Samples per s,precision,Batch per GPU,GPUs\n"
    (found,) = read_throughput(table(tmp_path, f"{text}resnet50,h100-sxm,9,bf16,64,4\n"))
    assert (found.samples_per_s, found.gpus) == (9, 4)


SUMMED = HEADER.replace("stack", "gpus_per_node,aggregation,inter_node,node")
ROW = "bert-large-s128,a100-sxm4-40gb,1200"


def test_how_gradients_were_summed_is_kept_in_the_profile(tmp_path: Path) -> None:
    lines = ("16,fp16,64,8,nccl,IB HDR,", "16,fp16,64,,ring-nccl,,dgx-a100-40gb", "8,fp16,64,,,,",
             "1,fp16,64,,ring-nccl,,")  # fmt: skip
    path = table(
        tmp_path, SUMMED + "".join(f"{ROW.replace('1200', '300')},{row}\n" for row in lines)
    )
    named, machine, unsaid, alone = read_throughput(path)
    assert (named.aggregation, named.inter_node, named.node) == ("auto-nccl", "ib-hdr", None)
    assert (machine.aggregation, machine.node) == ("ring-nccl", "dgx-a100-40gb")
    assert machine.gpus_per_node == 8
    assert not unsaid.stated
    assert not alone.stated, "one accelerator sums nothing"
    made = throughput_profile(path, "ours")
    write_profile(made, tmp_path / "ours.yaml")
    assert read_profile(tmp_path / "ours.yaml") == made


def test_a_rate_in_a_profile_is_checked(tmp_path: Path) -> None:
    made = throughput_profile(table(tmp_path, HEADER + GOOD), "ours")
    path = tmp_path / "ours.yaml"
    write_profile(made, path)
    path.write_text(path.read_text().replace("samples_per_s: 1200.0", "samples_per_s: -1"))
    with pytest.raises(StudyError, match=r"throughput\.0\.samples_per_s: input should be greater"):
        read_profile(path)


def test_a_rate_of_a_config(tmp_path: Path) -> None:
    sizes = '"n_embd": 64, "n_layer": 2, "n_head": 2, "n_positions": 32, "vocab_size": 100'
    (tmp_path / "config.json").write_text(f'{{"model_type": "gpt2", {sizes}}}', encoding="utf-8")
    path = table(tmp_path, f"{HEADER}config.json,a100-sxm4-40gb,9,8,fp16,64,\n")
    (rate,) = read_throughput(path)
    assert rate.workload == str(tmp_path / "config.json")
