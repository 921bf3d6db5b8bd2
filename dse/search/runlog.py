"""The append-only log of a run: what is finished survives a kill, and a resumed run skips it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any

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
        self._made_folder = not path.parent.exists()
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

    def _open(self, kept: bytes) -> FileIO:
        content = kept or _line(self.header)
        temporary = self.path.with_suffix(".tmp")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(content)
            os.replace(temporary, self.path)
            return self.path.open("ab", buffering=0)
        except OSError as cause:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise self._unwritable(cause) from cause

    def append(self, unit: int, tally: Tally) -> None:
        """Record a finished unit, on the disk when this returns."""
        self.done[unit] = tally
        line = _line({"unit": unit, **tally.record()})
        try:
            while line:  # a disk may take a part, and only then say why not all
                line = line[self._file.write(line) :]
            os.fsync(self._file.fileno())
        except OSError as cause:
            raise self._unwritable(cause) from cause

    def _unwritable(self, cause: OSError) -> OutputError:
        return OutputError(
            f"{self.path}: cannot be written: {cause.strerror}; free some space and go on with "
            "--resume, or choose another --out"
        )

    def close(self) -> None:
        """Close the file; it stays for --resume."""
        self._file.close()

    def discard(self) -> None:
        """Nothing is left to resume; a folder that was made for the log goes with it if empty."""
        self.close()
        self.path.unlink(missing_ok=True)
        if self._made_folder:
            with suppress(OSError):
                self.path.parent.rmdir()


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"
