"""The numbers of a fleet, against sums written out job by job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.errors import StudyError
from dse.fleet.answers import answer
from dse.fleet.document import plain
from dse.fleet.reader import read_fleet
from tests.fleet.small import STUDY, TABLE, written

E = 0.7
ETHERNET, PCIE, NVLINK = 3.125e9 * E, 10e9 * E, 50e9 * E
# class, cNodes, flops, memory bytes, input bytes, weight bytes
JOBS: list[tuple[Any, ...]] = [
    ("1w1g", 1, 1e12, 50e9, 10e6, 0), ("1wng", 4, 1e12, 50e9, 10e6, 200e6),
    ("ps-worker", 16, 1e12, 50e9, 10e6, 500e6), ("ps-worker", 4, 2e12, 20e9, 1e6, 100e6),
    ("allreduce-local", 8, 2e12, 20e9, 1e6, 100e6),
]  # fmt: skip


def terms(job: tuple[Any, ...], ethernet: float = ETHERNET) -> tuple[float, ...]:
    """(input, compute-bound, memory-bound, weights) of a job in seconds."""
    kind, n, flops, memory, data, weights = job
    exchange = {"1w1g": 0.0, "1wng": 1 / PCIE, "ps-worker": 1 / ethernet + 1 / PCIE,
                "allreduce-local": 1 / NVLINK}[kind]  # fmt: skip
    sharers = min(n, 8) if kind == "allreduce-local" else 1
    return data * sharers / PCIE, flops / (11e12 * E), memory / (1e12 * E), weights * exchange


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return plain(answer(read_fleet(written(tmp_path_factory.mktemp("fleet")))))


def row(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(entry for entry in found["classes"] if entry["class"] == name)


def test_shares_at_both_levels(found: dict[str, Any]) -> None:
    own = [terms(job) for job in JOBS]
    weights = [parts[3] / sum(parts) for parts in own]
    cnodes = [job[1] for job in JOBS]
    levels = row(found, "all")["levels"]
    assert levels["job"]["mean"]["weights"] == pytest.approx(sum(weights) / 5)
    by_cnodes = sum(w * n for w, n in zip(weights, cnodes, strict=True)) / sum(cnodes)
    assert levels["cnode"]["mean"]["weights"] == pytest.approx(by_cnodes)
    for level in levels.values():
        assert sum(level["mean"].values()) == pytest.approx(1)
    assert row(found, "ps-worker")["resource_share"] == pytest.approx(20 / 33)
    assert row(found, "ps-worker")["job_share"] == pytest.approx(0.4)


def test_distributions_count_jobs_up_to_each_share(found: dict[str, Any]) -> None:
    for component, at in (("data", 0), ("weights", 3)):
        shares = np.array([terms(job)[at] / sum(terms(job)) for job in JOBS])
        counts = np.array([job[1] for job in JOBS])
        for level, weight in (("job", np.ones(5)), ("cnode", counts)):
            cdf = row(found, "all")["levels"][level]["cdf"][component]
            expected = [weight[shares <= k / 100 + 1e-9].sum() / weight.sum() for k in range(101)]
            np.testing.assert_allclose(cdf, expected, atol=1e-5)


def test_the_three_speedups_are_what_their_names_say(found: dict[str, Any]) -> None:
    (upgrade,) = [u for u in found["upgrades"] if u["name"] == "100 Gbps Ethernet"]
    before = np.array([sum(terms(job)) for job in JOBS])
    after = np.array([sum(terms(job, 12.5e9 * E)) for job in JOBS])
    cnodes = np.array([job[1] for job in JOBS])
    ways = upgrade["speedup"]["all"]
    assert ways["mean_of_ratios"] == pytest.approx((before / after).mean())
    assert ways["aggregate"] == pytest.approx(5 / (after / before).sum())
    assert ways["gpu_hours"] == pytest.approx(cnodes.sum() / (cnodes * after / before).sum())
    assert upgrade["speedup"]["1w1g"] == {"mean_of_ratios": 1, "aggregate": 1, "gpu_hours": 1}


def test_hours_that_were_told_count_in_place_of_cnodes(tmp_path: Path) -> None:
    hours = [10.0, 400.0, 1600.0, 40.0, 80.0]
    lines = TABLE.splitlines()
    rows = (f"{line},{told}" for line, told in zip(lines[1:], hours, strict=True))
    table = "\n".join([f"{lines[0]},gpu_hours", *rows])
    found = plain(answer(read_fleet(written(tmp_path, table=table + "\n"))))
    assert found["population"]["counted_by"] == "GPU-hours"
    before = np.array([sum(terms(job)) for job in JOBS])
    after = np.array([sum(terms(job, 12.5e9 * E)) for job in JOBS])
    run = np.array(hours) / [job[1] for job in JOBS]
    ways = found["upgrades"][0]["speedup"]["all"]
    assert ways["aggregate"] == pytest.approx(run.sum() / (run * after / before).sum())
    left = (np.array(hours) * after / before).sum()
    assert ways["gpu_hours"] == pytest.approx(sum(hours) / left)


def test_ports_count_who_gains(found: dict[str, Any]) -> None:
    local = found["ports"][0]
    assert (local["from"], local["to"], local["jobs"]) == ("ps-worker", "allreduce-local", 2)
    per_cnode, throughput = [], []
    for job in JOBS[2:4]:
        kept = min(job[1], 8)
        moved = ("allreduce-local", kept, *job[2:])
        per_cnode.append(sum(terms(job)) / sum(terms(moved)))
        throughput.append(per_cnode[-1] * kept / job[1])
    assert local["gain_per_cnode"] == np.mean([gain > 1 for gain in per_cnode])
    assert local["gain_throughput"] == np.mean([gain > 1 for gain in throughput])
    assert local["mean_speedup_per_cnode"] == pytest.approx(np.mean(per_cnode))
    assert local["mean_throughput_ratio"] == pytest.approx(np.mean(throughput))


def test_a_port_is_the_same_work_and_who_finishes_later_is_said(tmp_path: Path) -> None:
    """64 cNodes cut to 8: eight times the steps, each shorter by less than that."""
    rows = ("ps-worker,64,1e12,1e9,1e6,1e9", "ps-worker,8,1e12,1e9,1e6,1e9")
    table = "\n".join([TABLE.splitlines()[0], *rows]) + "\n"
    found = plain(answer(read_fleet(written(tmp_path, table=table))))
    local, pearl = found["ports"]
    own = ("ps-worker", 8, 1e12, 1e9, 1e6, 1e9)
    gain = sum(terms(own)) / sum(terms(("allreduce-local", *own[1:])))
    assert 1 < gain < 8
    ways = local["speedup_if_those_move_that_gain_per_cnode"]
    assert ways["mean_of_ratios"] == pytest.approx((gain / 8 + gain) / 2)
    assert ways["aggregate"] == pytest.approx(2 / (8 / gain + 1 / gain))
    assert ways["gpu_hours"] == pytest.approx(gain)
    assert local["mean_throughput_ratio"] == pytest.approx(ways["mean_of_ratios"])
    assert (local["jobs_that_gain_per_cnode"], local["jobs_that_gain_and_finish_later"]) == (2, 1)
    assert pearl["jobs_that_gain_and_finish_later"] == 0, "it keeps its cNodes"
    paid = found["money"]["ports"][0]
    assert (paid["jobs"], paid["finish_later"]) == (2, 1)


def test_a_job_that_does_not_fit_cannot_move(tmp_path: Path) -> None:
    first, *lines = TABLE.splitlines()
    study = STUDY.replace("  efficiency", "  gpu_memory: 16 GB\n  efficiency")
    for rows_of_tables, cannot in (("1e6", 0), ("0", 1)):
        more = [line + f",50e9,{rows_of_tables}" for line in lines]
        table = "\n".join([first + ",state_bytes,embedding_bytes", *more]) + "\n"
        local, pearl = plain(answer(read_fleet(written(tmp_path, study, table))))["ports"]
        assert (local["cannot"], local["gain_per_cnode"]) == (1, 0)
        assert local["mean_speedup_per_cnode"] is None
        assert pearl["cannot"] == cannot, "50 GB of tables parted among 4 and 16 fit"


def test_a_memory_needs_a_table_that_tells_what_jobs_hold(tmp_path: Path) -> None:
    path = written(tmp_path, STUDY.replace("  efficiency", "  gpu_memory: 16 GB\n  efficiency"))
    with pytest.raises(StudyError) as caught:
        answer(read_fleet(path))
    assert str(caught.value) == (
        f"{path}:9:3: gpu_memory: jobs.csv does not tell what state its jobs hold; "
        "add the column state_bytes, or leave gpu_memory out"
    )


def test_money_is_speedup_times_prices(found: dict[str, Any]) -> None:
    money = found["money"]
    assert money["gpu_hours_per_year"] == 100 * 8760 * 0.5
    both = next(entry for entry in money["upgrades"] if entry["name"] == "both")
    speedup = found["upgrades"][2]["speedup"]["all"]["gpu_hours"]
    saved = 100 * 8760 * 0.5 * 2 * (1 - 1 / speedup)
    assert both["saved_usd_per_year"] == pytest.approx(saved)
    assert both["capital_usd"] == 500 * 100
    assert both["cost_usd_per_year"] == 500 * 100 / 4
    assert both["net_usd_per_year"] == pytest.approx(saved - 12_500)
    assert both["payback_years"] == pytest.approx(50_000 / saved)
    assert both["worth_usd_per_gpu"] == pytest.approx(saved * 4 / 100)
    unpriced = next(entry for entry in money["upgrades"] if entry["name"] == "Ethernet 40 Gbps")
    assert unpriced["capital_usd"] is unpriced["payback_years"] is None
    fabric = money["upgrades"][0]
    # 100 cards on switches of 32 ports: 7 leaves, 16 ports down and 16 up, and 4 spines
    assert fabric["capital_usd"] == 100 * 429 + 11 * 32 * 375 + (100 + 7 * 16) * 257
    assert "100 x nic at USD 429, 352 x switch port at USD 375" in fabric["basis"]
    assert "100gbe" in {source["item"] for source in found["sources"]}


def test_cables_between_switches_may_have_a_price_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("fabrics: {100gbe: {cable: 80 USD, uplink: 950 USD}}\n")
    study = STUDY.replace("amortisation_years: 4}", "amortisation_years: 4, prices: own.yaml}")
    fabric = plain(answer(read_fleet(written(tmp_path, study))))["money"]["upgrades"][0]
    assert fabric["capital_usd"] == 100 * 429 + 11 * 32 * 375 + 100 * 80 + 7 * 16 * 950
    assert fabric["basis"].endswith("100 x cable at USD 80, 112 x uplink at USD 950")


def test_overlap_takes_the_longest_term(tmp_path: Path) -> None:
    found = plain(answer(read_fleet(written(tmp_path, STUDY + "overlap: ideal\n"))))
    before = np.array([max(p[0], p[1] + p[2], p[3]) for p in map(terms, JOBS)])
    faster = [terms(job, 12.5e9 * E) for job in JOBS]
    after = np.array([max(p[0], p[1] + p[2], p[3]) for p in faster])
    ways = found["upgrades"][0]["speedup"]["all"]
    assert ways["mean_of_ratios"] == pytest.approx((before / after).mean())
