"""How fast training was, out of tables of rates."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.calibration.importers.reading import rates


def test_a_table(tmp_path: Path) -> None:
    text = "step,samples_per_s\n1,100\n\n2,2e2\n"
    assert rates(tmp_path, text, "rates.csv") == rates(tmp_path, text) == [100.0, 200.0]


@pytest.mark.parametrize("heading", ["samples_per_s", "samples/s", "Samples/sec"])
def test_a_table_may_call_its_rates_as_logs_do(tmp_path: Path, heading: str) -> None:
    assert rates(tmp_path, f"step,loss,{heading}\n0,8.0,46.5\n10,7.9,47.5\n", "a.csv") == [
        46.5,
        47.5,
    ]
