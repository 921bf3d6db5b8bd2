"""What vendors offer: node types in files of a buyer's own, among which a study chooses."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse import load_study
from dse.errors import StudyError
from dse.pricing.problem import Problem
from tests.pricing.priced import point

OFFER = """\
title: Machine of vendor {name}
accelerator: h100-sxm
accelerators: 8
inter_node: {link}
nics: 8
prices: {{purchase: {{value: {usd} USD, vendor: {name}}}, hourly: 20 USD/hour}}
"""
STUDY = """\
study: offers
workload: bert-large-s512
space:
  node: [offers/a.yaml, offers/b.yaml]
  gpus: [8, 16]
  aggregation: auto-nccl
  batch_per_gpu: 32
  precision: bf16
calibration: {offers/a.yaml: aws-p5-node}
objectives: {maximize: speedup, minimize: capital}
"""


def problem(folder: Path, second: str = OFFER) -> Problem:
    (folder / "offers").mkdir()
    for name, link, usd, text in (
        ("a", "ib-ndr", 250_000, OFFER),
        ("b", "400gbe", 260_000, second),
    ):
        written = text.format(name=name, link=link, usd=usd)
        (folder / "offers" / f"{name}.yaml").write_text(written, encoding="utf-8")
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    return load_study(folder / "study.yaml").problem


def test_each_offer_has_its_own_price_network_and_profile(tmp_path: Path) -> None:
    found = problem(tmp_path)
    mine = [str(tmp_path / "offers" / f"{name}.yaml") for name in "ab"]
    for node, usd, link in zip(mine, (250_000, 260_000), ("ib-ndr", "400gbe"), strict=True):
        (machine,) = (one for one in found.points_at(point(found, node=node)).machines)
        assert machine.host_usd.usd == usd
        assert machine.host_usd.log_spread == 0.0, "what a buyer was offered is what he pays"
        assert found.points_at(point(found, node=node)).link_name == link
    measured = [found.points_at(point(found, node=node, gpus=8)).grade() for node in mine]
    assert measured[0] < measured[1], "the profile is of the first alone"


def test_what_is_read_of_an_offer_is_part_of_what_a_run_rests_on(tmp_path: Path) -> None:
    once = problem(tmp_path)
    (tmp_path / "2").mkdir()
    other = problem(tmp_path / "2", OFFER.replace("nics: 8", "nics: 4"))
    assert once.inputs_hash != other.inputs_hash


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("h100-sxm", "h1000", "accelerator 'h1000' is not in the catalogue"),
        ("{link}", "my-net", "inter_node 'my-net' is not in the catalogue"),
        ("nics: 8", "nics: many", "b.yaml:5:7: "),
        (
            "20 USD/hour",
            "{{value: 20 USD/hour, term: spot}}",
            "a rent spot; give the one on-demand",
        ),
    ],
)
def test_a_mistake_in_an_offer_is_told_with_its_place(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    with pytest.raises(StudyError) as told:
        problem(tmp_path, OFFER.replace(old, new))
    assert said in str(told.value)
    assert "\n" not in str(told.value)
