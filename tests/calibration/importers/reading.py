"""Logs as text, written to a file and read as a user's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dse.calibration.experiment import Experiment
from dse.calibration.importers.logs import import_logs
from dse.calibration.importers.measured_training import Training
from dse.calibration.importers.training_log import read_training

TERMS = Training(global_batch=512.0, gpus=8, tokens_per_sample=128.0)


def log(folder: Path, name: str, text: str) -> Path:
    """The path of a file with this text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def read(folder: Path, text: str, **told: Any) -> Experiment:
    """What is imported from a file run.log of this text; told: the options of the import."""
    return import_logs([log(folder, "run.log", text)], **told)


def rates(folder: Path, text: str, name: str = "train.log") -> list[float]:
    """The training rates of a file of this text, in the terms of TERMS."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return list(read_training(path, TERMS).rates)
