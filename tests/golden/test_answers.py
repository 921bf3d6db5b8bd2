"""Fronts, intervals, recommendations and explained points of all studies are as they were.

A number that moved on purpose is a change of a file in ``numbers``, by
``python -m tests.golden --write``, and its reason is in the commit. Words are no test's business:
``python -m tests.golden --words`` writes them, and the change shows how they differ.
"""

from __future__ import annotations

import json

import pytest

from dse.catalog.store import shipped_studies
from tests.evidence import beyond
from tests.golden.answers import NUMBERS, PAGE, QUOTED, WORDS, quoted, searched, subjects, text
from tests.golden.difference import differences, entries

ROUNDING = 1e-9  # other processors may round a sum of logarithms otherwise
# Studies of the same space as tf-aggregation and -mobilenet, with networks of so many tensors that
# their draws take most of the time: here without draws, in whole by `make golden`.
LONG = ("tf-aggregation-nasnet", "tf-aggregation-resnet101")
EVIDENCE = ("billion", "hundred-billion", "400g-or-800g", "gpt-1.3b-two-vendors",
            "guided-continuous", "guided-example", "tf-aggregation")  # fmt: skip
OFTEN = [name for name in subjects() if name not in (*LONG, *EVIDENCE)]


@pytest.mark.parametrize("name", beyond(OFTEN, [*OFTEN, *EVIDENCE]))
def test_the_answer_is_as_it_was(name: str) -> None:
    kept = (NUMBERS / f"{name}.txt").read_text()
    assert not list(differences(kept, text(subjects()[name]().numbers), ROUNDING))


@pytest.mark.evidence
@pytest.mark.parametrize("name", LONG)
def test_a_long_search_finds_what_it_did(name: str) -> None:
    kept = entries((NUMBERS / f"{name}.txt").read_text())
    front = [values for place, values in kept.items() if place.startswith("front | ")]
    found = searched(shipped_studies()[name])
    assert len(found["front"]) == len(front) > 10
    for (gain, cost, ties), (was_gain, was_cost, _, were_ties, *_) in zip(
        found.pop("front"), front, strict=True
    ):
        assert (gain, cost, ties) == pytest.approx((was_gain, was_cost, were_ties), rel=ROUNDING)
    now = text(found)
    before = "".join(f"{place} | {json.dumps(kept[place])}\n" for place in entries(now))
    assert before.count("explain | ") == 10
    assert not list(differences(before, now, ROUNDING))


def test_every_answer_is_of_a_study() -> None:
    for folder in (NUMBERS, WORDS):
        assert {path.stem for path in folder.glob("*.txt")} == set(subjects())


def test_the_page_of_answers_quotes_them_and_says_whether_to_sign() -> None:
    page = PAGE.read_text()
    assert quoted(page) == page
    _, *parts = QUOTED.split(page)
    own = {name for name, path in shipped_studies().items() if path.parent.name != "papers"}
    assert set(parts[::3]) == own
    for name, answer, rest in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        said = rest.partition("\n## ")[0]
        assert len(said.split()) <= 80, name
        assert ("undecided" in said) == answer.startswith("Undecided"), name
