"""A page in the reader's browser, where there is one."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

Open = Annotated[bool, typer.Option("--open", help="Open the report in a browser.")]
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


def open_page(page: Path) -> None:
    """Open a page; a line on stderr says so where no browser can."""
    there = sys.platform != "linux" or any(map(os.environ.get, _DISPLAYS))
    try:
        # Without a display a browser for terminals might take this one over.
        opened = there and webbrowser.open(page.resolve().as_uri())
    except webbrowser.Error:
        opened = False
    if not opened:
        print(f"no browser to open it with; the page is {page}", file=sys.stderr)
