"""``dse check``: what a study would search, without searching it."""

from __future__ import annotations

import json

from dse.commands.options import Json, StudyPath


def check(study: StudyPath, json: Json = False) -> None:
    """Check a study: schema, units, names, size of the space, estimated time. Runs nothing."""
    check_study(study, json)


def check_study(study: str, as_json: bool) -> None:
    """Print what a study would search, without searching."""
    from dse.pricing import load
    from dse.report import check
    from dse.report.json_form import plain

    problem = load.load(study)
    print(json.dumps(plain(check.checked(problem))) if as_json else "\n".join(check.lines(problem)))
