"""``dse serve``: real requests to a server of its own, and its page in a browser."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import signal
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, sync_playwright
from starlette import concurrency

from dse.commands import serving
from dse.pricing.load import load, shipped_studies
from dse.pricing.problem import Problem
from dse.report import live
from dse.report.assembly import build
from dse.report.certainty.words import alike_and_rivals, best_of, chance
from dse.report.live import Question, Superseded, search
from dse.report.live_page import render_live
from dse.search.run import run
from tests.commands.command import dse, start
from tests.evidence import beyond
from tests.pricing import studies
from tests.report import browser

pytestmark = pytest.mark.slow

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/([\w-]+)/")


@dataclass(frozen=True)
class Served:
    process: subprocess.Popen[str]
    address: str

    def got(self, path: str = "", body: object = None, host: str | None = None) -> tuple[int, Any]:
        """Status and content of a request; JSON read."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data)
        if host is not None:
            request.add_header("Host", host)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                status, text = response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                status, text = error.code, error.read().decode()
        return status, json.loads(text) if text.startswith("{") else text


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return studies.written(tmp_path_factory.mktemp("served"), studies.SMALL)


@pytest.fixture(scope="module")
def served(study: Path) -> Iterator[Served]:
    with start("serve", study, cwd=study.parent) as process:
        try:
            assert process.stdout is not None
            first, second = process.stdout.readline(), process.stdout.readline()
            assert first.startswith("small: ")
            found = ADDRESS.search(second)
            assert found is not None
            yield Served(process, found[0])
            process.send_signal(signal.SIGINT)
            said, errors = process.communicate(timeout=60)
            assert (process.returncode, said, errors) == (0, "ended\n", "")
        finally:
            process.kill()


def test_nothing_moved_is_the_front_of_a_run(served: Served, study: Path) -> None:
    outcome = run(load(study), "exhaustive", None, None, lambda *_: None, 1000, 0)
    status, found = served.got("answer", {"rule": "speed-per-dollar"})
    assert status == 200
    assert [row["numbers"] for row in found["rows"]] == [
        [point.gain, point.cost] for point in outcome.front
    ]
    assert found["feasible"] == outcome.tally.feasible
    best = max(outcome.front, key=lambda point: point.gain / point.cost)
    assert found["rows"][found["recommended"]]["config"] == dict(best.labels)


def test_what_is_changed_is_that_of_a_study_with_it(served: Served, tmp_path: Path) -> None:
    asked = {
        "values": {"accelerator": ["v100-sxm2-16gb"], "ps_servers": ["2"], "gpus": ["2", "4", "8"]},
        "limits": ["fits_memory", "capital <= 90 kUSD"],
        "prices": {
            "accelerator/v100-sxm2-16gb/purchase": 7300.5,
            "general/host": 4321,
            "fabric/10gbe/nic": 77,
        },
        "rule": "fastest",
    }
    text = (
        studies.SMALL.replace("[p100-sxm2-16gb, v100-sxm2-16gb]", "[v100-sxm2-16gb]")
        .replace("gpus: [1, 2, 3, 4, 8, 16]", "gpus: [2, 4, 8]")
        .replace("values: [1, 2], if", "values: [2], if")
        .replace('"capital <= 200 kUSD", "global_batch <= 2048"', '"capital <= 90 kUSD"')
    )
    text += (
        "prices: {accelerators: {v100-sxm2-16gb: {purchase: 7300.5 USD}}, host: 4321 USD,\n"
        "         fabrics: {10gbe: {nic: 77 USD}}}\n"
    )
    new = load(studies.written(tmp_path, text))
    outcome = run(new, "exhaustive", None, None, lambda *_: None, 1000, 0)
    status, found = served.got("answer", asked)
    assert status == 200
    assert [row["numbers"] for row in found["rows"]] == [
        pytest.approx([point.gain, point.cost], rel=1e-12) for point in outcome.front
    ]
    assert found["recommended"] == len(outcome.front) - 1


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"limits": ["capital <= 2 kW"]}, "'capital <= 2 kW': 'capital' is in USD but"),
        ({"limits": ["price <= 2 USD"]}, "'price' is not a known quantity"),
        ({"values": {"accelerator": ["abacus"]}}, "accelerator has no value 'abacus'; it has p100"),
        ({"values": {"accelerator": []}}, "accelerator: leave at least one value"),
        ({"values": {"colour": ["red"]}}, "the study has no choice of 'colour'; it has accel"),
        ({"prices": {"general/pue": 0.5}}, "PUE must be a number from 1 to 10"),
        ({"prices": {"general/host": "x"}}, "values and limits must be texts, and prices numbers"),
        ({"prices": {"general/gold": 1}}, "there is no price 'general/gold' to change"),
        ({"rule": "dearest"}, "there is no rule 'dearest'; use knee, cheapest-within-5%"),
        ({"rul": "knee"}, "no other keys than values, ranges, limits, prices, rule and confidence"),
        ({"confidence": 1}, "the confidence must be a number between 0 and 100 %"),
        ({"confidence": 0.9995}, "1,000 simulated outcomes show no smaller risk than 1 in 1,000"),
        ({"confidence": "x"}, "the confidence must be a number between 0 and 100 %"),
        (["knee"], "the question must be a mapping with no other keys than values, ranges,"),
    ],
)
def test_a_bad_question_gets_one_line(served: Served, asked: object, said: str) -> None:
    status, found = served.got("answer", asked)
    assert status == 400
    assert said in found["error"]
    assert "\n" not in found["error"]


def test_the_hosts_of_one_accelerator_change_their_price_alone(tmp_path: Path) -> None:
    prices = "prices: {{accelerators: {{v100-sxm2-16gb: {{host: {} kUSD}}}}}}\n"
    problem = load(studies.written(tmp_path, studies.SMALL + prices.format(31)))
    moved = live.Question(prices={"accelerator/v100-sxm2-16gb/host": 4_000})
    anew = load(studies.written(tmp_path, studies.SMALL + prices.format(4), "anew.yaml"))
    rows = search(problem, moved).answer.rows
    assert rows == search(anew, Question()).answer.rows
    assert rows != search(problem, Question()).answer.rows


def test_who_has_no_token_gets_nothing(served: Served) -> None:
    root = served.address.removesuffix("/").rpartition("/")[0]
    for path in ("/", "/wrong/", "/wrong/answer", "/favicon.ico"):
        status, found = Served(served.process, root).got(path, {} if "answer" in path else None)
        assert status == 403
        assert found["error"].startswith("wrong token")
    assert served.got("secrets")[0] == 404
    assert served.got("", host="example.com")[0] == 400


def test_no_point_says_why(served: Served) -> None:
    status, found = served.got("answer", {"limits": ["capital <= 1 USD"]})
    assert status == 200
    assert found["rows"] == []
    assert found["recommended"] is None
    assert found["said"].startswith("No point meets every limit; ")
    assert found["said"].endswith("capital <= 1 USD is not met.")


def test_a_newer_question_ends_the_search_of_the_one_before(study: Path) -> None:
    with pytest.raises(Superseded):
        search(load(study), Question(), lambda: False)


def test_a_port_in_use_is_one_line(study: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        found = dse("serve", study, "--port", port, cwd=study.parent)
    assert found.returncode == 2
    assert found.stderr == (
        f"dse: --port: {port} cannot be used on 127.0.0.1: Address already in use; name another, "
        "or 0 for any that is free\n"
    )
    found = dse("serve", study, "--port", "99999", cwd=study.parent)
    assert found.returncode == 2
    assert "--port: 99999 is no port" in found.stderr


@pytest.fixture(scope="module")
def continuous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return studies.written(tmp_path_factory.mktemp("continuous"), studies.CONTINUOUS)


def test_of_a_continuous_axis_the_listed_values_are_tried(continuous: Path, tmp_path: Path) -> None:
    problem = load(continuous)
    (offered,) = live.ranges(problem.study)
    assert (offered.name, offered.written) == ("inter_node", "1 Gbps to 100 Gbps")
    assert offered.values == ("1 Gbps", "3.16228 Gbps", "10 Gbps", "31.6228 Gbps", "100 Gbps")
    asked = live.question({"ranges": {"inter_node": ["40 Gbps", "12.5 GB/s", "40 Gbps"]}})
    found = live.search(problem, asked)
    listed = studies.CONTINUOUS.replace(
        "{from: 1 Gbps, to: 100 Gbps, continuous: true}", "[40 Gbps, 100 Gbps]"
    )
    outcome = run(load(studies.written(tmp_path, listed)), "exhaustive", None, None,
                  lambda *_: None, 1000, 0)  # fmt: skip
    assert [row.numbers for row in found.answer.rows] == [
        pytest.approx((point.gain, point.cost), rel=1e-12) for point in outcome.front
    ]
    assert found.answer.points == outcome.tally.points


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["200 Gbps"], "inter_node: 200 Gbps is not in the study's range, 1 Gbps to 100 Gbps"),
        (["10 kg"], "inter_node: '10 kg' has the wrong unit; write for example 1 Gbps"),
        (["10"], "inter_node: 10 has no unit; write for example "),
        ([], "inter_node: list 1 to 100 values, separated by commas"),
    ],
)
def test_values_that_a_range_does_not_have_get_one_line(
    continuous: Path, texts: list[str], said: str
) -> None:
    with pytest.raises(live.Refused) as caught:
        live.changed(load(continuous), live.Question(ranges={"inter_node": texts}))
    assert str(caught.value).startswith(said)
    with pytest.raises(live.Refused, match="'gpus' is not a continuous axis of the study"):
        live.changed(load(continuous), live.Question(ranges={"gpus": ["2"]}))


@pytest.mark.parametrize("rule", beyond(["speed-per-dollar"], ["fastest", "speed-per-dollar"]))
@pytest.mark.parametrize("sure", [None, 0.95])
def test_chances_are_those_of_a_run(
    served: Served, tmp_path: Path, rule: str, sure: float | None
) -> None:
    text = f"{studies.SMALL}recommend: {rule}\n" + (f"confidence: {sure}\n" if sure else "")
    problem = load(studies.written(tmp_path, text))
    outcome = run(problem, "exhaustive", None, None, lambda *_: None, 1000, 0)
    document = build(outcome, "dse run small", 0, 1.0, {})
    status, found = served.got("chances", {"rule": rule, "confidence": sure})
    assert status == 200
    assert found["row"]["config"] == document.recommended.config
    assert document.certainty is not None
    best = best_of(document.certainty, alike_and_rivals(document)[0])
    assert f"In {chance(best)} of 1,000 simulated outcomes it is the best choice" in found["said"]
    assert ("95 % was asked for" in found["said"]) == (sure is not None)
    if document.confidence is not None:
        assert [share for share in found["met"] if share is not None] == [
            share for share in document.confidence.front if share is not None
        ]


@pytest.mark.evidence
def test_a_chance_counts_what_is_as_good_as_a_run_does() -> None:
    """The same machines on a network as good are the same choice, which is told as one."""
    problem = load(shipped_studies() / "ps-vs-allreduce.yaml")
    outcome = run(problem, "exhaustive", None, None, lambda *_: None, 1000, 0)
    document = build(outcome, "dse run ps-vs-allreduce", 0, 1.0, {})
    assert document.certainty is not None
    alike, _ = alike_and_rivals(document)
    best = best_of(document.certainty, alike)
    assert alike
    assert best > document.certainty.choices[0].best
    drawn = live.chances(live.search(problem, live.Question(rule="cheapest-within-5%")))
    assert f"In {chance(best)} of 1,000 simulated outcomes it, or what is as good" in drawn.said
    assert drawn.at is not None
    assert drawn.best[drawn.at] == best


def test_a_chance_of_several_limits_tells_that_of_each(tmp_path: Path) -> None:
    text = studies.SMALL.replace('"capital', '"power <= 6 kW", "capital')
    problem = load(studies.written(tmp_path, f"{text}recommend: fastest\nconfidence: 0.5\n"))
    outcome = run(problem, "exhaustive", None, None, lambda *_: None, 1000, 0)
    found = build(outcome, "dse run small", 0, 1.0, {}).confidence
    assert found is not None
    assert found.each is not None
    each = ", ".join(f"{one.limit}: {chance(one.recommended)}" for one in found.each)
    assert each.startswith("power <= 6 kW: ")
    asked = live.Question(rule="fastest", confidence=0.5)
    said = live.chances(live.search(problem, asked)).said
    assert f"it meets every limit ({each}); 50 % was asked for." in said


def test_a_newer_question_ends_the_drawing_of_the_one_before(study: Path) -> None:
    found = live.search(load(study), Question())
    asked = itertools.count()
    live.chances(found, lambda: next(asked) >= 0)
    pieces = next(asked)
    assert pieces > 3  # asked before each piece of the work, and not just once
    asked = itertools.count()
    with pytest.raises(Superseded):
        live.chances(found, lambda: next(asked) < pieces - 1)


async def posted(app: Any, body: object) -> tuple[int, Any]:
    """Status and content of a question that an application is asked in this process."""
    data, sent = json.dumps(body).encode(), list[dict[str, Any]]()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": data, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-length", str(len(data)).encode())]
    await app(
        {"type": "http", "method": "POST", "path": "/secret/answer", "headers": headers,
         "query_string": b"", "root_path": "", "scheme": "http", "http_version": "1.1"},
        receive, send,
    )  # fmt: skip
    return sent[0]["status"], json.loads(b"".join(one.get("body", b"") for one in sent))


def test_a_question_that_cannot_be_answered_ends_no_search(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go = threading.Event(), threading.Event()

    def slow(problem: Problem, asked: Question, wanted: Callable[[], bool]) -> live.Found:
        began.set()
        assert go.wait(60)
        return search(problem, asked, wanted)

    monkeypatch.setattr(live, "search", slow)
    app = serving.application(load(study), "secret", serving.Newest())

    async def both() -> tuple[int, list[int]]:
        good = asyncio.create_task(posted(app, {"rule": "fastest"}))
        await asyncio.to_thread(began.wait, 60)
        wrong = [{"rul": "knee"}, {"rule": "dearest"}, {"limits": ["capital <= 30"]}]
        refused = [(await posted(app, one))[0] for one in wrong]
        go.set()
        return (await good)[0], refused

    assert asyncio.run(both()) == (200, [400, 400, 400])


def test_the_newest_question_is_the_last_that_came(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The older one gets its thread later."""
    newer = asyncio.Event()
    in_thread = concurrency.run_in_threadpool
    started = itertools.count()

    async def late(call: Callable[..., Any], *args: Any) -> Any:
        if next(started) == 0:
            await newer.wait()
        return await in_thread(call, *args)

    monkeypatch.setattr(concurrency, "run_in_threadpool", late)
    app = serving.application(load(study), "secret", serving.Newest())

    async def both() -> tuple[int, int]:
        first = asyncio.create_task(posted(app, {"rule": "fastest"}))
        await asyncio.sleep(0)
        second = await posted(app, {"rule": "knee"})
        newer.set()
        return (await first)[0], second[0]

    assert asyncio.run(both()) == (409, 200)


@pytest.mark.parametrize(("aim", "said"), [("capital", "purchase"), ("hourly", "rental")])
def test_the_page_names_what_the_study_signs(study: Path, aim: str, said: str) -> None:
    text = study.read_text(encoding="utf-8").replace("minimize: capital", f"minimize: {aim}")
    other = study.with_name(f"{aim}.yaml")
    other.write_text(text, encoding="utf-8")
    assert f'data-best="Best {said}"' in render_live(load(other), "fastest")


@browser.needs_chromium
@pytest.mark.parametrize("width", beyond([390], [1280, 390]))
def test_the_page_in_a_browser(served: Served, width: int) -> None:
    lines: list[str] = []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser.chromium())
        page = chromium.new_page(viewport={"width": width, "height": 900})
        page.on("console", lambda line: lines.append(line.text))
        page.on("pageerror", lambda error: lines.append(str(error)))
        page.goto(served.address)
        page.locator("#front tbody tr").first.wait_for()
        page.locator("#chart .main-svg").first.wait_for()
        page.get_by_text("points near the front, each in 1,000 simulated outcomes").wait_for()
        first = page.locator("#answer").inner_text()
        rows = page.locator("#front tbody tr").count()
        assert rows == len(served.got("answer", {})[1]["rows"])
        assert browser.grave(browser.Seen(page)) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width

        page.locator("#limits").fill("fits_memory\ncapital <= 30 kUSD")
        page.locator("#front tbody tr").nth(rows - 1).wait_for(state="detached")
        page.locator("#limits").fill("capital <= 30")
        page.get_by_text("'capital <= 30': ").wait_for()
        page.get_by_label("Confidence in the limits").fill("200")
        page.locator("#limits").fill("fits_memory\ncapital <= 100 kUSD")
        page.get_by_text("the confidence must be a number between 0 and 100 %").wait_for()
        page.get_by_label("Confidence in the limits").fill("70")
        page.get_by_text("70 % was asked for").wait_for()
        assert page.locator("#front thead").inner_text().strip().split("\t")[-2:] == [
            "Meets every limit", "Best purchase"
        ]  # fmt: skip
        page.get_by_role("button", name="Reset").click()
        page.get_by_text(first, exact=True).wait_for()
        assert page.locator("#front tbody tr").count() == rows

        page.locator("summary", has_text="Accelerator").click()
        page.get_by_label("v100-sxm2-16gb", exact=True).uncheck()
        page.get_by_text("1 of 2").wait_for()
        page.locator("#front tbody th", has_text="V100").first.wait_for(state="detached")
        assert page.locator("#front tbody tr").count() > 0
        chromium.close()
    assert [line for line in lines if "400" not in line] == []


@contextmanager
def served_page(study: Path) -> Iterator[Page]:
    """The page of a study that is served, in a browser."""
    with start("serve", study, cwd=study.parent) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            found = ADDRESS.search(process.stdout.readline())
            assert found is not None
            with sync_playwright() as playwright:
                chromium = playwright.chromium.launch(executable_path=browser.chromium())
                page = chromium.new_page()
                page.goto(found[0])
                yield page
                chromium.close()
        finally:
            process.kill()


@pytest.mark.evidence
@browser.needs_chromium
def test_a_continuous_axis_in_a_browser(continuous: Path) -> None:
    with served_page(continuous) as page:
        page.get_by_text("and nothing between them is tried").wait_for()
        page.locator("#front tbody tr").first.wait_for()
        page.get_by_label("Values to try, separated by commas").fill("20 Gbps")
        page.locator("#front tbody th", has_text="20 Gbps").first.wait_for()
        page.get_by_label("Values to try, separated by commas").fill("20 Gbps, 500 Gbps")
        page.get_by_text("500 Gbps is not in the study's range").wait_for()


@pytest.mark.evidence
@browser.needs_chromium
def test_what_costs_nothing_is_in_the_chart(tmp_path: Path) -> None:
    owned = "owned: {accelerator: p100-sxm2-16gb, gpus: 4, gpus_per_node: 4, inter_node: 10gbe}\n"
    study = studies.written(tmp_path, studies.SMALL + owned)
    with served_page(study) as page:
        page.locator("#chart .main-svg").first.wait_for()
        page.locator("#front tbody tr").first.wait_for()
        rows = page.locator("#front tbody tr").count()
        assert page.locator("#front [data-value='0']").count() == 1
        points = page.locator("#chart .scatterlayer .point")
        points.nth(rows - 1).wait_for(state="attached")
        assert points.count() == rows
