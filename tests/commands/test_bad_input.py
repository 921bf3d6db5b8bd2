"""Bad input gets one clear line, exit status 2, and nothing is written."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from dse.catalog import models_dir
from tests.commands.command import dse, files, refused
from tests.pricing.studies import SMALL, written

ONE_LINE = re.compile(r"study\.yaml:(\d+):(\d+): (\S.*); (\S.*)")

# what is replaced in a good study, by what, and words of the one line
EDITS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "unknown key": ("objectives:", "objetives:", ("unknown key 'objetives'", "mean objectives?")),
    "unknown axis": ("  bucket:", "  buckets:", ("unknown key 'buckets'", "mean bucket?")),
    "misspelled workload": ("resnet50", "resnet5O", ("no such workload", "mean resnet50?")),
    "misspelled accelerator": ("[p100-sxm2-16gb", "[p100-smx2-16gb", ("mean p100-sxm2-16gb?",)),
    "misspelled aggregation": ("[ring-mpi", "[rign-mpi", ("rign-mpi", "mean ring-mpi?")),
    "misspelled engine": ("{budget: 6000}", "{engine: guidde}", ("guidde", "guided")),
    "missing required key": ("workload: resnet50\n", "", ("missing key 'workload'", "add")),
    "missing axis": ("  batch_per_gpu: [32, 64, 256]\n", "", ("missing axis 'batch_per_gpu'",)),
    "wrong unit": ("25 Gbps", "25 TFLOP/s", ("wrong unit", "100 Gbps")),
    "bare number": ("bandwidth: 25 Gbps", "bandwidth: 25", ("no unit", "100 Gbps")),
    "zero": ("gpus: [1,", "gpus: [0,", ("zero", "write a whole number from 1 to 10000000")),
    "zero with a unit": ("25 Gbps", "0 Gbps", ("zero",)),
    "negative": ("gpus: [1,", "gpus: [-1,", ("negative",)),
    "negative with a unit": ("latency: 5 us", "latency: -5 us", ("negative",)),
    "NaN": ("[32, 64, 256]", "[32, .nan]", ("not a finite number",)),
    "infinite": ("[32, 64, 256]", "[32, .inf]", ("not a finite number",)),
    "empty axis": ("[32, 64, 256]", "[]", ("batch_per_gpu", "empty")),
    "duplicate key": ("search:", "study: again\nsearch:", ("duplicate key 'study'", "line 1")),
    "duplicate value": ("[32, 64, 256]", "[32, 64, 32]", ("duplicate value '32'",)),
    "inverted range": ("[1, 2, 3, 4, 8, 16]", "{from: 8, to: 1, scale: doubling}",
        ("from 8 down to 1", "swap")),
    "syntax error": ("[32, 64, 256]", "[32, 64", ("not valid YAML",)),
    "tab": ("  bucket:", "\tbucket:", ("tab", "spaces")),
    "unknown constraint name": ("capital <= 200", "captial <= 200",
        ("'captial' is not a known quantity", "mean capital?")),
    "mismatched units": ("200 kUSD", "200 kW", ("'capital' is in USD", "'200 kW' is in W")),
    "constraint as code": ('"global_batch <= 2048"', '"__import__(1) <= 2"', ("__import__",)),
    "limit in another currency": ("200 kUSD", "2 MEUR",
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


def _bomb() -> bytes:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for old, new in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]")
    return "\n".join(lines).encode()


CONTENTS: dict[str, tuple[bytes, str]] = {
    "bytes that are no text": (b"study: a\n\xff\xfe\x00\x01\n", "not UTF-8 text"),
    "an image": (b"\x89PNG\r\n\x1a\n\x00\x00", "text"),
    "null": (b"null\n", "study"),
    "a list": (b"- a\n- b\n", "mapping"),
    "an alias bomb": (_bomb(), "aliases"),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_a_file_that_is_no_study(name: str, tmp_path: Path) -> None:
    content, words = CONTENTS[name]
    (tmp_path / "study.yaml").write_bytes(content)
    line = refused(dse("run", "study.yaml", cwd=tmp_path))
    assert ONE_LINE.fullmatch(line), line
    assert words in line
    assert list(files(tmp_path)) == ["study.yaml"]


def test_a_file_of_50_mb_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "study.yaml").open("wb") as file:
        file.truncate(50_000_000)
    line = refused(dse("run", "study.yaml", cwd=tmp_path))
    assert re.fullmatch(r"(dse: )?study\.yaml: 50\.0 MB is too large; at most 1 MB.*", line)
    assert list(files(tmp_path)) == ["study.yaml"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    written(tmp_path).chmod(0)
    assert "cannot be read: Permission denied; " in refused(dse("run", "study.yaml", cwd=tmp_path))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("folder", "no .yaml file is in this folder"),
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
    "catalog dgx-h100": ("did you mean nodes dgx-h100?",),
    "run study.yaml --engine foo": ("--engine", "'foo'", "auto, exhaustive, guided"),
    "run study.yaml --executor spark": ("--executor", "'spark'", "auto, local, ray"),
    "run study.yaml --points 0": ("--points", "'0' is not a whole number from 1 to"),
    "run study.yaml --points many": ("--points", "'many' is not a whole number"),
    "run study.yaml --points 2.5": ("--points", "'2.5' is not a whole number"),
    "run study.yaml --points 1e10": ("--points", "'1e10' is not", "1,000,000,000"),
    "run study.yaml --seed -1": ("--seed", "'-1' is not a whole number from 0 to"),
    "run study.yaml --seed 9223372036854775808": ("--seed",),
    "run study.yaml --enginee guided": ("--enginee", "--engine"),
    "run study.yaml --address 127.0.0.1:1": ("127.0.0.1:1", "ray start"),
    "run study.yaml --sampler tpe": ("--sampler: needs the guided engine", "--engine guided"),
    "run study.yaml --points 10": ("--points: needs the guided engine",),
    "run study.yaml --warm-start other": ("--warm-start: needs the guided engine",),
    "run study.yaml --executor local --address a:1": ("--address: joins a Ray cluster",),
    "check study.yaml more.yaml": ("more.yaml",),
    "run": ("STUDY", "dse run --help"),
    "rnu study.yaml": ("'rnu'", "dse --help"),
    "check nothing.yaml": ("nothing.yaml: no such file",),
    "explain study.yaml --set gpus": ("'gpus' is not axis=value", "--set gpus=64"),
    "explain study.yaml --set gpus=": ("is not axis=value",),
    "explain study.yaml --set gpsu=4": ("'gpsu'", "gpus"),
    "explain study.yaml --set gpus=four": ("'four' is not a number",),
    "explain study.yaml --set gpus=-4": ("-4", "negative"),
    "explain study.yaml --set aggregation=rign-mpi": ("rign-mpi", "ring-mpi"),
    "catalog acelerators": ("acelerators", "did you mean accelerators?"),
    "catalog accelerators h10": ("h10", "h100-sxm"),
    "report empty": ("dse: empty: the folder is empty", "finished run"),
    "report nothing": ("dse: nothing: no such folder", "finished run"),
    "report .": ("dse: .: no report in it, but in its folders cut, other, partial, text; name",),
    "report other": ("other/run.json", "schema_version"),
    "report partial": ("partial/run.json", "run the study again"),
    "report cut/run.json": ("cut/run.json:2:1: the document of a run breaks off here",),
    "report text": ("text/run.json", "not the document of a run"),
    "run nothing": ("nothing", "no study of that name comes with dse", "example"),
    "run exmaple": ("did you mean example?",),
    "run study.yaml --executor lcoal": ("--executor", "did you mean local?"),
    "explain study.yaml --set gpus=4 --set gpus=8": ("'gpus' is set twice",),
    "explain study.yaml --set accelerator=a100-sx": ("did you mean a100-", " or a100-"),
    "calibrate compare one": ("write dse calibrate compare A B", "dse calibrate compare --help"),
    "calibrate rnu": ("'rnu'", "dse calibrate --help"),
    "calibrate run --ranks 2,x": ("--ranks", "'2,x'", "2,3,4"),
    "calibrate run --ranks 4": ("--ranks", "'4'"),
    "calibrate run --budget 0": ("--budget",),
    "calibrate run --budget nan": ("--budget",),
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


def test_asking_nothing_shows_what_can_be_asked(tmp_path: Path) -> None:
    for group, known in ((), "explain"), (("calibrate",), "fit"):
        done = dse(*group, cwd=tmp_path)
        assert "Commands:" in done.stdout + done.stderr
        assert known in done.stdout + done.stderr


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
