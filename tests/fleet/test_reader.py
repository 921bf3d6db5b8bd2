"""A fleet study: what is read, and one line for what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.errors import StudyError
from dse.fleet import recipe
from dse.fleet.reader import read_fleet
from dse.fleet.study import FleetStudy
from dse.study import Names, read_study
from tests.fleet.small import HARDWARE, STUDY, written

DRAWN = "fleet: mine\npopulation: pai-fleet\n"


def test_everything_is_read_into_si(tmp_path: Path) -> None:
    found = read_fleet(written(tmp_path))
    assert (found.name, found.drawn, found.overlapped) == ("small", False, False)
    assert found.hardware["ethernet_bytes_per_s"] == 25e9 / 8
    assert found.hardware["gpu_flops_per_s"] == 11e12
    names = [upgrade.name for upgrade in found.upgrades]
    assert names == ["100 Gbps Ethernet", "Ethernet 40 Gbps", "both"]
    assert found.upgrades[0].changes == {"ethernet": 12.5e9}
    assert found.upgrades[0].fabric == "100gbe"
    assert found.upgrades[2].changes == {"gpu": 64e12, "pcie": 50e9}
    assert found.upgrades[2].price_per_gpu_usd == 500
    assert found.ports == ("allreduce-local", "pearl")
    assert found.money is not None
    assert (found.money.gpus, found.money.busy, found.money.gpu_hour_usd) == (100, 0.5, 2.0)


@pytest.mark.parametrize("share", ["0.625", "62.5 %", "62.5%", "'0.625'", "6.25e-1"])
def test_a_share_is_a_number_or_a_percentage(tmp_path: Path, share: str) -> None:
    study = STUDY.replace("efficiency: 0.7", f"efficiency: {share}")
    found = read_fleet(written(tmp_path, study.replace("busy: 0.5", f"busy: {share}")))
    assert found.hardware["efficiency"] == 0.625
    assert found.money is not None
    assert found.money.busy == 0.625


@pytest.mark.parametrize("written_as", ["25 Gb/s", "25Gb/s", "25Gbps", "3.125GB/s", "2.5e10 bps"])
def test_ethernet_is_a_bandwidth_however_it_is_written(tmp_path: Path, written_as: str) -> None:
    found = read_fleet(written(tmp_path, STUDY.replace("25 Gbps", written_as)))
    assert found.hardware["ethernet_bytes_per_s"] == 25e9 / 8
    assert found.labels["ethernet"] == written_as


def test_a_drawn_population_needs_no_more_than_its_name(tmp_path: Path) -> None:
    found = read_fleet(written(tmp_path, DRAWN))
    assert found.drawn
    assert found.hardware == {}
    assert found.jobs > 0


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    study = STUDY.replace("efficiency: 0.7", "efficiency: 7").replace("busy: 0.5", "busy: lots")
    with pytest.raises(StudyError) as caught:
        read_fleet(written(tmp_path, study.replace("100gbe", "100gb")))
    assert [one.problem.partition(":")[0] for one in caught.value.mistakes] == [
        "efficiency",
        "ethernet",
        "busy",
    ]


@pytest.mark.parametrize(
    ("change", "place", "message"),
    [
        (("fleet: small", "flet: small"), "1:1", "unknown key 'flet'; did you mean fleet?"),
        (("fleet: small\n", ""), "1:1", "missing key 'fleet'"),
        (("jobs.csv", "pai-flete"), "2:13", "no such population; did you mean pai-fleet?"),
        (("jobs.csv", "jobs.csv\njobs: 100"), "3:1", "a table of jobs, not drawn; leave it out"),
        (("  pcie: 10 GB/s\n", ""), "4:3", "missing key 'pcie'"),
        (("efficiency: 0.7", "efficiency: 1.7"), "9:15", "1.7 is out of range; write a value"),
        (("efficiency", "efficency"), "9:3", "did you mean efficiency?"),
        (("10 GB/s", "10 GB"), "6:9", "wrong unit"),
        (("25 Gbps", "25gb"), "7:13", "did you mean 25gbe?"),
        (("  nvlink: 50 GB/s", "  nvlink: 50 GB/s\n  shared_pcie: 1"), "9:16", "true nor false"),
        (("[100gbe, 40 Gbps]", "[100gbe, 100gbe]"), "12:25", "a second upgrade"),
        (("{ethernet: [100gbe, 40 Gbps]}", "{name: none}"), "12:5", "changes nothing"),
        (("pcie: 50 GB/s", "pcie: [50 GB/s, 60 GB/s]"), "13:24", "write one upgrade for each"),
        (("allreduce-local,", "allreduce-locl,"), "14:9", "did you mean allreduce-local?"),
        (("gpu_hour: 2 USD/hour, ", ""), "15:8", "no price of a GPU-hour"),
        (("[100gbe, 40 Gbps]", "[]"), "12:16", "an empty list; write one entry"),
        (("[allreduce-local, pearl]", "[]"), "14:8", "ports: an empty list; write one entry"),
        (("gpu_hour: 2 USD/hour", "gpu_hour: 2"), "15:41", "no unit"),
        (("gpu_hour: 2 USD/hour", "accelerator: p1000"), "15:44", "no such accelerator"),
        (("  - {ethernet: [100gbe, 40 Gbps]}\n  - {name: both,", "  {nam: both,"), "12:4",
         "unknown key 'nam'; did you mean name?"),
        (("ports: [allreduce-local, pearl]", "ports:"), "14:7", "nothing is not known"),
        (("money: {", "money: 5 #{"), "15:8", "5 is not a mapping; write money: {gpus: 1000, "),
        (("fleet: small", "fleet: small\noverlap: half"), "2:10", "use none or ideal"),
        (("jobs.csv", "5"), "2:13", "5 is not text; write population: pai-fleet"),
        ((STUDY, "- a\n"), "1:1", "a mapping of keys, not a list; start with fleet: .."),
    ],
)  # fmt: skip
def test_a_mistake_gets_one_line(
    change: tuple[str, str], place: str, message: str, tmp_path: Path
) -> None:
    assert change[0] in STUDY
    path = written(tmp_path, STUDY.replace(*change, 1))
    with pytest.raises(StudyError) as caught:
        read_fleet(path)
    line = str(caught.value)
    assert line.startswith(f"{path}:{place}: "), line
    assert message in line
    assert "\n" not in line


def test_hardware_is_asked_for_only_with_a_table(tmp_path: Path) -> None:
    path = written(tmp_path, STUDY.replace(HARDWARE, ""))
    with pytest.raises(StudyError, match="missing key 'hardware': a table of jobs") as caught:
        read_fleet(path)
    assert len(caught.value.mistakes) == 1
    _, _, advice = str(caught.value).partition("name a machine, ")
    machine, _, peaks = advice.partition(", or give its peaks, ")
    followed = read_fleet(written(tmp_path, STUDY.replace(HARDWARE, f"{peaks}\n")))
    assert set(followed.labels) == {*recipe.HARDWARE}
    followed = read_fleet(written(tmp_path, STUDY.replace(HARDWARE, f"{machine}\n")))
    assert followed.machine is not None


def on(folder: Path, hardware: str) -> FleetStudy:
    return read_fleet(written(folder, STUDY.replace(HARDWARE, f"hardware: {{{hardware}}}\n")))


def test_a_machine_of_the_catalogue_gives_the_peaks(tmp_path: Path) -> None:
    found = on(tmp_path, "node: dgx-a100-80gb")
    assert found.hardware == {
        "gpu_flops_per_s": 312e12, "memory_bytes_per_s": 2.039e12, "pcie_bytes_per_s": 31e9,
        "ethernet_bytes_per_s": 25e9, "nvlink_bytes_per_s": 300e9, "gpus_per_server": 8,
        "efficiency": 0.7,
    }  # fmt: skip
    assert found.labels["node"] == "NVIDIA DGX A100 640 GB (dgx-a100-80gb), in bf16"
    own = on(tmp_path, "node: dgx-a100-80gb, gpu: 19.5 TFLOP/s, ethernet: 25 Gbps, efficiency: 0.4")
    assert own.hardware == found.hardware | {
        "gpu_flops_per_s": 19.5e12, "ethernet_bytes_per_s": 25e9 / 8, "efficiency": 0.4
    }  # fmt: skip
    old = on(tmp_path, "node: aws-p2.8xlarge, ethernet: 1.25 Gbps")  # without NVLink
    assert old.hardware["nvlink_bytes_per_s"] == old.hardware["pcie_bytes_per_s"] == 15.75e9


@pytest.mark.parametrize(
    ("hardware", "message"),
    [
        ("node: dgx-a101", "node: 'dgx-a101': no such node; did you mean dgx-a100-"),
        ("node: aws-p3.16xlarge", "share a card; say what one of them has); add for example "
         "ethernet: 25 Gbps"),
    ],
)  # fmt: skip
def test_a_machine_that_cannot_be_is_one_line(tmp_path: Path, hardware: str, message: str) -> None:
    with pytest.raises(StudyError) as caught:
        on(tmp_path, hardware)
    assert message in str(caught.value)
    assert len(caught.value.mistakes) == 1


def test_each_command_names_the_other_for_the_others_studies(tmp_path: Path) -> None:
    path = written(tmp_path)
    with pytest.raises(StudyError, match="fleet study; use dse fleet"):
        read_study(path, Names())
    path.write_text("study: mine\nworkload: resnet50\n")
    with pytest.raises(StudyError, match="not a fleet study; use dse run"):
        read_fleet(path)
