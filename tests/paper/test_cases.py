"""The case studies of the PAI paper as workloads agree with the jobs of its population."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from benchmarks.papers.cases import CASES, MODELS, Case, breakdown_s, main
from dse import catalog, fleet
from dse.model.pai import ONE_WORKER_ONE_GPU, PS_WORKER

POPULATION = fleet.population_path("pai-case-studies")
ROWS = [*csv.DictReader(
    line for line in POPULATION.read_text().splitlines() if not line.startswith("#")
)]  # fmt: skip
JOBS = {
    f"pai-{row['name'].lower()}": (row["class"], {
        key: float(row[key])
        for key in ("cnodes", "flops", "memory_bytes", "input_bytes", "weight_bytes")
    })
    for row in ROWS
}  # fmt: skip
RING = 3.5  # of the parameters: what a ring of 8 sends and receives, as the paper counts AllReduce
OUT_AND_BACK = 2.0
SHARES = "efficiency: {compute: 0.7, memory: 0.7}\n"
IDS = [case.workload for case in CASES]


def test_every_job_of_the_table_is_a_workload_and_the_other_way_round() -> None:
    assert set(JOBS) == set(IDS)
    assert {name for name in catalog.names("workloads") if name.startswith("pai-")} == set(IDS)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_workload_times_its_batch_is_the_job_of_the_population(case: Case) -> None:
    net = catalog.workload(case.workload)
    architecture, job = JOBS[case.workload]
    assert (architecture, job["cnodes"]) == (case.architecture, case.gpus)
    assert 3 * net.forward_flops * case.batch == pytest.approx(job["flops"], rel=1e-6)
    assert net.input_bytes is not None
    assert net.input_bytes * case.batch == pytest.approx(job["input_bytes"], rel=1e-3)
    outputs = float(net.layer_output_elems.sum())
    passes = 3 * (2 * 4 * outputs * case.batch + 4 * net.params)
    moved = passes + 20 * net.params  # gradients read, weights and momentum read and written
    assert moved == pytest.approx(job["memory_bytes"], rel=1e-4)
    way = OUT_AND_BACK if architecture == "ps-worker" else RING
    assert 4 * net.params * way == pytest.approx(job["weight_bytes"], rel=1e-6)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_all_of_its_numbers_are_marked_as_recalled(case: Case) -> None:
    known = [fact for fact in catalog.workload(case.workload).facts if fact.known]
    assert known
    assert {fact.status for fact in known} == {"unverified"}


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_both_models_price_it(case: Case) -> None:
    """At the closed model's shares of the peaks dse's own computes for as long on a V100; the
    closed model hides nothing, a ring on NVLink nearly all."""
    closed, own = (breakdown_s(case, model) for model in MODELS)
    same_shares = breakdown_s(case, "calibrated", SHARES)
    _, job = JOBS[case.workload]
    gpu = catalog.accelerator("v100-sxm2-16gb")
    assert gpu.memory_bytes_per_s is not None
    peaks = gpu.peak_flops_per_s["fp32"], gpu.memory_bytes_per_s
    params = catalog.workload(case.workload).params
    update = 20 * params / (peaks[1] * 0.7)
    computing = job["flops"] / (peaks[0] * 0.7) + job["memory_bytes"] / (peaks[1] * 0.7) - update
    for terms in (closed, same_shares):
        assert terms["computing"] == pytest.approx(computing, rel=1e-4)
    for terms in (closed, own, same_shares):
        assert sum(terms.values()) == pytest.approx(2 * terms["step"])
    out_and_back = 8 * params / 0.7
    if case.architecture == ONE_WORKER_ONE_GPU:
        assert closed["weights"] == own["weights"] == 0
    elif case.architecture == PS_WORKER:
        ethernet_and_pcie = 8 / 25e9 + 1 / catalog.fabric("pcie3-x16").bytes_per_s
        assert closed["weights"] == pytest.approx(out_and_back * ethernet_and_pcie, rel=1e-4)
        assert own["weights"] > closed["weights"], "gRPC's copies"
    else:
        assert gpu.intra_node_bytes_per_s is not None
        nvlink = out_and_back / gpu.intra_node_bytes_per_s
        assert closed["weights"] == pytest.approx(nvlink, rel=1e-4)
        assert 0 < own["weights"] < 0.3 * closed["weights"], "what the last bucket of 25 MiB takes"


def test_the_command_writes_the_table_of_the_docs(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    rows = capsys.readouterr().out.splitlines()[2:]
    assert [row.split("|")[1].strip() for row in rows] == IDS
    shown = (Path(__file__).parents[2] / "docs" / "fleet.md").read_text(encoding="utf-8")
    assert "\n".join(rows) in shown
