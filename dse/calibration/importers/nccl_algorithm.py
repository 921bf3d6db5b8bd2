"""NCCL_ALGO: the algorithm that a run of a benchmark over NCCL was kept to, as its log shows.

A command, a script's export or what NCCL_DEBUG=INFO prints tells. The value since NCCL 2.24: names
that are separated by commas, ^ before what is excluded, and such lists of one collective each, as
``allreduce:tree;broadcast:ring``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dse.calibration.importers.records import AUTO
from dse.calibration.importers.text import Line

_VALUE = r"[\w^:]{1,40}(?:(?:,|;(?=\w{1,20}:))[\w^:]{1,40}(?![\w^:]{0,40}=))*"
_TOLD = re.compile(
    rf"\bNCCL_ALGO set by environment to (?P<debug>{_VALUE})"
    rf"|(?:\bNCCL_ALGO=|env\s+NCCL_ALGO\s+)(?:['\"]([^'\"]{{0,200}})|({_VALUE}|(?!\$)))"
    r"|(?:\bunset(?:env)?\b[\w\s=-]{0,80}?|\s-u\s?|\bexport\s+-n\s+)\bNCCL_ALGO\b(?!=)"
)
# What else of NCCL a run may be kept to, in a dump of its environment or a comment, too.
_KEPT = re.compile(
    r"\bNCCL_(ALGO|PROTO|P2P_DISABLE|IB_DISABLE|SHM_DISABLE)\b"
    r"(?:['\"\]]{0,2}\s?[:=]\s?| set by environment to )['\"]?([a-zA-Z^1][\w^,]*)"
)
_COMMAND = re.compile(r"\b[a-z_]{3,20}_perf(?:\s+-|\s*$)|\bosu_\w+")
_COMMENT = re.compile(r"(^|(?:_perf|\bosu_|NCCL_ALGO\b).{0,1000}?\s)#.*")
_EXPORT = re.compile(r"\bexport\s|\bsetenv\s")


@dataclass
class Started:
    """How the runs that follow a line were started.

    algorithms: the value of NCCL_ALGO, '' without one: a command's own, else the exported one.
    command: the last that was seen. goes_on: whether it goes on in the next line.
    """

    exported: str = ""
    algorithms: str = ""
    command: str = ""
    goes_on: bool = False

    def read(self, text: str) -> None:
        """Take in the next line of a log; comments tell nothing."""
        text = _COMMENT.sub(r"\1", text) if "#" in text else text
        started, goes_on = _COMMAND.search(text), text.rstrip().endswith("\\")
        self.command = started[0] if started else self.command
        told = [*_TOLD.finditer(text)] if "NCCL_ALGO" in text else []
        if told:
            self.algorithms = next(filter(None, told[-1].groups()), "")
            own = started or goes_on or self.goes_on or told[-1]["debug"]
            if not own or _EXPORT.search(text):
                self.exported = self.algorithms
        elif (started or goes_on) and not self.goes_on:
            self.algorithms = self.exported
        self.goes_on = goes_on

    def algorithm(self, collective: str) -> str:
        """The only algorithm left for a collective, in lower case; auto where NCCL chooses."""
        lists = dict(part.rpartition(":")[::2] for part in self.algorithms.lower().split(";"))
        kept = lists.get(collective.replace("_", ""), lists.get("", "")).strip()
        return kept if re.fullmatch(r"\w+", kept) else AUTO


def kept_to(lines: Sequence[Line], forced: bool) -> tuple[str, ...]:
    """A note on NCCL's variables in a log, except NCCL_ALGO where the algorithm is ``forced``."""
    told = {f"NCCL_{name}={value}": line.number for line in lines
            for name, value in _KEPT.findall(line.text[:2000])
            if not (forced and name == "ALGO")}  # fmt: skip
    said = ", ".join(f"{what} (line {number})" for what, number in told.items())
    note = f"its text has {said}: a run with that is not what NCCL chooses by itself"
    return (note,) if told else ()
