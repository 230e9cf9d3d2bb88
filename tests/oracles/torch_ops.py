"""Random calls of operations, each with PyTorch's equivalent."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeAlias, cast

from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, ops
from minispore.ops import elementwise, former_names
from minispore.ops.class_losses import Reduction
from minispore.utils.checks import as_items
from tests.helpers import random_op_calls as calls
from tests.helpers.random_op_calls import (
    PRIMITIVES,
    Call,
    above_one,
    along,
    divisors,
    numbers,
    of_one,
    of_several,
    over,
    positive,
    truths,
    whole,
    within_one,
)
from tests.oracles import torch_losses as losses

torch: Any = import_module("torch")
functional = torch.nn.functional

# PyTorch is optional, so it is untyped.
Theirs: TypeAlias = Any
Function: TypeAlias = Callable[..., Theirs]
TYPES = {ms.float32: torch.float32, ms.float64: torch.float64, ms.int32: torch.int32}


def over_all(reduce: Function) -> Function:
    """Return a reduction of PyTorch that reduces all axes if none are specified."""

    def reduced(x: Theirs, axis: object, keep: bool) -> Theirs:
        return reduce(x, dim=tuple(range(x.ndim)) if axis is None else axis, keepdim=keep)

    return reduced


def gathered(x: Theirs, index: Theirs, axis: int) -> Theirs:
    before, after = x.shape[: axis % x.ndim], x.shape[axis % x.ndim + 1 :]
    return x.index_select(axis, index.reshape(-1)).reshape((*before, *index.shape, *after))


def gathered_at(x: Theirs, positions: Theirs) -> Theirs:
    return x[tuple(positions.unbind(-1))]


def gathered_elements(x: Theirs, index: Theirs, axis: int) -> Theirs:
    return torch.gather(x, axis, index)


def cross_entropy(x: Theirs, y: Theirs) -> Theirs:
    return -(torch.log_softmax(x, -1) * y).sum(-1)


def binary_cross_entropy(x: Theirs, y: Theirs, w: Theirs, p: Theirs, reduction: str) -> Theirs:
    """PyTorch's own has no gradient by the weights."""
    right, wrong = functional.logsigmoid(x), functional.logsigmoid(-x)
    return reduced(-w * (p * y * right + (1 - y) * wrong), reduction)


def norms(x: Theirs, order: object, axis: object, keep: bool) -> Theirs:
    return torch.linalg.norm(x, order, axis, keep)


def spread(measure: Function) -> Function:
    """Return a statistic of PyTorch that reduces all axes if none are specified."""

    def measured(x: Theirs, axis: object, less: int, keep: bool) -> Theirs:
        axes = tuple(range(x.ndim)) if axis is None else axis
        return measure(x, dim=axes, correction=less, keepdim=keep)

    return measured


def in_order(x: Theirs, axis: int, descending: bool) -> Theirs:
    return torch.sort(x, dim=axis, descending=descending, stable=True)


def repeated(x: Theirs, counts: object, axis: int | None) -> Theirs:
    repeats = counts if isinstance(counts, int) else torch.tensor(counts)
    return torch.repeat_interleave(x, repeats, axis)


def of_type(x: Theirs, dtype: ms.dtype.DType) -> Theirs:
    return x.to(TYPES[dtype])


def with_bias(x: Theirs, bias: Theirs) -> Theirs:
    return x + bias.reshape(-1, *(1,) * (x.ndim - 2))


def product(x: Theirs, axis: object, keep: bool) -> Theirs:
    axes = range(x.ndim) if axis is None else as_items(axis) or (axis,)
    for dim in sorted((i % x.ndim for i in axes), reverse=True):
        x = torch.prod(x, dim, keep)
    return x


def counted(x: Theirs, axis: object, keep: bool) -> Theirs:
    return (x != 0).sum(tuple(range(x.ndim)) if axis is None else axis, keep)


def scattered(x: Theirs, index: Theirs, source: Theirs, axis: int) -> Theirs:
    return torch.scatter(x, axis, index, source)


def added_at(x: Theirs, index: Theirs, y: Theirs) -> Theirs:
    return x.index_put(index.unbind(-1), y, accumulate=True)


def scattered_at(index: Theirs, y: Theirs, shape: object) -> Theirs:
    return added_at(torch.zeros(shape, dtype=y.dtype), index, y)


def diagonal_of_all(x: Theirs) -> Theirs:
    """PyTorch's own is of vectors, and reads the diagonal of matrices."""
    return torch.diagflat(x).reshape(*x.shape, *x.shape)


def sums_of_occurrences(x: Theirs, weights: Theirs, length: int) -> Theirs:
    """PyTorch's own has no gradient by the weights."""
    sums = torch.zeros(max(length, int(x.max()) + 1), dtype=weights.dtype)
    return sums.index_add(0, x, weights)


def rms_norm(x: Theirs, weight: Theirs) -> tuple[Theirs, Theirs]:
    """PyTorch's own returns no factors."""
    axes = tuple(range(x.ndim - weight.ndim, x.ndim))
    factors = torch.rsqrt((x * x).mean(axes, keepdim=True) + 1e-6)
    return functional.rms_norm(x, weight.shape, weight, 1e-6), factors


def segment_sums(x: Theirs, numbers: Theirs, count: int) -> Theirs:
    return torch.zeros((count, *x.shape[1:]), dtype=x.dtype).index_add(0, numbers, x)


def different(x: Theirs) -> tuple[Theirs, Theirs]:
    """PyTorch's own sorts the elements; these are in the order of their first occurrence."""
    values = list(dict.fromkeys(x.reshape(-1).tolist()))
    places = [values.index(value) for value in x.reshape(-1).tolist()]
    return torch.tensor(values, dtype=x.dtype), torch.tensor(places).reshape(x.shape)


def divergence(x: Theirs, y: Theirs, reduction: str) -> Theirs:
    """PyTorch's own warns of the mean."""
    losses = functional.kl_div(x, y, reduction="none")
    return losses.sum() / len(x) if reduction == "batchmean" else reduced(losses, reduction)


def probable(x: Theirs, y: Theirs, reduction: str) -> Theirs:
    """PyTorch's own adds nothing to the arguments of the logarithms."""
    right, wrong = torch.log(x + 1e-12), torch.log(1 - x + 1e-12)
    return reduced(-(y * right + (1 - y) * wrong), reduction)


def reduced(losses: Theirs, reduction: str) -> Theirs:
    return losses if reduction == "none" else getattr(torch, reduction)(losses)


def given_values(*values: object) -> st.SearchStrategy[Call]:
    """Calls without operands."""
    return st.sampled_from([Call((), cast("tuple[object, ...]", value)) for value in values])


def flattened(x: Tensor, start: int, end: int) -> Tensor:
    return ops.flatten(x, start_dim=start, end_dim=end)


def selected(x: Tensor, index: Tensor, axis: int) -> Tensor:
    return ops.index_select(x, axis, index)


def put(x: Tensor, index: Tensor, source: Tensor, axis: int) -> Tensor:
    return ops.scatter(x, axis, index, source)


def binary(x: Tensor, y: Tensor, reduction: Reduction) -> Tensor:
    return ops.binary_cross_entropy(x, y, None, reduction)


def searched(x: Tensor, y: Tensor, right: bool) -> Tensor:
    return ops.searchsorted(x, y, right=right)


def elements(x: Tensor, index: Tensor, axis: int) -> Tensor:
    return ops.gather_elements(x, axis, index)


keep = st.booleans()
PAIRS: dict[str, tuple[Function, st.SearchStrategy[Call]]] = {
    "abs": (torch.abs, of_one()),
    "exp": (torch.exp, of_one()),
    "floor": (torch.floor, of_one()),
    "isfinite": (torch.isfinite, of_one()),
    "isinf": (torch.isinf, of_one()),
    "isnan": (torch.isnan, of_one()),
    "log": (torch.log, of_one(positive)),
    **{
        name: (getattr(torch, name), of_one(positive))
        for name in ("log1p", "log2", "log10", "rsqrt", "reciprocal")
    },
    **{name: (getattr(torch, name), of_one(within_one)) for name in ("asin", "acos", "atanh")},
    "acosh": (torch.acosh, of_one(above_one)),
    "logical_not": (torch.logical_not, of_one() | of_one(truths)),
    "neg": (torch.neg, of_one() | of_one(whole)),
    "relu": (torch.relu, of_one() | of_one(whole)),
    "round": (torch.round, of_one()),
    "sigmoid": (torch.sigmoid, of_one()),
    "sign": (torch.sign, of_one() | of_one(whole)),
    "softplus": (
        functional.softplus,
        of_one() | of_one(numbers, st.sampled_from([0.5, -1, 2]), st.sampled_from([0.513, 20])),
    ),
    "gelu": (
        lambda x, kind="none": functional.gelu(x, approximate=kind),
        of_one() | of_one(numbers, st.just("tanh")),
    ),
    "leaky_relu": (functional.leaky_relu, of_one(numbers, st.sampled_from([0.1, -1.5, 2]))),
    "prelu": (functional.prelu, calls.of_lengths("nc", "c") | calls.of_lengths("ncl", "c")),
    "logsigmoid": (functional.logsigmoid, of_one()),
    "hardshrink": (functional.hardshrink, of_one(numbers, st.sampled_from([0.513, 1.713]))),
    "softshrink": (functional.softshrink, of_one(numbers, st.sampled_from([0, 0.513, 1.713]))),
    # PyTorch's own computes with a float32 of 1/6.
    "hardsigmoid": (lambda x: functional.relu6(x + 3) / 6, of_one()),
    "hardtanh": (functional.hardtanh, of_one(numbers, st.just(-1.513), st.just(0.713))),
    "celu": (functional.celu, of_one(numbers, st.sampled_from([1.0, 0.5, 2]))),
    "elu": (functional.elu, of_one(numbers, st.sampled_from([1.0, 0.5, 2]))),
    "sqrt": (torch.sqrt, of_one(positive)),
    "square": (torch.square, of_one() | of_one(whole)),
    "stop_gradient": (torch.detach, of_one()),
    "tanh": (torch.tanh, of_one()),
    "sin": (torch.sin, of_one()),
    "cos": (torch.cos, of_one()),
    "bitwise_not": (torch.bitwise_not, of_one(whole) | of_one(truths)),
    "cast": (of_type, of_one(numbers, st.sampled_from(list(TYPES)))),
    "clip": (torch.clip, of_one(numbers, st.just(-0.513), st.sampled_from([None, 0.713]))),
    "add": (torch.add, of_several(numbers, numbers) | of_several(whole, whole)),
    "sub": (torch.sub, of_several(numbers, numbers) | of_several(whole, whole)),
    "subtract": (torch.subtract, of_several(numbers, numbers) | of_several(whole, whole)),
    "mul": (torch.mul, of_several(numbers, numbers) | of_several(whole, numbers)),
    "div": (torch.div, of_several(numbers, numbers)),
    "floor_divide": (
        lambda x, y: torch.div(x, y, rounding_mode="floor"),
        of_several(numbers, numbers),
    ),
    "remainder": (torch.remainder, of_several(numbers, divisors)),
    "pow": (torch.pow, of_several(positive, numbers)),
    "maximum": (torch.maximum, of_several(numbers, numbers) | of_several(whole, whole)),
    "minimum": (torch.minimum, of_several(numbers, numbers) | of_several(whole, whole)),
    "equal": (torch.eq, of_several(whole, whole) | of_several(truths, truths)),
    "not_equal": (torch.ne, of_several(whole, whole) | of_several(truths, truths)),
    "greater": (torch.gt, of_several(whole, whole) | of_several(numbers, whole)),
    "greater_equal": (torch.ge, of_several(whole, whole) | of_several(numbers, whole)),
    "less": (torch.lt, of_several(whole, whole) | of_several(numbers, whole)),
    "less_equal": (torch.le, of_several(whole, whole) | of_several(numbers, whole)),
    "logical_and": (torch.logical_and, of_several(truths, truths)),
    "logical_or": (torch.logical_or, of_several(truths, truths)),
    "logical_xor": (torch.logical_xor, of_several(truths, truths)),
    "bitwise_and": (torch.bitwise_and, of_several(whole, whole) | of_several(truths, truths)),
    "bitwise_or": (torch.bitwise_or, of_several(whole, whole) | of_several(truths, truths)),
    "bitwise_xor": (torch.bitwise_xor, of_several(whole, whole) | of_several(truths, truths)),
    "where": (torch.where, of_several(truths, numbers, numbers)),
    "sum": (over_all(torch.sum), over() | over(whole)),
    "mean": (over_all(torch.mean), over()),
    "amax": (over_all(torch.amax), over() | over(whole)),
    "amin": (over_all(torch.amin), over() | over(whole)),
    "logsumexp": (over_all(torch.logsumexp), over()),
    "all": (over_all(torch.all), over(truths)),
    "any": (over_all(torch.any), over(truths)),
    "max": (torch.max, along(keep)),
    "min": (torch.min, along(keep)),
    "argmax": (torch.argmax, along(keep)),
    "argmin": (torch.argmin, along(keep)),
    "softmax": (torch.softmax, along()),
    "log_softmax": (torch.log_softmax, along()),
    "expand_dims": (torch.unsqueeze, along(beyond=1)),
    "unsqueeze": (torch.unsqueeze, along(beyond=1)),
    "reshape": (torch.reshape, calls.reshaped()),
    "permute": (torch.permute, calls.permuted()),
    "broadcast_to": (torch.broadcast_to, calls.broadcast()),
    "squeeze": (torch.squeeze, calls.squeezed()),
    "flatten": (torch.flatten, calls.flattened()),
    "swapaxes": (torch.swapaxes, calls.swapped()),
    "concat": (torch.concat, calls.joined()),
    "stack": (torch.stack, calls.joined(stacked=True)),
    "split": (torch.split, calls.cut()),
    "bmm": (torch.bmm, calls.stacks_of_matrices()),
    "matmul": (torch.matmul, calls.products()),
    "dense": (functional.linear, calls.neurons()),
    "gather": (gathered, calls.gathered()),
    "gather_elements": (gathered_elements, calls.gathered_elements()),
    "gather_nd": (gathered_at, calls.positions()),
    "unsorted_segment_sum": (segment_sums, calls.segments()),
    "unique": (different, calls.of_lengths("mn", fill=whole)),
    "one_hot": (functional.one_hot, calls.classes()),
    "softmax_cross_entropy": (cross_entropy, calls.rows()),
    "binary_cross_entropy_with_logits": (binary_cross_entropy, calls.shares()),
    "binary_cross_entropy": (probable, calls.probabilities(losses.reductions)),
    "kl_div": (divergence, calls.probabilities(losses.reductions | st.just("batchmean"))),
    "cross_entropy": (losses.cross_entropy, losses.of_classes()),
    "nll_loss": (losses.nll, losses.of_classes()),
    "mse_loss": (losses.mse, calls.two_alike(losses.reductions)),
    "l1_loss": (losses.l1, calls.two_alike(losses.reductions)),
    "cumprod": (torch.cumprod, along()),
    "cumsum": (torch.cumsum, along() | along(fill=whole)),
    "sort": (in_order, along(keep) | along(keep, fill=whole)),
    "argsort": (
        lambda x, axis, down: torch.argsort(x, dim=axis, descending=down, stable=True),
        along(keep) | along(keep, fill=whole),
    ),
    "prod": (product, over() | over(whole)),
    "count_nonzero": (counted, over(whole) | over(truths)),
    "mm": (torch.mm, calls.of_lengths("mk", "kn")),
    "bias_add": (
        with_bias,
        calls.of_lengths("nc", "c") | calls.of_lengths("nchw", "c"),
    ),
    "mv": (torch.mv, calls.of_lengths("mk", "k")),
    "dot": (
        lambda x, y: torch.tensordot(x, y, ([-1], [-2])),
        calls.of_lengths("mk", "kn") | calls.of_lengths("amk", "bckn"),
    ),
    "outer": (torch.outer, calls.of_lengths("m", "n")),
    "addmm": (torch.addmm, calls.of_lengths("mn", "mk", "kn") | calls.of_lengths("", "mk", "kn")),
    "addmv": (torch.addmv, calls.of_lengths("m", "mk", "k")),
    "baddbmm": (torch.baddbmm, calls.of_lengths("bmn", "bmk", "bkn")),
    "einsum": (
        lambda x, y: torch.einsum("iij,j...->...i", x, y),
        calls.of_lengths("iij", "jkl"),
    ),
    "trace": (torch.trace, calls.of_lengths("mn")),
    "diagonal": (torch.diagonal, calls.diagonals()),
    "unbind": (torch.unbind, along()),
    "unstack": (torch.unbind, along()),
    "chunk": (torch.chunk, along(st.integers(1, 4)).map(calls.reversed_arguments)),
    "roll": (torch.roll, along(st.integers(-4, 4)).map(calls.reversed_arguments)),
    "movedim": (torch.movedim, calls.swapped()),
    "meshgrid": (
        lambda *x: torch.meshgrid(*x, indexing="xy"),
        calls.of_lengths("m", "n") | calls.of_lengths("m", "n", "k"),
    ),
    "nonzero": (torch.nonzero, calls.of_lengths("mn", fill=whole)),
    "masked_select": (torch.masked_select, calls.masked().map(calls.without_last)),
    "index_select": (gathered, calls.gathered(1)),
    "scatter": (scattered, calls.scattered()),
    "topk": (torch.topk, calls.chosen()),
    "var": (spread(torch.var), calls.spread()),
    "std": (spread(torch.std), calls.spread()),
    "norm": (norms, calls.of_vectors() | calls.of_matrices()),
    "masked_fill": (torch.masked_fill, calls.masked()),
    "atan2": (torch.atan2, of_several(numbers, numbers)),
    "bincount": (sums_of_occurrences, calls.occurrences()),
    "cholesky": (torch.linalg.cholesky, calls.full_rank(symmetric=True)),
    "column_stack": (torch.column_stack, calls.of_equal_shapes()),
    "conv_transpose2d": (functional.conv_transpose2d, calls.transposed_convolution()),
    "cross": (
        lambda x, y, axis: torch.linalg.cross(*torch.broadcast_tensors(x, y), dim=axis),
        calls.triples(),
    ),
    "cummax": (torch.cummax, along() | along(fill=whole)),
    "cummin": (torch.cummin, along() | along(fill=whole)),
    "det": (torch.linalg.det, calls.full_rank()),
    "diag": (diagonal_of_all, calls.of_lengths("m") | calls.of_lengths("mn")),
    "diag_embed": (torch.diag_embed, calls.embedded()),
    "diagflat": (torch.diagflat, of_one(numbers, st.integers(-3, 3))),
    "dstack": (torch.dstack, calls.of_equal_shapes()),
    "fmod": (torch.fmod, of_several(numbers, divisors)),
    "fold": (functional.fold, calls.folded()),
    "hstack": (torch.hstack, calls.of_equal_shapes()),
    "inverse": (torch.inverse, calls.full_rank()),
    "isclose": (torch.isclose, of_several(whole, whole) | of_several(numbers, numbers)),
    "kron": (torch.kron, calls.of_lengths("m", "nk") | calls.of_lengths("amk", "n")),
    "logdet": (torch.logdet, calls.full_rank(symmetric=True)),
    "median": (torch.median, along(keep)),
    "nan_to_num": (
        torch.nan_to_num,
        of_one(calls.extraordinary, st.sampled_from([None, 0.5]), st.just(2), st.just(-3.5)),
    ),
    "pixel_shuffle": (functional.pixel_shuffle, calls.pixels()),
    "pixel_unshuffle": (functional.pixel_unshuffle, calls.pixels(back=True)),
    "qr": (
        torch.linalg.qr,
        calls.full_rank() | calls.full_rank(rows=3, columns=2) | calls.full_rank(rows=2, columns=3),
    ),
    "rms_norm": (rms_norm, calls.of_lengths("abc", "bc") | calls.of_lengths("abc", "c")),
    "row_stack": (torch.row_stack, calls.of_equal_shapes()),
    "scatter_nd": (scattered_at, calls.placed()),
    "searchsorted": (
        lambda x, y, right: torch.searchsorted(x, y, right=right),
        calls.in_sorted_rows(),
    ),
    "slogdet": (torch.slogdet, calls.full_rank()),
    "svd": (
        lambda x, *_: torch.linalg.svdvals(x),
        calls.full_rank(False, False) | calls.full_rank(False, False, rows=2, columns=3),
    ),
    "tensor_scatter_add": (added_at, calls.placed(into=True)),
    "tensor_scatter_elements": (scattered, calls.scattered()),
    "unfold": (functional.unfold, calls.unfolded()),
    "vstack": (torch.vstack, calls.of_equal_shapes()),
    "xlogy": (torch.xlogy, of_several(numbers, positive)),
    "tril": (torch.tril, calls.matrices()),
    "triu": (torch.triu, calls.matrices()),
    "tile": (torch.tile, calls.tiled()),
    "flip": (torch.flip, calls.flipped()),
    "repeat_interleave": (repeated, calls.interleaved()),
    "repeat_elements": (
        torch.repeat_interleave,
        along(st.integers(0, 3)).map(calls.reversed_arguments),
    ),
    "linspace": (torch.linspace, given_values((0, 1, 5), (2.5, -1, 4), (3, 3, 1))),
    "arange": (torch.arange, given_values((5,), (2, 9), (1.0, 2.0, 0.25), (7, 1, -2), (0,))),
    "eye": (torch.eye, given_values((3,), (2, 3), (3, 1), (0,))),
    "full": (torch.full, given_values(((2, 3), 7), ((), 2.5), ((0, 2), 1))),
    "ones": (torch.ones, given_values(((2, 3),), (4,), ((0,),))),
    "zeros": (torch.zeros, given_values(((2, 3),), (4,), ((0,),))),
    "full_like": (torch.full_like, of_one(numbers, st.just(7)) | of_one(whole, st.just(7))),
    "ones_like": (torch.ones_like, of_one() | of_one(whole)),
    "zeros_like": (torch.zeros_like, of_one() | of_one(whole)),
}
# PyTorch has most of these functions by the same name.
PAIRS.update(
    (name, (getattr(torch, name, None) or getattr(functional, name), of_one()))
    for name in elementwise.__all__
    if name.islower() and getattr(ops, name).__name__ not in PAIRS
)


def contracted(x: Tensor, y: Tensor) -> Tensor:
    return ops.einsum("iij,j...->...i", x, y)


# Operations whose arguments have another order in PyTorch.
ORDERED: Mapping[str, Callable[..., Tensor]] = {
    "binary_cross_entropy": binary,
    "einsum": contracted,
    "flatten": flattened,
    "index_select": selected,
    "scatter": put,
    "searchsorted": searched,
    "gather_elements": elements,
}
# Operations that another test file compares.
ELSEWHERE: Mapping[str, str] = {
    "avg_pool2d": "oracles/test_torch_conv.py",
    "batch_norm": "oracles/test_torch_normalization.py",
    "conv2d": "oracles/test_torch_conv.py",
    "clip_by_global_norm": "oracles/test_torch_gradient_clipping.py",
    "interpolate": "oracles/test_torch_resize.py",
    "layer_norm": "oracles/test_torch_normalization.py",
    "max_pool2d": "oracles/test_torch_conv.py",
    "pad": "oracles/test_torch_normalization.py",
}
GRADIENTS = "compared with a naive engine in tests/autograd"
# Why the other operations are not compared.
REASONS: Mapping[str, str] = {
    "GradOperation": GRADIENTS,
    "grad": GRADIENTS,
    "value_and_grad": GRADIENTS,
    **dict.fromkeys(
        ("assign", "assign_add", "assign_sub", "index_add", "scatter_add"),
        "writes into its argument",
    ),
    **dict.fromkeys(
        ("MultitypeFuncGraph", "constexpr", "depend", "partial", "vmap"),
        "is a function of functions",
    ),
    "identity": "returns its argument",
    **dict.fromkeys(("scalar_to_tensor", "tuple_to_array"), "is the constructor of a tensor"),
    "fill": "is full, with the type as its first argument",
    "clip_by_value": "is clip, of several tensors",
    **dict.fromkeys(("dtype", "rank", "shape", "size"), "reads a property"),
    "get_grad": "looks up a gradient",
    "apply_rule": "applies a rule of the user's",
    **dict.fromkeys(
        (
            *("dropout", "dropout2d", "multinomial", "normal", "rand", "randint", "randn"),
            "randperm",
            *("standard_normal", "uniform"),
        ),
        "draws numbers",
    ),
    **{name: "writes a summary" for name in dir(ops) if name.endswith("Summary")},
    **dict.fromkeys((*PRIMITIVES, *former_names.__all__), "is another form of a function"),
}
# Methods with other arguments or results than the operations of their names, as MindSpore has them.
OTHER_METHODS = {
    *("max", "min", "sum", "flatten", "gather_elements", "gather", "index_select", "scatter"),
    *("chunk", "roll", "diagonal", "trace", "std", "var", "add", "sub", "subtract"),
    *("qr", "searchsorted"),
}


def names_of(name: str) -> set[str]:
    """Return all names of an operation."""
    return {other for other in dir(ops) if getattr(ops, other) is getattr(ops, name)}
