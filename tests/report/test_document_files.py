"""Which document a report is made from; one line where there is none, or only part of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.errors import StudyError
from dse.report.document_files import FLEET, RUN, RUN_LOG, document_path, read_document, read_json

WHOLE = '{\n "study": {"name": "mine"},\n "front": [1, 2]\n}\n'


def put(folder: Path, *names: str, text: str = WHOLE) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_a_run_comes_before_a_fleet_and_a_file_is_taken_as_it_is(tmp_path: Path) -> None:
    put(tmp_path, FLEET)
    assert document_path(tmp_path) == tmp_path / FLEET
    put(tmp_path, RUN, RUN_LOG)
    assert document_path(tmp_path) == tmp_path / RUN
    assert document_path(tmp_path / FLEET) == tmp_path / FLEET


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ((), "the folder is empty; name the folder of a finished run"),
        (("notes.txt",), "no run.json and no fleet.json in it; name the folder of a finished run"),
        ((RUN_LOG,),
         "the run in it is not finished; continue with dse run STUDY --out {} --resume"),
        (("one/run.json", "two/other.json"), "no report in it, but in its folder one; name {}/one"),
        (("b/fleet.json", "a/run.json", "c.txt"),
         "no report in it, but in its folders a, b; name one, as {}/a"),
        (tuple(f"{number}/run.json" for number in range(9)),
         "no report in it, but in its folders 0, 1, 2, 3, 4, 5 and 3 more; name one, as {}/0"),
    ],
)  # fmt: skip
def test_a_folder_without_a_report_is_told_by_what_is_there(
    tmp_path: Path, there: tuple[str, ...], said: str
) -> None:
    put(tmp_path, *there)
    with pytest.raises(StudyError) as caught:
        document_path(tmp_path)
    assert str(caught.value) == f"{tmp_path}: {said.format(tmp_path)}"


def test_what_is_no_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="none: no such folder; name the folder of a finished"):
        document_path(tmp_path / "none")


def test_the_report_of_a_fleet_is_none_of_a_run(tmp_path: Path) -> None:
    put(tmp_path, FLEET)
    with pytest.raises(StudyError, match="the report of a fleet is in it; name that of a run"):
        read_document(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (RUN, WHOLE[:20], ":2:19: the document of a run breaks off here; run the study again"),
        (RUN, WHOLE[:-8], ":3:12: the document of a run breaks off here; run the study again"),
        (FLEET, WHOLE[:-3], ":3:17: the document of a fleet breaks off here; run dse fleet on its"
         " study again"),
        (RUN, WHOLE.replace("[1,", "[1 2"), ":3:14: the document of a run is damaged here; run the"
         " study again"),
        (RUN, WHOLE.replace("mine", "\\u001b[2J"), ":2:21: the document of a run is damaged here;"
         " run the study again"),
        (RUN, " \n", ": the file is empty; run the study again"),
        (RUN, "<html>", ": is not the document of a run; run the study again"),
        ("study.yaml", "study: x\n", ": is not a report; name the folder of a finished run, such as"
         " reports/NAME"),
    ],
)  # fmt: skip
def test_part_of_a_document_is_told_by_where_it_ends(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    put(tmp_path, name, text=text)
    with pytest.raises(StudyError) as caught:
        read_json(tmp_path / name)
    assert str(caught.value) == f"{tmp_path / name}{said}"
