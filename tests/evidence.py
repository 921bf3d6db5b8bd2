"""Which parameters of a test are evidence, and which make test has as well."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def beyond(often: Collection[object], every: Iterable[Any]) -> list[Any]:
    """Every value, those marked as evidence that are not among the ones to test often."""
    return [one if one in often else pytest.param(one, marks=pytest.mark.evidence)
            for one in every]  # fmt: skip
