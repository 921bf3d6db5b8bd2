"""What known trainers print of their speed, and the units in which speed is told."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

NUMBER = r"\d[\d,]{0,20}(?:\.\d{0,20})?(?:[eE][+-]?\d{1,3})?[KMBT]?"
_SCALES = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
COUNTED = {"sequences": "samples", "images": "samples"}  # what is called a sample besides


class Unit(NamedTuple):
    """A unit of speed.

    of: what is counted; a pass is a batch of every accelerator, of which a step of the optimizer
    has one or several. seconds: of a number, where it is the time of one of these; 0 where it is so
    many a second. of_one: of one accelerator, not of all together.
    """

    name: str
    of: Literal["samples", "tokens", "steps", "passes"]
    seconds: float = 0.0
    of_one: bool = False


UNITS = (
    Unit("samples/s", "samples"),
    Unit("samples/s/gpu", "samples", of_one=True),
    Unit("tokens/s", "tokens"),
    Unit("tokens/s/gpu", "tokens", of_one=True),
    Unit("s/step", "steps", seconds=1.0),
    Unit("ms/step", "steps", seconds=1e-3),
    Unit("steps/s", "steps"),
    Unit("s/pass", "passes", seconds=1.0),
    Unit("ms/pass", "passes", seconds=1e-3),
    Unit("us/pass", "passes", seconds=1e-6),
    Unit("passes/s", "passes"),
)


class Trainer(NamedTuple):
    """A trainer whose lines are known.

    pattern: of a line. A named group is a rate, with the name of its unit, such as tokens_per_s; or
    ``batch``, samples of a step of the log; ``batch_tokens``, its tokens; ``steps``, how many the
    log announces; ``of``, how many a progress bar counts to, which is one of training where it
    counts to those.
    """

    name: str
    pattern: re.Pattern[str]


def _trainer(name: str, pattern: str) -> Trainer:
    """A trainer by a pattern in which ``<s/step>`` is a number, and the group of that name."""

    def group(found: re.Match[str]) -> str:
        return f"(?P<{found[1].replace('/', '_per_')}>{NUMBER})"

    return Trainer(name, re.compile(re.sub(r"<([a-z/_]+)>", group, pattern)))


# The first that tells a rate is the one: those that build on another come before it.
TRAINERS = (
    _trainer(
        "Megatron-LM",
        r"elapsed time per iteration \((?:ms\): *<ms/step>|s\): *<s/step>)"
        r".*?(?:global batch size: *<batch>|$)",
    ),
    # A step has all micro-batches. Old versions print it in Lightning's bar, without the batch.
    _trainer(
        "NeMo",
        r"(?:global_batch_size: <batch>.*?)?train_step_timing in s[\"']? *[:=] *<s/step>",
    ),
    # The bar counts steps of the optimizer; bars of evaluation count to another number.
    _trainer(
        "Hugging Face Trainer",
        r"Total train batch size \(w\. parallel, distributed & accumulation\) = <batch>"
        r"|Total optimization steps = <steps>"
        r"|\| *\d+/<of> \[[^\]]*?(?:<steps/s>it/s|<s/step>s/it)"
        r"|train_samples_per_second[\"']? *[:=]? *<samples/s>",
    ),
    # tps, before 2025 wps: tokens a second over the accelerators that share a batch.
    _trainer("torchtitan", r"\bstep: *\d+ .*?\b(?:tps|wps): *<tokens/s/gpu>"),
    _trainer("nanotron", r"\| tokens_per_sec: <tokens/s>"),
    # Of all accelerators, and of one step; the last by the engine of pipelines.
    _trainer(
        "DeepSpeed",
        r"(?:CurrSamplesPerSec=|\bSamplesPerSec=|iter time \(s\): [\d.]+ samples/sec: )<samples/s>",
    ),
    # The bar counts batches, of which a step of the optimizer may have several.
    _trainer(
        "Lightning",
        r"Epoch \d+\b.*?(?:<passes/s>it/s|<s/pass>s/it)[, ]+(?:loss=[^,]{1,20}, )?v_num[:=]",
    ),
    # The average over the last batches, which timm prints in brackets, is not read.
    _trainer("timm", r"\bTrain: \d+ \[.*?Time: +[\d.]+s, +<samples/s>/s"),
    # In lines with val_ the time of validation is in that of a step.
    _trainer(
        "Keras",
        r"^(?!.*\bval_)[\b\s]*\d+/\d+\b.* (?:<us/pass>us|<ms/pass>ms|<s/pass>s)/step",
    ),
    # img/s is of one process, and does not count loading; time is of a pass, with loading.
    _trainer(
        "torchvision's reference", r"Epoch: \[[\d/]+\] +\[ *\d+/\d+\].*?\btime: <s/pass> +data:"
    ),
    _trainer("PyTorch's ImageNet example", r"Epoch: \[\d+\]\[ *\d+/\d+\]\s+Time +<s/pass>"),
    _trainer(
        "nanoGPT",
        r"tokens per iteration will be: <batch_tokens>|^\s*iter \d+: loss [^,]+, time <ms/step>ms",
    ),
    # total_ips counts loading, compute_ips does not; both are of all accelerators.
    _trainer(
        "DLLogger",
        r"\bDLLL? .*?\b(?:train\.total_ips|training_sequences_per_second)[\"']? *: *<samples/s>",
    ),
    # images/sec of a line is of one process.
    _trainer("tf_cnn_benchmarks", r"^\s*total images/sec: <samples/s>"),
)


def number(text: str) -> float:
    """A number as trainers write it: ``140,783``, ``1.2e3``, ``5.12K``."""
    digits = text.replace(",", "")
    scale = _SCALES.get(digits[-1], 0.0)
    return float(digits[:-1]) * scale if scale else float(digits)


def unit_called(text: str) -> Unit | None:
    """The unit of that name, with ``/`` or ``_per_``; None where there is none."""
    counted, _, rest = text.strip().lower().replace("_per_", "/").partition("/")
    name = f"{COUNTED.get(counted, counted)}/{rest}"
    return next((unit for unit in UNITS if unit.name == name), None)
