"""Measured costs in dse's own model of a fleet: what a profile replaces, and how far it reaches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.calibration import Profile, fit_measurements, read_profile, write_profile
from dse.catalog import models_dir
from dse.fleet import compare_models, draw, population_path, priced, read_fleet, read_recipe
from dse.fleet.answers import answer
from dse.fleet.document import ModelRow
from dse.fleet.measured_costs import NOTHING, MeasuredServers, measured, parts
from dse.fleet.model_comparison import (
    BUCKETS,
    Effects,
    aggregation_s,
    communication_s,
    in_range,
    priced_by_profile,
)
from dse.model.pai import Hardware, Jobs, placed_cnodes
from dse.report import fleet_page, fleet_words
from dse.report.fleet_facts import fact_lines, model_notes
from tests.fleet.small import STUDY, TABLE, written

ROOT = Path(__file__).parents[2]
BASE = Hardware(11e12, 1e12, 10e9, 25e9 / 8, 50e9)
JOBS = Jobs(np.array([2.0, 4.0, 8.0]), 1e12, 50e9, 1e6, 400e6)
NODE, OTHER, ACROSS = (
    read_profile(models_dir() / "calibrations" / f"{name}.yaml")
    for name in ("h100-node", "a100-node", "polaris-tcp")
)
NAMED = "\n".join(
    f"{line},{'name' if at == 0 else f'job{at}'}" for at, line in enumerate(TABLE.splitlines())
)


@pytest.fixture(scope="module")
def grpc() -> Profile:
    lab = ROOT / "benchmarks" / "lab" / "results"
    return fit_measurements([lab / "ps-400mbps.json", lab / "ps-1000mbps.json"], "lab-grpc")


@pytest.fixture(scope="module")
def apart(grpc: Profile) -> MeasuredServers:
    """As if every process had had a machine of its own, at 25 Gbps, to 1 GB."""
    fit = replace(grpc.ps["grpc"], cores=None, workers=(1, 16), servers=(1, 16),
                  message_bytes=(1.0, 1e9), link_bytes_per_s=(25e9 / 8, 25e9 / 8))  # fmt: skip
    return MeasuredServers(grpc, "grpc", fit)


def test_servers_cost_what_the_fit_says_of_processes_on_machines_of_their_own(
    grpc: Profile,
) -> None:
    known = measured([grpc])
    found = aggregation_s("ps-worker", JOBS, BASE, Effects(True, measured=known))
    n, m = np.asarray(JOBS.cnodes), 200e6  # to and fro 400 MB, as many servers as workers
    own = grpc.ps["grpc"].cost(apart=True)(n, n, m, m / n, 2 * m / (25e9 / 8))
    np.testing.assert_allclose(found, own + 2 * m / (10e9 * 0.7), err_msg="and PCIe")


def test_the_efficiency_of_a_link_counts_where_its_speed_was_not_measured(grpc: Profile) -> None:
    # Costs that let the wire decide: nothing but it.
    fit = replace(grpc.ps["grpc"], costs=(0.0,) * 10)
    known = MeasuredServers(grpc, "grpc", fit).seconds(4, 1e8, 4, 1e9, 0.5)
    assert float(known) == pytest.approx(2 * 1e8 / 1e9)
    unknown = replace(fit, link_bytes_per_s=(0.0, 0.0))
    found = MeasuredServers(grpc, "grpc", unknown).seconds(4, 1e8, 4, 1e9, 0.5)
    assert float(found) == pytest.approx(2 * 1e8 / 0.5e9)


def test_a_node_costs_what_nccl_took_there() -> None:
    known = measured([NODE])
    assert NODE.auto is not None
    found = aggregation_s("allreduce-local", JOBS, BASE, Effects(True, measured=known))
    np.testing.assert_allclose(found, NODE.auto.cost()(JOBS.cnodes, JOBS.cnodes, 200e6))
    by_hand = aggregation_s("allreduce-local", JOBS, BASE, Effects())
    assert (found < by_hand).all(), "the NVLink of an H100, not of the fleet's hardware"
    pearl = aggregation_s("pearl", JOBS, BASE, Effects(True, measured=known))
    np.testing.assert_allclose(pearl, found, err_msg="PEARL in one server")


def test_without_software_nothing_measured_counts(grpc: Profile) -> None:
    known = measured([grpc, NODE])
    for architecture in ("ps-worker", "allreduce-local"):
        bare = aggregation_s(architecture, JOBS, BASE, Effects())
        same = aggregation_s(architecture, JOBS, BASE, Effects(measured=known))
        np.testing.assert_array_equal(bare, same)


@pytest.mark.parametrize("known", [NOTHING, measured([NODE])])
def test_overlapped_gradients_are_eight_messages_each_with_its_own_price(known: Any) -> None:
    effects = Effects(True, overlapped=True, measured=known)
    every, exposed = communication_s("allreduce-local", JOBS, BASE, effects)
    part = replace(JOBS, weight_bytes=400e6 / BUCKETS)
    one = aggregation_s("allreduce-local", part, BASE, Effects(True, measured=known))
    np.testing.assert_allclose(every, BUCKETS * one)
    np.testing.assert_allclose(exposed, one, err_msg="all but the last is hidden here")
    whole = aggregation_s("allreduce-local", JOBS, BASE, Effects(True, measured=known))
    assert (every > whole).all()


def test_one_accelerator_exchanges_nothing() -> None:
    one = Jobs(np.ones(1), 1e12, 50e9, 1e6, 400e6)
    effects = Effects(True, measured=measured([NODE]))
    assert aggregation_s("allreduce-local", one, BASE, effects) == 0
    assert in_range("allreduce-local", one, BASE, effects)
    assert not priced_by_profile("allreduce-local", one, BASE, effects.measured)


def test_the_first_of_two_profiles_counts_and_what_none_measured_is_the_catalogues(
    grpc: Profile,
) -> None:
    known = measured([grpc, NODE, OTHER])
    assert known.name == "ps-grpc by lab-grpc, NCCL by h100-node"
    assert [row.profile for row in known.described()] == ["lab-grpc", "h100-node"]
    assert [row.device for row in known.described()] == [None, "h100_sxm"]
    assert [row.error for row in known.described()] == [
        grpc.ps["grpc"].error, NODE.auto.error if NODE.auto else None,
    ]  # fmt: skip
    assert measured([]) == NOTHING
    only = measured([grpc])
    assert only.name == "ps-grpc by lab-grpc, NCCL by the catalogue"
    with_catalogue = aggregation_s("allreduce-local", JOBS, BASE, Effects(True, measured=only))
    without = aggregation_s("allreduce-local", JOBS, BASE, Effects(True))
    np.testing.assert_array_equal(with_catalogue, without)


def test_what_no_fleet_can_use_has_no_parts() -> None:
    assert parts(ACROSS) == NOTHING, "NCCL between nodes only"


def test_of_several_transports_of_servers_grpc_counts(grpc: Profile) -> None:
    fit = grpc.ps["grpc"]
    both = parts(replace(grpc, ps={"mpi": replace(fit, error=0.5), "grpc": fit})).servers
    assert both is not None
    assert (both.transport, both.fit) == ("grpc", fit)
    mpi = parts(replace(grpc, ps={"mpi": fit})).servers
    assert mpi is not None
    assert mpi.transport == "mpi"


def test_the_measured_range_is_that_of_every_count() -> None:
    inside = measured([NODE]).inside
    assert inside is not None
    low, high = NODE.message_bytes
    sizes = np.array([low, high, high, high, 2 * high])
    asked = inside.in_range(np.array([2, 8, 1, 16, 8]), sizes, 900e9)
    np.testing.assert_array_equal(asked, [True, True, True, False, False], "one exchanges nothing")
    slow = inside.in_range(np.array([2, 8, 1, 2]), np.array([low, high, high, high]), 50e9)
    np.testing.assert_array_equal(slow, [True, False, True, False], "no 50 GB/s carry it so fast")


@pytest.mark.parametrize(
    ("asked", "inside"),
    [
        ((4, 1e6, 4, 25e9 / 8), True),
        ((32, 1e6, 4, 25e9 / 8), False),
        ((4, 1e6, 32, 25e9 / 8), False),
        ((4, 1e10, 4, 25e9 / 8), False),
        ((4, 1e6, 4, 100e9 / 8), False),
        ((1, 1e10, 1, 100e9 / 8), True),
    ],
)
def test_servers_are_in_range_as_they_were_measured(
    apart: MeasuredServers, asked: tuple[float, float, float, float], inside: bool
) -> None:
    assert bool(apart.in_range(*asked)) is inside


def test_servers_without_a_known_link_or_on_shared_cores_were_never_measured_like_a_fleets(
    apart: MeasuredServers, grpc: Profile
) -> None:
    unknown = replace(apart, fit=replace(apart.fit, link_bytes_per_s=(0.0, 0.0)))
    assert not unknown.in_range(4, 1e6, 4, 25e9 / 8)
    servers = measured([grpc]).servers
    assert servers is not None
    assert not servers.in_range(2, 1e6, 2, 50e6), "all on the cores of one machine"


def test_rows_of_what_was_measured_say_how_many_jobs_are_outside(
    grpc: Profile, apart: MeasuredServers
) -> None:
    recipe = read_recipe(population_path("pai-ps-worker"))
    found = priced(draw(recipe, 20_000, 0), recipe.base, False)
    assert all(row.extrapolated is None for row in compare_models(found, recipe.base))
    rows = compare_models(found, recipe.base, measured([grpc, NODE]))
    assert [row.extrapolated for row in rows if row.extrapolated is not None] == [1.0, 1.0]
    own = next(row for row in rows if "as measured: ps-grpc by lab-grpc" in row.model)
    assert own.speedup == pytest.approx(1.0, abs=0.02), "processors bind, no link"
    fast = replace(recipe.base, nvlink_bytes_per_s=900e9)
    inside = compare_models(found, fast, measured([NODE]))[-2]
    placed = placed_cnodes("allreduce-local", found[0].group.cnodes)
    sizes = np.asarray(found[0].group.jobs.weight_bytes) / 2
    low, high = NODE.message_bytes
    beyond = np.mean((placed > 1) & ((placed > 8) | (sizes < low) | (sizes > high)))
    assert inside.extrapolated == pytest.approx(beyond)
    faster = compare_models(found, recipe.base, replace(NOTHING, servers=apart))
    assert [row.extrapolated for row in faster[-2:]] == [1.0, 1.0], "100 Gbps was not measured"


def test_a_study_names_its_profiles_and_the_report_says_so(
    grpc: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_profile(grpc, tmp_path / "mine.yaml")
    bare = answer(read_fleet(written(tmp_path, STUDY, NAMED)))
    assert "profiles" not in bare.hashes
    key = "calibration: [./mine.yaml, h100-node]\n"
    found = answer(read_fleet(written(tmp_path, STUDY + key, NAMED)))
    assert found.hashes["profiles"]
    assert [row.part for row in found.profiles] == ["ps-grpc", "NCCL in one server"]
    by_class: dict[str, set[tuple[bool, bool]]] = {}
    for job, before in zip(found.named, bare.named, strict=True):
        own = job.own_model
        assert (own.comm_s != before.own_model.comm_s) is own.measured, job
        assert not before.own_model.measured
        by_class.setdefault(job.architecture, set()).add((own.measured, own.extrapolated))
    assert by_class == {
        "1w1g": {(False, False)}, "1wng": {(False, False)},
        "ps-worker": {(True, True)}, "allreduce-local": {(True, True)},
    }  # fmt: skip
    quick = STUDY.replace("nvlink: 50 GB/s", "nvlink: 900 GB/s") + key
    job = next(
        job for job in answer(read_fleet(written(tmp_path, quick, NAMED))).named
        if job.architecture == "allreduce-local"
    )  # fmt: skip
    assert (job.own_model.measured, job.own_model.extrapolated) == (True, False)
    text = fleet_page.render_markdown(found)
    assert "ps-grpc by lab-grpc (grpcio 1.85.1, 2026-11-21, error of 11 % on measurements" in text
    assert "Priced with measured costs: job3, job5, job4; the others with the catalogue's." in text
    assert "Outside the measured range: job3, job5, job4." in text
    assert "NCCL in one server: measured by h100-node on h100" in text
    assert "come from the catalogue" in fleet_page.render_markdown(bare)


def test_it_is_said_where_no_number_rests_on_the_profiles(tmp_path: Path) -> None:
    found = answer(read_fleet(written(tmp_path, STUDY + "calibration: h100-node\n")))
    assert found.named == ()
    text = fleet_page.render_markdown(found)
    assert fleet_words.UNUSED in text
    assert "h100-node (nccl" not in text
    assert not fleet_words.rests_on_profiles(found)


def test_notes_say_which_costs_the_rows_have(grpc: Profile, tmp_path: Path) -> None:
    bare = answer(read_fleet(written(tmp_path)))
    row = ModelRow(model="m", communication=0.5, speedup=1.2, gain=0.4, extrapolated=None)
    assert model_notes(bare) == []
    (note,) = model_notes(replace(bare, models=(row,)))
    assert note.endswith("To use measured costs, name profiles under calibration: in the study.")
    rows = (row, replace(row, extrapolated=0.25), replace(row, extrapolated=0.5))
    known = replace(bare, models=rows, profiles=tuple(measured([grpc, NODE]).described()))
    said = model_notes(known)
    assert said[1].startswith("ps-grpc: measured by lab-grpc, with one machine per process")
    assert said[2].startswith("NCCL in one server: measured by h100-node on h100_sxm")
    assert said[3].startswith(
        "In those rows 25 % and 50 % of the jobs lie outside the measured range"
    )
    assert said[3] in list(fact_lines(known))
