"""Which profiles price points of a study, and what is said of the others."""

from __future__ import annotations

from pathlib import Path

from dse.calibration.throughput_part import Throughput
from dse.pricing.caveats import caveats
from tests.calibration import library_profiles, server_profiles
from tests.pricing import studies
from tests.pricing.priced import problem_of


def test_a_profile_that_prices_nothing_of_the_study_is_said(tmp_path: Path) -> None:
    forced = studies.CAVEATS.replace("[auto-nccl, ring-nccl]", "[ring-mpi, ps-grpc]").replace(
        "aggregation: auto-nccl", "aggregation: ring-mpi"
    )
    problem = problem_of(tmp_path, forced, library_profiles.theirs("theirs"))
    assert any("prices nothing here" in text for text in caveats(problem))
    used = problem_of(tmp_path, studies.CAVEATS, library_profiles.theirs("theirs"))
    assert not any("prices nothing here" in text for text in caveats(used))


def test_a_profile_of_computing_elsewhere_is_said(tmp_path: Path) -> None:
    def said(device: str) -> list[str]:
        part = server_profiles.compute_part(device=device)
        profile = server_profiles.profile(name="fast", transport="none", ps={}, compute=(part,))
        return [
            text
            for text in caveats(problem_of(tmp_path, studies.CAVEATS, profile))
            if "fast" in text
        ]

    (line,) = said("cpu")
    assert line.startswith("Profile ")
    assert "prices nothing here: it measured products on cpu, and the study is of " in line
    assert said("NVIDIA A100-SXM4-40GB") == []


def test_rates_of_another_kind_of_network_elsewhere_are_said(tmp_path: Path) -> None:
    def said(workload: str, accelerator: str) -> list[str]:
        rate = Throughput(workload, accelerator, "fp16", "vendor", 32.0, 100.0)
        profile = server_profiles.profile(name="ours", transport="none", ps={}, throughput=(rate,))
        found = caveats(problem_of(tmp_path, studies.CAVEATS, profile))
        return [text for text in found if "prices nothing here" in text]

    (line,) = said("gnmt-v2", "h100-sxm")
    assert "it measured gnmt-v2 on h100-sxm, and the study is of " in line
    assert said("gnmt-v2", "a100-sxm4-40gb") == []
    assert said("resnet50", "h100-sxm") == []
