"""What a study needs priced."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dse.model.aggregation.library_rules import OpenMpi
from dse.pricing import load
from dse.pricing.messages import messages_of
from tests.calibration import library_profiles, synthetic
from tests.pricing import studies
from tests.pricing.priced import problem_of


def test_the_demand_of_a_study(tmp_path: Path) -> None:
    problem = load.load(studies.written(tmp_path))
    found = messages_of(problem, "mpi")
    assert set(found.algorithm.tolist()) == {"ring"}
    assert set(found.ranks.tolist()) == {2, 3, 4, 8, 16}
    assert (found.ranks_per_node <= found.ranks).all()
    assert set(found.ranks_per_node.tolist()) == {1, 2, 3, 4}
    weights = problem.layers.params.sum()
    assert found.message_bytes.max() < 4 * weights
    assert found.message_bytes.min() > 0
    rows = np.stack([found.ranks, found.ranks_per_node, found.message_bytes], axis=1)
    assert len(np.unique(rows, axis=0)) == found.size


def test_buckets_of_gradients_in_both_formats_are_demanded(tmp_path: Path) -> None:
    one = messages_of(load.load(studies.written(tmp_path)), "mpi")
    formats = "precision: [fp32, fp16]\n  gradient: [fp32, fp16]"
    text = studies.SMALL.replace("precision: [fp32, fp16]", formats)
    both = messages_of(load.load(studies.written(tmp_path, text, "both.yaml")), "mpi")
    assert set(one.message_bytes.tolist()) < set(both.message_bytes.tolist())


def test_parameter_servers_and_other_transports_demand_nothing(tmp_path: Path) -> None:
    problem = load.load(studies.written(tmp_path))
    assert problem.study.transports == ("gloo", "grpc", "mpi")
    assert messages_of(problem, "grpc").size == 0
    assert messages_of(problem, "nccl").size == 0


def test_a_conditional_bucket_counts(tmp_path: Path) -> None:
    path = studies.written(tmp_path, studies.CONDITIONAL_BUCKET)
    assert messages_of(load.load(path), "mpi").size > 0


def test_what_to_measure_next_are_the_algorithms_that_rules_choose(
    tmp_path: Path,
) -> None:
    forced = synthetic.profile()
    text = studies.RULES.replace(studies.BY_RULES, "auto-mpi")
    text = text.replace("aggregation: ring-mpi", "aggregation: auto-mpi")
    problem = problem_of(tmp_path, text, forced)
    wanted = messages_of(problem, "mpi")
    rules = OpenMpi()
    for name, n, m in zip(wanted.algorithm, wanted.ranks, wanted.message_bytes, strict=True):
        assert name == rules.algorithms[int(rules(n, n, m))].priced_as
    assert {"ring", "halving-doubling"} <= set(wanted.algorithm.tolist())
    chosen = library_profiles.theirs(transport="mpi")
    assert set(messages_of(problem, "mpi", chosen).algorithm.tolist()) == {"auto"}
