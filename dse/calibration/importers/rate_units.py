"""The units in which training scripts print how fast they are.

- samples per second: ``samples/s``, ``images/sec``, ``img/s``, ``examples/s``, ``sequences/s``,
  ``samples_per_second``, ``SamplesPerSec``; with ``/gpu`` or ``per GPU`` those of one accelerator,
  with ``/node`` those of one node
- tokens per second: ``tokens/s``, ``tok/s``, ``tokens_per_sec``, ``tokens/gpu/s``, likewise
- seconds per step: ``1.2 s/it``, ``elapsed time per iteration (ms): 812.5``, ``step time: 0.8 s``
- steps per second: ``3.4 it/s``, ``steps/sec``, ``train_steps_per_second``

The last two are turned into samples by the global batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dse.calibration.importers.measured_training import Training

_PER = r"(?:\s?/\s?|[_-]per[_-]|\s+per\s+)"
_PER_SECOND = rf"(?:{_PER}|per)(?:s|sec|secs|second)(?![a-z0-9])"
ACCELERATOR = r"(?:gpu|device|worker|rank|chip|accelerator|process|card|[hntx]pu)"
NODE = r"(?:node|host|machine|server)"
OTHER = (  # of which only the script knows how many a job has
    r"(?:core|replica|instance|pod|slice|socket|die|gcd|tile|group|thread|task|container|shard|"
    r"stage|partition)"
)
_ONE = rf"(?:{ACCELERATOR}|{NODE}|{OTHER})(?![a-z0-9])"
_AMID = rf"(?:{_PER}(?P<amid>{_ONE}))?"  # tokens per gpu per second
_EACH = (
    rf"(?:(?:(?P<slash>\s?/\s?)|{_PER}|[-*\u00b7]|\s+per[_-]|(?P<open>\s?\(\s?per[\s_-]+)"
    rf"|\s+each\s+)(?P<each>{_ONE})(?(slash)|(?!\s+(?:batch|mem)))(?(open)\s?\)))?"
)
_SETS = r"(?:\s+on\s+\d+\s+\w+(?:\(s\))?)?"  # Horovod: on 4 gpu(s)
SAMPLE = r"(?:samples?|images?|imgs?|examples?|sentences?|sequences?|seqs?|records?)"
TOKEN = r"(?:tokens?|toks?)"
STEP = r"(?:it|iters?|iterations?|steps?|batch(?:es)?)"


class Unit(NamedTuple):
    """A unit in which lines, in lower case, tell speed.

    words, pattern: regular expressions. What ``words`` finds, and finds soon, is in every line that
    has a match of ``pattern``, the unit without its number. samples_per_s: of a value, of the whole
    job; None where the terms do not tell. of_steps: whether it counts steps.
    """

    name: str
    words: str
    pattern: str
    samples_per_s: Callable[[float, Training], float | None]
    of_steps: bool = False


def _of_tokens(value: float, terms: Training) -> float | None:
    return value / terms.tokens_per_sample if terms.tokens_per_sample else None


# The surest first.
UNITS = (
    Unit("samples/s", f"{SAMPLE}(?:{_PER}{_ONE})?{_PER_SECOND}",
         SAMPLE + _AMID + _PER_SECOND + _EACH + _SETS, lambda value, _: value),
    Unit("tokens/s", f"{TOKEN}(?:{_PER}{_ONE})?{_PER_SECOND}",
         TOKEN + _AMID + _PER_SECOND + _EACH + _SETS, _of_tokens),
    Unit("s/step", rf"/\s?{STEP}\b|time",
         rf"(?<![a-z_/])(?P<scale>ms|s|sec)\s?/\s?{STEP}\b"
         rf"|(?P<time>(?:time\s+per\s+{STEP}|{STEP}[\s_-]time|time[\s_/]+{STEP})(?![a-z]))"
         r"\s*(?:\(?(?P<unit>ms|s|sec|seconds)\)?)?",
         lambda value, terms: terms.global_batch / value, of_steps=True),
    Unit("steps/s", STEP + _PER_SECOND, STEP + _PER_SECOND + _SETS,
         lambda value, terms: terms.global_batch * value, of_steps=True),
)  # fmt: skip
