"""The append-only log of a run: what is finished survives a kill, and a resumed run skips it."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any

from dse.errors import DseError, OutputError
from dse.search.tally import Tally, from_record, total

FORMAT = "dse-runlog/2"


class RunLog:
    """One JSON line per finished unit of work, behind a header that says what is being searched.

    Every line is flushed to the disk before the next unit counts as done. A last line cut short by
    a kill is dropped on resume: that unit is done again. The file is locked while it is open, so
    one folder has one run; the lock goes with the process, however that ends.

    resumed: whether there was a log to go on with. done, before: the units that were finished
    then, and their tally.
    """

    def __init__(self, path: Path, header: Mapping[str, Any], resume: bool) -> None:
        self.path = path
        self._made_folder = not path.parent.exists()
        self.header = {"format": FORMAT, **header}
        self.done: set[int] = set()
        self.before: Tally = total([])
        self._file = self._locked()
        try:
            whole = self._read() if resume else 0
            self.resumed = whole > 0
            self._begin(whole)
        except BaseException:
            self._file.close()
            raise

    def _locked(self) -> FileIO:
        """The log, opened to go on; raise if another run has it."""
        while True:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                file = self.path.open("a+b", buffering=0)
            except OSError as cause:
                raise self._unwritable(cause) from cause
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                with file:
                    who = _writer(file)
                raise DseError(
                    f"{self.path.parent}: another run{who} is writing here; "
                    "wait for it or use --out"
                ) from None
            except OSError:  # a file system without locks
                return file
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), self.path.stat()):
                    return file
            file.close()  # the run that had it has just discarded it

    def _read(self) -> int:
        """Fill ``done`` and ``before``; return how many bytes of the log are whole."""
        whole = 0
        reader = _from_start(self._file)
        for number, line in enumerate(reader):
            try:
                record = json.loads(line) if line.endswith(b"\n") else None
                if number > 0 and record is not None and "process" not in record:
                    self._count(int(record["unit"]), from_record(record))
            except (ValueError, KeyError, TypeError, IndexError):
                record = None
            if record is None:  # cut short or damaged: it and what follows is done again
                break
            if number == 0:
                self._same_search(record)
            whole += len(line)
        reader.detach()
        return whole

    def _count(self, unit: int, tally: Tally) -> None:
        if unit not in self.done:
            self.done.add(unit)
            self.before = total([self.before, tally])

    def _same_search(self, found: Any) -> None:
        for key, value in self.header.items():
            was = found.get(key) if isinstance(found, dict) else None
            if was != value:
                raise DseError(
                    f"{self.path}: the run to resume had another {key} ({was}, now {value}); "
                    "run without --resume to start afresh"
                )

    def _begin(self, whole: int) -> None:
        """Keep that much of the log, and sign it."""
        try:
            self._file.truncate(whole)
            self._write({**({} if whole else self.header), "process": os.getpid()})
        except OSError as cause:
            if not whole:  # nothing to resume
                with suppress(OSError):
                    self.path.unlink(missing_ok=True)
            raise self._unwritable(cause) from cause

    def append(self, unit: int, tally: Tally) -> None:
        """Record a finished unit, on the disk when this returns."""
        try:
            self._write({"unit": unit, **tally.record()})
        except OSError as cause:
            raise self._unwritable(cause) from cause

    def _write(self, record: Mapping[str, Any]) -> None:
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        while line:  # a disk may take a part, and only then say why not all
            line = line[self._file.write(line) :]
        os.fsync(self._file.fileno())

    def _unwritable(self, cause: OSError) -> OutputError:
        return OutputError(
            f"{self.path}: cannot be written: {cause.strerror}; free some space and go on with "
            "--resume, or choose another --out"
        )

    def close(self) -> None:
        """Close the file, which unlocks it; it stays for --resume."""
        self._file.close()

    def discard(self) -> None:
        """Nothing is left to resume; a folder that was made for the log goes with it if empty."""
        with suppress(DseError):  # closed before, and another run has begun here since
            if self._file.closed:
                self._file = self._locked()
            self.path.unlink(missing_ok=True)
        self.close()
        if self._made_folder:
            with suppress(OSError):
                self.path.parent.rmdir()


def _from_start(file: FileIO) -> BufferedReader:
    """Reads a file's lines; detach it, or the file closes with it."""
    file.seek(0)
    return BufferedReader(file)


def _writer(file: FileIO) -> str:
    """Which process signed a log last, as " (process 1234)"; "" if that cannot be told."""
    found = ""
    reader = _from_start(file)
    for line in reader:
        if b'"process":' in line:
            with suppress(ValueError, KeyError, TypeError):
                found = f" (process {int(json.loads(line)['process'])})"
    reader.detach()
    return found
