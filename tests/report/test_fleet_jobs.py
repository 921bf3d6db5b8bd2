"""What each job of a fleet gains: the page's table, and jobs.csv."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from dse.report import fleet_jobs, fleet_page
from dse.report.fleet_write import write_fleet
from tests.fleet.small import HEADER, STUDY
from tests.report.test_fleet import Page, document

TABLE = (
    f"{HEADER},gpu_hours,name\n"
    "ps-worker,4,1e12,50e9,0,500e6,10,small\n"
    "ps-worker,8,1e12,50e9,0,500e6,900,large\n"
    "1w1g,1,1e12,50e9,0,0,5000,alone\n"
)


def test_the_jobs_that_gain_are_told_with_how_much(tmp_path: Path) -> None:
    """By hand, of 25 to 100 Gbps: computing and PCIe stay, Ethernet takes a quarter."""
    links = "".join(line for line in STUDY.splitlines(True) if "name: both" not in line)
    found = document(tmp_path, links, TABLE)
    heads, rows = fleet_jobs.heads(found), fleet_jobs.rows(found)
    assert heads[:4] == ["Job", "Class", "cNodes", "GPU-hours"]
    assert heads[-2:] == ["As AllReduce-Local", "As PEARL"]
    assert [row[0] for row in rows] == ["alone", "large", "small"], "by GPU-hours"
    one, big, _ = rows
    computing = 1e12 / 11e12 + 50e9 / 1e12
    ethernet, pcie = 500e6 / (25e9 / 8), 500e6 / 10e9
    gain = (computing + pcie + ethernet) / (computing + pcie + ethernet / 4)
    at = heads.index("100 Gbps Ethernet")
    assert big[at].startswith(f"{gain:.2f}x / ")
    assert one[at] == "1.00x / 1.00x"
    local = (computing + pcie + ethernet) / (computing + 500e6 / 50e9)
    assert big[-2] == f"{local:.2f}x"
    assert one[-2] == "–", "it is no PS/Worker job"
    page, text = Page(fleet_page.render_page(found)).text, fleet_page.render_markdown(found)
    assert "Which jobs would gain" in page
    assert f"| {' | '.join(big)} |" in text

    write_fleet(found, tmp_path / "report")
    with (tmp_path / "report" / "jobs.csv").open(newline="") as file:
        alone, small, large = csv.DictReader(file)
    assert (small["name"], large["gpu_hours"], alone["throughput: pearl"]) == ("small", "900.0", "")
    assert float(large["speedup: 100 Gbps Ethernet"]) == pytest.approx(gain)
    assert float(large["throughput: allreduce-local"]) == pytest.approx(local)
    assert float(large["step_s"]) == pytest.approx((computing + pcie + ethernet) / 0.7)


def test_of_many_jobs_the_page_lists_the_largest_and_the_table_all(tmp_path: Path) -> None:
    rows = "".join(f"ps-worker,4,1e12,50e9,0,500e6,{at + 1},job {at}\n" for at in range(100))
    found = document(tmp_path, STUDY, f"{HEADER},gpu_hours,name\n{rows}")
    assert len(fleet_jobs.rows(found)) == len(fleet_page.named_rows(found)) == 60
    assert fleet_page.named_rows(found)[0][0] == "job 99"
    assert "The 60 of 100 jobs that hold most GPU-hours; all are in jobs.csv." in (
        fleet_page.render_markdown(found)
    )
    assert len(fleet_jobs.table(found).splitlines()) == 101


def test_without_names_there_is_no_table_of_jobs(tmp_path: Path) -> None:
    found = document(tmp_path)
    assert fleet_jobs.rows(found) == []
    write_fleet(found, tmp_path / "report")
    assert not (tmp_path / "report" / "jobs.csv").exists()
