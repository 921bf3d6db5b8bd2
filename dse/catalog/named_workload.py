"""The workload that a name or a path stands for."""

from __future__ import annotations

from pathlib import Path

from dse.catalog.model_config import workload_of_config
from dse.catalog.workloads import Workload, read_workload, workload
from dse.text_source import is_path


def named_workload(given: str) -> Workload:
    """The workload of that name, or in a file where a path is given.

    A file that ends in .json is the config.json of a transformer. Raises
    :class:`~dse.catalog.store.UnknownName`, or :class:`~dse.errors.StudyError`.
    """
    if given.endswith(".json"):
        return workload_of_config(Path(given))
    return read_workload(Path(given)) if is_path(given) else workload(given)
