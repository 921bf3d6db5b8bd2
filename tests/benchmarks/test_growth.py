"""Searches of one study from a million points to a hundred thousand million."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.speed import growth
from dse.pricing.load import load
from dse.search import exhaustive


def test_sizes_are_parts_of_one_another() -> None:
    whole = load(growth.STUDY)
    before = None
    for name, counts in growth.SIZES.items():
        part = growth.part(whole, counts)
        assert part.space.size == pytest.approx(float(name), rel=0.3)
        assert exhaustive.units(part.space) <= exhaustive.MOST_UNITS
        if before:
            assert len(before.study.axes) == len(part.study.axes)
            assert all(
                len(few.values) <= len(many.values)
                for few, many in zip(before.study.axes, part.study.axes, strict=True)
            )
        for axis, full in zip(part.study.axes, whole.study.axes, strict=True):
            assert set(axis.values) <= set(full.values)
        before = part
    assert before is not None
    assert before.space.size == whole.space.size


def test_a_size_is_searched_tabled_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = dict(growth.SIZES["1e6"])
    monkeypatch.setattr(
        growth, "SIZES", {"small": few | {"gpus": 2, "accelerator": 2}, "large": few | {"gpus": 4}}
    )
    monkeypatch.setattr(exhaustive, "CHUNK_POINTS", 10_000)
    found = {
        "small": growth.searched("small", growth.WHOLE_S),
        "large": growth.searched("large", 0),
    }
    whole = load(growth.STUDY)
    for name, one in found.items():
        assert one["points"] == growth.part(whole, growth.SIZES[name]).space.size
        assert 0 < one["priced"] <= one["searched"]
        assert one["log_bytes"] > 0
    small, large = growth.table(found).rows
    assert (small[0], small[1]) == ("41,472", "100%")
    assert large[0] == "497,664"
    assert 0 < found["large"]["searched"] < 100_000, "a unit"
    assert growth.whole_s(found["large"]) > 4 * found["large"]["cpu_s"]
    growth.draw(found, tmp_path / "growth.svg")
    assert (tmp_path / "growth.svg").stat().st_size > 0
