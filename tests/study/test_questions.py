"""Questions asked beside a study are constraints of it."""

from __future__ import annotations

import pytest

from dse.currencies import Rate
from dse.errors import ArgumentError, StudyError
from dse.study.constraints import parse_constraint
from dse.study.questions import Questions
from tests.study.conftest import VALID, Reader


def texts(questions: Questions, read: Reader, text: str = VALID) -> tuple[str, ...]:
    return tuple(one.text for one in questions.asked_of(read(text=text)).constraints)


def test_each_question_is_a_constraint_and_takes_the_place_of_the_study_s_own(read: Reader) -> None:
    asked = Questions(deadline="7 d", budget="500 kUSD", power="200 kW")
    found = asked.asked_of(read())
    assert [one.text for one in found.constraints] == [
        "fits_memory", "global_batch <= 8192", "time_to_target <= 7 d", "capital <= 500 kUSD",
        "power <= 200 kW",
    ]  # fmt: skip
    limits = {one.limit.name: one.limit.value for one in found.constraints if one.limit}
    assert limits["time_to_target"] == pytest.approx(7 * 86400)
    assert limits["capital"] == pytest.approx(500e3)
    assert limits["power"] == pytest.approx(200e3)


@pytest.mark.parametrize(
    ("minimized", "budget", "quantity"),
    [
        ("capital", "2,000,000 USD", "capital <= 2000000 USD"),
        ("per_run", "500 USD", "per_run <= 500 USD"),
        ("[power, per_run]", "500 USD", "per_run <= 500 USD"),
        ("power", "2 MUSD", "capital <= 2 MUSD"),
        ("capital", "50 USD/hour", "hourly <= 50 USD/hour"),
        ("tco", "50 USD/hour", "tco <= 50 USD/hour"),
    ],
)
def test_a_budget_limits_the_money_that_the_study_minimizes(
    minimized: str, budget: str, quantity: str, read: Reader
) -> None:
    text = VALID.replace("minimize: capital", f"minimize: {minimized}")
    assert quantity in texts(Questions(budget=budget), read, text)


def test_a_budget_in_another_currency_counts_at_the_rate_of_the_price_list(read: Reader) -> None:
    """By hand: 2 MEUR at 1.08 are 2.16 MUSD; the limit says so, and can be read again."""
    rates = {"EUR": Rate(1.08, "2026-11-02"), "GBP": Rate(1.25)}
    found = Questions(budget="2 MEUR").asked_of(read(), lambda: rates).constraints[-1]
    assert found.text == "capital <= 2 MEUR (EUR at USD 1.08 of 2026-11-02)"
    assert found.limit == ("capital", "<=", 2.16e6)
    assert parse_constraint(found.text).limit == found.limit
    rent = Questions(budget="40 GBP/hour").asked_of(read(), lambda: rates).constraints[-1]
    assert (rent.text, rent.limit) == (
        "hourly <= 40 GBP/hour (GBP at USD 1.25)", ("hourly", "<=", 50.0)
    )  # fmt: skip
    with pytest.raises(ArgumentError, match="budget: 'MEUR' is in a currency of which no rate"):
        Questions(budget="2 MEUR").asked_of(read())


def test_no_question_changes_nothing_and_each_changes_what_the_run_is_of(read: Reader) -> None:
    study = read()
    assert Questions().asked_of(study) is study
    asked = [Questions(deadline="7 d"), Questions(deadline="8 d"), Questions(budget="1 MUSD"),
             Questions(confidence=0.9)]  # fmt: skip
    hashes = {one.asked_of(study).content_hash for one in asked} | {study.content_hash}
    assert len(hashes) == 5


def test_what_a_document_holds_of_questions_asks_them_again() -> None:
    asked = Questions(deadline="7 d", budget="2 MUSD", power="1 MW", confidence="90%")
    assert asked.written == {
        "deadline": "7 d", "budget": "2 MUSD", "power": "1 MW", "confidence": "0.9"
    }  # fmt: skip
    assert Questions(**asked.written) == asked


WRONG: list[tuple[dict[str, object], tuple[str, ...]]] = [
    ({"deadline": "0 d"}, ("--deadline: must be positive", '--deadline "7 d"')),
    ({"deadline": "7"}, ("--deadline: 7 has no unit", '"7 d"')),
    ({"budget": "-1 MUSD"}, ("--budget: must be positive", '--budget "2 MUSD"')),
    ({"budget": "2000"}, ("--budget: 2000 has no unit", '"2 MUSD"', "--points")),
    ({"budget": "much"}, ("--budget: 'much' is not a quantity",)),
    ({"budget": "2 MEURX"}, ("'2 MEURX' is in a currency that is not known here", "MUSD")),
    ({"budget": "$2e6"}, ("is not a quantity", 'write for example --budget "2 MUSD"')),
    (
        {"confidence": 90},
        ("--confidence: must be a probability above 0, at most 0.999", "0.9 or 90%"),
    ),
    ({"confidence": 0.9999}, ("--confidence: must be a probability above 0, at most 0.999",)),
    ({"confidence": True}, ("--confidence: must be a probability above 0, at most 0.999",)),
]


@pytest.mark.parametrize(("asked", "said"), WRONG)
def test_what_is_no_question_is_refused_in_one_line(
    asked: dict[str, str], said: tuple[str, ...]
) -> None:
    with pytest.raises(ArgumentError) as caught:
        Questions(**asked)
    line = caught.value.on_command_line()
    assert "\n" not in line
    for part in said:
        assert part in line


def test_a_deadline_needs_a_target(read: Reader) -> None:
    study = read("target: {samples: 115e6}\n", "")
    with pytest.raises(ArgumentError) as caught:
        Questions(deadline="7 d").asked_of(study)
    assert caught.value.on_command_line() == (
        "--deadline: study.yaml does not say how long a run is; add target: {samples: 115e6} to it"
    )


def test_a_study_asks_for_no_more_confidence_than_the_outcomes_show(read: Reader) -> None:
    text = "target: {samples: 115e6}\n"
    assert read(text, f"{text}confidence: 0.999\n").confidence == 0.999
    with pytest.raises(StudyError, match=r"0\.9995 is out of range; write a value at most 0\.999"):
        read(text, f"{text}confidence: 0.9995\n")
    assert Questions(confidence="99.9%").confidence == 0.999


def test_a_confidence_needs_a_limit(read: Reader) -> None:
    study = read('constraints: [fits_memory, "capital <= 2 MUSD", global_batch <= 8192]\n', "")
    with pytest.raises(ArgumentError, match="no limit to be sure of"):
        Questions(confidence=0.9).asked_of(study)
    assert Questions(confidence=0.9, power="1 MW").asked_of(study).confidence == 0.9
