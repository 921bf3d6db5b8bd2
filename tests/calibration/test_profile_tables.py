"""What `calibrate show` prints, for forced algorithms and for the library's choice."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from dse.calibration import Profile, profile_data, show_profile
from dse.calibration.profile_tables import library_data
from tests.calibration import library_profiles


def text_of(print_it: object, profile: Profile) -> str:
    out = Console(file=io.StringIO(), width=140)
    print_it(profile, out)  # type: ignore[operator]
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_a_librarys_own_choice_is_shown_whole() -> None:
    text = text_of(show_profile, library_profiles.profile())
    for wanted in (
        "8-32 ranks on up to 8 nodes", "1 KiB to 256 MiB (one hop carries up to",
        "ring between nodes from 32 MiB",
        "no sums in",
        "per call", "per hop inside a node", "per byte between nodes", "us/MiB", "30 %", "60 %",
        "rank counts left out", "2026-02-03", "made up", "abababab", "8 ranks, 4/node", "a100",
    ):  # fmt: skip
        assert wanted in text, wanted
    assert "up to 64 KiB" not in text  # those coefficients are zero


def test_named_parameters_match_the_coefficients() -> None:
    profile = library_profiles.profile()
    assert profile.auto is not None
    data = json.loads(json.dumps(profile_data(profile)))
    named = {row["name"]: row for row in data["auto"]["parameters"]}
    assert named["per hop between nodes"]["value"] == 3e-6
    assert named["per byte between nodes"]["unit"] == "s/byte"
    assert named["per call"]["low"] == pytest.approx(18e-6)
    assert len(named) == 5


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


def test_what_was_forced_between_nodes_is_shown() -> None:
    lab = library_profiles.between_nodes()
    text = text_of(show_profile, lab)
    assert "ring between nodes (rank counts left out)" in text
    assert re.search(r"ring between nodes │ latency +│ +20 │ +│ +│ us", text)
    assert "4 ranks, 1/node" in text


def test_a_prediction_that_was_never_held_out_is_a_dash(profile: Profile) -> None:
    points = (replace(profile.points[0], held_out_s=None), *profile.points[1:])
    assert "| -" in text_of(show_profile, replace(profile, points=points))
