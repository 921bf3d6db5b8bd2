"""A small catalogue in a temporary folder, for tests of what goes wrong."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dse.catalog import models_dir


@pytest.fixture
def own_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the catalogue that a test may change; the package reads it."""
    copy = tmp_path / "models"
    shutil.copytree(models_dir(), copy)
    monkeypatch.setenv("DSE_MODELS", str(copy))
    return copy
