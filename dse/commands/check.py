"""``dse check``: what a study would search, without searching it."""

from __future__ import annotations

import json as json_text

from dse.commands.options import Json, StudyPath


def check(study: StudyPath, json: Json = False) -> None:
    """Check a study: schema, units, names, size of the space, estimated time. Runs nothing."""
    from dse.pricing.load import load
    from dse.report.check import checked, lines
    from dse.report.json_form import plain

    problem = load(study)
    print(json_text.dumps(plain(checked(problem))) if json else "\n".join(lines(problem)))
