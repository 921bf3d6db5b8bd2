"""The lines of a log without the marks that launchers, terminals and mail programs add."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from dse.calibration.importers.names import TYPES
from dse.errors import StudyError

MAX_LOG_BYTES = 200_000_000
SHOWN_CHARACTERS = 160
_GZIP = b"\x1f\x8b"

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# mpirun --tag-output writes its tag before every piece it flushes, so also in the middle of a row
_TAG = re.compile(r"\[\d+,\d+\]<std\w+>:?")
# What nccl-tests, OSU, IMB and gloo print above each of their tables, and above its columns.
_TITLE = re.compile(r"#\s{0,20}(?:nThread\s+\d|OSU\s\S+\s|Benchmarking\s+\w+\s*$)")
_HEADING = re.compile(
    rf"{_TITLE.pattern}|#\s{{0,20}}(?:size\s+count\s+type|Size\s{{2,20}}\S)|#bytes\s+#repetitions"
    r"|(?:size \(B\)\s{1,20})?elements\s+min \(us\)"
)
_LONGEST_MARK = 200  # characters
_LIKE_A_ROW = re.compile(r"\s*\d+(?:\s*$|\s+\d)")  # a mark that could be the start of one
# A size, then a count and a type, or numbers alone up to the end.
_ROW = (
    rf"\d{{1,18}}\s+(?:\d{{1,18}}\s+(?:{'|'.join(TYPES)})\s"
    r"|(?:\d{1,18}\s+)?\d{1,15}\.\d\d(?:\s+[\d.]{1,20})*(?:\s+(?i:pass|fail))?\s*$)"
)
_VALUE = re.compile(r"\d\s+\d{1,15}\.\d\d")  # no mark has it
_ROW_FIRST = re.compile(rf"\s*{_ROW}")
_ROW_LATER = re.compile(rf"\s*[^\s#].{{0,200}}?[\s:|>\])]{_ROW}")
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
    kind = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    text = content.decode(kind, errors="replace")
    if not text.strip():
        raise StudyError(str(path), 0, 0, "is empty", "give the output of a benchmark")
    return text


def clean_lines(text: str) -> list[Line]:
    """The lines without colours, ranks' tags, time stamps and marks of quotation.

    Marks before the headings of a table are taken off all lines of that table that begin with one,
    whatever wrote them. A heading begins a line, also where it follows a row without a new line.
    """
    tables: list[tuple[list[Line], list[str]]] = [([], [])]  # lines; what stands before headings
    columns_named = False
    for number, line in enumerate(text.splitlines(), 1):
        plain = _TAG.sub(" ", _COLOUR.sub("", line))
        if heading := _HEADING.search(plain[: 2 * _LONGEST_MARK]):
            before, plain = plain[: heading.start()], plain[heading.start() :]
            marks = tables[-1][1]
            if marks and _VALUE.search(before) and _pattern(before) not in map(_pattern, marks):
                tables[-1][0].append(Line(number, before))
                before = ""
            title = bool(_TITLE.match(heading[0]))
            if marks and (title or columns_named):
                tables.append(([], []))
            columns_named = not title
            tables[-1][1].append(before if "#" not in before else "")
        tables[-1][0].append(Line(number, plain))
    return [line for lines, marks in tables for line in _unmarked(lines, marks)]


def _unmarked(lines: list[Line], marks: list[str]) -> list[Line]:
    """The lines of one table without its marks. marks: what stands before each of its headings.

    What could be numbers of a row is a mark only where all headings and remarks begin with it.
    """
    kinds = {_pattern(mark) for mark in marks if mark.strip() and not _LIKE_A_ROW.match(mark)}
    headings = sum(bool(_HEADING.match(line.text)) for line in lines)
    remarks = sum(line.text.lstrip().startswith("#") for line in lines)
    if not kinds and remarks == headings and len({_pattern(mark) for mark in marks}) == 1:
        kinds = {_pattern(marks[0])}
    blanks = max((len(mark) - len(mark.rstrip()) for mark in marks), default=0)
    kind = "|".join(sorted(kinds, key=len, reverse=True))
    found = re.compile(rf"(?:{kind})?\s{{0,{blanks}}}")
    return [Line(number, found.sub("", text, count=1)) for number, text in lines]


def _pattern(mark: str) -> str:
    """A pattern of marks of one kind: other numbers, words and blanks, all else alike."""
    pieces = re.findall(r"\d+|\s+|[^\W\d_]+|.", mark[:_LONGEST_MARK].strip())
    kinds = (r"\d+" if one[0].isdigit() else r"\s+" if one.isspace() else
             r"[^\W\d_]+" if one[0].isalpha() else re.escape(one) for one in pieces)  # fmt: skip
    return rf"\s*{''.join(kinds)}"


def rows_later(lines: Sequence[Line]) -> list[Line]:
    """The lines with a row of a benchmark after something else."""
    starts = [(line, line.text[: 2 * _LONGEST_MARK]) for line in lines]
    return [line for line, text in starts if _ROW_LATER.match(text) and not _ROW_FIRST.match(text)]


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
