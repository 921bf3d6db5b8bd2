"""What a message advises is right: who follows it does not get the same message again."""

from __future__ import annotations

import re

import pytest

from dse.pricing.load import known_names
from dse.study import AXES, QUANTITIES
from dse.study.names import suggest
from dse.study.quantities import BUILTINS
from dse.study.schema import StudyFile

# Beside those of test_bad_input: old text, new text.


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
        ("aggregations", "nccl-ring", "ring-nccl"),
        ("aggregations", "horovd", "horovod-nccl"),
        ("quantities", "budgt", "capital"),
        ("quantities", "dollars", "capital"),
        ("quantities", "memory", "fits_memory"),
        ("axes", "network", "inter_node"),
        ("axes", "batch_size", "batch_per_gpu"),
        ("axes", "gpu", "gpus"),
        ("axes", "precison", "precision"),
        ("keys", "budget", "constraints"),
        ("keys", "conditions", "when"),
        ("accelerators", "a1oo", "a100-sxm4-80gb"),
        ("accelerators", "h100-smx", "h100-sxm"),
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
        assert suggest("quokka", KNOWN[kind], "nothing", NAMES.aliases.get(kind, {})) == "nothing"
