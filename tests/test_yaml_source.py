"""YAML is read as YAML 1.2 means it, and every part knows its place."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dse import yaml_source
from dse.errors import StudyError
from dse.yaml_source import parse_yaml, read_yaml

TEXT = """\
study: words
space:
  gpus: {from: 1, to: 64}
  nodes: [a, 'b', "c"]
  same: &same [1, 2]
  again: *same
limits:
- "x <= 2"
- long text
  folded over lines
"""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e9", 1e9), ("1E+3", 1e3), ("115e6", 115e6), (".5", 0.5), ("5.", 5.0),
        ("-1.5e-3", -1.5e-3),
        ("12", 12), ("+12", 12), ("-12", -12), ("012", 12), ("0o17", 15), ("0x1F", 31),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        ("true", True), ("False", False), ("null", None), ("~", None), ("", None),
        ("no", "no"), ("on", "on"), ("yes", "yes"), ("y", "y"), ("off", "off"),
        ("2024-01-31", "2024-01-31"), ("12:30:45", "12:30:45"), ("1_000", "1_000"),
        ("0b101", "0b101"), ("'12'", "12"), ('"true"', "true"), (".inf", float("inf")),
        ("-.INF", -float("inf")), ("nan", "nan"), ("inf", "inf"), ("=", "="), ("a\tb", "a\tb"),
        ("! 12", "12"),
    ],
)  # fmt: skip
def test_scalars(text: str, value: object) -> None:
    found = parse_yaml(f"key: {text}", "f").data["key"]
    assert found == value
    assert type(found) is type(value)


def test_not_a_number() -> None:
    found = parse_yaml("[.nan]", "f").data[0]
    assert found != found


@pytest.mark.parametrize(
    ("loc", "key", "place"),
    [
        (("study",), False, (1, 8)),
        (("study",), True, (1, 1)),
        (("space",), False, (3, 3)),
        (("space", "gpus", "to"), False, (3, 23)),
        (("space", "gpus", "to"), True, (3, 19)),
        (("space", "nodes", 1), False, (4, 14)),
        (("space", "again", 1), False, (5, 19)),  # where the aliased value is written
        (("limits", 0), False, (8, 3)),
        (("space", "gpus", "absent", "deeper"), False, (3, 9)),
        (("space", "gpus", "absent"), True, (3, 9)),
        (("absent",), False, (1, 1)),
        ((), False, (1, 1)),
    ],
)
def test_places(loc: tuple[str | int, ...], key: bool, place: tuple[int, int]) -> None:
    assert parse_yaml(TEXT, "f").mark(loc, key=key) == place


def test_places_inside_text() -> None:
    source = parse_yaml(TEXT, "f")
    assert source.mark_inside(("limits", 0), 2) == (8, 6)
    assert source.mark_inside(("study",), 3) == (1, 11)
    assert source.mark_inside(("limits", 1), 12) == (9, 3)  # folded: its start


def test_text_as_it_is_written() -> None:
    source = parse_yaml("a: 1.50\nb: 'two'\nc: [7.1e+07]\nd: unknown\n", "f")
    assert [source.written(loc) for loc in (("a",), ("b",), ("c", 0), ("c",), ("d",))] == [
        "1.50", "two", "7.1e+07", "", "unknown",
    ]  # fmt: skip


def test_keys_that_are_numbers_are_words_where_that_is_asked_for() -> None:
    with pytest.raises(StudyError, match="f:1:1: the key 2 is not text"):
        parse_yaml("2: a\n4.0: b\n", "f")
    source = parse_yaml("2: a\n4.0: b\n", "f", numbers_as_keys=True)
    assert source.data == {"2": "a", "4.0": "b"}
    assert source.mark(("4.0",), key=True) == (2, 1)
    for text in ("2: a\n'2': b\n", "[2]: a\n", "~: a\n"):
        with pytest.raises(StudyError):
            parse_yaml(text, "f", numbers_as_keys=True)


def test_source_survives_pickling() -> None:
    source = pickle.loads(pickle.dumps(parse_yaml(TEXT, "f")))
    assert source.data["space"]["again"] == [1, 2]
    assert source.mark(("limits", 0)) == (8, 3)


def test_both_parsers_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = parse_yaml(TEXT, "f")
    monkeypatch.setattr(yaml_source, "_LOADER", yaml.SafeLoader)
    slow = parse_yaml(TEXT, "f")
    assert slow.data == fast.data
    assert slow.mark(("space", "nodes", 2)) == fast.mark(("space", "nodes", 2))
    for text in ("a: [1", "a: 1\n\tb: 2", "a: *b", "a: 'x", "a: b: c", "- a\nb", "%a", "!a b"):
        with pytest.raises(StudyError, match=r"^f:\d+:\d+: "):
            parse_yaml(text, "f")


@pytest.mark.parametrize(
    "text",
    [
        "a: [1", "a: {b: 1", "a: 'x", "a: b: c", "- a\nb: c", "a: @x", "a: `x", "a: %x", "a: |x",
        "a: 1\n b: 2", "{a: 1}}", "a: ]", "a: &", "a: *", "a: \"\\q\"", "\ta: 1", "a:\n\t- 1",
        "a: 1\n...\nb: 2", "--- a\n--- b", "a: !!set {b}", "a: !<x> 1", "a: !e!x 1",
        '"\\e[2J": 1', 'a: "x\\u202Ey"', 'a: "\\uD800"', 'a: ["\\a"]',
        "a: &x {b: *x}", "? a\n? b\n? {c: d}", "a: 1\na: 2", "<<: {a: 1}", "null: 1", "1: 1",
    ],
)  # fmt: skip
def test_refused(text: str) -> None:
    with pytest.raises(StudyError, match=r"^f:\d+:\d+: \S.*; \S"):
        parse_yaml(text, "f")


def test_floods_are_refused_where_they_pass_the_limit() -> None:
    """No further: the list is the first value, and each of the others takes two columns."""
    with pytest.raises(StudyError, match=r"^f:1:200000: more than 100000 values"):
        parse_yaml("[" + "1," * 400_000 + "]", "f")
    with pytest.raises(StudyError, match=r"^f:1:101: nested more than 50"):
        parse_yaml("- " * 400_000, "f")


def test_limit_of_size_is_the_callers(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text("a: " + "x" * 100)
    assert read_yaml(path).path == str(path)
    with pytest.raises(StudyError, match="too large"):
        read_yaml(path, max_bytes=50)


def test_the_place_of_a_bad_byte(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes("a: 1\nbé: ".encode() + b"\xff")
    with pytest.raises(StudyError, match=":2:5: not UTF-8"):
        read_yaml(path)


_DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab: #'\"\\é-?\n", max_size=8)
    | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text("ab:- é", max_size=4), inner, max_size=3),
    max_leaves=12,
)  # fmt: skip


@given(_DATA)
def test_json_is_read_as_it_is(data: object) -> None:
    written = json.dumps(data).replace("Infinity", ".inf")
    assert parse_yaml(written, "f").data == data


@given(st.text(max_size=80))
def test_any_text_is_data_or_a_study_error(text: str) -> None:
    try:
        parse_yaml(text, "f")
    except StudyError as error:
        assert "\n" not in str(error)  # noqa: PT017
