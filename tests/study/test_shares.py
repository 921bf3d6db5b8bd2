"""Shares in a study: each may be written as a number or in per cent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dse.errors import StudyError
from dse.pricing.load import load
from dse.study import Study
from tests.pricing import studies

PLACES: dict[str, tuple[str, Callable[[Study], float | None]]] = {
    "confidence": ("confidence: {}", lambda study: study.confidence),
    "resolution": ("resolution: {}", lambda study: study.resolution),
    "discount": ("rental: {{discount: {}}}", lambda study: study.rental.discounts["on-demand"]),
    "residual_value": (
        "ownership: {{residual_value: {}}}", lambda study: study.ownership.residual_value
    ),
    "utilisation": ("ownership: {{utilisation: {}}}", lambda study: study.ownership.utilisation),
    "compute": ("efficiency: {{compute: {}}}", lambda study: study.efficiency.compute),
    "memory": ("efficiency: {{memory: {}}}", lambda study: study.efficiency.memory),
}  # fmt: skip


def study(folder: Path, place: str, share: str) -> Study:
    return load(studies.written(folder, studies.SMALL + PLACES[place][0].format(share))).study


@pytest.mark.parametrize("place", PLACES)
def test_a_share_is_read_in_per_cent(place: str, tmp_path: Path) -> None:
    for share in ("12.3 %", "12.3%", "0.123", '"0.123"'):
        assert PLACES[place][1](study(tmp_path, place, share)) == 0.123


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("share", ["123 %", '"%"', "half", "12 GB", "[10 %]"])
def test_another_value_is_one_clear_line(place: str, share: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError) as caught:
        study(tmp_path, place, share)
    line, *others = str(caught.value).splitlines()
    assert not others
    assert f"{place}: " in line
    assert "; " in line  # what would be right


def test_a_discount_may_be_all_of_the_price(tmp_path: Path) -> None:
    assert study(tmp_path, "discount", "100 %").rental.discounts == {"on-demand": 1.0}
