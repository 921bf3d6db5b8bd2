"""Fit what one message costs, and predict with it.

>>> from dse.calibration import predict, read_profile
>>> profile = read_profile("calibrations/this-machine.yaml")             # doctest: +SKIP
>>> seconds, low, high, in_range = predict(profile, "ring", 4, 2**20)    # doctest: +SKIP

Everything is imported on first use: importing this package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dse.calibration.fitting.profile import fit_measurements
    from dse.calibration.importers.logs import import_logs
    from dse.calibration.prediction import predict
    from dse.calibration.profile import Profile, read_profile, write_profile
    from dse.calibration.profile_tables import profile_data, show_profile

__all__ = [
    "Profile",
    "fit_measurements",
    "import_logs",
    "predict",
    "profile_data",
    "read_profile",
    "show_profile",
    "write_profile",
]

_HOMES = {
    "Profile": "profile",
    "fit_measurements": "fitting.profile",
    "import_logs": "importers.logs",
    "predict": "prediction",
    "profile_data": "profile_tables",
    "read_profile": "profile",
    "show_profile": "profile_tables",
    "write_profile": "profile",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
