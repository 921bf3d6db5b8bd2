"""The import command and its Python form: files that are none, several files, the result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dse.calibration.experiment import read_experiment
from dse.calibration.fitting.profile import fit_experiments
from dse.calibration.importers.logs import check_out, import_logs
from dse.errors import DseError, StudyError
from tests.calibration.importers import samples as s
from tests.calibration.importers.reading import log
from tests.commands.command import dse


def test_the_command_writes_a_measurement_file_and_says_what_it_found(tmp_path: Path) -> None:
    out = tmp_path / "acme.measurements.json"
    nccl, osu = log(tmp_path, "a.log", s.nccl()), log(tmp_path, "b.out", s.OSU)
    told = ("--system", "acme", "--link", "hdr-ib", "--out", out)
    done = dse("calibrate", "import", nccl, osu, *told, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "allreduce, 8 ranks on 2 nodes: 4 rows; 0 damaged rows dropped" in done.stdout
    assert "b.out: OSU, openmpi 4.1.4; allreduce, 4 ranks on 2 nodes: 3 rows" in done.stdout
    found = read_experiment(out)
    assert (found.name, found.machine, len(found.samples)) == ("acme", None, 9)
    assert found.source == "a.log (nccl-tests); b.out (OSU)"
    assert {(x.system, x.link) for x in found.samples} == {("acme", "hdr-ib")}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("# Benchmarking guide\n\nUse 2 nodes.\n", "is not a known benchmark output"),
        ("# Soup\n\nTake two onions.\n", "is not a known benchmark output"),
        ('{"format": "dse-measurements/1", "name": "x"}', "is already a measurement file"),
        ('{"name": "AllReduce", "ranks": 4, "algBw": 1.5}\n' * 2, "rccl-tests"),
        ("\x00\x01\x02\x7f", "is not a known benchmark output"),
    ],
)
def test_files_of_other_kinds(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(DseError, match=said):
        import_logs([log(tmp_path, "other.txt", text)])


def test_files_of_powershell_and_no_files(tmp_path: Path) -> None:
    path = tmp_path / "utf16.log"
    path.write_bytes(s.nccl().encode("utf-16"))
    assert len(import_logs([path]).samples) == len(s.SIZES)
    with pytest.raises(StudyError, match=r"nothing.log: cannot be read: No such file"):
        import_logs([tmp_path / "nothing.log"])
    with pytest.raises(StudyError, match="no log is given"):
        import_logs([])


@pytest.mark.parametrize("told", [{"ranks": 0}, {"nodes": -1}, {"nodes": 16}])
def test_counts_that_cannot_be(tmp_path: Path, told: Any) -> None:
    with pytest.raises(StudyError, match=r"must be at least 1|more nodes \(16\) than ranks \(3\)"):
        import_logs([log(tmp_path, "g.txt", s.GLOO_NOW)], **told)


def test_no_file_of_another_kind_is_overwritten(tmp_path: Path) -> None:
    path, study = log(tmp_path, "a.log", s.nccl()), log(tmp_path, "study.yaml", "study: mine\n")
    with pytest.raises(StudyError, match="exists and is another kind of file"):
        check_out(study, [path])
    assert study.read_text(encoding="utf-8") == "study: mine\n"
    out = tmp_path / "out.json"
    check_out(out, [path])
    written = []
    for _ in range(2):
        assert dse("calibrate", "import", path, "--out", out, cwd=tmp_path).returncode == 0
        written.append(out.read_bytes())
    assert written[0] == written[1]


def test_a_log_given_twice_is_refused(tmp_path: Path) -> None:
    path = log(tmp_path, "a.log", s.nccl())
    with pytest.raises(StudyError, match=r"a\.log: is given twice; give it once"):
        import_logs([path, path])
    link = tmp_path / "b.log"
    link.symlink_to(path)
    with pytest.raises(StudyError, match=r"b\.log: is the same as .*a\.log"):
        import_logs([path, link])


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (
            {"link": "100 Gbps"},
            "is a speed, not a name; give link_bandwidth '100 Gbps'",
        ),
        ({"link": "100"}, "is a speed, not a name"),
        ({"link": " "}, "is not a name"),
        ({"link_bandwidth": "100"}, "link_bandwidth: 100 has no unit"),
        ({"link_bandwidth": "0 Gbps"}, "must be positive"),
        ({"algorithm": "rign"}, "algorithm: 'rign' is not known; did you mean ring?"),
        ({"collective": "all_reduce"}, "collective: 'all_reduce' is not known; did you mean all"),
    ],
)
def test_what_the_user_says_wrongly(tmp_path: Path, told: Any, said: str) -> None:
    with pytest.raises(StudyError) as caught:
        import_logs([log(tmp_path, "a.log", s.nccl())], **told)
    assert said in str(caught.value)


def test_the_speed_of_the_link_between_nodes(tmp_path: Path) -> None:
    path = log(tmp_path, "a.log", s.nccl())
    told = import_logs([path], link_bandwidth="100 Gbps")
    assert {x.link_bytes_per_s for x in told.samples} == {12.5e9}
    assert not any("--link-bandwidth" in note for note in told.notes)
    silent = import_logs([path])
    assert {x.link_bytes_per_s for x in silent.samples} == {None}
    assert any("--link-bandwidth" in note for note in silent.notes)
    with pytest.raises(StudyError, match="all ranks are on one node; give nodes N"):
        import_logs([log(tmp_path, "imb.txt", s.IMB)], link_bandwidth="100 Gbps")


def test_a_link_that_is_slower_than_what_it_carried_is_refused(tmp_path: Path) -> None:
    """Of a node with eight cards, somebody gives the speed of one."""
    path = log(tmp_path, "a.log", s.nccl())
    samples = import_logs([path]).samples
    most = max(x.bytes / x.median_s for x in samples if x.nodes == 2)
    right = f"{8e-9 * most / 0.99:.6f} Gbps"
    assert not any("allow" in note for note in import_logs([path], link_bandwidth=right).notes)
    too_fast = r"over 2 nodes took .*, 3 times as fast as .* Gbps per node allow; give the sum"
    with pytest.raises(StudyError, match=too_fast):
        import_logs([path], link_bandwidth=f"{8e-9 * most / 3:.6f} Gbps")


def test_an_assumed_number_of_nodes_stays_with_the_profile(tmp_path: Path) -> None:
    path = log(tmp_path, "imb.txt", s.IMB)
    found = import_logs([path])
    (assumed,) = found.assumed
    assert any(note.startswith(assumed) and "--nodes N" in note for note in found.notes)
    assert import_logs([path], nodes=1).assumed == ()
    sample = next(x for x in found.samples if x.collective == "allreduce")
    times = tuple(
        replace(sample, algorithm="auto", bytes=4**k, median_s=1e-5 + 1e-10 * 4**k)
        for k in range(2, 12)
    )
    fitted = fit_experiments([replace(found, samples=times)], "mine")
    assert fitted.assumed == (assumed,)


def test_the_same_configuration_again_is_another_run(tmp_path: Path) -> None:
    first, second = log(tmp_path, "1.log", s.nccl()), log(tmp_path, "2.log", s.nccl())
    found = import_logs([first, second])
    assert [x.run for x in found.samples] == [1] * 4 + [2] * 4


@pytest.mark.parametrize(
    ("told", "field", "value"),
    [
        ({"library": "mpich-4.2"}, "version", "4.2"),
        ({"library": "mpich"}, "library", "mpich"),
        ({"algorithm": "ring"}, "algorithm", "ring"),
    ],
)
def test_what_the_user_adds(tmp_path: Path, told: Any, field: str, value: str) -> None:
    found = import_logs([log(tmp_path, "imb.txt", s.IMB)], **told)
    assert {getattr(x, field) for x in found.samples} == {value}


def test_logs_of_two_kinds_of_accelerators_are_told(tmp_path: Path) -> None:
    one, other = s.nccl(), s.nccl().replace("Acme G1", "Acme G2")
    found = import_logs([log(tmp_path, "one.txt", one), log(tmp_path, "other.txt", other)])
    assert any(note.startswith("Acme G1 and Acme G2 are measured together") for note in found.notes)
    alike = import_logs([log(tmp_path, "one.txt", one), log(tmp_path, "again.txt", one)])
    assert not any("together" in note for note in alike.notes)
