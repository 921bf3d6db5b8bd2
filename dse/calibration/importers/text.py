"""The lines of a log without the marks that launchers, terminals and mail programs add."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from dse.errors import StudyError

MAX_LOG_BYTES = 200_000_000
SHOWN_CHARACTERS = 160
_GZIP = b"\x1f\x8b"

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# mpirun --tag-output writes its tag before every piece it flushes, so also in the middle of a row
_TAG = re.compile(r"\[\d+,\d+\]<std\w+>:?")
# srun -l, mpirun -prepend-rank, kubectl logs --timestamps, quoted mail
_LEAD = re.compile(
    r"(?:\s*(?:>|\d{1,6}:(?=\s|$)|\[\d{1,6}\](?:<std\w+>:?|(?=[\s#]))"
    r"|\d{4}-\d\d-\d\dT[\d:.+-]{8,}Z?(?=\s)))+"
)
# What nccl-tests, OSU and IMB print above their rows; what stands before it is a mark of others.
_HEADING = re.compile(
    r"#\s{0,20}(?:nThread\s+\d|size\s+count\s+type|OSU\s\S+\s|Size\s{2,20}\S|Benchmarking\s+\w+\s*$)"
)
_LONGEST_MARK, _MOST_MARKS = 200, 20  # characters; kinds of marks in one log
_ROW_LATER = re.compile(
    r"\s*[^\s\d#].{0,200}?[\s:|>\])](?:\d{1,18}\s+){1,2}(?:[a-z]\w{2,9}\s.{0,40}?)?\d{1,15}\.\d\d(?:\s|$)"
)
_INTEGER = re.compile(r"\d{1,18}")
_DECIMAL = re.compile(r"\d{1,15}\.\d\d")
_FAILURES = (
    re.compile(
        r"alloc failed|start failed|Test (?:NCCL|CUDA) failure|srun: error|MPI_ABORT|CANCELLED"
        r"|Segmentation fault|out of memory|\bKilled\b|unhandled \w+ error",
        re.IGNORECASE,
    ),
    re.compile(r"\b(?:error|failed|failure|fatal|abort(?:ed|ing)?|timed out)\b", re.IGNORECASE),
)


class Line(NamedTuple):
    """number: in the file, from 1."""

    number: int
    text: str


def read_text(path: str | Path) -> str:
    """The text of a log, unpacked where it is gzipped; invalid bytes become replacement characters.

    Raises StudyError for a folder, and for a file that cannot be read, is empty or is too large.
    """
    file = Path(path)
    try:
        if os.path.isdir(file):
            raise StudyError(str(path), 0, 0, "is a folder", "give the logs in it")
        if file.stat().st_size > MAX_LOG_BYTES:
            limit = f"{MAX_LOG_BYTES // 10**6} MB"
            raise StudyError(str(path), 0, 0, f"is larger than {limit}", "split it")
        content = file.read_bytes()
        if content.startswith(_GZIP):
            with gzip.open(file) as packed:
                content = packed.read(MAX_LOG_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as cause:
        problem = f"the gzipped file is damaged ({cause})"
        raise StudyError(str(path), 0, 0, problem, "copy it again") from None
    except (OSError, ValueError) as cause:
        reason = getattr(cause, "strerror", None) or str(cause)
        raise StudyError(str(path), 0, 0, f"cannot be read: {reason}", "give a log") from None
    if len(content) > MAX_LOG_BYTES:
        problem = f"unpacks to more than {MAX_LOG_BYTES // 10**6} MB"
        raise StudyError(str(path), 0, 0, problem, "profile fewer steps")
    text = content.decode("utf-8-sig", errors="replace")
    if not text.strip():
        raise StudyError(str(path), 0, 0, "is empty", "give the output of a benchmark")
    return text


def clean_lines(text: str) -> list[Line]:
    """The lines without colours, ranks' tags, time stamps and marks of quotation.

    A mark before a heading of a benchmark is taken off every line that begins with it, whatever
    wrote it; its numbers may differ, as those of ranks and times do.
    """
    found: list[Line] = []
    marks: Counter[str] = Counter()
    for number, line in enumerate(text.splitlines(), 1):
        plain = _TAG.sub(" ", _COLOUR.sub("", line))
        lead = _LEAD.match(plain)
        found.append(Line(number, plain[lead.end() :] if lead else plain))
        if heading := _HEADING.search(found[-1].text[: 2 * _LONGEST_MARK]):
            marks[_mark(found[-1].text[: heading.start()][:_LONGEST_MARK])] += 1
    kinds = [kind for kind, _ in marks.most_common(_MOST_MARKS) if kind]
    mark = re.compile(rf"(?:{'|'.join(sorted(kinds, key=len, reverse=True))})?")
    return [Line(number, mark.sub("", text, count=1)) for number, text in found]


def _mark(before: str) -> str:
    """A pattern of what stands before a heading: other numbers and blanks, all else alike."""
    pieces = re.findall(r"\d+|\s+|[^\d\s]+", before.strip())
    kinds = ((r"\d+" if one[0].isdigit() else r"\s+" if one.isspace() else re.escape(one))
             for one in pieces)  # fmt: skip
    return rf"\s*{''.join(kinds)}\s*" if before else ""


def begun_otherwise(lines: list[Line]) -> str:
    """The first line with a row of a benchmark after something else, or ''."""
    found = (line.text for line in lines if _ROW_LATER.match(line.text[: 2 * _LONGEST_MARK]))
    return printable(next(found, ""))


def failure_in(lines: list[Line], sure: bool = False) -> str:
    """What a log says about its failure: its first line that speaks of one, or ''.

    sure: only what nothing but a run says, so that it is a log at all.
    """
    for pattern in _FAILURES[:1] if sure else _FAILURES:
        for line in lines:
            if pattern.search(line.text):
                return printable(line.text)
    return ""


def printable(text: str) -> str:
    """Text from a log as one line that can be shown and stored."""
    kept = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(kept.split())[:SHOWN_CHARACTERS]


def integer(token: str) -> int | None:
    """A count as benchmarks print it."""
    return int(token) if _INTEGER.fullmatch(token) else None


def decimal(token: str) -> float | None:
    """A number with exactly two decimals, as OSU and IMB print; one that was cut off is None."""
    return float(token) if _DECIMAL.fullmatch(token) else None
