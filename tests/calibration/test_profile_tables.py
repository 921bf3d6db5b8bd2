"""What `calibrate show` prints, for forced algorithms and for the library's choice."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from dse.calibration import Profile, profile_data, read_profile
from dse.calibration.profile_tables import library_data, show_profile
from tests.calibration import library_profiles
from tests.golden.answers import HERE as GOLDEN


def test_named_parameters_match_the_coefficients() -> None:
    profile = library_profiles.profile()
    assert profile.auto is not None
    data = json.loads(json.dumps(profile_data(profile)))
    named = {row["name"]: row for row in data["auto"]["parameters"]}
    assert named["per hop between nodes"]["value"] == 3e-6
    assert named["per byte between nodes"]["unit"] == "s/byte"
    assert named["per call"]["low"] == pytest.approx(18e-6)
    assert len(named) == 5


def shown(profile: Profile) -> str:
    console = Console(width=200, file=StringIO())
    show_profile(profile, console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_a_byte_of_one_step_is_shown_by_its_bandwidth() -> None:
    profile = read_profile(GOLDEN / "calibrations" / "this-machine.yaml")
    ring = replace(profile.fits["ring"], s_per_byte=(1e-9, 0.0))
    told = shown(replace(profile, fits={"ring": ring, "any": ring})).splitlines()
    lines = [[cell.strip() for cell in line.split("│")] for line in told]
    rows = {cells[2]: cells[3:7] for cells in lines if len(cells) == 8}
    low, high = np.quantile([draw[1] for draw in ring.draws], [0.05, 0.95])
    value, least, most, unit = rows["bandwidth from 0"]
    assert (float(value), unit) == (1.0, "GB/s")
    assert (float(least), float(most)) == pytest.approx((1e-9 / high, 1e-9 / low), rel=5e-3)
    assert rows["bandwidth from 4 KiB"][0] == "free"
    assert rows["latency"][3] == "us"


def test_the_layouts_of_a_library_are_told_and_its_costs_are_of_no_core() -> None:
    text = shown(library_profiles.profile())
    assert "layouts measured: 8 ranks (4 per node), 32 ranks (4 per node)" in text
    assert "own core" not in text


def test_a_byte_has_one_price_in_each_range_of_sizes() -> None:
    """Coefficients count up to an edge each; what is shown is what a byte costs between edges."""
    known = library_profiles.profile().auto
    assert known is not None
    edges = (1024.0, 65536.0)
    prices = (0.0,) * 6 + (3e-9, 0.0, 1e-9) + (0.0,) * 3 + (5e-9, 2e-9, 0.0)
    fit = replace(known, edges_bytes=edges, coefficients=prices, low=prices, high=prices)
    shown = {row["name"]: row["value"] for row in library_data(fit)}
    assert shown == pytest.approx({
        "per byte inside a node up to 1 KiB": 4e-9,
        "per byte inside a node from 1 KiB": 1e-9,
        "per byte between nodes up to 1 KiB": 7e-9,
        "per byte between nodes from 1 KiB to 64 KiB": 2e-9,
    })  # fmt: skip
    cost = fit.cost()
    at = np.array([512.0, 8192.0, 2.0**20])
    slope = (cost(2, 1, 1.001 * at) - cost(2, 1, at)) / (0.001 * at)
    by_byte = [7e-9, 2e-9, 0.0]
    assert slope / slope[0] == pytest.approx(np.array(by_byte) / by_byte[0], abs=1e-3)
