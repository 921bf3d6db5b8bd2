"""``dse workload from-hf``: what it prints is a workload, and bad input gets one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dse.catalog import read_workload
from tests.catalog.test_model_config import GPT2, LLAMA
from tests.commands.command import dse, refused


def test_what_is_printed_is_a_workload(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    done = dse("workload", "from-hf", "config.json", "--sequence", "2048", "--name", "ours",
               cwd=tmp_path)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "ours.yaml").write_text(done.stdout)
    found = read_workload(tmp_path / "ours.yaml")
    assert (found.name, found.params, found.tokens_per_sample) == ("ours", 6_738_415_616, 2048)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--sequence", "0"), "--sequence: is 0; write 1 to"),
        (("--sequence", "many"), "'--sequence'"),
        (("--sequence", "9999"), "config.json:1:1: a sequence of 9999 tokens, and the model has"),
        (("--name", " "), "--name: is empty"),
    ],
)
def test_a_wrong_option_is_one_line(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps(GPT2))
    done = dse("workload", "from-hf", "config.json", *arguments, cwd=tmp_path)
    assert said in refused(done)
    assert done.stdout == ""


def test_no_file_and_no_model_are_one_line(tmp_path: Path) -> None:
    assert "no such file" in refused(dse("workload", "from-hf", "config.json", cwd=tmp_path))
    (tmp_path / "config.json").write_text("[]")
    assert "is not the configuration of a model" in refused(
        dse("workload", "from-hf", "config.json", cwd=tmp_path)
    )
    (tmp_path / "big.json").write_bytes(b" " * 3_000_000)
    assert "too large" in refused(dse("workload", "from-hf", "big.json", cwd=tmp_path))


def test_a_configuration_in_place_of_a_study_is_told_where_it_goes(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(GPT2))
    said = refused(dse("run", "config.json", cwd=tmp_path))
    assert (
        "this is the configuration of a model, not a study; name it in a study, workload: " in said
    )
    assert "or write dse ask --workload config.json" in said
    absent = refused(dse("workload", "from-hf", "meta-llama/Llama-3-8B", cwd=tmp_path))
    assert absent.endswith("give a model's config.json, which huggingface.co has among its files")
