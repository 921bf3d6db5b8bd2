"""Bad input gets one clear line, exit status 2, and nothing is written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dse.catalog import models_dir
from dse.report.document_files import sealed
from tests.commands.command import dse, files, refused
from tests.pricing.studies import SMALL, written

ONE_LINE = re.compile(r"study\.yaml:(\d+):(\d+): (\S.*); (\S.*)")

# what is replaced in a good study, by what, and words of the one line
EDITS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "unknown key": ("objectives:", "objetives:", ("unknown key 'objetives'", "mean objectives?")),
    "wrong unit": ("25 Gbps", "25 TFLOP/s", ("wrong unit", "100 Gbps")),
    "limit in another currency": ("350 kUSD", "2 MEUR",
        ("'MEUR' is in a currency of which no rate", "add 'currencies: {EUR: ... USD}'")),
    "price in no section": ("search:", "prices: {dgx-h100: 268 kUSD}\nsearch:",
        ("unknown key 'dgx-h100'", "known: accelerators, ")),
    "profile nobody made": ("search:", "calibration: [mine]\nsearch:",
        ("no calibration profile 'mine'", "dse calibrate run --name mine")),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_a_wrong_study(name: str, tmp_path: Path) -> None:
    old, new, words = EDITS[name]
    assert SMALL.count(old) >= 1
    written(tmp_path, SMALL.replace(old, new, 1))
    before = files(tmp_path)
    done = dse("run", "study.yaml", cwd=tmp_path)
    line = refused(done)
    assert ONE_LINE.fullmatch(line), line
    for word in words:
        assert word in line
    assert done.stdout == ""
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("folder", "this is a directory; name a file in it"),
        ("studdy.yaml", "no such file; did you mean study.yaml?"),
        ("no/where.yaml", "no such file"),
        ("exmaple", "no such file"),
        ("/proc/self/mem", "cannot be read"),  # the system refuses, even to root
    ],
)
def test_a_path_that_is_no_file(given: str, words: str, tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "folder").mkdir()
    before = files(tmp_path)
    line = refused(dse("run", given, cwd=tmp_path))
    assert given in line
    assert words in line
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("dse-profile/1", "dse-profile/2", ("another version", "dse-profile/1", "fit it again")),
        ("dse-profile/1", "dse-measurements/1", ("another kind of file",)),
        ("\nranks: [2, 8]", "\nranks: [8, 2]", ("inverted",)),
        ("\nranks: [2, 8]", "\nranks: [.nan, 2]", ("ranks",)),
        ("\nlink: ", "\nlinkk: x\nlink: ", ("unknown key 'linkk'",)),
    ],
    ids=("version", "kind", "range", "nan", "key"),
)
def test_a_profile_that_cannot_be_used(
    old: str, new: str, words: tuple[str, ...], calibrated: Path
) -> None:
    profile = calibrated / "calibrations" / "this-machine.yaml"
    text = profile.read_text()
    assert old in text
    profile.write_text(text.replace(old, new, 1))
    written(calibrated, SMALL + "calibration: [this-machine]\n")
    before = files(calibrated)
    line = refused(dse("run", "study.yaml", cwd=calibrated))
    assert re.match(r"calibrations/this-machine\.yaml:\d+:\d+: \S.*; \S", line), line
    for word in words:
        assert word in line
    assert files(calibrated) == before


COMMANDS: dict[str, tuple[str, ...]] = {
    "catalog h100": ("no such kind of catalogue entry", "accelerators h100-sxm"),
    "run study.yaml --engine foo": ("--engine", "'foo'", "auto, exhaustive, guided"),
    "run study.yaml --points 0": ("--points", "'0' is not a whole number from 1 to"),
    "run study.yaml --seed -1": ("--seed", "'-1' is not a whole number from 0 to"),
    "run study.yaml --enginee guided": ("--enginee", "--engine"),
    "run study.yaml --address 127.0.0.1:1": ("127.0.0.1:1", "ray start"),
    "run study.yaml --executor local --address a:1": ("--address: joins a Ray cluster",),
    "check study.yaml more.yaml": ("more.yaml",),
    "run": ("STUDY", "dse run --help"),
    "rnu study.yaml": ("'rnu'", "dse --help"),
    "explain study.yaml --set gpus": ("'gpus' is not axis=value", "--set gpus=64"),
    "explain study.yaml --set gpsu=4": ("'gpsu'", "gpus"),
    "explain study.yaml --set aggregation=rign-mpi": ("rign-mpi", "ring-mpi"),
    "catalog acelerators": ("acelerators", "did you mean accelerators?"),
    "report empty": ("dse: empty: the folder is empty", "finished run"),
    "report nothing": ("dse: nothing: no such folder", "finished run"),
    "report .": ("dse: .: no report in it, but in its folders cut, other, partial, text; name",),
    "report other": ("other/run.json", "schema_version"),
    "report partial": ("partial/run.json", "run the study again"),
    "report cut/run.json": ("cut/run.json:2:1: the document of a run breaks off here",),
    "report text": ("text/run.json", "not the document of a run"),
    "run nothing": ("nothing", "no study of that name comes with dse", "example"),
    "run study.yaml --executor lcoal": ("--executor", "did you mean local?"),
    "explain study.yaml --set gpus=4 --set gpus=8": ("'gpus' is set twice",),
    "calibrate compare one": ("write dse calibrate compare A B", "dse calibrate compare --help"),
    "calibrate rnu": ("'rnu'", "dse calibrate --help"),
    "calibrate run --ranks 2,x": ("--ranks", "'x'", "8,128"),
    "calibrate run --ranks 4": ("--ranks", "'4'"),
    "calibrate run --budget 0": ("--budget",),
    "calibrate run --name ../up": ("--name",),
    "calibrate show nothing.yaml": ("nothing.yaml", "no such file"),
    "calibrate show study.yaml": ("study.yaml", "format"),
    "calibrate fit study.yaml --out new.yaml": ("study.yaml", "format"),
    "--frobnicate": ("--frobnicate",),
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_command(command: str, tmp_path: Path) -> None:
    written(tmp_path)
    for name, content in (("empty", None), ("other", '{"schema_version": 99}'),
                          ("partial", '{"schema_version": 3}'), ("text", "not JSON"),
                          ("cut", '{"schema_version": 3,\n')):  # fmt: skip
        (tmp_path / name).mkdir()
        if content:
            (tmp_path / name / "run.json").write_text(content)
    before = files(tmp_path)
    line = refused(dse(*command.split(), cwd=tmp_path))
    for word in COMMANDS[command]:
        assert word in line, line
    assert files(tmp_path) == before


def test_a_changed_document_is_refused(ran: tuple[Path, str], tmp_path: Path) -> None:
    """By its checksum; another layout of the same is no change."""
    path = tmp_path / "run.json"
    found = json.loads((ran[0] / "run.json").read_text())
    path.write_text(json.dumps(dict(reversed(found.items()))))
    assert dse("explain", ".", "--row", "1", cwd=tmp_path).returncode == 0
    found["recommended"]["capital"] -= 1
    path.write_text(json.dumps(found))
    line = refused(dse("explain", ".", "--row", "1", cwd=tmp_path))
    assert line == (
        "dse: run.json: was changed after dse wrote it: its checksum does not match; "
        "run the study again"
    )


def test_a_message_is_short_and_steers_nothing(tmp_path: Path) -> None:
    written(tmp_path, SMALL.replace("resnet50", "'" + "x" * 3_000 + "\\e[31m\\u202e'", 1)
            .replace("'", '"'))  # fmt: skip
    line = refused(dse("check", "study.yaml", cwd=tmp_path))
    assert len(line) < 300
    assert line.isprintable()


@pytest.mark.parametrize("ending", ["", ".yaml"])
@pytest.mark.parametrize(
    "command", [("check",), ("run",), ("fleet",), ("explain",), ("report",),
                ("calibrate", "import"), ("calibrate", "show"), ("workload", "from-hf")],
    ids=" ".join,
)  # fmt: skip
def test_a_name_that_is_longer_than_a_file_s_can_be_gets_one_line(
    command: tuple[str, ...], ending: str, tmp_path: Path
) -> None:
    refused(dse(*command, "a" * 300 + ending, cwd=tmp_path))
    assert files(tmp_path) == {}


def test_a_workload_s_table_has_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    shipped = (models_dir() / "workloads" / "resnet50.yaml").read_text(encoding="utf-8")
    mine = re.sub(r"^layers: .*$", f"layers: {'l' * 300}", shipped, flags=re.M)
    (tmp_path / "mine.yaml").write_text(mine, encoding="utf-8")
    written(tmp_path, SMALL.replace("resnet50", "mine.yaml"))
    line = refused(dse("check", "study.yaml", cwd=tmp_path))
    assert re.match(r"mine\.yaml:\d+:\d+: layers: no file 'lll", line)


def test_what_is_wrong_is_json_where_json_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("study: a\nwurkload: 1\n")
    done = dse("check", "s.yaml", "--json", cwd=tmp_path)
    assert done.returncode == 2
    (*_, last) = json.loads(done.stdout)["errors"]
    assert (last["file"], last["line"], last["column"]) == ("s.yaml", 2, 1)
    assert last["remedy"] == "did you mean workload?"
    (only,) = json.loads(dse("check", "--json", "--bogus", cwd=tmp_path).stdout)["errors"]
    assert "no such option: --bogus" in only["problem"]


def test_twenty_thousand_unknown_keys_are_ten_lines(tmp_path: Path) -> None:
    keys = "".join(f"key{number}: 1\n" for number in range(20_000))
    (tmp_path / "s.yaml").write_text(f"study: a\n{keys}")
    done = dse("check", "s.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 11


def test_a_name_that_adds_a_line_to_a_script_is_refused(
    ran: tuple[Path, str], tmp_path: Path
) -> None:
    found = json.loads((ran[0] / "run.json").read_text(encoding="utf-8"))
    del found["checksum"]
    found["study"]["name"] = "a\nrm -rf /"
    (tmp_path / "run.json").write_text(sealed(found), encoding="utf-8")
    done = dse("export", tmp_path, "--format", "slurm", cwd=tmp_path)
    assert done.returncode == 2
    assert "is no name of a study" in done.stderr
