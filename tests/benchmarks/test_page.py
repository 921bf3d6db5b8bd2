"""Parts of pages that commands write."""

from __future__ import annotations

from pathlib import Path

from benchmarks.page import put


def test_what_is_between_the_markers_of_that_name_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "a\n<!-- one: begin -->\nold\n<!-- one: end -->\nb\n"
        "<!-- two: begin -->\nkept\n<!-- two: end -->\n"
    )
    assert put(page, "one", "new")
    assert put(page, "one", "newer")
    assert page.read_text() == (
        "a\n<!-- one: begin -->\nnewer\n<!-- one: end -->\nb\n"
        "<!-- two: begin -->\nkept\n<!-- two: end -->\n"
    )
