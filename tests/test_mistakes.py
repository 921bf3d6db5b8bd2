"""Mistakes of a file, told together."""

from __future__ import annotations

import pytest

from dse.errors import MOST_TOLD, StudyError, together
from dse.mistakes import Mistakes, Unread, each


def mistake(line: int, column: int = 1, file: str = "a.yaml") -> StudyError:
    return StudyError(file, line, column, f"wrong {line}.{column}", "mend it")


def read(number: int) -> int:
    if number < 0:
        raise mistake(-number)
    return 10 * number


def test_what_is_right_is_read() -> None:
    mistakes = Mistakes()
    part = mistakes.part(lambda: read(1))
    more = mistakes.by_key(read, (2, 3))
    mistakes.told()
    assert (part(), more[3]()) == (10, 30)
    assert not mistakes.any
    assert each(read, (1, 2)) == (10, 20)


def test_all_mistakes_are_raised_in_the_order_of_the_file() -> None:
    mistakes = Mistakes()
    for place in ((7, 2), (3, 5), (3, 1)):
        mistakes.note(mistake(*place))
    mistakes.note(mistake(1, file="b.yaml"))
    mistakes.parts(read, (-9, 1, -9))
    with pytest.raises(StudyError) as caught:
        mistakes.told()
    places = [(one.file, one.line, one.column) for one in caught.value.mistakes]
    assert places == [("a.yaml", 3, 1), ("a.yaml", 3, 5), ("a.yaml", 7, 2), ("a.yaml", 9, 1),
                      ("b.yaml", 1, 1)]  # fmt: skip
    assert str(caught.value).splitlines()[0] == "a.yaml:3:1: wrong 3.1; mend it"
    assert (caught.value.line, caught.value.remedy) == (3, "mend it")


def test_what_depends_on_a_mistake_is_not_read() -> None:
    mistakes, read_anyway = Mistakes(), []
    wrong = mistakes.part(lambda: read(-4))
    dependent = mistakes.part(lambda: read_anyway.append(wrong()))
    with pytest.raises(Unread):
        dependent()
    with pytest.raises(StudyError, match=r"a\.yaml:4:1"):
        mistakes.told()
    assert read_anyway == []


def test_what_cannot_be_read_is_no_mistake_of_its_own() -> None:
    def inner() -> None:
        mistakes = Mistakes()
        mistakes.part(outer_part)
        mistakes.told()

    outer = Mistakes()
    outer_part = outer.part(lambda: read(-4))
    outer.part(inner)
    with pytest.raises(StudyError) as caught:
        outer.told()
    assert len(caught.value.mistakes) == 1


def test_one_mistake_is_itself() -> None:
    only = mistake(2)
    assert together([only]) is only
    assert only.mistakes == (only,)
    with pytest.raises(StudyError) as caught:
        each(read, (-2, 1))
    assert caught.value.mistakes == (caught.value,)


@pytest.mark.parametrize("more", [1, 5])
def test_there_is_an_end_to_them(more: int) -> None:
    found = together([mistake(line) for line in range(1, MOST_TOLD + more + 1)])
    *lines, last = str(found).splitlines()
    assert len(lines) == MOST_TOLD
    assert last == f"a.yaml: {more} more mistake{'s' * (more > 1)}; correct these first"
    assert found.on_command_line() == str(found)
