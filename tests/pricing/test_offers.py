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


def problem(folder: Path, old: str = "", new: str = "") -> Problem:
    """The study of two offers; the second with another text in place of one of its own."""
    (folder / "offers").mkdir(parents=True)
    for name, link, usd in (("a", "ib-ndr", 250_000), ("b", "400gbe", 260_000)):
        text = OFFER.format(name=name, link=link, usd=usd)
        text = text.replace(old, new) if name == "b" and old else text
        (folder / "offers" / f"{name}.yaml").write_text(text, encoding="utf-8")
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    return load_study(folder / "study.yaml").problem


def test_each_offer_has_its_own_price_network_and_profile(tmp_path: Path) -> None:
    found, grades = problem(tmp_path), []
    for name, usd, link in (("a", 250_000, "ib-ndr"), ("b", 260_000, "400gbe")):
        node = str(tmp_path / "offers" / f"{name}.yaml")
        points = found.points_at(point(found, node=node))
        price = points.only.host_usd
        assert (price.usd, price.log_spread, points.link_name) == (usd, 0.0, link)
        grades.append(int(points.grade()[0]))
    assert grades[0] < grades[1], "the profile is of the first alone"
    other = problem(tmp_path / "2", "nics: 8", "nics: 4")
    assert found.inputs_hash != other.inputs_hash, "a run rests on what is read of an offer"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("h100-sxm", "h1000", "accelerator 'h1000' is not in the catalogue"),
        ("400gbe", "my-net", "inter_node 'my-net' is not in the catalogue"),
        ("nics: 8", "nics: many", "b.yaml:5:7: "),
        ("20 USD/hour", "{value: 20 USD/hour, term: spot}", "a rent spot; give the one on-demand"),
    ],
)
def test_a_mistake_in_an_offer_is_told_with_its_place(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    with pytest.raises(StudyError, match=said):
        problem(tmp_path, old, new)
