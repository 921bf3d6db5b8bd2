"""A workload from a model of torch and an example of its input, by torch's own counters."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from dse.calibration.files import write_text
from dse.catalog import Workload, workload_text
from dse.errors import DseError

HALF = 2  # bytes of an element in 16 bits
_KINDS = {"Linear": "linear", "Conv1d": "conv", "Conv2d": "conv", "Conv3d": "conv",
          "Embedding": "embedding"}  # fmt: skip
# Words in the name of an operation that multiplies matrices; a mere step of one is no product.
_PRODUCT = re.compile(r"(^|[:_])(\w*mm|matmul|mv|v?dot|v?linear|[bt]rilinear|cdist|rnn|"
                      r"euclidean_dist|experts|moe|attention|attn|conv\w*)(_|$)")  # fmt: skip
_NO_PRODUCT = re.compile(r"upsample|backward|_copy$|mask|_like$|pack|comm(_|$)|quantize")
_OTHER = "tensor"  # the kind of what has weights besides


@dataclass
class _Layer:
    """What one module did: its own FLOPs, not those of the modules in it."""

    module: Any
    flops: float = 0.0
    outputs: float = 0.0
    saved: float = 0.0


@dataclass
class _Seen:
    """What a forward pass of a whole batch made torch do, by the names of modules in order.

    uncounted: operations that are products by their names, and of which torch counts none.
    """

    layers: dict[str, _Layer] = field(default_factory=dict)
    flops: float = 0.0
    kept_bytes: float = 0.0
    uncounted: tuple[str, ...] = ()


def workload_from(
    model: Any,
    example_input: Any,
    *,
    name: str | None = None,
    out: str | PathLike[str] | None = None,
) -> Workload:
    """The workload of a ``torch.nn.Module``, of one sample of the batch in ``example_input``.

    One forward pass in training mode tells FLOPs (``torch.utils.flop_counter``), the output of
    every module, and what autograd saves for the backward pass, each storage once, in 16 bits.
    It runs on torch's meta device, without computing or memory, where the model allows it, else on
    its own; neither weights nor buffers change. Parameters without a gradient are left out.

    example_input: a tensor, a tuple or list of arguments or a mapping of them by name; the first
    dimension of the first tensor counts the samples. name: by which reports call it, the model's
    class where it is not given. out: a file that is also written, for ``workload:`` of a study.

    Raises :class:`~dse.DseError` where torch is missing, the model does not run on the example, or
    no parameter of it has a gradient.
    """
    torch = _torch()
    if not isinstance(model, torch.nn.Module):
        problem = f"workload_from: an object of type {type(model).__name__} is no torch.nn.Module"
        raise DseError(f"{problem}; give the model itself, such as MyModel()")
    arguments, named = _arguments(example_input, torch)
    tensors = [one for one in _tensors((arguments, named), torch) if one.dim()]
    if not tensors or not tensors[0].shape[0]:
        raise DseError(
            "workload_from: the example has no samples; give a tensor whose first dimension counts "
            "them, such as torch.randn(2, 3, 224, 224)"
        )
    samples = int(tensors[0].shape[0])
    seen = _forward(model, arguments, named, torch)
    remedy = "describe the model in the study, as workload: {params: .., forward_flops: .., "
    remedy += "activation_bytes: ..}"
    if not seen.flops:
        problem = "workload_from: the model did no matrix product or convolution that torch counts"
        raise DseError(f"{problem}; {remedy}")
    if seen.uncounted:
        problem = f"workload_from: torch counts no FLOPs of {', '.join(seen.uncounted)}"
        raise DseError(f"{problem}; {remedy}, or by its config.json")
    read = sum(one.numel() * one.element_size() for one in tensors)
    found = _workload(model, seen, samples, read, name or type(model).__name__)
    if out is not None:
        write_text(Path(out), workload_text(found), "out")
    return found


def _torch() -> Any:
    try:
        import torch
        import torch.utils.flop_counter
    except ImportError:
        remedy = "pip install torch, or make torch in a checkout"
        raise DseError(f"workload_from: torch is not installed; {remedy}") from None
    return torch


def _arguments(given: Any, torch: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(given, torch.Tensor):
        return (given,), {}
    if isinstance(given, Mapping):
        return (), dict(given)
    if isinstance(given, list | tuple):
        return tuple(given), {}
    problem = f"workload_from: the example is of type {type(given).__name__}"
    raise DseError(f"{problem}; give a tensor, or a tuple or mapping of arguments")


def _tensors(value: Any, torch: Any) -> Iterator[Any]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _tensors(one, torch)


def _on_meta(value: Any, torch: Any, half: bool) -> Any:
    """The same with tensors that have a shape and no numbers. half: as numbers of 16 bits."""
    from torch.utils._pytree import tree_map_only

    def without_numbers(one: Any) -> Any:
        kind = torch.bfloat16 if half and one.is_floating_point() else one.dtype
        return torch.empty_like(one, device="meta", dtype=kind)

    return tree_map_only(torch.Tensor, without_numbers, value)


def _forward(model: Any, arguments: Any, named: Any, torch: Any) -> _Seen:
    """A forward pass on the meta device, or where the model cannot run there on its own."""
    state = dict(model.named_parameters()) | dict(model.named_buffers())
    buffers = {key for key, _ in model.named_buffers()}

    def unshared(key: str, value: Any) -> Any:
        return value.detach().clone() if key in buffers else value

    def abstract(half: bool) -> _Seen:
        weights = {
            key: _on_meta(value, torch, half).requires_grad_(value.requires_grad)
            for key, value in state.items()
        }
        given = _on_meta(arguments, torch, half), _on_meta(named, torch, half)
        return _observed(model, weights, given[0], given[1], torch)

    training = {module: module.training for module in model.modules()}
    model.train()
    try:
        for half in (False, True):  # there, grouped products are of 16 bits only
            with suppress(Exception):  # whatever a model does that needs numbers
                return abstract(half)
        kept = {key: unshared(key, value) for key, value in state.items()}
        return _observed(model, kept, arguments, named, torch)
    except Exception as cause:
        said = " ".join(str(cause).split()) or type(cause).__name__
        problem = f"workload_from: the model does not run on the example: {said}"
        remedy = "give what its forward takes, with 2 samples or more"
        if re.search(r"\bmeta\b", said):  # transformers looks for packed sequences, unless told
            remedy = (
                "build it on the CPU; of a model of transformers, use_cache=True or an "
                "attention_mask of four dimensions helps, too"
            )
        raise DseError(f"{problem}; {remedy}") from cause
    finally:
        for module, was in training.items():
            module.training = was


def _observed(model: Any, state: dict[str, Any], arguments: Any, named: Any, torch: Any) -> _Seen:
    """What a forward pass with these parameters and buffers does."""
    seen, inside = _Seen(), list[_Layer]()
    weights = {value.untyped_storage()._cdata for value in state.values()}
    alive, counted = list[Any](), set[int]()  # storages that were told of, which must not be reused

    def enter(name: str, module: Any) -> Any:
        def hook(*_: Any) -> None:
            inside.append(seen.layers.setdefault(name, _Layer(module)))

        return hook

    def leave(_module: Any, _given: Any, out: Any) -> None:
        layer = inside.pop()
        layer.outputs += sum(one.numel() for one in _tensors(out, torch))

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        if storage._cdata not in weights and storage._cdata not in counted:
            alive.append(storage)
            counted.add(storage._cdata)
            elements = storage.nbytes() // tensor.element_size()
            floating = tensor.is_floating_point()
            seen.kept_bytes += elements * (HALF if floating else tensor.element_size())
            if inside:
                inside[-1].saved += elements if floating else 0
        return tensor

    counter = _counter(torch)
    products = _products(counter)
    with ExitStack() as stack:
        for name, module in model.named_modules():
            stack.callback(module.register_forward_pre_hook(enter(name, module)).remove)
            stack.callback(module.register_forward_hook(leave).remove)
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(torch.enable_grad())
        stack.enter_context(torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept))
        stack.enter_context(counter)
        stack.enter_context(products)
        torch.func.functional_call(model, state, arguments, named)
    seen.flops = float(counter.get_total_flops())
    seen.uncounted = tuple(products.uncounted)
    counts = counter.get_flop_counts()
    root = type(model).__name__
    total = {
        name: float(sum(counts.get(f"{root}.{name}" if name else root, {}).values()))
        for name in seen.layers
    }
    for name, flops in _own(total).items():
        seen.layers[name].flops = flops
    return seen


def _counter(torch: Any) -> Any:
    """Torch's counter with the products that it passes over: each 2 FLOPs a multiplication."""
    from torch.utils import flop_counter

    def grouped(rows: Any, matrices: Any, *_: Any, **__: Any) -> int:
        return int(2 * math.prod(rows) * matrices[-1])  # each row by the matrix of its group

    def vector(*shapes: Any, **_: Any) -> int:
        return 2 * max(map(math.prod, shapes))  # each element of the matrix is multiplied once

    def bilinear(*given: Any, **_: Any) -> int:
        views = [np.expand_dims(np.broadcast_to(0, shape), tuple(axes))
                 for shape, axes in zip(given[:3], given[3:6], strict=True)]  # fmt: skip
        return int(2 * np.broadcast(*views).size)

    def distances(rows: Sequence[int], others: Sequence[int], *_: Any, **__: Any) -> int:
        ends = (*rows[:-1], 1, 1), (*others[:-2], 1, *others[-2:])
        return 2 * math.prod(np.broadcast_shapes(*ends))

    def attention(query: Any, keys: Any, values: Any, *_: Any, **__: Any) -> int:
        return int(flop_counter.sdpa_flop_count(query, keys, values))

    aten = torch.ops.aten
    own = {"_grouped_mm": grouped, "mv": vector, "dot": vector, "vdot": vector, "addmv": vector,
           "_trilinear": bilinear, "_cdist_forward": distances, "_euclidean_dist": distances,
           "_scaled_dot_product_flash_attention_for_cpu": attention}  # fmt: skip
    known = {getattr(aten, name): count for name, count in own.items() if hasattr(aten, name)}
    return flop_counter.FlopCounterMode(display=False, custom_mapping=known)


def _products(counter: Any) -> Any:
    """A mode that notes the products of which the counter counts nothing."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Products(TorchDispatchMode):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.uncounted = dict[str, None]()

        def __torch_dispatch__(self, op: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = str(op._overloadpacket).replace(".", "::")
            known = op._overloadpacket in counter.flop_registry
            if not known and _PRODUCT.search(name) and not _NO_PRODUCT.search(name):
                self.uncounted[name] = None
            return op(*args, **(kwargs or {}))

    return Products()


def _own(total: Mapping[str, float]) -> dict[str, float]:
    """FLOPs of every module without those of the modules in it, from those with them."""
    own = dict(total)
    for name, flops in total.items():
        if name:
            own[_parent(name, total)] -= flops
    return {name: max(0.0, flops) for name, flops in own.items()}


def _parent(name: str, called: Mapping[str, Any]) -> str:
    """The nearest module around one that was called; '' is the model."""
    while name:
        name = name.rpartition(".")[0]
        if name in called:
            return name
    return ""


def _workload(model: Any, seen: _Seen, samples: int, read: float, name: str) -> Workload:
    rows = list(_rows(model, seen))
    params = sum(row[2] for row in rows)
    if not params:
        raise DseError("workload_from: no parameter of the model has a gradient; set requires_grad")
    frozen = sum(one.numel() for one in model.parameters() if not one.requires_grad)
    without = f"; {frozen:,} parameters without a gradient left out" if frozen else ""
    names, kinds, *numbers = zip(*rows, strict=True)
    table = np.array(numbers, np.float64)
    table[1:] /= samples
    table[1] *= seen.flops / samples / max(table[1].sum(), 1.0)
    return Workload(
        name=name,
        title=name,
        params=float(params),
        forward_flops=seen.flops / samples,
        activation_bytes=seen.kept_bytes / samples,
        activation_bytes_without_scores=None,
        input_bytes=read / samples,
        gradient_tensors=sum(row[2] > 0 for row in rows),
        layer_names=names,
        layer_kinds=kinds,
        layer_params=table[0],
        layer_forward_flops=table[1],
        layer_output_elems=table[2],
        layer_saved_elems=table[3],
        method=f"counted by torch in one forward pass of {samples} samples{without}",
        facts=(),
        network=name,
    )


def _rows(model: Any, seen: _Seen) -> Iterator[tuple[str, str, float, float, float, float]]:
    """A row for each gradient tensor and each module without one, in the order of the pass.

    What a module does stands in the row of its first tensor. Modules that were never called follow
    the one around them, which may use their weights; those of the model itself are last.
    """
    told = set[int]()
    quiet: dict[str, list[tuple[str, Any]]] = {}
    for name, module in model.named_modules():
        if name not in seen.layers:
            quiet.setdefault(_parent(name, seen.layers), []).append((name, module))
    for name, layer in seen.layers.items():
        own = list(_trainable(name, layer.module, told))
        for other, module in quiet.get(name, ()) if name else ():
            own += _trainable(other, module, told)
        done = (layer.flops, layer.outputs, layer.saved)
        kind = type(layer.module).__name__
        if own:
            first, elements = own[0]
            yield first, _KINDS.get(kind, _OTHER), elements, *done
            yield from ((other, _OTHER, size, 0.0, 0.0, 0.0) for other, size in own[1:])
        elif layer.flops or not any(layer.module.children()):
            yield name or "model", kind.lower(), 0.0, *done
    for name, module in quiet.get("", ()):
        for other, size in _trainable(name, module, told):
            yield other, _OTHER, size, 0.0, 0.0, 0.0


def _trainable(name: str, module: Any, told: set[int]) -> Iterator[tuple[str, float]]:
    """Names and elements of a module's own parameters that have a gradient, each told once."""
    for key, value in module.named_parameters(recurse=False):
        if value.requires_grad and id(value) not in told:
            told.add(id(value))
            yield f"{name}.{key}".lstrip("."), float(math.prod(value.shape))
