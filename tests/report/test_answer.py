"""The study's answer in a few sentences."""

from __future__ import annotations

from typing import Any

import pytest

from dse.report import words
from dse.report.answer import answer
from dse.report.document import ALSO
from tests.report.documents import COSTS, THREE, document, read, written


def how_sure(run: dict[str, Any]) -> str:
    """From the line with the range of the speed to the notes."""
    sentences = [line for line in answer(read(run)) if not line.startswith("Note")]
    (at,) = [at for at, line in enumerate(sentences) if " confidence" in line]
    return " ".join(sentences[at:])


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("gain", ["speedup", "throughput"])
def test_answer_names_the_point_its_worth_and_how_sure(gain: str, cost: str) -> None:
    run = document(gain, cost)
    sentences = answer(run)
    best = run.recommended
    assert 3 <= len(sentences) <= 9
    assert max(map(len, sentences[2:])) < 260
    assert sentences[0].startswith("Recommended: ")
    accelerator = words.title("accelerator", best.config["accelerator"], identified=True)
    assert accelerator in sentences[0]
    assert words.shown(best.speedup, "x") in sentences[1]
    assert words.show_cost(run, best) in sentences[1]
    assert words.show_cost(run, run.baseline) in sentences[1]
    assert "within 5 %" in sentences[2]
    assert sentences[3].startswith("90 % confidence: ")
    assert not any("None" in s or "nan" in s or "{" in s for s in sentences)


def test_what_is_no_faster_is_as_fast() -> None:
    run = written()
    run["recommended"]["speedup"] = 1.0004
    assert answer(read(run))[1].startswith("It runs as fast as the baseline (")
    run["recommended"]["speedup"] = 0.998
    sentence = answer(read(run))[1]
    assert sentence.startswith("It runs about as fast as the baseline (0.998x; ")


@pytest.mark.parametrize(("cost", "also"), THREE)
def test_answer_with_two_costs_gives_both(cost: str, also: str) -> None:
    run = document("speedup", cost, also)
    sentences = answer(run)
    assert 3 <= len(sentences) <= 9
    assert max(map(len, sentences[2:])) < 260
    for sense in ("minimize", ALSO):
        assert words.show_cost(run, run.recommended, sense) in sentences[1]
        assert words.show_cost(run, run.baseline, sense) in sentences[1]
    assert "; it " in sentences[1]
    assert "within 5 %" in sentences[2]
    assert not any("None" in s or "nan" in s or "{" in s for s in sentences)


@pytest.mark.parametrize(
    ("cost", "phrase"),
    [("capital", "to buy"), ("hourly", "to rent"), ("power", "draws"), ("per_run", "per run"),
     ("time_to_target", "to the target"), ("step", "per step")],
)  # fmt: skip
def test_every_cost_has_its_own_words(cost: str, phrase: str) -> None:
    assert phrase in answer(document("speedup", cost))[1]


def test_answer_gives_the_interval_and_says_where_it_extrapolates() -> None:
    run = written()
    best = next(p for p in run["front"] if p["interval"] and p["extrapolated"])
    run["recommended"] = {**best, "rule": "knee", "why": ""}
    low, high = (words.shown(end, "x", 2) for end in best["interval"]["speedup"])
    sure = how_sure(run)
    assert f"{low} to {high}" in sure
    assert "outside the measured range" in sure
    run["recommended"].update(extrapolated=False, evidence="inside")
    assert "outside the measured range" not in how_sure(run)


def test_answer_admits_what_was_not_measured() -> None:
    run = written()
    run["recommended"].update(interval=None, evidence=words.CATALOGUE)
    assert "No run measured its communication by itself" in how_sure(run)


def test_a_point_that_communicates_nothing_has_its_interval() -> None:
    run = written()
    best = next(p for p in run["front"] if p["interval"])
    run["recommended"] = {**best, "rule": "knee", "why": "", "evidence": words.SILENT}
    sure = how_sure(run)
    assert sure.startswith("90 % confidence: ")
    assert "It communicates nothing." in sure
    assert "assum" not in sure


def test_answer_tells_the_steps_behind_the_interval() -> None:
    run = written()
    best = next(p for p in run["front"] if p["interval"] and p["comm_s"])
    run["recommended"] = {**best, "rule": "knee", "why": ""}
    run["baseline"] |= {"interval": None, "global_batch": best["global_batch"]}
    assert "the baseline's" not in how_sure(run)
    run["baseline"]["interval"] = {"speedup": [0.5, 1.2], "step_s": [0.4, 0.9]}
    assert "the baseline's 400 ms to 900 ms" in how_sure(run)
    run["baseline"]["interval"]["speedup"] = [1.0, 1.0]  # drawn together: already inside
    run["baseline"]["interval"] = None
    assert "the baseline's" not in how_sure(run)


def test_steps_of_other_batches_are_not_set_side_by_side() -> None:
    run = written()
    best = next(p for p in run["front"] if p["interval"] and p["comm_s"])
    interval = {"speedup": [3.0, 5.0], "step_s": [1.0, 2.0]}
    run["recommended"] = {
        **best, "rule": "knee", "why": "", "interval": interval, "global_batch": 400,
    }  # fmt: skip
    run["baseline"] |= {
        "interval": {"speedup": [1.0, 1.0], "step_s": [0.5, 0.8]}, "global_batch": 40,
    }  # fmt: skip
    sure = how_sure(run)
    assert "It trains 200 samples/s to 400 samples/s, the baseline 50 samples/s to 80 samp" in sure
    assert "errors that both share do not change the speedup." in sure
    assert "A step" not in sure
    run["objectives"]["maximize"] = "throughput"
    sure = how_sure(run)
    assert sure.startswith("90 % confidence: 200 samples/s to 400 samples/s")
    assert "The baseline trains 50 samples/s to 80 samples/s; errors that both share" in sure
    assert "do not change the speedup, 3x to 5x." in sure


def test_answer_where_the_baseline_is_the_best() -> None:
    run = written()
    run["recommended"] = {**run["baseline"], "rule": "knee", "why": ""}
    assert "the baseline itself" in answer(read(run))[1]


@pytest.mark.parametrize(
    ("points", "space", "budget", "said", "unsaid"),
    [
        (57024, 57024, 10**9, "57,024 points, which are all there are", "others may be better"),
        (14663, 912000, 20000, "14,663 points of the 20,000 allowed and stopped", "all there are"),
        (14663, None, 20000, "more brought no gain; others may be better", "all there are"),
        (20000, 912000, 20000, "20,000 points, and others may be better", "gained"),
    ],
)
def test_answer_says_how_far_a_guided_search_came(
    points: int, space: int | None, budget: int, said: str, unsaid: str
) -> None:
    run = written()
    run["engine"] = "guided"
    run["counts"].update(points=points, space=space, budget=budget)
    sentence = next(s for s in answer(read(run)) if s.startswith("The search was guided"))
    assert said in sentence
    assert unsaid not in sentence


def test_answer_with_one_point_on_the_front() -> None:
    run = written()
    only = run["front"][-1]
    run.update(front=[only], fastest=only, cheapest_within_5_percent=only)
    run["recommended"] = {**only, "rule": "knee", "why": ""}
    assert "also the fastest choice within the limits; nothing" in answer(read(run))[2]
    run["constraints"] = ["fits_memory"]
    assert "also the fastest choice; nothing" in answer(read(run))[2]


def test_answer_where_something_cheaper_is_nearly_as_fast() -> None:
    run = written()
    cheap, fast = run["front"][-2:]
    cheap["speedup"] = 0.97 * fast["speedup"]
    run["cheapest_within_5_percent"] = cheap
    saved = words.percent(1 - cheap["capital"] / fast["capital"])
    assert f"{saved} cheaper than the fastest" in answer(read(run))[2]
    run["front"][-2]["capital"] = 0.9995 * fast["capital"]
    assert "cheaper" not in answer(read(run))[2]


@pytest.mark.parametrize("recommended", [True, False])
def test_answer_where_something_cheaper_reads_as_fast_as_the_fastest(recommended: bool) -> None:
    run = written()
    cheap, fast = run["front"][-2:]
    cheap["speedup"] = fast["speedup"]
    run["cheapest_within_5_percent"] = cheap
    if recommended:
        run["recommended"] = {**cheap, "rule": "cheapest-within-5%", "why": ""}
    saved = words.percent(1 - cheap["capital"] / fast["capital"])
    reads = f"{words.shown(fast['speedup'], 'x')}) and {saved} cheaper"
    said = answer(read(run))[2]
    assert said.startswith("It is" if recommended else "One choice is")
    assert f" as fast as the fastest choice to three digits ({reads}" in said


def test_answer_with_an_unknown_cost_of_the_baseline() -> None:
    run = written()
    run["baseline"].update(capital=None, costs={**run["baseline"]["costs"], "capital": None})
    assert "that of the baseline is unknown" in answer(read(run))[1]


@pytest.mark.parametrize(("nodes", "said"), [(1, False), (2, True)])
def test_a_speedup_by_more_nodes_says_what_it_leaves_out(nodes: int, said: bool) -> None:
    run = written()
    run["baseline"] |= {"nodes": 1}
    run["recommended"] |= {"nodes": nodes}
    found = [s for s in answer(read(run)) if "leaves out" in s]
    assert len(found) == said
    assert all(
        s == "Note: The recommended point has 2 nodes, the baseline 1 node. The speedup leaves out "
        "the time spent waiting for the slowest node."
        for s in found
    )


@pytest.mark.parametrize(
    ("mine", "theirs", "said", "of_baseline"),
    [
        ("tuned", "vendor", ", tuned software (MLPerf class).", ", the vendor's software)"),
        ("vendor", "plain", ", the vendor's software.", ", plain software)"),
        ("tuned", "tuned", ", tuned software (MLPerf class).", ", tuned software (MLPerf class))"),
        ("vendor", "vendor", "", ""),
        ("", "", "", ""),
    ],
)
def test_answer_names_the_software_where_it_is_not_the_usual_one_of_both(
    mine: str, theirs: str, said: str, of_baseline: str
) -> None:
    run = written()
    for name, stack in (("recommended", mine), ("baseline", theirs)):
        run[name] = {**run[name], "config": {**run[name]["config"], "stack": stack}}
    sentences = answer(read(run))
    assert ("software" in sentences[0]) == bool(said)
    assert sentences[0].endswith(said)
    assert of_baseline in sentences[1]
    assert ("software" in sentences[1]) == bool(of_baseline)
    notes = [s for s in sentences if s.startswith("Note: The baseline runs")]
    assert len(notes) == (mine != theirs)
    assert all(note.endswith("part of the difference in speed is software.") for note in notes)


def test_a_formula_without_software_has_no_note_of_it() -> None:
    run = written()
    for name, stack in (("recommended", "tuned"), ("baseline", "vendor")):
        run[name] = {**run[name], "config": {**run[name]["config"], "stack": stack}}
    terms = ("data_s", "flops_s", "memory_s", "update_s", "pcie_s", "ethernet_s", "nvlink_s")
    run["recommended"]["pai"] = {
        "architecture": "1w1g", "ideal": False, "terms": dict.fromkeys(terms, 0.1),
    }  # fmt: skip
    assert not any("difference in speed is software" in line for line in answer(read(run)))


def test_answer_names_the_software_of_every_point_it_names() -> None:
    run = written()
    cheap, fast = run["front"][-2:]
    cheap["speedup"] = 0.97 * fast["speedup"]
    for point in (cheap, fast):
        point["config"] = {**point["config"], "stack": "vendor"}
    run["baseline"]["config"] = {**run["baseline"]["config"], "stack": "plain"}
    run["fastest"] = fast
    for named in (cheap, fast):
        run["cheapest_within_5_percent"] = named
        assert "the vendor's software" in answer(read(run))[2]


def test_beyond_the_most_speed_for_a_dollar_the_answer_says_what_the_next_buy() -> None:
    run = written()
    costs = {"capital": 1000.0, "hourly": 1.0, "tco": 1.0, "power": 1.0}
    one, two, three = (
        {**run["front"][at], "speedup": gain, "capital": usd, "costs": {**costs, "capital": usd}}
        for at, gain, usd in ((0, 2.0, 1000.0), (1, 3.0, 2000.0), (2, 6.0, 4000.0))
    )
    run["front"] = [one, two, three]
    run["fastest"] = run["cheapest_within_5_percent"] = three
    run["recommended"] = {**one, "rule": "speed-per-dollar", "why": ""}
    said = answer(read(run))[2]
    # 4 more for 3,000 USD: 1.33 for 1,000 against 2
    assert said.startswith("The next USD 3 k buy 67 % as much speed for their money: 6x with ")
    run["recommended"] = {**three, "rule": "speed-per-dollar", "why": ""}
    said = answer(read(run))
    assert said[2].startswith("It is also the fastest choice")
    assert not any("No other choice is faster" in line for line in said), "that says it twice"
    run["cheapest_within_5_percent"] = {**two, "speedup": 5.9}
    assert answer(read(run))[2] == "No other choice is faster."
