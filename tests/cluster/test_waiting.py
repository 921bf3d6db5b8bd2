"""What a run says while no node of a Ray cluster takes up its work."""

from __future__ import annotations

from dse.search.executors.ray_lots import Waiting


def test_what_is_waited_for_is_told_once() -> None:
    waiting = Waiting(100.0)
    assert waiting.told(0, 104.0) == ""
    assert "no CPU" in waiting.told(0, 105.5)
    assert waiting.told(0, 200.0) == ""
    assert "none of the 8 CPUs" in waiting.told(8, 201.0)
    assert waiting.told(8, 300.0) == ""
    busy = Waiting(0.0)
    assert busy.told(8, 59.0) == ""
    busy.over()
    assert (busy.told(8, 500.0), busy.told(0, 500.0)) == ("", "")
