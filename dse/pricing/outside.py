"""Why a point lies outside of what was measured, whatever chooses its algorithm."""

from __future__ import annotations

from dse.pricing import coverage, ruled
from dse.pricing.setting import Setting


def why_outside(setting: Setting) -> list[str]:
    """What of a single point was not measured; empty where all of it was.

    Where rules choose several algorithms, what any of them lacks.
    """
    if setting.rules is None:
        return coverage.why_outside(setting)
    found: dict[str, None] = {}
    for name in ruled.algorithms_at(setting):
        found.update(dict.fromkeys(coverage.why_outside(setting.by(name))))
    return list(found)
