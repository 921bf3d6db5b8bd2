"""Workloads that torch counts, beside closed forms and hand counts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.catalog import gradient_tensors, read_workload


def test_without_torch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(dse.DseError, match="torch is not installed; pip install torch"):
        dse.workload_from(object(), object())


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed (make torch)")


def bottleneck(torch: Any) -> Any:
    """A stem and one block of ResNet-50 with its shortcut."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(
                nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
                nn.MaxPool2d(3, 2, 1),
            )  # fmt: skip
            self.a, self.bn_a = nn.Conv2d(64, 64, 1, bias=False), nn.BatchNorm2d(64)
            self.b, self.bn_b = nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64)
            self.c, self.bn_c = nn.Conv2d(64, 256, 1, bias=False), nn.BatchNorm2d(256)
            self.d, self.bn_d = nn.Conv2d(64, 256, 1, bias=False), nn.BatchNorm2d(256)
            self.relu, self.fc = nn.ReLU(inplace=True), nn.Linear(256, 10)

        def forward(self, x: Any) -> Any:
            x = self.stem(x)
            y = self.relu(self.bn_a(self.a(x)))
            y = self.relu(self.bn_b(self.b(y)))
            y = self.relu(self.bn_c(self.c(y)) + self.bn_d(self.d(x)))
            return self.fc(y.mean((2, 3)))

    return Block()


def test_a_residual_block(torch: Any) -> None:
    model = bottleneck(torch)
    found = dse.workload_from(model, torch.randn(2, 3, 64, 64))
    stem, side = 32 * 32 * 64 * 147, 16 * 16
    products = stem + side * (64 * 64 + 9 * 64 * 64 + 2 * 64 * 256) + 2560
    assert found.name == "Block"
    assert found.params == sum(one.numel() for one in model.parameters())
    assert found.forward_flops == 2 * products == found.layer_forward_flops.sum()
    assert found.input_bytes == 3 * 64 * 64 * 4
    elements, _ = gradient_tensors(found)
    assert list(elements) == [
        9408, 64, 64, 4096, 64, 64, 36864, 64, 64, 16384, 256, 256, 16384, 256, 256, 2560, 10,
    ]  # fmt: skip
    assert found.gradient_tensors == 17
    # The picture; both sides of the stem's normalisation; what its pool chose, 8 bytes each ...
    stem_kept = 2 * (3 * 64 * 64 + 2 * 64 * 32 * 32 + 64 * side) + 8 * 64 * side
    # ... of the block what convolutions and ReLUs wrote, and what the head reads.
    block_kept = 2 * side * (2 * 64 + 2 * 64 + 3 * 256)
    assert found.activation_bytes == pytest.approx(stem_kept + block_kept, rel=0.02)


def test_an_encoder_has_the_flops_of_its_closed_form(torch: Any) -> None:
    h, s, layers = 64, 16, 2
    layer = torch.nn.TransformerEncoderLayer(h, 4, 4 * h, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
    found = dse.workload_from(encoder, torch.randn(3, s, h), name="encoder")
    assert found.forward_flops == layers * (24 * s * h**2 + 4 * s**2 * h)
    assert found.params == layers * (12 * h**2 + 13 * h)
    assert found.gradient_tensors == layers * 12
    # 34 h + 5 a s, and up to half as much again where dropout keeps numbers, not bits.
    formula = layers * s * (34 * h + 5 * 4 * s)
    assert formula < found.activation_bytes < 1.5 * formula


def test_the_model_stays_as_it_was(torch: Any) -> None:
    model = bottleneck(torch).eval()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    dse.workload_from(model, torch.randn(2, 3, 64, 64))
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    assert not any(module.training for module in model.modules())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_tied_and_frozen_weights_count_once_and_never(torch: Any) -> None:
    nn = torch.nn
    words, head = nn.Embedding(100, 8), nn.Linear(8, 100, bias=False)
    head.weight = words.weight
    frozen = nn.Linear(8, 8).requires_grad_(False)
    found = dse.workload_from(nn.Sequential(words, frozen, head), torch.zeros(4, 5).long())
    assert found.params == 800
    assert found.forward_flops == 2 * 5 * (64 + 800)
    assert "72 parameters without a gradient left out" in found.method


def test_a_model_that_needs_numbers_runs_where_it_is(torch: Any) -> None:
    class Routed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            y = (self.one(x) if float(x.sum()) > 0 else self.two(x)).unflatten(1, (1, 2, 4))
            return torch.nn.functional.scaled_dot_product_attention(y, y, y)

    found = dse.workload_from(Routed(), torch.ones(2, 8))
    assert found.forward_flops == 2 * 64 + 2 * (2 * 2 * 2 * 4)
    assert found.params == 144
    assert found.layer_names[1:3] == ("one.weight", "one.bias")
    with pytest.raises(dse.DseError, match=r"build it on the CPU; .* use_cache=True or an att"):
        dse.workload_from(Routed().to("meta"), torch.ones(2, 8, device="meta"))


def test_arguments_by_name_and_many_samples(torch: Any) -> None:
    class Joined(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.left, self.right = torch.nn.Linear(4, 6), torch.nn.Linear(5, 6)

        def forward(self, left: Any, right: Any) -> Any:
            return {"sum": self.left(left) + self.right(right)}

    parts = torch.ones(2, 4), torch.ones(2, 5)
    by_name = dse.workload_from(Joined(), {"right": parts[1], "left": parts[0]})
    assert by_name.forward_flops == dse.workload_from(Joined(), parts).forward_flops == 108
    assert by_name.input_bytes == 4 * 9
    linear = torch.nn.Linear(4, 5)
    few, many = (dse.workload_from(linear, torch.ones(n, 4)) for n in (1, 64))
    assert few.forward_flops == many.forward_flops == 40
    assert few.activation_bytes == many.activation_bytes
    np.testing.assert_array_equal(few.layer_params, many.layer_params)


def test_the_file_is_the_workload(torch: Any, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    found = dse.workload_from(bottleneck(torch), torch.randn(2, 3, 64, 64), name="mine", out=path)
    again = read_workload(path)
    assert (again.name, again.params, again.layer_names) == ("mine", found.params,
                                                             found.layer_names)  # fmt: skip
    with pytest.raises(dse.DseError, match="choose another out"):
        dse.workload_from(torch.nn.Linear(1, 1), torch.ones(1, 1), out=path / "x")


def test_what_is_wrong_is_one_line(torch: Any) -> None:
    linear, nn = torch.nn.Linear(3, 4), torch.nn
    for model, example, said in (
        (3, torch.ones(1), "is no torch.nn.Module"),
        (linear, torch.ones(2, 5), "does not run on the example"),
        (linear, 3, "the example is of type int"),
        (linear, torch.tensor(1.0), "the example has no samples"),
        (linear, torch.ones(0, 3), "the example has no samples"),
        (nn.ReLU(), torch.ones(2, 2), "no matrix product"),
        (nn.Linear(3, 4).requires_grad_(False), torch.ones(2, 3), "no parameter of the model has"),
        (nn.BatchNorm1d(3), torch.ones(1, 3), "with 2 samples or more"),
    ):
        with pytest.raises(dse.DseError) as found:
            dse.workload_from(model, example)
        assert said in str(found.value)
        assert "\n" not in str(found.value)


def test_grouped_products_of_experts_count(torch: Any) -> None:
    """Each of 12 rows goes through the matrix of one of 3 experts."""

    class Experts(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.up = torch.nn.Parameter(torch.randn(3, 16, 32))

        def forward(self, rows: Any) -> Any:
            ends = torch.tensor([4, 8, 12], dtype=torch.int32, device=rows.device)
            return torch._grouped_mm(rows, self.up, offs=ends)

    for where in ("cpu", "meta"):
        with torch.device(where):
            found = dse.workload_from(Experts(), torch.randn(12, 16))
        assert found.forward_flops == 2 * 16 * 32
        assert found.params == 3 * 16 * 32


def _calling(torch: Any, forward: Callable[..., Any], *shape: int) -> Any:
    """A model of a head of 8 by 8 and what ``forward`` makes of its rows and a weight."""

    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.head = torch.nn.Linear(8, 8, bias=False)
            self.own = torch.nn.Parameter(torch.rand(*shape))

        def forward(self, rows: Any) -> Any:
            return self.head(rows) + forward(torch, rows, self.own)

    return dse.workload_from(Model(), torch.randn(4, 8))


@pytest.mark.parametrize(
    ("forward", "shape", "flops"),
    [
        (lambda torch, x, w: torch.nn.functional.bilinear(x, x, w + 0), (8, 8, 8), 2 * 8**3),
        (lambda torch, x, w: torch.cdist(x, w.clone()), (8, 8), 2 * 64),
        (lambda torch, x, w: torch.cdist(x, w.repeat(4, 1))[:, :8], (8, 8), 2 * 4 * 64),
        (lambda torch, x, w: torch.mv(x, w).unsqueeze(1), (8,), 2 * 8),
        (lambda _torch, x, w: x + w.repeat(2, 1)[:4].cumsum(0).softmax(1).tril(), (4, 8), 0),
        (lambda torch, _x, w: torch.nn.functional.batch_norm(w[:4], None, None, training=True),
         (8, 8), 0),
        (lambda torch, x, w: torch.nn.functional.embedding_bag(
            torch.zeros(4, 2, dtype=torch.long, device=x.device), w), (3, 8), 0),
        (lambda torch, _x, w: torch.nn.functional.interpolate(w[None, None], size=(4, 8))[0, 0],
         (2, 4), 0),
    ],
)  # fmt: skip
def test_products_count_and_nothing_else_does(
    forward: Callable[..., Any], shape: tuple[int, ...], flops: float, torch: Any
) -> None:
    assert _calling(torch, forward, *shape).forward_flops == 2 * 64 + flops


def test_products_that_nobody_counts_are_refused(torch: Any) -> None:
    def whole(torch: Any, rows: Any, weight: Any) -> Any:
        return torch._int_mm(rows.to(torch.int8), weight.to(torch.int8)).float()

    with pytest.raises(dse.DseError, match="counts no FLOPs of aten::_int_mm; describe"):
        _calling(torch, whole, 8, 8)
