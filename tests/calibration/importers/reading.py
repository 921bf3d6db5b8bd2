"""Logs as text, written to a file and read as a user's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dse.calibration.experiment import Experiment
from dse.calibration.importers.logs import import_logs


def log(folder: Path, name: str, text: str) -> Path:
    """The path of a file with this text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def read(folder: Path, text: str, **told: Any) -> Experiment:
    """What is imported from a file run.log of this text; told: the options of the import."""
    return import_logs([log(folder, "run.log", text)], **told)
