"""dse.catalog.regions"""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.catalog import names, region
from dse.catalog.regions import region as uncached
from dse.errors import StudyError

HEADER = (
    "name,title,carbon_g_per_kwh,carbon_date,carbon_source,"
    "electricity_usd_per_kwh,electricity_date,electricity_source\n"
)
SOURCES = "here: {title: A page, accessed: '2026-11-25'}\n"


def test_a_region_has_the_carbon_and_the_price_of_its_electricity() -> None:
    iowa = region("iowa")
    price = iowa.electricity_usd_per_kwh
    assert price is not None
    assert (price.value, price.date) == (0.0604, "2025-04")
    assert iowa.carbon_kg_per_kwh.value == pytest.approx(0.4526)
    assert (iowa.carbon_kg_per_kwh.unit, iowa.carbon_kg_per_kwh.date) == ("kg/kWh", "2016")


def test_a_region_may_have_no_price() -> None:
    france = region("france")
    assert france.electricity_usd_per_kwh is None
    assert france.carbon_kg_per_kwh.value is not None
    assert france.carbon_kg_per_kwh.value < region("poland").carbon_kg_per_kwh.value  # type: ignore[operator]
    assert len(france.facts) == 1


def test_all_regions_are_read_and_named_as_people_do() -> None:
    found = names("regions")
    assert {"iowa", "france", "germany", "gcp-us-central1", "georgia-us"} <= set(found)
    assert list(found) == sorted(found)
    assert all(region(name).name == name for name in found)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("a,A,x,2023,here,,,\n", "carbon_g_per_kwh is not a number"),
        ("a,A,5,20233,here,,,\n", "carbon_date no date"),
        ("a,A,5,2023,nowhere,,,\n", "carbon has no source"),
        ("a,A,,,,0.1,2023,here\n", "carbon_g_per_kwh is missing"),
        ("a,A,5\n", "3 cells, not 8"),
    ],
)
def test_a_wrong_table_is_one_clear_line(
    row: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "regions.csv").write_text(HEADER + row)
    (tmp_path / "sources.yaml").write_text(SOURCES)
    monkeypatch.setenv("DSE_MODELS", str(tmp_path))
    uncached.cache_clear()
    with pytest.raises(StudyError, match=f"regions.csv:2:1: .*{said}"):
        uncached("a")
    uncached.cache_clear()
