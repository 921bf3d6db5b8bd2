"""Where the public logs are that tests read but the project may not contain."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
REFERENCE = Path(os.environ.get("DSE_REFERENCE", ROOT.parent / "shared" / "reference"))


def reference(*parts: str) -> str:
    """The path of a reference file; the test is skipped where it is absent."""
    path = REFERENCE.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"needs {path}; set DSE_REFERENCE to the folder of reference data")
    return str(path)


def log(name: str) -> str:
    return reference("collective-logs", name)
