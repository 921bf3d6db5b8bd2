from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dse.catalog import UnknownName, accelerator, catalogue_hash, models_dir, names
from dse.catalog.stacks import layout_stacks
from dse.errors import DseError, StudyError


@pytest.mark.parametrize(
    ("kind", "typed", "meant"),
    [
        ("workloads", "resnet5O", "resnet50"),
        ("workloads", "ResNet_50", "resnet50"),
        ("accelerators", "h100", "h100-sxm"),
        ("accelerators", "p100-sxm-16gb", "p100-sxm2-16gb"),
        ("fabrics", "hdr-ib", "ib-hdr"),
        ("nodes", "dgx-h1oo", "dgx-h100"),
    ],
)
def test_a_near_name_is_suggested(kind: str, typed: str, meant: str) -> None:
    from dse.catalog.store import find

    with pytest.raises(UnknownName) as caught:
        find(kind, typed)
    assert meant in caught.value.suggestions
    assert caught.value.exit_status == 2


@pytest.mark.parametrize("name", ["../sources", "", ".", "h100-sxm.yaml"])
def test_a_name_is_not_a_path(name: str) -> None:
    with pytest.raises(UnknownName):
        accelerator(name)


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(UnknownName, match=r"acelerators.*did you mean accelerators"):
        names("acelerators")


def test_adding_an_accelerator_is_one_file(own_models: Path) -> None:
    text = (own_models / "accelerators" / "t4.yaml").read_text()
    (own_models / "accelerators" / "t5.yaml").write_text(text.replace("name: t4", "name: t5"))
    assert accelerator("t5").memory_bytes == accelerator("t4").memory_bytes


def test_a_wrong_folder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSE_MODELS", "nowhere")
    with pytest.raises(DseError, match="DSE_MODELS=nowhere: not a folder"):
        models_dir()


def test_the_hash_follows_the_data_but_not_calibrations(own_models: Path) -> None:
    before = catalogue_hash()
    (own_models / "calibrations").mkdir(exist_ok=True)
    (own_models / "calibrations" / "mine.yaml").write_text("a: 1\n")
    (own_models / ".hidden").write_text("x")
    assert catalogue_hash() == before
    listed = own_models / "sources.yaml"
    listed.write_text(listed.read_text() + "# one more line\n")
    assert catalogue_hash() != before


def test_a_catalogue_that_lacks_a_stack_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(models_dir(), tmp_path / "models")
    (tmp_path / "models" / "stacks" / "megatron.yaml").unlink()
    monkeypatch.setenv("DSE_MODELS", str(tmp_path / "models"))
    assert "nanotron" in layout_stacks()
    with pytest.raises(StudyError, match="has no stack megatron"):
        layout_stacks()["megatron"]
