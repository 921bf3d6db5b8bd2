"""The document of a run in its file: key by key; damaged, or of another format, it is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dse.errors import StudyError
from dse.report.document import Timings
from dse.report.document_files import RUN, read_document, sealed
from dse.report.json_form import by_column, by_row, plain, text
from dse.units import all_significant
from tests.report.documents import document, read, written


def put(folder: Path, run: dict[str, Any]) -> Path:
    (folder / RUN).write_text(sealed(run), encoding="utf-8")
    return folder


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_document(put(tmp_path, written())) == document()
    (tmp_path / RUN).write_text(json.dumps(written()))
    with pytest.raises(StudyError, match="its checksum does not match"):
        read_document(tmp_path)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [{"a": 1, "b": {"c": [1.0, 2]}}] * 3,
        [{"a": {}, "b": None}, {"a": {"x": 1}, "b": 1}, {"b": 1.0, "a": {"x": True}}, None, 3],
        plain(document())["front"],
    ],
)
def test_rows_by_column_are_the_same_rows(rows: list[Any]) -> None:
    again = json.loads(json.dumps(by_column(rows)))
    assert json.dumps(by_row(again)) == json.dumps(rows)
    assert len(rows) < 9 or 2 * len(json.dumps(again)) < len(json.dumps(rows))


@pytest.mark.parametrize("also", [None, "power"])
def test_written_and_read_again_it_is_the_same_in_the_same_order(also: str | None) -> None:
    run = document(also=also)
    again = json.loads(text(run))
    assert again == plain(run)
    assert text(read(again)) == text(run)
    old = written(also=also)
    kept = {key: value for key, value in again.items() if key in old}
    assert list(kept) == sorted(kept, key=list(again).index)
    for point, now in zip(old["front"], again["front"], strict=True):
        for key, value in point.items():
            told = now[key]  # a mapping may have gained keys
            value = all_significant(value, 6 if key == "interval" else 12)
            assert told == value or value.items() <= told.items()
    assert ("minimize_also" in again["objectives"]) is (also is not None)


def test_objectives_are_keys_of_their_point() -> None:
    run = document()
    best = plain(run)["recommended"]
    assert "objectives" not in best
    assert best["capital"] == run.recommended.costs["capital"]
    keys = list(best)
    assert keys[2:7] == [*run.recommended.objectives, "throughput_samples_per_s"][:5]
    assert run.recommended.quantity("racks") is None


def test_what_is_not_a_finite_number_is_not_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        text(Timings(search_s=float("nan"), total_s=1.0))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda run: run.pop("front"), "has no 'front'; run the study again"),
        (lambda run: run["front"][2].pop("costs"), "has no 'front.2.costs'; run the study again"),
        (lambda run: run["recommended"].pop("rule"), "has no 'recommended.rule'"),
        (lambda run: run["counts"].update(points="many"), "counts.points: input should be a valid"),
        (lambda run: run.update(axes=None), "axes: input should be a valid"),
        (lambda run: run["front"].insert(0, 3), "front.0: input should be a"),
        *((lambda run, odd=odd: run.update(front=odd), "front: input should be a valid tuple")
          for odd in (7, *({"of": [{"a": [1]}], "at": at} for at in ([1], [{}], [-1], [0, 0])))),
        (lambda run: run.update(schema_version=2), "schema_version is 2, and not 5; run the study"),
    ],
)  # fmt: skip
def test_a_damaged_document_is_refused_in_one_line(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    run = written()
    change(run)
    with pytest.raises(StudyError) as caught:
        read_document(put(tmp_path, run))
    found = str(caught.value)
    assert found.startswith(f"{tmp_path / RUN}: ")
    assert said in found
    assert "\n" not in found
