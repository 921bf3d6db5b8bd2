"""Other tools on the board beside dse, and the formula of Calculon's efficiencies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy import peers as beside
from benchmarks.anchors import calculon
from benchmarks.anchors.held_out import Predicted
from benchmarks.peers.rates import Predictions, write
from tests.benchmarks.test_peers import DATE, ROWS, answers, row


def test_dse_stands_beside_a_peer_on_the_very_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "PREDICTED", tmp_path / "rates.csv")
    said = [answers("one", 1.0, 4.0), answers("half", 0.5, 2.0)]
    write([*said, Predictions("silent", "0", "one", {})], beside.PREDICTED, DATE)
    ratio = np.array([1.1, 0.9, 7.0])
    ours = Predicted(np.arange(3), ratio, ratio / 2, ratio * 2)
    found = beside.lines("rates", ours, ROWS)
    assert [line.predictor for line in found[:3]] == ["guess, one", "guess, half", "dse"]
    assert {line.data for line in found[:3]} == {"rates, rows within reach of guess 1.2"}
    assert found[0].ratio == pytest.approx([0.5, 2.0])
    assert found[1].ratio == pytest.approx([0.25, 1.0])
    assert found[2].ratio == pytest.approx([1.1, 0.9])
    assert found[2].again  # its points are counted in dse's own line
    assert not any("silent" in line.data for line in found)
    assert found[-1].data.endswith(beside.CALCULON)
    assert len(found[-1].ratio) == 2  # no V100 there


def test_an_efficiency_rises_with_the_size_of_an_operation() -> None:
    products = calculon.table()["a100-sxm4-80gb", "fp16"]
    large, small = products.seconds(np.array([128e9, 0.5e9]))
    assert large == pytest.approx(128e9 / (312e12 * 0.95))
    assert small == pytest.approx(0.5e9 / (312e12 * 0.1))


def test_calculons_efficiencies_price_what_its_processors_can_run() -> None:
    least = 3 * row().workload.forward_flops * row().batch / 312e12
    found = calculon.step_s(row())
    assert found is not None
    assert 0.8 * least < found < 2 * least  # masked pairs are not computed
    faster = calculon.step_s(row("h100-sxm"))
    assert faster is not None
    assert faster < found
    assert calculon.step_s(row("h100-sxm", "tf32")) is None
    assert calculon.step_s(row("v100-sxm2-32gb", "fp16")) is None
