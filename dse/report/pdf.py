"""A report as PDF, printed by a Chromium without a window."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from dse.calibration.files import beside
from dse.errors import OutputError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
DEADLINE_S = 180.0
# Milliseconds that the page may take, by its own clock, until its charts are drawn.
_DRAWN_MS = 20_000


def found_browser() -> str:
    """Path of the Chromium that prints. Raises :class:`OutputError` where there is none."""
    browser = next((found for name in NAMES if (found := shutil.which(name))), None)
    if browser is None:
        raise OutputError(
            "--pdf: Chromium or Chrome prints the PDF, and neither is on PATH; install one "
            "(Debian: apt-get install chromium), or print the page from your browser"
        )
    return browser


def print_page(page: Path, target: Path) -> Path:
    """Print a page of ours to ``target``; it is there whole, or not at all.

    Raises :class:`OutputError` where no Chromium is found, or it prints nothing.
    """
    browser = found_browser()
    with beside(target) as printed, tempfile.TemporaryDirectory(prefix="dse-chromium-") as profile:
        _print(browser, page, printed, profile)
    return target


def _print(browser: str, page: Path, printed: Path, profile: str) -> None:
    command = [
        browser, "--headless", "--disable-gpu", "--no-first-run", "--disable-extensions",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={profile}", "--no-pdf-header-footer",
        f"--virtual-time-budget={_DRAWN_MS}", f"--print-to-pdf={printed}",
        page.resolve().as_uri(),
    ]  # fmt: skip
    if os.geteuid() == 0:  # Chromium's sandbox refuses root
        command.insert(1, "--no-sandbox")
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=DEADLINE_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise OutputError(f"{page}: {browser} did not print it in {DEADLINE_S:g} s") from None
    if done.returncode or not printed.is_file():
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise OutputError(f"{page}: {browser} did not print it: {last}")
