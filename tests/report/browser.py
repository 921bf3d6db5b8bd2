"""Headless Chromium for the tests: what a page's script finds, and what its console said."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run", "--hide-scrollbars",
    "--enable-logging=stderr", "--virtual-time-budget=8000",
)  # fmt: skip


def chromium() -> str | None:
    """Path of a Chromium, None where there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def run(html: str, script: str, folder: Path, width: int = 1200) -> tuple[Any, list[str]]:
    """(what ``script`` returns in the loaded page, lines of the console).

    The page stands in a frame of ``width``, since a headless window cannot be narrow.
    """
    found = chromium()
    assert found is not None
    probe = f"""<script>addEventListener("load", () => {{
      const answer = (() => {{ {script} }})();
      parent.postMessage(JSON.stringify(answer), "*");
    }});</script></body>"""
    (folder / "page.html").write_text(html.replace("</body>", probe), encoding="utf-8")
    (folder / "frame.html").write_text(
        f'<!doctype html><iframe src="page.html" style="width:{width}px;height:900px;border:0">'
        '</iframe><pre id="answer"></pre><script>addEventListener("message", (event) => {'
        'document.getElementById("answer").textContent = event.data; });</script>',
        encoding="utf-8",
    )
    done = subprocess.run(
        [found, *FLAGS, f"--user-data-dir={folder / 'profile'}", "--dump-dom",
         f"--window-size={max(width, 600) + 40},1000", (folder / "frame.html").as_uri()],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    answer = re.search(r'<pre id="answer">(.*?)</pre>', done.stdout, re.DOTALL)
    assert answer, f"the page did not answer: {done.stderr[-2000:]}"
    return json.loads(unescape(answer[1])), re.findall(r".*:CONSOLE.*", done.stderr)
