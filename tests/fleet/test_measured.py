"""Measured costs in dse's own model of a fleet: what a profile replaces, and how far it reaches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dse.calibration import Profile, fit_measurements, read_profile, write_profile
from dse.catalog import models_dir
from dse.fleet import beside, draw, fleet_schema, population_path, priced, read_fleet, read_recipe
from dse.fleet.answers import answer
from dse.fleet.beside import Effects, aggregation_s
from dse.fleet.measured import NOTHING, described, measured, parts
from dse.model import pai
from dse.model.pai import Hardware, Jobs
from dse.report import fleet_page
from dse.report.fleet_facts import fact_lines, model_notes
from tests.fleet.small import STUDY, TABLE, written

ROOT = Path(__file__).parents[2]
BASE = Hardware(11e12, 1e12, 10e9, 25e9 / 8, 50e9)
JOBS = Jobs(np.array([2.0, 4.0, 8.0]), 1e12, 50e9, 1e6, 400e6)
NODE = read_profile(models_dir() / "calibrations" / "h100-node.yaml")
ACROSS = read_profile(models_dir() / "calibrations" / "polaris-tcp.yaml")


@pytest.fixture(scope="module")
def grpc() -> Profile:
    lab = ROOT / "benchmarks" / "lab" / "results"
    return fit_measurements([lab / "ps-400mbps.json", lab / "ps-1000mbps.json"], "lab-grpc")


def test_servers_cost_what_the_fit_says_of_processes_on_machines_of_their_own(
    grpc: Profile,
) -> None:
    known = measured([grpc])
    assert known.servers is not None
    found = aggregation_s("ps-worker", JOBS, BASE, Effects(True, measured=known))
    n, m = np.asarray(JOBS.cnodes), 200e6  # to and fro 400 MB, as many servers as workers
    wire = 2 * m / (25e9 / 8)
    own = grpc.ps["grpc"].cost(apart=True)(n, n, m, m / n, wire)
    staged = 2 * m / (10e9 * 0.7)
    np.testing.assert_allclose(found, own + staged)


def test_a_node_costs_what_nccl_took_there() -> None:
    known = measured([NODE])
    assert known.inside is not None
    assert NODE.auto is not None
    found = aggregation_s("allreduce-local", JOBS, BASE, Effects(True, measured=known))
    np.testing.assert_allclose(found, NODE.auto.cost()(JOBS.cnodes, JOBS.cnodes, 200e6))
    by_hand = aggregation_s("allreduce-local", JOBS, BASE, Effects())
    assert (found < by_hand).all(), "the NVLink of an H100, not of the fleet's hardware"
    cluster = aggregation_s("pearl", JOBS, BASE, Effects(True, measured=known))
    np.testing.assert_allclose(cluster, found, err_msg="PEARL in one server")


def test_one_accelerator_exchanges_nothing() -> None:
    one = Jobs(np.ones(1), 1e12, 50e9, 1e6, 400e6)
    effects = Effects(True, measured=measured([NODE]))
    assert aggregation_s("allreduce-local", one, BASE, effects) == 0


def test_the_first_of_two_profiles_counts_and_what_none_measured_is_the_catalogues(
    grpc: Profile,
) -> None:
    other = read_profile(models_dir() / "calibrations" / "a100-node.yaml")
    known = measured([grpc, NODE, other])
    assert known.name == f"ps-grpc by {grpc.name}, NCCL by {NODE.name}"
    assert measured([]) == NOTHING
    assert measured([]).name == ""
    only = measured([grpc])
    assert only.inside is None
    with_catalogue = aggregation_s("allreduce-local", JOBS, BASE, Effects(True, measured=only))
    without = aggregation_s("allreduce-local", JOBS, BASE, Effects(True))
    np.testing.assert_array_equal(with_catalogue, without)


def test_what_no_fleet_can_use_has_no_parts(grpc: Profile) -> None:
    assert parts(ACROSS) == (None, None), "NCCL between nodes only"
    assert described(grpc)["prices"] == ["ps-grpc"]
    assert described(NODE)["prices"] == ["NCCL in one server"]
    assert described(grpc)["error"] == grpc.ps["grpc"].error


def test_the_measured_range_is_that_of_every_count() -> None:
    inside = measured([NODE]).inside
    assert inside is not None
    low, high = NODE.message_bytes
    asked = inside.in_range(np.array([2, 8, 1, 16, 8]), np.array([low, high, high, high, 2 * high]))
    np.testing.assert_array_equal(asked, [True, True, True, False, False], "one exchanges nothing")


def test_servers_that_shared_a_machine_were_never_measured_apart(grpc: Profile) -> None:
    servers = measured([grpc]).servers
    assert servers is not None
    assert not servers.in_range(2, 1e6, 2, 50e6), "all on the cores of one machine"


def test_rows_of_what_was_measured_say_how_many_jobs_are_outside(grpc: Profile) -> None:
    recipe = read_recipe(population_path("pai-ps-worker"))
    found = priced(draw(recipe, 20_000, 0), recipe.base, False)
    assert all(row["outside"] is None for row in beside(found, recipe.base))
    rows = beside(found, recipe.base, measured([grpc, NODE]))
    assert [row["outside"] for row in rows if row["outside"] is not None] == [1.0, 1.0]
    own = next(row for row in rows if "as measured: ps-grpc by lab-grpc" in row["model"])
    assert own["speedup"] == pytest.approx(1.0, abs=0.02), "processors bind, no link"
    inside = beside(found, recipe.base, measured([NODE]))
    placed = pai.placed_cnodes("allreduce-local", found[0].group.cnodes)
    bytes_ = np.asarray(found[0].group.jobs.weight_bytes) / 2
    low, high = NODE.message_bytes
    apart = np.mean((placed > 1) & ((placed > 8) | (bytes_ < low) | (bytes_ > high)))
    assert inside[-1]["outside"] == pytest.approx(apart)


def test_a_study_names_its_profiles_and_the_report_says_so(
    grpc: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_profile(grpc, tmp_path / "mine.yaml")
    plain = answer(read_fleet(written(tmp_path)))
    named = TABLE.replace("weight_bytes", "weight_bytes,name").replace("00e6\n", "00e6,job\n")
    named = named.replace("10e6,0\n", "10e6,0,job\n")
    bare = answer(read_fleet(written(tmp_path, STUDY, named)))
    study = read_fleet(written(tmp_path, STUDY + "calibration: [./mine.yaml, h100-node]\n", named))
    assert [profile.name for profile in study.profiles] == ["lab-grpc", "h100-node"]
    found = answer(study)
    assert found["hashes"]["profiles"] != plain["hashes"]["profiles"]
    assert [row["name"] for row in found["profiles"]] == ["lab-grpc", "h100-node"]
    for job, before in zip(found["named"], bare["named"], strict=True):
        changed = job["class"] in ("ps-worker", "allreduce-local")
        assert (job["own_model"] != before["own_model"]) is changed, job
    found |= {"command": "", "created": "2026-11-21T12:00:00+00:00", "versions": {"dse": "0"}}
    found["timings"]["total_s"] = 1.0
    text = fleet_page.render_markdown(found)
    assert "ps-grpc by lab-grpc (grpcio 1.85.1, 2026-11-21, off by 11 % on what was left" in text
    assert "NCCL in one server by h100-node" in text


def test_notes_say_which_costs_the_rows_have() -> None:
    row = {"model": "m", "communication": 0.5, "speedup": 1.2, "gain": 0.4, "outside": None}
    assert model_notes({}) == []
    (note,) = model_notes({"models": [row]})
    assert note.endswith("calibration: in the study takes measured ones.")
    known = {"models": [row, row | {"outside": 0.25}], "hardware": {}}
    said = model_notes(known)
    assert said[0].endswith("but for the rows that say measured.")
    assert said[1].startswith("25 % of the jobs are outside of what was measured")
    assert said[1] in list(fact_lines(known))
    assert len(model_notes({"models": [row | {"outside": 0.0}]})) == 1


def test_the_schema_knows_the_key() -> None:
    assert "calibration" in fleet_schema()["properties"]
