"""What a message advises is right: who follows it does not get the same message again."""

from __future__ import annotations

import re

import pytest

from dse.errors import StudyError
from dse.pricing.load import known_names
from dse.study import AXES, QUANTITIES, suggest
from dse.study.quantities import BUILTINS
from dse.study.schema import StudyFile

from .conftest import VALID, Reader
from .test_bad_input import BAD

# Beside those of test_bad_input: old text, new text.
MORE = {
    "an own workload without its layers": ("resnet50\nspace", "{params: 1e6, forward_flops: 1e9, "
        "activation_bytes: 1 MB, input_bytes: 1 kB, layers: unknown}\nspace"),
    "an own workload without numbers": ("resnet50\nspace", "{params: 1e6}\nspace"),
    "a limit of a count in seconds": ("global_batch <= 8192", "global_batch <= 1 s"),
    "a limit of power in dollars": ("global_batch <= 8192", "power <= 3 USD"),
    "a limit of a rent in dollars": ("global_batch <= 8192", "hourly <= 3 USD"),
    "a limit of memory without a unit": ("global_batch <= 8192", "memory_slack >= 3"),
    "an executor that is a word": ("executor: {kind: auto}", "executor: ray"),
    "a baseline that is a word": ("{accelerator: p100-sxm2-16gb, gpus: 8, inter_node: 25 Gbps}",
        "first"),
    "a target that is a number": ("{samples: 115e6}", "115e6"),
    "an efficiency that is a number": ("executor: {kind: auto}", "efficiency: 0.5"),
    "a term of rent": ("executor: {kind: auto}", "rental: weekly"),
    "failures that are a word": ("executor: {kind: auto}", "failures: never"),
    "time without a unit": ("executor: {kind: auto}", "failures: {recover: 10}"),
    "owned without a count": ("executor: {kind: auto}", "owned: {accelerator: p100-sxm2-16gb}"),
}  # fmt: skip


def followed(text: str, error: StudyError) -> str | None:
    """The text with what the first remedy advises; None where it advises no text."""
    lines = text.splitlines(keepends=True)
    before = "".join(lines[: error.line - 1]) + lines[error.line - 1][: error.column - 1]
    after = text[len(before) :]
    advice = re.match(
        r"(did you mean|write for example|write just|write|use|add|leave|drop) (.+)", error.remedy
    )
    if advice is None:
        return None
    verb, said = advice.groups()
    said = re.split(r", or | or |; |\?|: both|, where|, see |, whatever|, of which", said)[0]
    if verb == "add":
        if ": " not in said or ".." in said:
            return None
        opened = after.startswith("{")
        blank = "\n" + " " * (error.column - 1)
        return before + ("{" + said + ", " + after[1:] if opened else said + blank + after)
    if verb in ("leave", "drop"):
        key = said.removesuffix(" out")
        value = re.match(r"[\w. -]+", after)
        assert value, after
        return before.removesuffix(f", {key}: ") + after[value.end() :]
    if re.match(r"(a|an|one|at|it|them|another|units|like|spaces|smaller|larger)\b", said):
        return None
    if " <= " in said or " >= " in said:  # a whole constraint
        start = max(before.rfind(", "), before.rfind("[")) + 1
        end = min(i for i in (after.find(","), after.find("]")) if i >= 0)
        return f"{before[:start]} {said}{after[end:]}"
    wrong = re.search(r"'(.+?)'|: ([^\s']\S*) (?:is|has)\b", error.problem)
    shown = next(filter(None, wrong.groups()), "") if wrong else ""
    if not shown or not after.startswith(shown):
        return None
    key = said.partition(": ")[0]
    if ": " in said and before.endswith(f"{key}: "):
        before = before.removesuffix(f"{key}: ")
    return before + said + after[len(shown) :]


def mistakes(read: Reader, text: str) -> tuple[StudyError, ...]:
    try:
        read(text=text)
    except StudyError as error:
        return error.mistakes
    return ()


CASES = {name: (old, new) for name, (old, new, *_) in BAD.items()} | MORE


def test_who_follows_advice_does_not_get_it_again(read: Reader) -> None:
    tried = set()
    for name, (old, new) in CASES.items():
        assert old in VALID, name
        text = VALID.replace(old, new, 1)
        first, *_ = mistakes(read, text)
        mended = followed(text, first)
        if mended is None:
            continue
        tried.add(name)
        left = {one.problem for one in mistakes(read, mended)}
        assert first.problem not in left, (name, str(first), mended)
    assert len(tried) > 60, sorted({*CASES} - tried)
    for name in MORE:
        assert name in tried, (name, mistakes(read, VALID.replace(*CASES[name], 1)))


NAMES = known_names()
KNOWN = {
    "aggregations": tuple(NAMES.aggregations),
    "quantities": (*QUANTITIES, *BUILTINS),
    "axes": tuple(AXES),
    "keys": tuple(StudyFile.model_fields),
}


@pytest.mark.parametrize(
    ("kind", "word", "meant"),
    [
        ("aggregations", "ncll", "auto-nccl"),
        ("aggregations", "nccl-auto", "auto-nccl"),
        ("aggregations", "nccl-ring", "ring-nccl"),
        ("aggregations", "horovd", "horovod-nccl"),
        ("quantities", "budgt", "capital"),
        ("quantities", "dollars", "capital"),
        ("quantities", "hours", "time_to_target"),
        ("quantities", "watts", "power"),
        ("quantities", "memory", "fits_memory"),
        ("axes", "network", "inter_node"),
        ("axes", "batch_size", "batch_per_gpu"),
        ("axes", "dtype", "precision"),
        ("axes", "gpu", "gpus"),
        ("axes", "precison", "precision"),
        ("keys", "budget", "constraints"),
        ("keys", "goals", "objectives"),
        ("keys", "profiles", "calibration"),
        ("keys", "conditions", "when"),
        ("accelerators", "a1000", "a100-sxm4-80gb"),
        ("accelerators", "v10", "v100-sxm2-16gb"),
        ("accelerators", "h100-nvl", "h100-sxm"),
        ("accelerators", "gh200", "h200-sxm"),
        ("workloads", "llama-70b", "llama3-70b"),
        ("workloads", "bert-big", "bert-large-s512"),
        ("fabrics", "infiniband", "ib-hdr"),
    ],
)
def test_a_suggestion_names_what_is_meant(kind: str, word: str, meant: str) -> None:
    known = KNOWN.get(kind) or getattr(NAMES, kind)
    said = suggest(word, known, "nothing", NAMES.aliases.get(kind, {}))
    assert re.search(rf"(did you mean|or|,) {meant}(,| or|\?)", said), said
    for name in re.findall(r"[\w.-]+", said.removeprefix("did you mean")):
        assert name == "or" or name in known


def test_what_nobody_means_suggests_nothing() -> None:
    for kind in ("aggregations", "quantities", "axes", "keys"):
        assert suggest("zebra", KNOWN[kind], "nothing", NAMES.aliases.get(kind, {})) == "nothing"
