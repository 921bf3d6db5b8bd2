"""Damaged logs import what is whole or are refused in one line; nothing else happens."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from dse.calibration.experiment import Experiment
from dse.calibration.importers.logs import import_logs
from dse.errors import MeasurementError, StudyError
from tests.calibration.importers import samples as s

CHECKED = TypeAdapter(Experiment)


def import_or_refuse(path: Path, **told: Any) -> Experiment | None:
    try:
        found = import_logs([path], **told)
    except (StudyError, MeasurementError) as refused:
        return None if "\n" not in str(refused) else pytest.fail("more than one line")
    CHECKED.validate_python(asdict(found))  # what was imported can be written and read again
    return found


@pytest.mark.parametrize("kind", sorted(s.ALL))
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_cut_off_and_flipped_bits(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    raw = bytearray(s.ALL[kind].encode())
    raw = raw[: data.draw(st.integers(0, len(raw)), label="kept")]
    for _ in range(data.draw(st.integers(0, 4), label="flips") if raw else 0):
        place = data.draw(st.integers(0, 8 * len(raw) - 1), label="bit")
        raw[place // 8] ^= 1 << place % 8
    path = tmp_path / "damaged.log"
    path.write_bytes(bytes(raw))
    import_or_refuse(path)
    import_or_refuse(path, ranks=4, nodes=2)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=st.binary(max_size=300))
def test_any_bytes(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "any"
    path.write_bytes(raw)
    assert import_or_refuse(path) is None


@pytest.mark.parametrize("name", ["nccl", "nccl-named"])
def test_a_cut_log_of_nccl_never_gives_a_wrong_time(tmp_path: Path, name: str) -> None:
    """algbw tells a whole number from one that was cut."""
    whole = {(round(s.time_us(size), 1) / 1e6, size) for size in s.SIZES}
    text = s.ALL[name]
    path = tmp_path / "cut.log"
    for kept in range(len(text) - 600, len(text), 3):
        path.write_text(text[:kept], encoding="utf-8")
        found = import_or_refuse(path)
        assert found is None or {(x.median_s, x.bytes) for x in found.samples} <= whole


@pytest.mark.parametrize("piece", ["a", "1", "a:", "nccl-tests version "])
def test_a_line_of_any_length_is_read_once(tmp_path: Path, piece: str) -> None:
    """A million characters took an hour where each began a search to the end of the line."""
    path = tmp_path / "log.txt"
    path.write_text(piece * (1_000_000 // len(piece)))
    with pytest.raises((StudyError, MeasurementError)):
        import_logs([path])
