"""What the commands say of a study without searching it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dse.errors import StudyError

if TYPE_CHECKING:
    from dse.study import Value


def check_study(study: str, as_json: bool) -> None:
    """Print what a study would search, without searching."""
    from dse.pricing import load
    from dse.report import check
    from dse.report.json_form import plain

    problem = load.load(study)
    print(json.dumps(plain(check.checked(problem))) if as_json else "\n".join(check.lines(problem)))


def explain_point(study: str, assignments: Sequence[str], as_json: bool) -> None:
    """Print every term of one point: the baseline with some axes set otherwise."""
    from dse.pricing import load
    from dse.pricing.axes import check_given
    from dse.report.points import explained
    from dse.study.assign import OPTION, assigned

    problem = load.load(study)
    values: dict[str, Value | None] = dict(problem.study.baseline.values)
    given: list[str] = []
    for text in assignments:
        axis, value = assigned(problem.study, text, load.known_names())
        if axis in given:
            raise StudyError(OPTION, 0, 0, f"'{axis}' is set twice", "give it once")
        given.append(axis)
        values[axis] = value
    values = problem.applicable(values)
    check_given(problem.study, values, given, OPTION)
    point = explained(problem, values)
    if as_json:
        from dse.report import json_form

        print(json_form.text(point))
        return
    from dse.report.explain import lines

    print("\n".join(lines(point)))
