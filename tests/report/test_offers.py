"""The offers side by side: which they are, what they say of themselves, what they give up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dse.report import front_filters, offers, words
from dse.report.document import Choice, Choices, RunDocument
from dse.report.markdown import render_markdown
from dse.report.page import render_page
from tests.report.certainty.test_certainty import sure
from tests.report.documents import document, read, written


def by_title(run: RunDocument) -> dict[str, offers.Offer]:
    return {one.title: one for one in offers.offers(run)}


def test_the_offers_are_cheapest_recommended_and_fastest() -> None:
    run = document()
    found = by_title(run)
    assert list(found) == ["Cheapest that meets every limit", "Recommended", "Fastest"]
    for offer, point in zip(found.values(), (run.front[0], run.recommended, run.fastest),
                            strict=True):  # fmt: skip
        facts = {fact.label: fact.value for fact in offer.facts}
        assert facts["Purchase price"] == words.show_cost(run, point)
        assert facts["Speed"] == f"{words.shown(point.speedup, 'x')} the baseline"
    assert [one.recommended for one in found.values()] == [False, True, False]
    assert "NVIDIA" in found["Fastest"].machines


def test_a_limit_that_may_be_missed_is_met_in_the_best_estimate() -> None:
    """A heading says no more than is true: 78 % is not "meets every limit"."""
    run = sure()
    assert run.certainty is not None
    own, rival = run.certainty.choices
    cheap = run.front[0].config
    likely = replace(rival, config=cheap, meets_all=0.78)
    certain = replace(likely, meets_all=1.0)
    titles = [
        offers.offers(replace(run, certainty=replace(run.certainty, choices=(own, one))))[0].title
        for one in (likely, certain)
    ]
    assert titles == [
        "Cheapest that meets every limit in the best estimate", "Cheapest that meets every limit",
    ]  # fmt: skip


def same(run: dict[str, Any], *names: str) -> RunDocument:
    for name in names:
        run[name] = {**run["fastest"], "rule": "fastest", "why": ""}
    return read(run)


def test_what_is_two_things_stands_once() -> None:
    fastest = same(written(), "recommended")
    found = by_title(fastest)
    assert list(found) == ["Cheapest that meets every limit", "Recommended"]
    assert "Nothing faster meets every limit." in found["Recommended"].given_up
    assert offers.also(fastest) == "The recommended offer is also the fastest."
    run = written()
    run["front"] = [run["fastest"]]
    alone = same(run, "recommended", "cheapest_within_5_percent")
    (only,) = offers.offers(alone)
    assert only.title == "Recommended"
    assert only.recommended
    assert offers.also(alone) == (
        "The recommended offer is also the cheapest that meets every limit and the fastest."
    )
    assert only.given_up.startswith("Nothing is given up")


def twin(run: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """The recommended point again, with other settings, or other numbers."""
    own = run["recommended"]
    config = {key: changed.pop(key) for key in tuple(changed) if key in own["config"]}
    return {**own, **changed, "config": {**own["config"], **config}}


def test_the_same_purchase_with_other_software_is_a_sentence() -> None:
    run = written()
    best = run["recommended"]
    run["fastest"] = twin(run, batch_per_gpu="48", speedup=1.034 * best["speedup"])
    found = read(run)
    assert list(by_title(found)) == ["Cheapest that meets every limit", "Recommended"]
    assert offers.also(found) == (
        "The fastest is 3.4 % faster on the same hardware with batch 48 per GPU."
    )
    assert "faster" not in by_title(found)["Recommended"].given_up
    page, text = render_page(found).replace("\u00a0", " "), render_markdown(found)
    assert "Two offers side by side" in page
    assert "on the same hardware with batch 48 per GPU." in page
    assert "on the same hardware with batch 48 per GPU." in text
    dearer = twin(run, batch_per_gpu="48", speedup=1.5 * best["speedup"], capital=2e6)
    assert len(offers.offers(read({**run, "fastest": dearer}))) == 3  # such as with more servers


def test_offers_that_differ_by_less_than_the_resolution_are_one() -> None:
    run = written()
    best = run["recommended"]
    run["fastest"] = twin(run, gpus="4", speedup=1.004 * best["speedup"],
                          capital=1.003 * best["capital"])  # fmt: skip
    run["fastest"]["gpus"] = 4
    run["front"] = [twin(run, batch_per_gpu="48")]
    found = replace(read(run), choices=Choices(resolution=0.01, rows=(Choice(front=(0,)),)))
    assert [one.title for one in offers.offers(found)] == ["Recommended"]
    assert offers.also(found).startswith(
        "The cheapest that meets every limit is as good on the same hardware with batch 48 per "
        "GPU. The fastest is 0.4 % faster and costs 0.3 % more to buy: 4 x NVIDIA"
    )
    page = render_page(found)
    assert "side by side</h3>" not in page
    assert 'class="offers"' not in page
    apart = replace(found, choices=Choices(resolution=0.002, rows=()))
    assert [one.title for one in offers.offers(apart)] == ["Recommended", "Fastest"]


def test_an_offer_says_what_it_saves_and_what_that_costs_in_speed() -> None:
    run = written()
    run["recommended"].update(capital=200_000.0, speedup=10.0)
    cheap, fast = run["front"][0], run["fastest"]
    cheap.update(capital=50_000.0, speedup=2.5)
    fast.update(capital=300_000.0, speedup=15.0)
    found = by_title(read(run))
    assert found["Cheapest that meets every limit"].given_up == (
        "Saves USD 150 k (75 %) and runs at 25 % of the speed of the recommended offer."
    )
    assert found["Fastest"].given_up == (
        "Costs USD 100 k more (50 %) and runs 1.5x as fast as the recommended offer."
    )
    assert found["Recommended"].given_up == (
        "Gives up 33 % of the fastest offer's speed. It costs USD 150 k more than the cheapest "
        "offer, for 4x its speed."
    )


def test_a_multiple_is_told_as_one() -> None:
    run = written()
    run["recommended"].update(capital=100_000.0, speedup=10.0)
    run["fastest"].update(capital=1_640_000.0, speedup=40.0)
    assert by_title(read(run))["Fastest"].given_up == (
        "Costs USD 1.54 M more (16 times as much) and runs 4x as fast as the recommended offer."
    )


def test_offers_of_the_same_speed_are_not_called_faster() -> None:
    run = written()
    run["recommended"].update(capital=200_000.0, speedup=10.0)
    run["fastest"].update(capital=200_600.0, speedup=10.001)
    found = by_title(read(run))
    assert found["Fastest"].given_up == (
        "Costs USD 600 more (0.3 %) and is as fast as the recommended offer."
    )
    assert found["Recommended"].given_up.startswith("It is as fast as the fastest offer.")


def test_a_study_that_minimizes_no_price_shows_one_beside() -> None:
    run = document("speedup", "power")
    labels = [fact.label for fact in offers.facts(run, run.recommended)]
    assert labels[:2] == ["Power", "Purchase price"]


def test_the_time_of_the_run_stands_where_there_is_a_target() -> None:
    run = document("speedup", "time_to_target", "per_run")
    facts = {fact.label: fact.value for fact in offers.facts(run, run.recommended)}
    assert facts["Time of the run"] == words.duration(run.recommended.quantity("time_to_target"))
    without = written()
    del without["recommended"]["time_to_target"]
    bare = read(without)
    assert "Time of the run" not in {fact.label for fact in offers.facts(bare, bare.recommended)}


def test_filters_part_the_front_by_what_varies_on_it() -> None:
    run = document()
    found = front_filters.filters(run)
    for one in found:
        assert len(one.values) == len(set(one.values)) >= 2
        assert len(one.of_rows) == len(run.front)
        assert {at for places in one.of_rows for at in places} == set(range(len(one.values)))
    gpus = next(one for one in found if one.title == "GPUs")
    assert [gpus.values[at] for (at,) in gpus.of_rows] == [words.count(p.gpus) for p in run.front]
    sizes = [int(text.replace(",", "")) for text in gpus.values]
    assert sizes == sorted(sizes)
    single = written()
    single["front"] = single["front"][:1]
    assert front_filters.filters(read(single)) == ()
    assert front_filters.keys(read(single), front_filters.filters(read(single))) == ("",)


def test_a_filter_keeps_a_row_of_which_an_alternative_fits() -> None:
    """Of the row ``any of two`` both algorithms count, those of exact equals included."""
    run = document()
    rest = [Choice(front=(at,)) for at in range(2, len(run.front))]
    both = Choice(front=(0, 1), varies={"aggregation": ("ring-nccl", "tree-nccl")})
    merged = replace(run, choices=Choices(resolution=0.01, rows=(both, *rest)))
    algorithm = next(one for one in front_filters.filters(merged) if one.title == "Algorithm")
    assert len(algorithm.of_rows) == len(run.front) - 1
    own = {words.label(run.front[at], "aggregation") or "none" for at in (0, 1)}
    named = {algorithm.values[at] for at in algorithm.of_rows[0]}
    assert named == own | {"ring-nccl", "tree-nccl"}
    assert front_filters.keys(merged, front_filters.filters(merged))[0].count(",") >= 1
