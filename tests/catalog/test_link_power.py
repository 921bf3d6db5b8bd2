"""dse.catalog.link_power"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dse.catalog import LinkWatts, link_power
from dse.errors import StudyError

GBPS = 1e9 / 8


def test_watts_of_the_speeds_that_are_listed() -> None:
    known = link_power()
    assert known.watts(400 * GBPS) == LinkWatts(25.0, 11.7, 17.5)
    assert known.watts(10 * GBPS) == LinkWatts(6.0, 3.0, 2.0)


def test_watts_between_below_and_above() -> None:
    known = link_power()
    assert known.watts(300 * GBPS) == LinkWatts(22.5, 9.0, 14.75)
    assert known.watts(1 * GBPS) == known.watts(10 * GBPS)
    assert known.watts(1600 * GBPS) == LinkWatts(90.0, 40.0, 64.0)
    assert np.isnan(known.watts(float("nan")).nic)


def test_faster_links_never_draw_less() -> None:
    found = [link_power().watts(speed * GBPS) for speed in range(1, 2000, 7)]
    for part in ("nic", "switch_port", "cable"):
        watts = [getattr(row, part) for row in found]
        assert watts == sorted(watts)


def test_speeds_must_rise(tmp_path: Path) -> None:
    row = "  {{bandwidth: {} Gbps, nic: 1 W, switch_port: 1 W, cable: 1 W}}\n"
    path = tmp_path / "links.yaml"
    path.write_text("a:" + row.format(20) + "b:" + row.format(10))
    with pytest.raises(StudyError, match=r"links.yaml:2:.*speeds do not rise"):
        link_power(path)
