"""``dse serve``: real requests to a server of its own, and its page in a browser."""

from __future__ import annotations

import json
import re
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from dse.report import json_form
from tests.commands.command import dse, start
from tests.pricing import studies
from tests.report import browser
from tests.report.searched import searched

pytestmark = pytest.mark.slow

ADDRESS = re.compile(r"small: (http://127\.0\.0\.1:\d+/[\w-]+/) \(Ctrl-C ends it\)\n")
FOUND = ("counts", "rejected", "front", "recommended", "certainty", "bills", "repricing")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a study that is served."""
    study = studies.written(tmp_path_factory.mktemp("served"), studies.SMALL)
    with start("serve", study, cwd=study.parent) as process:
        try:
            assert process.stdout is not None
            found = ADDRESS.fullmatch(process.stdout.readline())
            assert found is not None
            yield found[1]
            process.send_signal(signal.SIGINT)
            said, errors = process.communicate(timeout=60)
            assert (process.returncode, said, errors) == (0, "ended\n", "")
        finally:
            process.kill()


def got(address: str, text: str | None = None) -> tuple[int, Any]:
    """Status and content of a request; JSON read."""
    data = None if text is None else text.encode()
    try:
        with urllib.request.urlopen(address, data, timeout=60) as response:
            status, content = response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            status, content = error.code, error.read().decode()
    return status, json.loads(content) if content.startswith("{") else content


def test_the_answer_to_a_changed_study_is_that_of_a_run(served: str, tmp_path: Path) -> None:
    text = studies.SMALL.replace("capital <= 350 kUSD", "capital <= 90 kUSD")
    text += "prices: {host: 4321 USD}\nrecommend: fastest\n"
    status, found = got(f"{served}answer", text)
    assert status == 200
    wanted = json_form.plain(searched(tmp_path, text).document)
    for key in FOUND:
        assert found["run"][key] == wanted[key], key
    assert found["answer"]


def test_what_is_wrong_in_a_study_gets_its_place(served: str) -> None:
    text = studies.SMALL.replace("gpus: [1,", "gpus: [0,")
    line = text[: text.index("gpus: [0")].count("\n") + 1
    status, found = got(f"{served}answer", text)
    assert status == 400
    assert re.search(rf"study\.yaml:{line}:\d+: .*gpus", found["error"])
    status, found = got(f"{served}answer", studies.IMPOSSIBLE)
    assert status == 400
    assert "capital <= 1 USD" in found["error"]


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"study": "\\ud800"}', "study: " + "9" * 5_000, '{"a": ' * 2_000, "\x00"],
)
def test_what_is_no_study_at_all_is_one_line(served: str, text: str) -> None:
    status, found = got(f"{served}answer", text)
    assert status == 400
    assert found["error"].startswith("study.yaml:") or "/study.yaml:" in found["error"]


def test_a_client_that_leaves_ends_nothing(served: str) -> None:
    host, _, rest = served.removeprefix("http://").partition("/")
    with socket.create_connection(tuple(host.split(":"))) as client:
        client.sendall(f"POST /{rest}answer HTTP/1.1\r\nContent-Length: 9\r\n\r\nab".encode())
    assert got(served)[0] == 200


def test_who_has_no_token_gets_nothing(served: str) -> None:
    root = served.removesuffix("/").rpartition("/")[0]
    for path, text in (("/", None), ("/wrong/", None), ("/wrong/answer", studies.SMALL)):
        assert got(root + path, text)[0] == 404
    assert got(f"{served}answer")[0] == 405


def test_a_port_in_use_is_one_line(tmp_path: Path) -> None:
    study = studies.written(tmp_path, studies.SMALL)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        found = dse("serve", study, "--port", port, cwd=tmp_path)
    assert found.returncode == 2
    assert found.stderr == (
        f"dse: --port: {port} cannot be used on 127.0.0.1: Address already in use; name another, "
        "or 0 for any that is free\n"
    )
    found = dse("serve", study, "--port", "99999", cwd=tmp_path)
    assert found.returncode == 2
    assert "--port: 99999 is no port" in found.stderr


@browser.needs_chromium
def test_the_page_in_a_browser(served: str) -> None:
    lines: list[str] = []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser.chromium())
        page = chromium.new_page(viewport={"width": 390, "height": 900})
        page.on("console", lambda line: lines.append(line.text))
        page.on("pageerror", lambda error: lines.append(str(error)))
        page.goto(served)
        answer, study = page.locator("#answer"), page.locator("#study")
        page.get_by_role("button", name="Search", disabled=False).wait_for()
        before = answer.inner_text()
        assert "NVIDIA" in before
        assert browser.grave(browser.Seen(page)) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390

        study.fill(studies.IMPOSSIBLE)
        page.get_by_role("button", name="Search").click()
        answer.get_by_text("capital <= 1 USD").wait_for()
        page.get_by_role("button", name="Reset").click()
        page.get_by_role("button", name="Search").click()
        answer.get_by_text("NVIDIA").first.wait_for()
        assert answer.inner_text() == before
        chromium.close()
    assert [line for line in lines if "400" not in line] == []
