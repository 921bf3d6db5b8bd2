"""What is said of the offers of a study's price lists."""

from __future__ import annotations

from pathlib import Path

from dse.pricing import price_doubts
from dse.pricing.load import load
from dse.report.check import checked
from tests.pricing import studies

HEAD = "item,price,currency,quote,vendor\n"


def test_two_offers_for_one_part_are_told_of(tmp_path: Path) -> None:
    """By hand: the second list is dearer for one part, the same for the next, and has one that the
    study does not choose from."""
    north = "v100-sxm2-16gb,9000,USD,N-1,North\nhost,9000,USD,N-1,North\nl40s,9000,USD,N-1,North\n"
    zeta = "v100-sxm2-16gb,9500,USD,Z-1,Zeta\nhost,9000,USD,Z-1,Zeta\nl40s,8000,USD,Z-1,Zeta\n"
    (tmp_path / "north.csv").write_text(HEAD + north)
    (tmp_path / "zeta.csv").write_text(HEAD + zeta)
    study = studies.SMALL + "prices: [%s]\n"
    two = load(studies.written(tmp_path, study % "north.csv, zeta.csv"))
    said = [
        "Two offers for v100-sxm2-16gb: Zeta's (zeta.csv, USD 9,500.00) replaces North's "
        "(north.csv, USD 9,000.00), though that is cheaper. Of several price lists the later "
        "counts."
    ]
    assert price_doubts.replaced(two) == said
    assert said[0] in checked(two).caveats
    other = load(studies.written(tmp_path, study % "zeta.csv, north.csv", "b.yaml"))
    assert (
        "North's (north.csv, USD 9,000.00) replaces Zeta's (zeta.csv, USD 9,500.00). Of"
        in (price_doubts.replaced(other)[0])
    )
    assert (
        price_doubts.replaced(load(studies.written(tmp_path, study % "north.csv", "c.yaml"))) == []
    )


def test_offers_of_what_only_the_baseline_has_are_named_last(tmp_path: Path) -> None:
    """The baseline's accelerator is the first of the axis."""
    past = "item,price,date,valid_until\np100-sxm2-16gb,3000 USD,2024-01-02,2024-02-01\n"
    (tmp_path / "q.csv").write_text(f"{past}v100-sxm2-16gb,9000 USD,2024-01-02,2024-02-01\n")
    problem = load(studies.written(tmp_path, f"{studies.SMALL}prices: [q.csv]\n"))
    (note,) = price_doubts.expired(problem)
    assert ": v100-sxm2-16gb, p100-sxm2-16gb (q.csv, valid until 2024-02-01)." in note
