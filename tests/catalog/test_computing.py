"""dse.catalog.computing: laws of matrix products, the sustained slowdown, stacks of software."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dse import catalog
from dse.catalog.computing import LAWS, OTHER
from dse.errors import StudyError

KNOWN = catalog.computing()


@pytest.mark.parametrize(
    ("accelerator", "precision", "law"),
    [
        ("a100-sxm4-80gb", "bf16", ("ampere", "16")),
        ("a100-sxm4-80gb", "tf32", ("ampere", "16")),
        ("a100-sxm4-80gb", "fp32", ("ampere", "fp32")),
        ("h100-sxm", "fp8", ("hopper", "fp8")),
        ("p100-sxm2-16gb", "fp32", ("pascal", "fp32")),
        ("mi300x", "bf16", (OTHER, "16")),
        ("tpu-v4", "bf16", (OTHER, "16")),
    ],
)
def test_an_accelerator_has_the_law_of_its_generation(
    accelerator: str, precision: str, law: tuple[str, str]
) -> None:
    found = KNOWN.law(catalog.accelerator(accelerator), precision)
    assert (found.generation, found.format) == law


def test_every_accelerator_has_a_law_in_every_precision_it_knows() -> None:
    for name in catalog.names("accelerators"):
        accelerator = catalog.accelerator(name)
        assert accelerator.units, name
        for precision in set(accelerator.peak_flops_per_s) - {"fp4", "fp64"}:
            assert 0.45 <= KNOWN.efficiency(accelerator, precision) <= 1.0


def test_without_a_law_the_measured_maximum_is_the_efficiency() -> None:
    mi300x = catalog.accelerator("mi300x")
    assert KNOWN.efficiency(mi300x, "bf16") == pytest.approx(668.4 / 1307)
    h100 = catalog.accelerator("h100-sxm")
    assert KNOWN.efficiency(h100, "bf16") == KNOWN.laws["hopper", "16"].efficiency


def test_little_power_for_an_operation_slows_products_down() -> None:
    slowdown = {
        name: KNOWN.sustained_slowdown(catalog.accelerator(name), "bf16")
        for name in ("v100-sxm2-16gb", "a100-pcie-80gb", "a100-sxm4-80gb", "h100-sxm", "b200-sxm")
    }
    assert slowdown["a100-pcie-80gb"] == pytest.approx(1.14, abs=0.01)  # measured
    assert slowdown["b200-sxm"] == pytest.approx(1.42, abs=0.02)  # measured
    assert slowdown["v100-sxm2-16gb"] == 1.0
    assert 1.0 < slowdown["a100-sxm4-80gb"] < slowdown["h100-sxm"] < slowdown["b200-sxm"]
    assert KNOWN.sustained_slowdown(catalog.accelerator("h100-sxm"), "fp32") == 1.0


def test_the_more_tuned_the_fewer_kernels() -> None:
    plain, vendor, tuned = (KNOWN.stacks[name] for name in ("plain", "vendor", "tuned"))
    assert plain.eager > vendor.eager > tuned.eager == 0.0
    assert plain.launch_s >= vendor.launch_s > vendor.launches_s["hopper"] > tuned.launch_s
    assert vendor.fuses_attention == {"decoder"}
    assert tuned.fuses_attention is None


def test_a_mistake_in_a_law_gets_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = tmp_path / "models"
    shutil.copytree(catalog.models_dir(), models)
    laws = models / LAWS
    laws.write_text(laws.read_text().replace("0.8956", "fast", 1))
    monkeypatch.setenv("DSE_MODELS", str(models))
    line = next(n for n, text in enumerate(laws.read_text().splitlines(), 1) if "fast" in text)
    with pytest.raises(StudyError, match="efficiency 'fast'; write a number") as caught:
        catalog.computing()
    assert f"{LAWS}:{line}" in str(caught.value)
