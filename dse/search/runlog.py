"""The append-only log of a run: what is finished survives a kill, and a resumed run skips it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from dse.errors import DseError, OutputError
from dse.search.tally import Tally, from_record

FORMAT = "dse-runlog/1"


class RunLog:
    """One JSON line per finished unit of work, behind a header that says what is being searched.

    Every line is flushed to the disk before the next unit counts as done. A last line cut short by
    a kill is dropped on resume: that unit is done again.
    """

    def __init__(self, path: Path, header: Mapping[str, Any], resume: bool) -> None:
        self.path = path
        self.header = {"format": FORMAT, **header}
        self.done: dict[int, Tally] = {}
        kept = b""
        if resume and path.exists():
            kept = self._read(path.read_bytes())
        self._file = self._open(kept)

    def _read(self, content: bytes) -> bytes:
        """Fill ``done``; return the part of the log that is whole."""
        kept = b""
        for number, line in enumerate(content.splitlines(keepends=True)):
            try:
                record = json.loads(line) if line.endswith(b"\n") else None
                if number > 0 and record is not None:
                    self.done[int(record["unit"])] = from_record(record)
            except (ValueError, KeyError, TypeError, IndexError):
                record = None
            if record is None:  # cut short or damaged: it and what follows is done again
                break
            if number == 0:
                self._same_search(record)
            kept += line
        return kept

    def _same_search(self, found: Any) -> None:
        for key, value in self.header.items():
            was = found.get(key) if isinstance(found, dict) else None
            if was != value:
                raise DseError(
                    f"{self.path}: the run to resume had another {key} ({was}, now {value}); "
                    "run without --resume to start afresh"
                )

    def _open(self, kept: bytes) -> TextIO:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            temporary = self.path.with_suffix(".tmp")
            temporary.write_bytes(kept)
            os.replace(temporary, self.path)
            file = self.path.open("a", encoding="utf-8")
            if not kept:
                self._write(file, self.header)
        except OSError as cause:
            raise OutputError(f"{self.path}: cannot be written: {cause.strerror}") from cause
        return file

    def append(self, unit: int, tally: Tally) -> None:
        """Record a finished unit, on the disk when this returns."""
        self.done[unit] = tally
        try:
            self._write(self._file, {"unit": unit, **tally.record()})
        except OSError as cause:
            raise OutputError(f"{self.path}: cannot be written: {cause.strerror}") from cause

    @staticmethod
    def _write(file: TextIO, record: Mapping[str, Any]) -> None:
        file.write(json.dumps(record, separators=(",", ":")) + "\n")
        file.flush()
        os.fsync(file.fileno())

    def close(self) -> None:
        """Close the file; it stays for --resume."""
        self._file.close()

    def discard(self) -> None:
        """The run is complete and reported: nothing is left to resume."""
        self.close()
        self.path.unlink(missing_ok=True)
