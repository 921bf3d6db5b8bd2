"""Sizes, times and counts as text for people."""

from __future__ import annotations

from math import floor, isfinite, log10

BYTE_UNITS = (
    ("PiB", 2.0**50), ("TiB", 2.0**40), ("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10)
)  # fmt: skip
TIME_UNITS = (("days", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3))


def size_text(size: float) -> str:
    """1048576 -> '1 MiB'."""
    for unit, scale in BYTE_UNITS:
        if size >= scale:
            return f"{short(size / scale)} {unit}"
    return f"{short(size)} B"


def time_text(seconds: float) -> str:
    """0.0042 -> '4.2 ms'; three digits."""
    if seconds == 0 or not isfinite(seconds):
        return f"{seconds:g} s"
    for unit, scale in TIME_UNITS:
        if seconds >= 0.9995 * scale:
            return f"{short(seconds / scale)} {unit}"
    return f"{short(seconds * 1e6)} us"


def short(value: float) -> str:
    """Three significant digits, with thousands separators and no exponent."""
    if value == 0:
        return "0"
    places = max(0, 2 - floor(log10(abs(value))))
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def span_text(low: float, high: float) -> str:
    """'2-8', or '4' where both are the same."""
    return f"{low:,.0f}" if low == high else f"{low:,.0f}-{high:,.0f}"


def percent(share: float) -> str:
    """0.123 -> '12 %'."""
    return f"{100 * share:.0f} %" if share >= 0.01 or share == 0 else f"{100 * share:.1f} %"


def gbps(bytes_per_s: float) -> str:
    """Bytes/s as networks are sold: 12.5e9 -> '100'."""
    return short(8e-9 * bytes_per_s)
