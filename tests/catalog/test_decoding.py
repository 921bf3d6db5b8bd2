"""dse.catalog.decoding: how many images hosts decode."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse import catalog
from dse.catalog.decoding import DECODING
from dse.errors import StudyError


def test_every_stack_has_a_rate_or_none() -> None:
    known = catalog.decoding()
    assert set(known.images_per_core_s) == set(catalog.computing().stacks)
    assert known.images_per_core_s["tuned"] is None
    plain, vendor = (known.images_per_core_s[name] for name in ("plain", "vendor"))
    assert plain is not None
    assert vendor is not None
    assert 50 < plain < vendor < 1000
    assert 0 < known.spread < 1


def test_networks_of_images_are_decoded_and_no_others() -> None:
    decoded = {name for name in catalog.names("workloads") if catalog.named_workload(name).decoded}
    assert {"resnet50", "inception-v3", "vgg16", "alexnet"} <= decoded
    for name in catalog.names("workloads"):
        found = catalog.named_workload(name)
        assert found.decoded is (found.family == "convolutional" or found.network == "vit"), name


def test_no_host_decodes_nothing(tmp_path: Path) -> None:
    path = tmp_path / DECODING
    text = (catalog.models_dir() / DECODING).read_text()
    path.write_text(text.replace("value: 190", "value: 0"))
    with pytest.raises(StudyError, match="images_per_core_s is 0; write a number above 0"):
        catalog.decoding(path)
