"""dse: which training cluster, and which way of training on it, buys most speed for the money.

The same as the command line, from Python. Units are in the names of columns; errors are
:class:`dse.DseError`. docs/python.md shows all of it.

>>> import dse
>>> study = dse.load_study("ps-vs-allreduce")
>>> prices = study.price([{"aggregation": "ps-grpc"}, {"aggregation": "ring-nccl"}])
>>> bool(prices["speedup"][1] > prices["speedup"][0])
True
"""

from __future__ import annotations

from dse.version import __version__

TYPE_CHECKING = False  # as typing has it, which takes a while to import
if TYPE_CHECKING:  # importing dse costs nothing: a name is imported when it is asked for
    from typing import Any

    from dse import catalog, fleet
    from dse.api import (
        Explanation,
        Result,
        Study,
        calibrate,
        draft_study,
        load_study,
        rebuild_report,
        run,
    )
    from dse.errors import (
        ArgumentError,
        ClusterError,
        DseError,
        MeasurementError,
        NoFeasiblePoint,
        OutputError,
        OutsideCalibration,
        StudyError,
    )
    from dse.prices import Prices
    from dse.torch_workload import workload_from

_HOMES = {
    "dse.api": ("Explanation", "Result", "Study", "calibrate", "draft_study", "load_study",
                "rebuild_report", "run"),
    "dse.prices": ("Prices",),
    "dse.torch_workload": ("workload_from",),
    "dse.errors": ("ArgumentError", "ClusterError", "DseError", "MeasurementError",
                   "NoFeasiblePoint", "OutputError", "OutsideCalibration", "StudyError"),
}  # fmt: skip
_MODULES = ("catalog", "fleet")
__all__ = [
    "ArgumentError",
    "ClusterError",
    "DseError",
    "Explanation",
    "MeasurementError",
    "NoFeasiblePoint",
    "OutputError",
    "OutsideCalibration",
    "Prices",
    "Result",
    "Study",
    "StudyError",
    "__version__",
    "calibrate",
    "catalog",
    "draft_study",
    "fleet",
    "load_study",
    "rebuild_report",
    "run",
    "workload_from",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"dse.{name}")
    for module, names in _HOMES.items():
        if name in names:
            found = getattr(import_module(module), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module 'dse' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
