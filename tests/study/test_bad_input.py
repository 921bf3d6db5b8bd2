"""Whatever is wrong in a study file gets one line: file, line, column, what, and what is right."""

from __future__ import annotations

import json
import random
import re
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from dse.errors import StudyError
from dse.study import read_study
from dse.yaml_source import parse_yaml

from .conftest import NAMES, VALID, Reader

# old text, new text, line and column of the error, parts of the message
BAD: dict[str, tuple[str, str, int, int, tuple[str, ...]]] = {
    "unknown key": ("objectives:", "objetives:", 16, 1,
        ("unknown key 'objetives'", "did you mean objectives?")),
    "unknown key in a section": ("budget:", "budgte:", 18, 24,
        ("unknown key 'budgte'", "did you mean budget?")),
    "unknown key in a range": ("scale: doubling", "scal: doubling", 5, 27, ("'scal'", "scale?")),
    "misspelt workload": ("resnet50", "resnet5O", 2, 11,
        ("'resnet5O': no such workload", "did you mean resnet50?")),
    "misspelt accelerator": ("[p100-sxm2-16gb", "[p100-smx2-16gb", 4, 17,
        ("no such accelerator", "did you mean p100-sxm2-16gb?")),
    "misspelt algorithm": ("ring-mpi", "rnig-mpi", 10, 26,
        ("'rnig-mpi': no such aggregation", "did you mean ring-mpi?")),
    "unknown aggregation": ("ring-mpi", "magic", 10, 26,
        ("'magic': no such aggregation", "recursive-doubling", "gloo")),
    "unknown precision": ("fp16", "fp12", 9, 21, ("'fp12'", "did you mean fp")),
    "mixed precision": ("fp16", "mixed", 9, 21,
        ("'mixed' does not say which 16 bits", "write fp16 or bf16")),
    "unknown axis in baseline": ("{accelerator: p100-sxm2-16gb, gpus: 8", "{gpu: 8", 14, 12,
        ("unknown key 'gpu'", "did you mean gpus?")),
    "baseline with a list": ("gpus: 8,", "gpus: [8],", 14, 47, ("a list where one value",)),
    "missing key": ("workload: resnet50\n", "", 1, 1,
        ("missing key 'workload'", "add workload: resnet50")),
    "missing objective": ("maximize: speedup, ", "", 16, 13, ("missing key 'maximize'",)),
    "missing axis": ("  batch_per_gpu: [32, 64]\n", "", 4, 3,
        ("missing axis 'batch_per_gpu'", "add batch_per_gpu")),
    "wrong unit": ("25 Gbps]", "25 TFLOP/s]", 7, 37,
        ("'25 TFLOP/s' has the wrong unit", "100 Gbps")),
    "unknown unit": ("25 Gbps]", "25 GT/s]", 7, 37, ("not known here", "100 Gbps")),
    "ambiguous unit": ("25 Gbps]", "25 gbps]", 7, 37, ("ambiguous", "Gbps or GBps")),
    "bare bandwidth": ("[10 Gbps, 25 Gbps]", "[10 Gbps, 25]", 7, 37,
        ("25 has no unit", "100 Gbps")),
    "zero count": ("[1, 4, 8]", "[0, 4]", 6, 19, ("0 is zero", "from 1 to 1024")),
    "zero bandwidth": ("10 Gbps", "0 Gbps", 7, 28, ("'0 Gbps' is zero",)),
    "zero budget": ("budget: 20000", "budget: 0", 18, 32, ("0 is out of range", "at least 1")),
    "negative count": ("[1, 4, 8]", "[-4]", 6, 19, ("-4 is negative", "from 1 to 1024")),
    "negative seed": ("seed: 0", "seed: -1", 18, 45, ("-1", "at least 0")),
    "efficiency of nothing": ("study:", "efficiency: {compute: 1e-300}\nstudy:", 1, 23,
        ("is out of range", "at least 0.001")),
    "nan": ("[32, 64]", "[.nan]", 8, 19, ("nan is not a finite number",)),
    "infinite": ("[32, 64]", "[.inf]", 8, 19, ("inf is not a finite number",)),
    "fraction of a GPU": ("[1, 4, 8]", "[1.5]", 6, 19, ("1.5 is not a whole number",)),
    "quoted number": ("[1, 4, 8]", "['4']", 6, 19, ("'4' is not a number",)),
    "beyond physics": ("10 Gbps", "10000000 Gbps", 7, 28, ("beyond anything",)),
    "huge integer": ("[1, 4, 8]", f"[{'9' * 300}]", 6, 19, ("beyond anything",)),
    "empty axis": ("[1, 4, 8]", "[]", 6, 3, ("axis 'gpus_per_node' is empty", "[1, 4, 8]")),
    "duplicate key": ("  precision: [fp32, fp16]", "  gpus: [1]", 9, 3,
        ("duplicate key 'gpus'", "line 5")),
    "duplicate number": ("[1, 4, 8]", "[1, 4, 1]", 6, 25, ("duplicate value '1'",)),
    "duplicate name": ("[fp32, fp16]", "[fp32, fp32]", 9, 21, ("duplicate value 'fp32'",)),
    "duplicate in other words": ("[10 Gbps, 25 Gbps]", "[1 Gbps, 1000 Mbps]", 7, 36,
        ("duplicate value '1000 Mbps'", "the same as '1 Gbps'")),
    "inverted range": ("from: 1, to: 64", "from: 64, to: 1", 5, 16,
        ("the range runs from 64 down to 1", "swap from and to")),
    "range without steps": (", scale: doubling", "", 5, 9, ("the range needs a scale or a step",)),
    "continuous count": ("scale: doubling", "continuous: true", 5, 27, ("cannot be continuous",)),
    "too many values": ("to: 64, scale: doubling", "to: 10000000, step: 1", 5, 39,
        ("10000000 values, more than 10000",)),
    "nested list": ("[1, 4, 8]", "[[1, 4]]", 6, 19, ("a list is not a number",)),
    "node beside accelerator": ("  precision: [fp32, fp16]", "  node: dgx-h100", 4, 3,
        ("both node and accelerator",)),
    "bad syntax": ("[1, 4, 8]", "[1, 4", 7, 13, ("not valid YAML", "line 6")),
    "unclosed quote": ('"capital', '"capital <= 2 MUSD, "', 15, 50, ("not valid YAML",)),
    "tab": ("  gpus_per_node", "\tgpus_per_node", 6, 1, ("tab", "spaces")),
    "undefined alias": ("[1, 4, 8]", "*sizes", 6, 18, ("*sizes is not defined",)),
    "tag": ("[1, 4, 8]", "!!python/object/apply:os.system [ls]", 6, 18, ("tag", "not allowed")),
    "two documents": ("when:", "---\nwhen:", 12, 1, ("second document",)),
    "key that is no text": ("executor:", "5:", 19, 1, ("the key 5 is not text",)),
    "merge key": ("executor: {kind: auto}", "<<: {}", 19, 1, ("'<<' is not supported",)),
    "unknown constraint name": ("capital <= 2", "captial <= 2", 15, 29,
        ("'captial' is not a known quantity", "did you mean capital?")),
    "constraint without a unit": ("2 MUSD", "2", 15, 40, ("'2' is a plain number", "<= 2 MUSD")),
    "constraint is a number": ("fits_memory", "5", 15, 15, ("5 is not text",)),
    "constraints is no list": ("[fits_memory, \"capital <= 2 MUSD\", global_batch <= 8192]",
        "fits_memory", 15, 14, ("is not a list",)),
    "unknown objective": ("speedup,", "sped,", 16, 24, ("'sped'", "speedup")),
    "objective turned round": ("maximize: speedup", "maximize: capital", 16, 24,
        ("capital cannot be maximized", "minimize it")),
    "two to maximize": ("maximize: speedup", "maximize: [speedup, throughput]", 16, 24,
        ("2 objectives", "one or two to minimize")),
    "three to minimize": ("minimize: capital", "minimize: [capital, power, tco]", 16, 43,
        ("3 objectives", "one or two to minimize")),
    "none to minimize": ("minimize: capital", "minimize: []", 16, 43, ("0 objectives",)),
    "objective without target": ("minimize: capital}\ntarget: {samples: 115e6}",
        "minimize: per_run}", 16, 43, ("needs a target",)),
    "quality and samples": ("{samples: 115e6}", "{samples: 115e6, quality: mlperf-resnet50}", 17, 9,
        ("target gives samples and quality", "give one of")),
    "no length of an epoch": ("{samples: 115e6}", "{epochs: 90}", 17, 10,
        ("how many samples an epoch has", "add epoch_samples")),
    "length of an epoch alone": ("115e6}", "115e6, epoch_samples: 1e6}", 17, 26,
        ("epoch_samples without epochs",)),
    "condition on an unknown axis": ("if: {aggregation:", "if: {agregation:", 13, 48,
        ("'agregation' is not an axis of space", "did you mean aggregation?")),
    "condition on a missing value": ("if: {aggregation: ps-grpc", "if: {aggregation: ps-mpi", 13,
        61, ("does not have 'ps-mpi'", "did you mean")),
    "conditional axis in space": ("axis: ps_servers", "axis: bucket", 13, 12,
        ("is in space too",)),
    "conditional axis that is required": ("axis: ps_servers", "axis: node", 13, 12,
        ("cannot be conditional",)),
    "empty condition": ("if: {aggregation: ps-grpc}", "if: {}", 13, 47, ("condition is empty",)),
    "study name is a path": ("ethernet-upgrade", "../../etc", 1, 8, ("is not a valid name",)),
    "missing file": ("workload: resnet50", "workload: nets/my.yaml", 2, 11, ("no file",)),
    "efficiency": ("executor: {kind: auto}", "efficiency: {compute: 1.5}", 19, 23,
        ("1.5 is out of range", "at most 1")),
    "section is no mapping": ("{engine: auto, budget: 20000, seed: 0}", "fast", 18, 9,
        ("'fast' is not a mapping",)),
    "missing price list": ("executor: {kind: auto}", "prices: [mine.csv]", 19, 10, ("no file",)),
    "price list that is a folder": ("executor: {kind: auto}", "prices: [.]", 19, 10,
        ("'.' is a folder; name a file in it",)),
    "market": ("executor: {kind: auto}", "market: old", 19, 9, ("'old'", "new")),
    "resolution": ("executor: {kind: auto}", "resolution: 80 %", 19, 13,
        ("resolution: '80 %' is out of range", "write a value at most 0.5")),
    "oversubscription below 1": ("  batch_per_gpu: [32, 64]", "  batch_per_gpu: 32\n"
        "  oversubscription: [1, 0.5]", 9, 25,
        ("oversubscription: 0.5 is too small", "at least 1")),
    "what-if of no axis": ("executor: {kind: auto}", "what_if: internode", 19, 10,
        ("'internode' is not an axis of space", "name one with several values", "inter_node")),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_is_one_clear_line(name: str, read: Reader) -> None:
    old, new, line, column, parts = BAD[name]
    with pytest.raises(StudyError) as caught:
        read(old, new)
    message = str(caught.value)
    assert re.match(r"study\.yaml:\d+:\d+: \S.*; \S", message), message
    for part in parts:
        assert part in message
    assert message.startswith(f"study.yaml:{line}:{column}: "), message
    assert "\n" not in message
    assert len(message) < 400
    assert caught.value.exit_status == 2


# Edits that are mistakes, and where; what is told of all of them at once.
SEVERAL: dict[str, tuple[tuple[tuple[str, str], ...], tuple[str, ...]]] = {
    "values of one axis": ((("[p100-sxm2-16gb, v100", "[p100-smx2-16gb, v10"),),
        ("4:17: accelerator: 'p100-smx2-16gb'", "4:33: accelerator: 'v10-sxm2-16gb'")),
    "sections": ((("capital <= 2", "captial <= 2"), ("10 Gbps", "10 GB"), ("speedup", "sped")),
        ("7:28: bandwidth: '10 GB'", "15:29: constraint: 'captial'", "16:24: maximize: 'sped'")),
    "shape and meaning": ((("seed: 0", "seed: -1"), ("resnet50", "resnet5O"), ("5 us", "5")),
        ("2:11: workload: 'resnet5O'", "7:56: latency: 5 has no unit", "18:45: seed: -1")),
    "a key that is misspelt is not missing": (
        (("workload:", "workolad:"), ("  gpus:", "  gpsu:"), ("maximize", "maximise")),
        ("2:1: unknown key 'workolad'", "5:3: unknown key 'gpsu'", "16:14: unknown key 'max")),
    "missing keys": ((("workload: resnet50\n", ""), ("maximize: speedup, ", "")),
        ("1:1: missing key 'workload'", "15:13: missing key 'maximize'")),
    "an axis that is misspelt and who names it": (
        (("  aggregation:", "  agregation:"), ("[1, 2, 4]", "[1, 2, 0]")),
        ("10:3: unknown key 'agregation'", "13:39: values: 0 is zero")),
    "a baseline": ((("gpus: 8, inter_node: 25 Gbps", "gpus: -8, inter_node: 25 Gbs, batch: 3"),),
        ("14:47: gpus: -8", "14:63: inter_node: '25 Gbs'", "14:71: unknown key 'batch'")),
    "a condition": ((("axis: ps_servers, values: [1, 2, 4]", "axis: ps_server, values: [1, 2, 0]"),
        ("{aggregation: ps", "{agregation: ps")),
        ("13:12: axis: 'ps_server'", "13:47: 'agregation' is not an axis of space")),
    "a duplicate key": ((("executor: {kind: auto}", "target: {}"), ("fp16", "fp61")),
        ("9:21: precision: 'fp61'", "19:1: duplicate key 'target'")),
    "a target": ((("samples: 115e6", "sample: 115e6"), ("speedup", "sped")),
        ("16:24: maximize: 'sped'", "17:10: unknown key 'sample'")),
}  # fmt: skip


@pytest.mark.parametrize("name", SEVERAL)
def test_all_mistakes_are_told_at_once(name: str, read: Reader) -> None:
    edits, expected = SEVERAL[name]
    text = VALID
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    with pytest.raises(StudyError) as caught:
        read(text=text)
    lines = str(caught.value).splitlines()
    assert [str(one) for one in caught.value.mistakes] == lines
    assert len(lines) == len(expected), lines
    for line, beginning in zip(lines, expected, strict=True):
        assert line.startswith(f"study.yaml:{beginning}"), line
    first = caught.value.mistakes[0]
    assert (caught.value.line, caught.value.problem) == (first.line, first.problem)


def test_ten_mistakes_are_told_and_the_others_counted(read: Reader) -> None:
    names = ", ".join(f"thing-{number}" for number in range(12))
    with pytest.raises(StudyError) as caught:
        read("[p100-sxm2-16gb, v100-sxm2-16gb]", f"[{names}]")
    lines = str(caught.value).splitlines()
    assert len(caught.value.mistakes) == 12
    assert len(lines) == 11
    assert lines[-1] == "study.yaml: 2 more mistakes; correct these first"


@pytest.mark.parametrize(
    ("content", "fragment"),
    [
        (b"", "empty"),
        (b"# only a remark\n", "empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "not UTF-8 text"),
        (b"study: a\nworkload: caf\xe9\n", "study.yaml:2:14: not UTF-8 text"),
        (b"study: a\x00b\n", "study.yaml:1:9: not a text file: it holds the character U+0000"),
        (b"study: \x1b[31mred\n", "not a text file"),
        (VALID.encode("utf-16"), "not UTF-8 text"),
        (b"- study\n", "study.yaml:1:1: a study is a mapping of keys, not a list"),
        (b"just words\n", "a study is a mapping of keys"),
        (b"[" * 5000, "nested more than"),
        (b"{a: " * 5000, "nested more than"),
        (b"a: &a [x, x]\nb: [*a, *b]\n", "*b is not defined"),
        (b"%YAML 9.9\n---\na: 1\n", "not valid YAML"),
        (b"? [a, b]\n: c\n", "the key ['a', 'b'] is not text"),
    ],
)
def test_files_that_are_no_study(
    content: bytes, fragment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.yaml").write_bytes(content)
    with pytest.raises(StudyError) as caught:
        read_study("study.yaml", NAMES)
    assert fragment in str(caught.value)
    assert "\n" not in str(caught.value)


def test_byte_order_mark_and_windows_lines_are_fine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.yaml").write_bytes(b"\xef\xbb\xbf" + VALID.replace("\n", "\r\n").encode())
    assert read_study("study.yaml", NAMES).name == "ethernet-upgrade"


@contextmanager
def little_memory() -> Iterator[None]:
    """Asserts that the body never holds ten megabytes more than before."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10e6


def test_alias_bomb_is_refused_unexpanded(read: Reader) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    match = "more than 100000 values with aliases expanded"
    with little_memory(), pytest.raises(StudyError, match=match):
        read(text="\n".join(lines))


def test_50_mb_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "big.yaml"
    with path.open("wb") as file:
        file.truncate(50_000_000)
    match = r"50\.0 MB is too large; at most 1 MB"
    with little_memory(), pytest.raises(StudyError, match=match):
        read_study(path, NAMES)


def test_endless_file_is_refused() -> None:
    with pytest.raises(StudyError, match="too large"):
        read_study("/dev/zero", NAMES)


def test_missing_file_suggests_a_near_one(tmp_path: Path) -> None:
    (tmp_path / "example.yaml").write_text(VALID)
    with pytest.raises(StudyError, match=r"exmple\.yaml: no such file; did you mean .*/example"):
        read_study(tmp_path / "exmple.yaml", NAMES)


def test_path_that_cannot_be() -> None:
    with pytest.raises(StudyError, match="cannot be read: embedded null"):
        read_study("a\0b", NAMES)


def test_file_the_system_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(StudyError, match="cannot be read: Permission denied; name a readable"):
        read_study(tmp_path / "study.yaml", NAMES)


def test_control_characters_do_not_reach_the_terminal(read: Reader) -> None:
    with pytest.raises(StudyError) as caught:
        read("workload: resnet50", 'workload: "\\e[31mred"')
    assert "\x1b" not in str(caught.value)


_PIECES = (
    "[", "]", "{", "}", ":", ",", "-", "\n", " ", "\t", "'", '"', "#", "&a ", "*a", "!x ", "|", ">",
    "null", "~", ".nan", "-1", "0", "1e400", "true", "x", "from", "&", "*", "%", "@", "`", "9" * 30,
    "\\", "é", "25 Gbps", "continuous: true", "{}", "[]", "?", "---", "5 us", "\x85", "\u2028",
)  # fmt: skip


def _complaint(read: Reader, text: str) -> StudyError | None:
    """What reading raises, if anything; whatever is not a StudyError fails the test."""
    try:
        read(text=text)
    except StudyError as error:
        return error
    return None


@pytest.mark.parametrize("seed", range(40))
def test_mutated_studies_raise_nothing_else(seed: int, read: Reader) -> None:
    random_ = random.Random(seed)
    for _ in range(25):
        text = VALID
        for _ in range(random_.randint(1, 4)):
            at = random_.randrange(len(text))
            until = at + random_.choice((0, 0, 1, 3, 10, 40))
            text = text[:at] + random_.choice((*_PIECES, "")) + text[until:]
        error = _complaint(read, text)
        for one in error.mistakes if error else ():
            assert one.remedy
            assert "\n" not in str(one)


def _values(data: object, loc: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [loc]
    parts = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(
        data, list) else ()  # fmt: skip
    for key, value in parts:
        found += _values(value, (*loc, key))
    return found


def _replaced(data: object, loc: tuple[str | int, ...], new: object) -> object:
    if not loc:
        return new
    copy = data.copy()  # type: ignore[attr-defined]
    copy[loc[0]] = _replaced(copy[loc[0]], loc[1:], new)
    return copy


@pytest.mark.parametrize(
    "new",
    [None, True, 0, -1, 2.5, float("nan"), float("inf"), 10**40, "", " ", "words", "5 GB", [], {},
     [None], [[]], [{}], {"a": 1}, {"from": 1, "to": 2}, {"bandwidth": None},
     {"from": "1 Gbps", "to": "2 Gbps", "continuous": True}, ["resnet50", "resnet50"], 1e300,
     "\0", "~" * 200],
    ids=repr,
)  # fmt: skip
def test_every_value_replaced_by_nonsense(new: object, read: Reader) -> None:
    data = yaml.safe_load(VALID)
    for loc in _values(data):
        text = json.dumps(_replaced(data, loc, new)).replace("NaN", ".nan")
        text = text.replace("Infinity", ".inf")
        error = _complaint(read, text)
        mistakes = error.mistakes if error else ()
        if len(mistakes) > 1:  # nothing follows from a mistake: all of them are in what is new
            start = parse_yaml(text, "study.yaml").mark(loc)[1]
            end = start + len(json.dumps(new)) if loc else len(text)
            assert all(start <= one.column < end for one in mistakes), str(error)


def test_what_if_of_an_axis_with_one_value(read: Reader) -> None:
    text = VALID.replace("[p100-sxm2-16gb, v100-sxm2-16gb]", "[p100-sxm2-16gb]")
    with pytest.raises(StudyError, match="axis 'accelerator' is of one value alone; name one"):
        read(text=text + "what_if: accelerator\n")


def test_what_if_where_no_axis_has_several_values(read: Reader) -> None:
    text = VALID.replace("{from: 1, to: 64, scale: doubling}", "8")
    text = re.sub(r"(?<=: )\[([^],]+), [^]]*\]", r"[\1]", text.partition("when:")[0])
    text = text.replace("ps-grpc", "ring-mpi") + VALID[VALID.index("baseline:") :]
    text = text.replace("[10 Gbps]", "25 Gbps")
    with pytest.raises(StudyError, match="drop it: no axis of space has several values"):
        read(text=text + "what_if: gpus\n")


def test_what_if_of_a_continuous_axis(read: Reader) -> None:
    text = VALID.replace("[1 MiB, 25 MiB]", "{from: 1 MiB, to: 25 MiB, continuous: true}")
    text = text.replace("inter_node: 25 Gbps}", "inter_node: 25 Gbps, bucket: 25 MiB}")
    with pytest.raises(StudyError, match="axis 'bucket' is continuous; name one"):
        read(text=text + "what_if: bucket\n")


@pytest.mark.parametrize(
    ("written", "share"),
    [("1 %", 0.01), ("2%", 0.02), ("0.02", 0.02), ("0", 0.0), ("50 %", 0.5)],
)
def test_resolution_is_a_share(read: Reader, written: str, share: float) -> None:
    assert read(text=VALID + f"resolution: {written}\n").resolution == pytest.approx(share)
    assert read().resolution == 0.01
    assert read().what_if is None
    assert read(text=VALID + "what_if: inter_node\n").what_if == "inter_node"
