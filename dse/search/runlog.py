"""The append-only log of a run: what is finished survives a kill, and a resumed run skips it.

One JSON object per line. Its first field is the CRC-32 of the rest of the line, so that a line that
was cut short or damaged is recognised. The first line says what is being searched.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from io import BufferedReader, FileIO
from itertools import count
from pathlib import Path
from typing import Any

from dse.errors import DseError, OutputError
from dse.search.fingerprint import Fingerprint, difference, processor
from dse.search.tally import Tally, from_record, total

FORMAT = "dse-runlog/4"
_SUM = '{{"crc32":"{:08x}",'  # then what it is the sum of, up to the end of the line
_SUM_BYTES = len(_SUM.format(0))
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class RunLog:
    """The finished units of work of one search; holds its folder against a second run.

    A unit counts as done once its line is on the disk. What a kill or a full disk left of a last
    line is dropped on resume, and a damaged line in the midst is passed over: their units are done
    again. The file is locked while it is open; the lock goes with the process, however that ends.
    A log that is not resumed, although units are in it, is kept under another name.

    done, before: the units that were finished before, and their tally. repeated: how often they
    had to be done again because a worker was lost. blocks: of a guided search, the numbers of the
    points that were priced. damaged: lines that are passed over. kept: where the log is that was
    found and not resumed. elsewhere: another kind of processor on which some of it was done, empty
    if none.
    """

    def __init__(self, path: Path, search: Fingerprint, resume: bool) -> None:
        self.path = path
        self._made = [folder for folder in path.parents if not folder.exists()]
        self._header = {"format": FORMAT, **search}
        self._forget()
        self.kept: Path | None = None
        self._file = self._locked()
        try:
            whole = self._read(resume)
            if not whole and self._loses_something():
                self._put_aside()
            self._begin(whole)
        except BaseException:
            self._file.close()
            raise

    def _forget(self) -> None:
        self.done: set[int] = set()
        self.before: Tally = total([])
        self.blocks: list[dict[str, Any]] = []
        self.repeated = self.damaged = 0
        self.elsewhere = ""

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
                raise OutputError(
                    f"{self.path.parent}: another run{who} is writing here; "
                    "wait for it or use --out"
                ) from None
            except OSError:  # a file system without locks
                return file
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), self.path.stat()):
                    return file
            file.close()  # the run that had it has just discarded it

    def _read(self, resume: bool) -> int:
        """How many bytes of the log to go on from; fills in what they say. 0: start afresh.

        Raise if there is something to resume, and it is of another search or cannot be told.
        """
        whole = 0
        found: dict[str, Any] | None = None
        reader = _from_start(self._file)
        for line in reader:
            if not line.endswith(b"\n"):  # cut short
                break
            record = _checked(line)
            if whole == 0:
                found = record
                self._known(record or {})
            elif record is None or not self._count(record):
                self.damaged += 1
            whole += len(line)
        reader.detach()
        if not resume or not self._loses_something():
            return 0
        if found is None:
            self._refuse("what its run searched cannot be read")
        elif differs := difference(found, self._header):
            self._refuse(f"its run was another: {differs}")
        return whole

    def _refuse(self, why: str) -> None:
        raise OutputError(
            f"{self.path}: cannot be resumed, {why}; without --resume the run starts afresh and "
            "this log is kept under another name"
        )

    def _count(self, record: Mapping[str, Any]) -> bool:
        """Take in a line after the first; False if it makes no sense."""
        if "process" in record:
            self._known(record)
            return True
        try:
            unit, tally = int(record["unit"]), from_record(record)
            again = int(record["attempts"]) - 1
        except (ValueError, KeyError, TypeError, IndexError):
            return False
        if unit not in self.done:
            self.done.add(unit)
            self.before = total([self.before, tally])
            self.repeated += again
            if "block" in record:
                self.blocks.append(record["block"])
        return True

    def _known(self, record: Mapping[str, Any]) -> None:
        """Note on what kind of processor a process priced, if on another than this."""
        done = record.get("processor", processor())
        self.elsewhere = self.elsewhere if done == processor() else str(done)

    def _loses_something(self) -> bool:
        """Whether starting afresh would drop a finished unit, or what might be one."""
        return bool(self.done or self.damaged)

    def _put_aside(self) -> None:
        """Keep the log that is there as NAME.1, or the first number that is free."""
        numbered = (self.path.with_name(f"{self.path.name}.{number}") for number in count(1))
        self.kept = next(path for path in numbered if not os.path.lexists(path))
        try:
            self.path.rename(self.kept)
        except OSError as cause:
            raise self._unwritable(cause) from cause
        self._file.close()
        self._file = self._locked()

    def _begin(self, whole: int) -> None:
        """Keep that much of the log, and sign it."""
        if not whole:
            self._forget()
        try:
            self._file.truncate(whole)
            self._write({**({} if whole else self._header), **_process()})
            for folder in (self.path.parent, *(made.parent for made in self._made)):
                sync_folder(folder)
        except OSError as cause:
            if not whole:  # nothing to resume
                with suppress(OSError):
                    self.path.unlink(missing_ok=True)
            raise self._unwritable(cause) from cause

    def append(
        self,
        unit: int,
        tally: Tally,
        attempts: int = 1,
        block: Mapping[str, Any] | None = None,
    ) -> None:
        """Record a finished unit, on the disk when this returns; ``block``: its points."""
        points = {} if block is None else {"block": block}
        try:
            self._write({"unit": unit, "attempts": attempts, **tally.record(), **points})
        except OSError as cause:
            raise self._unwritable(cause) from cause

    def _write(self, record: Mapping[str, Any]) -> None:
        rest = json.dumps(record, separators=(",", ":")).encode()[1:]
        line = _SUM.format(zlib.crc32(rest)).encode() + rest + b"\n"
        while line:  # a disk may take a part, and only then say why not all
            line = line[self._file.write(line) :]
        os.fsync(self._file.fileno())

    def _unwritable(self, cause: OSError) -> OutputError:
        space = "free some space and continue with --resume, or " * (cause.errno in _NO_SPACE)
        return OutputError(
            f"{self.path}: cannot be written: {cause.strerror}; {space}choose another --out"
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
        if self._made:
            with suppress(OSError):
                self.path.parent.rmdir()


def _process() -> dict[str, Any]:
    return {"process": os.getpid(), "processor": processor()}


def _checked(line: bytes) -> dict[str, Any] | None:
    """The record of a line; None if it is not as it was written."""
    if line[:_SUM_BYTES] != _SUM.format(zlib.crc32(line[_SUM_BYTES:-1])).encode():
        return None
    with suppress(ValueError):
        record = json.loads(line)
        if isinstance(record, dict):
            return record
    return None


def _from_start(file: FileIO) -> BufferedReader:
    """Reads a file's lines; detach it, or the file closes with it."""
    file.seek(0)
    return BufferedReader(file)


def _writer(file: FileIO) -> str:
    """Which process signed a log last, as " (process 1234)"; "" if that cannot be told."""
    found = ""
    reader = _from_start(file)
    for line in reader:
        if b'"process":' in line and (record := _checked(line)):
            found = f" (process {record.get('process')})"
    reader.detach()
    return found


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last through a power cut."""
    place = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)
