"""``dse explain``: every term of one point's price."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from dse.commands.options import Json, StudyPath
from dse.errors import StudyError

if TYPE_CHECKING:
    from dse.study import Value


def explain(
    study: StudyPath,
    assign: Annotated[
        list[str] | None,
        typer.Option("--set", help="AXIS=VALUE; every other axis keeps the baseline's value."),
    ] = None,
    json: Json = False,
) -> None:
    """Price one point: every term, memory, money, and whether it was measured."""
    explain_point(study, assign or [], json)


def explain_point(study: str, assignments: Sequence[str], as_json: bool) -> None:
    """Print every term of one point: the baseline with some axes set otherwise."""
    from dse.pricing import load, requirements
    from dse.pricing.idle_axes import check_given
    from dse.report.points import explained
    from dse.study.set_option import OPTION, assigned

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
    check_given(problem, values, given, OPTION)
    requirements.check_given(problem, values, given, OPTION)
    point = explained(problem, values)
    if as_json:
        from dse.report import json_form

        print(json_form.text(point))
        return
    from dse.report.explain import lines

    print("\n".join(lines(point)))
