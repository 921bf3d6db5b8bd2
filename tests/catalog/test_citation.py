"""dse.catalog.citation: a fact, and where it is from."""

from __future__ import annotations

from dataclasses import replace

from dse import catalog


def test_a_source_of_the_catalogue_is_cited_by_title_and_address() -> None:
    fact = next(f for f in catalog.accelerator("h100-sxm").facts if f.source in catalog.sources())
    cited = catalog.cite("accelerator h100-sxm", fact)
    known = catalog.sources()[fact.source]
    assert (cited.item, cited.fact, cited.value) == ("accelerator h100-sxm", fact.name, fact.text)
    assert (cited.source, cited.url) == (known.title, known.url)
    assert (cited.accessed, cited.status, cited.detail) == (fact.accessed, fact.status, fact.detail)


def test_any_other_source_is_cited_as_it_is_written() -> None:
    fact = replace(catalog.accelerator("h100-sxm").facts[0], source="our own invoice 17")
    cited = catalog.cite("own", fact)
    assert (cited.source, cited.url) == ("our own invoice 17", "")
