"""Which profiles at hand would price points of a study that does not name them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from dse import catalog
from dse.pricing.load import load
from dse.pricing.profile_use import taken
from dse.pricing.profiles_at_hand import fitting, unasked
from tests.pricing.studies import SMALL, written

NCCL = (
    SMALL.replace("[p100-sxm2-16gb, v100-sxm2-16gb]", "a100-sxm4-40gb")
    .replace("accelerator: p100-sxm2-16gb", "accelerator: a100-sxm4-40gb")
    .replace("[ring-mpi, halving-doubling-gloo, ps-grpc]", "[auto-nccl, ps-grpc]")
    .replace("    - 10gbe\n", "    - 10gbe\n    - slingshot-11\n")
    + "prices: {fabrics: {slingshot-11: {nic: 1 kUSD, switch_port: 1 kUSD, cable: 90 USD}}}\n"
)


RENTED = """\
study: rented
workload: bert-large
space: {{node: [{node}], gpus: [8, 16, 32], aggregation: [auto-nccl], batch_per_gpu: [8]}}
baseline: {{node: {node}, gpus: 8, aggregation: auto-nccl, batch_per_gpu: 8}}
objectives: {{maximize: speedup, minimize: hourly}}
"""


def test_profiles_of_like_hardware_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = fitting(load(written(tmp_path, NCCL)))
    assert set(found.values()) == {("auto-nccl",)}
    best = next(iter(found))
    problem = load(written(tmp_path, f"{NCCL}calibration: [{best}]\n"))
    (auto,) = (name for name in problem.study.aggregations if name == "auto-nccl")
    assert taken(problem, auto)  # who follows it has points priced by what was measured
    assert best not in fitting(problem)


def test_what_cannot_tell_networks_apart_is_not_suggested_unless_it_is_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    study = load(written(tmp_path, NCCL.replace("a100-sxm4-40gb", "h100-sxm")))
    assert "aws-p5-node" in fitting(study)
    assert "h100-cluster01" not in fitting(study)  # of a network whose speed nobody wrote down
    (tmp_path / "calibrations").mkdir()
    shipped = catalog.models_dir() / "calibrations" / "h100-cluster01.yaml"
    shutil.copy(shipped, tmp_path / "calibrations")
    one = RENTED.format(node="aws-p5.48xlarge")
    study = load(written(tmp_path, one))  # with a single network, so that there is none to choose
    assert "h100-cluster01" in fitting(study)
    assert "h100-cluster01" in unasked(study)


def test_own_profiles_are_not_taken_among_networks_that_they_cannot_tell_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One with the speed of its link and one without, both of the study's hardware."""
    monkeypatch.chdir(tmp_path)
    study = load(written(tmp_path, NCCL.replace("a100-sxm4-40gb", "h100-sxm")))
    before = unasked(study)
    assert "aws-p5-node" in before
    (tmp_path / "calibrations").mkdir()
    shipped = catalog.models_dir() / "calibrations"
    shutil.copy(shipped / "h100-cluster01.yaml", "calibrations/unknown.yaml")
    assert unasked(study) == before  # as if it were not there
    assert "unknown" not in fitting(study)
    cards = """\
study: cards
workload: bert-large
space: {accelerator: [h100-sxm], gpus: [8, 16, 32], gpus_per_node: [8], inter_node: [400gbe],
        nics_per_node: NICS, aggregation: [auto-nccl], batch_per_gpu: [8]}
baseline: {accelerator: h100-sxm, gpus: 8, gpus_per_node: 8, inter_node: 400gbe, nics_per_node: 8,
           aggregation: auto-nccl, batch_per_gpu: 8}
objectives: {maximize: speedup, minimize: capital}
"""
    assert "unknown" not in unasked(load(written(tmp_path, cards.replace("NICS", "[1, 8]"))))
    assert "unknown" in unasked(load(written(tmp_path, cards.replace("NICS", "[8]"))))
    known = (shipped / "h100-cluster01.yaml").read_text().replace(
        "link_bytes_per_s: null", "link_bytes_per_s: 50000000000.0"
    )  # fmt: skip
    Path("calibrations/known.yaml").write_text(known)
    after = unasked(study)
    assert "known" in after
    assert "unknown" not in after
    assert "aws-p5-node" not in after
    assert re.search(r"good for .* missed by \d", after["known"].good_for)


def test_of_several_nodes_only_own_profiles_are_taken_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    study = load(written(tmp_path, RENTED.format(node="aws-p4de.24xlarge")))
    assert "aws-p4de-efa" in fitting(study)
    assert "aws-p4de-efa" not in unasked(study)
    assert unasked(study)
    (tmp_path / "calibrations").mkdir()
    shipped = catalog.models_dir() / "calibrations" / "aws-p4de-efa.yaml"
    shutil.copy(shipped, tmp_path / "calibrations")
    assert "aws-p4de-efa" in unasked(study)


def test_those_of_several_nodes_fit_studies_with_their_kind_of_network_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same A100 on InfiniBand, and Polaris, whose log names no kind of network."""
    monkeypatch.chdir(tmp_path)
    infiniband = load(written(tmp_path, RENTED.format(node="azure-nd96asr-a100-v4")))
    assert list(fitting(infiniband)) == ["a100-node-azure"]
    bought = load(written(tmp_path, NCCL))
    assert [name for name in fitting(bought) if "polaris" in name] == []
    (tmp_path / "calibrations").mkdir()
    for name in ("aws-p4de-efa", "polaris-ofi"):  # once it is one's own, one knows what it is
        shutil.copy(catalog.models_dir() / "calibrations" / f"{name}.yaml", "calibrations")
    assert "polaris-ofi" in fitting(bought)


def test_nothing_fits_a_closed_model(tmp_path: Path) -> None:
    problem = load(written(tmp_path, f"{NCCL}model: pai\n"))
    assert fitting(problem) == {}
    assert unasked(problem) == {}


def test_a_damaged_profile_is_no_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    problem = load(written(tmp_path, NCCL))
    before = fitting(problem)
    (tmp_path / "calibrations").mkdir()
    (tmp_path / "calibrations" / "mine.yaml").write_text("format: dse-profile/1\nname: [\n")
    assert fitting(problem) == before
