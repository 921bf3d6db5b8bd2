"""Host files: read strictly; hosts that do not answer are named; ranks go where they are told."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from dse.calibration.runners import hosts as hosting
from dse.calibration.runners.hosts import Hosts, check_reachable, read_hosts
from dse.calibration.runners.mpi import measure
from dse.calibration.runners.plan import MeasurePlan
from dse.calibration.runners.registry import Request, find_runner
from dse.calibration.session import requested
from dse.errors import MeasurementError, StudyError


def written(folder: Path, text: str) -> Path:
    path = folder / "hosts"
    path.write_text(text)
    return path


def script(path: Path, *lines: str) -> str:
    path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
    path.chmod(0o755)
    return str(path)


def test_a_host_file_says_who_and_how_many(tmp_path: Path) -> None:
    text = "# ours\nnode1 slots=2  # fast\n\nuser@node2.lan slots=1 max_slots=4\nuser@node2.lan\n"
    found = read_hosts(written(tmp_path, text))
    assert found.hosts == ("node1", "user@node2.lan")
    assert (found.ranks_per_node, found.ranks) == (2, 4)
    assert read_hosts(written(tmp_path, text), 1).ranks == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "hosts: names no host; write for example: node1 slots=4"),
        ("# node1\n", "names no host"),
        ("node1 slots=0", "hosts:1:7: 'slots=0': the number of slots must be 1 or more"),
        ("a\nnode1 slots=two", "hosts:2:7: 'slots=two': the number of slots must be"),
        ("node1 slots=-1", "must be 1 or more"),
        ("node1 slot=4", "hosts:1:7: 'slot=4' is not known"),
        ("node1 4", "'4' is not known"),
        ("-oProxyCommand=x slots=1", "hosts:1:1: .* is not a host's name"),
        (
            "node1 slots=2\nnode2 slots=4",
            r"different numbers of slots \(node1 has 2\); give ranks_per_node",
        ),
        ("\0\ufffe", "is not a host's name"),
    ],
)
def test_a_bad_host_file_is_one_clear_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(StudyError, match=said) as caught:
        read_hosts(written(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_a_host_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="cannot be read: No such file"):
        read_hosts(tmp_path / "none")
    with pytest.raises(StudyError, match="cannot be read: Is a directory"):
        read_hosts(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x80")
    with pytest.raises(StudyError, match="is not a text file"):
        read_hosts(tmp_path / "binary")


def test_options_that_cannot_be_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "node1 slots=2\n")
    for arguments, said in (
        ({"hostfile": path, "ranks_per_node": 3}, "slots for 2 ranks, not for 3"),
        ({"hostfile": path, "ranks_per_node": 0}, "ranks_per_node: 0 is not a number of ranks"),
        ({"hostfile": path, "interface": "none9"}, "interface: this host has no 'none9'"),
        ({"ranks_per_node": 2}, "ranks_per_node: .* give hostfile"),
        ({"interface": "lo"}, "interface: .* give hostfile"),
        ({"link_bandwidth": "25"}, "link_bandwidth: 25 has no unit"),
        ({"link_bandwidth": "0 Gbps"}, "link_bandwidth: the speed must be positive"),
    ):
        with pytest.raises(StudyError, match=said):
            requested(find_runner(None), Request(60.0, "here"), **arguments)
    given = {"hostfile": path, "interface": "lo,10.0.0.0/8", "link_bandwidth": "25 Gbps"}
    found = requested(find_runner(None), Request(60.0, "here"), **given)
    assert found.link_bytes_per_s == 25e9 / 8


def test_each_library_is_told_the_hosts_in_its_own_way() -> None:
    two = Hosts(("a", "b"), 2, "eth1")
    assert two.options("mpich") == ["-hosts", "a:2,b:2", "-ppn", "2", "-iface", "eth1"]
    assert two.options("openmpi")[:2] == ["--host", "a:2,b:2"]
    assert "btl_tcp_if_include" in two.options("openmpi")


def test_hosts_that_do_not_answer_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = script(
        tmp_path / "agent", 'if [ "$1" = good ]; then exit 0; fi', 'echo "no $1" >&2; exit 255'
    )
    reached = {"PRTE_MCA_plm_ssh_agent": agent}
    check_reachable(Hosts(("good", "localhost"), 1), reached)
    mixed = Hosts(("good", "bad", "worse"), 1)
    with pytest.raises(MeasurementError, match=r"cannot start ranks on bad \(no bad\) and 1 more"):
        check_reachable(mixed, reached)
    with pytest.raises(MeasurementError, match=r"nowhere, which starts ranks on .*, was not found"):
        check_reachable(mixed, {"HYDRA_LAUNCHER_EXEC": "nowhere"})
    monkeypatch.setattr(hosting, "ANSWER_S", 0.2)
    silent = script(tmp_path / "silent", "exec sleep 60")
    with pytest.raises(MeasurementError, match=r"on good \(no answer in 0.2 s\) and 2 more"):
        check_reachable(mixed, {"PRTE_MCA_plm_ssh_agent": silent})


def test_a_host_that_does_not_exist_stops_the_measurement() -> None:
    gone = Hosts(("no-such-host.invalid", "localhost"), 1)
    with pytest.raises(MeasurementError, match=r"no-such-host\.invalid"):
        measure(MeasurePlan(ranks=(2,)), Request(20.0, hosts=gone))


@pytest.mark.slow
@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="a second host name on this machine needs root",
)
def test_ranks_run_on_the_hosts_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two names of this machine: Open MPI takes them for two hosts and talks by TCP."""
    enter = 'exec unshare --uts sh -c "hostname $name; $command"'
    agent = script(tmp_path / "agent", 'name="$1"; shift; command="$*"', enter)
    monkeypatch.setenv("PRTE_MCA_plm_ssh_agent", agent)
    hosts = read_hosts(written(tmp_path, "here1 slots=1\nhere2 slots=1\n"))
    plan = MeasurePlan(ranks=(2,), sizes_bytes=(64, 4096), local=False)
    found = measure(plan, Request(5.0, hosts=hosts, link="loop", link_bytes_per_s=1e9))
    assert {s.collective for s in found.samples} == {"allreduce"}
    assert {(s.nodes, s.ranks_per_node, s.link) for s in found.samples} == {(2, 1, "loop")}
    assert {s.link_bytes_per_s for s in found.samples} == {1e9}
