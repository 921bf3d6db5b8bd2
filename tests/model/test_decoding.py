"""dse.model.decoding: how long hosts take to decode images."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.decoding import decoding_s


@given(
    st.integers(1, 10**6), st.sampled_from([16, 40, 112, float("nan")]), st.floats(1, 1e4),
)  # fmt: skip
def test_every_core_decodes_its_share(images: int, cores: float, rate: float) -> None:
    known = cores == cores
    expected = images / cores / rate if known else 0.0
    assert float(decoding_s(images, cores, rate)) == pytest.approx(expected, rel=1e-12)


def test_arrays_broadcast() -> None:
    images, rates = np.array([[100.0], [200.0]]), np.array([50.0, 100.0])
    assert decoding_s(images, 2.0, rates).tolist() == [[1.0, 0.5], [2.0, 1.0]]
