"""Strategies for hypothesis: random tensors, networks, datasets, callbacks and scenarios.

A failing example is printed as a short program: ``Dense(1, 1)``, ``Scenario('train', 1, 1)``.

When this module is imported, hypothesis seeds minispore's random streams before each example, as it
does for `random` and numpy, and restores them afterwards. So a network has the same initial weights
when a failing example is run again.
"""

import os
from collections.abc import Callable, Collection, Sequence
from typing import Literal, TypeAlias, cast

import numpy as np
from hypothesis import register_random
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore import nn
from minispore.common import Tensor, set_seed
from minispore.common.dtype import DType
from minispore.common.seed import get_rng_state, set_rng_state
from minispore.dataset import Dataset, NumpySlicesDataset
from minispore.engine.dtypes import BOOL, DTYPES, FLOAT, INTEGER
from minispore.testing._scenario import Fault, FaultKind, Kind, Scenario
from minispore.train import (
    BestCheckpoint,
    Callback,
    CheckpointConfig,
    EarlyStopping,
    History,
    LossMonitor,
    ModelCheckpoint,
    ReduceLROnPlateau,
    TimeMonitor,
)
from minispore.train.protocol import EVENTS
from minispore.utils.arrays import AnyArray

__all__ = [
    "broadcastable_tensors",
    "callback_lists",
    "cells",
    "datasets",
    "dtypes",
    "repeat_to_shape",
    "scenarios",
    "shapes",
    "tensors",
]


Shape: TypeAlias = tuple[int, ...]
Path: TypeAlias = str | os.PathLike[str]

_CATEGORIES = {"bool": BOOL, "int": INTEGER, "float": FLOAT}
# Bounds numbers so that their sums and products are finite in each dtype.
_MAX_ABS = 100
_ACTIVATIONS = (nn.ReLU, nn.Tanh, nn.Sigmoid, nn.Identity)


class _Streams:
    """minispore's random streams with the interface that hypothesis expects."""

    def seed(self, seed: int) -> None:
        set_seed(seed % 2**32)

    def getstate(self) -> object:
        return get_rng_state()["program"]

    def setstate(self, state: object) -> None:
        set_rng_state(get_rng_state() | {"program": state})


_streams = _Streams()  # hypothesis keeps only a weak reference
register_random(_streams)


def dtypes(*categories: Literal["bool", "int", "float"]) -> st.SearchStrategy[DType]:
    """Return a strategy for the dtypes of tensors.

    Args:
        *categories: The categories, "bool", "int" or "float"; by default all.

    Returns:
        A strategy for `DType`s.

    Raises:
        KeyError: A category is unknown.

    Examples:
        >>> from hypothesis import find
        >>> find(dtypes("float"), lambda dtype: True)
        minispore.float16
    """
    selected = [_CATEGORIES[name] for name in categories or _CATEGORIES]
    return st.sampled_from([dtype for dtype in DTYPES if dtype.category in selected])


def shapes(
    min_dims: int = 0, max_dims: int = 3, min_side: int = 0, max_side: int = 4
) -> st.SearchStrategy[Shape]:
    """Return a strategy for shapes, by default including scalars and tensors without elements.

    Args:
        min_dims: The minimum number of axes.
        max_dims: The maximum number of axes.
        min_side: The minimum length of an axis.
        max_side: The maximum length of an axis.

    Returns:
        A strategy for tuples of int.

    Examples:
        >>> from hypothesis import find
        >>> find(shapes(min_dims=2), lambda shape: 0 not in shape)
        (1, 1)
    """
    return hnp.array_shapes(
        min_dims=min_dims, max_dims=max_dims, min_side=min_side, max_side=max_side
    )


def tensors(
    dtype: DType | st.SearchStrategy[DType] | None = None,
    shape: Shape | st.SearchStrategy[Shape] | None = None,
    *,
    special: bool = False,
) -> st.SearchStrategy[Tensor]:
    """Return a strategy for tensors.

    Args:
        dtype: The dtype, or a strategy for it; by default any dtype.
        shape: The shape, or a strategy for it; by default any of `shapes`.
        special: Whether the elements are all values of the dtype, with NaN and infinities, instead
            of those from −100 to 100.

    Returns:
        A strategy for tensors.

    Examples:
        >>> from hypothesis import given
        >>> from minispore import float32
        >>> @given(tensors(float32, (2,)))
        ... def negation_is_its_own_inverse(x):
        ...     assert (-(-x)).tolist() == x.tolist()
        >>> negation_is_its_own_inverse()
    """
    types = dtypes() if dtype is None else dtype
    types = types if isinstance(types, st.SearchStrategy) else st.just(types)
    sizes = shapes() if shape is None else shape
    return types.flatmap(lambda drawn: _tensors_of_dtype(drawn, sizes, special=special))


def repeat_to_shape(values: Sequence[int], shape: Sequence[int], dtype: DType) -> Tensor:
    """Return a tensor whose elements repeat some values: what `st.from_type(Tensor)` builds.

    Args:
        values: Integers. A dtype with fractions has eighths of them, an unsigned one their absolute
            values, and bools their parity.
        shape: The shape.
        dtype: The dtype.

    Returns:
        A tensor.

    Examples:
        >>> from minispore import float32
        >>> repeat_to_shape([4, -8], (2, 2), float32).tolist()
        [[0.5, -1.0], [0.5, -1.0]]
    """
    kind = dtype.numpy_dtype
    elements = np.resize(np.array(values), tuple(shape))
    if kind.kind == "f":
        elements = elements / 8
    elif kind.kind != "i":
        elements = abs(elements) if kind.kind == "u" else elements % 2
    return Tensor(elements.astype(kind))


def broadcastable_tensors(
    count: int = 2,
    dtype: DType | st.SearchStrategy[DType] | None = None,
    *,
    special: bool = False,
) -> st.SearchStrategy[tuple[Tensor, ...]]:
    """Return a strategy for tuples of tensors whose shapes can be broadcast together.

    Args:
        count: The number of tensors.
        dtype: The dtype of all, or a strategy for the dtype of each; by default any dtype.
        special: As in `tensors`.

    Returns:
        A strategy for tuples of `count` tensors.

    Examples:
        >>> from hypothesis import given
        >>> from minispore import float32
        >>> @given(broadcastable_tensors(dtype=float32))
        ... def sum_does_not_depend_on_the_order(pair):
        ...     x, y = pair
        ...     assert (x + y).tolist() == (y + x).tolist()
        >>> sum_does_not_depend_on_the_order()
    """
    broadcastable = hnp.mutually_broadcastable_shapes(
        num_shapes=count, min_dims=0, max_dims=3, min_side=0, max_side=4
    )
    return broadcastable.flatmap(
        lambda drawn: st.tuples(
            *(tensors(dtype, shape, special=special) for shape in drawn.input_shapes)
        )
    )


@st.composite
def cells(
    draw: st.DrawFn,
    inputs: int | None = None,
    outputs: int | None = None,
    *,
    max_layers: int = 3,
    dropout: bool = False,
) -> nn.Cell:
    """Return a strategy for small networks of dense layers, from (n, inputs) to (n, outputs).

    Args:
        draw: Passed by hypothesis.
        inputs: The number of input features; by default from 1 to 4, which is
            ``next(net.get_parameters()).shape[1]``.
        outputs: The number of output features; by default from 1 to 4.
        max_layers: The maximum number of dense layers; activations are between them.
        dropout: Whether to draw Dropout layers as well.

    Returns:
        A strategy for `Dense` layers and `SequentialCell`s.

    Examples:
        >>> from hypothesis import given
        >>> from minispore import ops
        >>> @given(cells(inputs=2, outputs=3))
        ... def maps_rows_of_2_to_rows_of_3(net):
        ...     assert net(ops.zeros((4, 2))).shape == (4, 3)
        >>> maps_rows_of_2_to_rows_of_3()
    """
    sides = st.integers(1, 4)
    first = draw(sides) if inputs is None else inputs
    last = draw(sides) if outputs is None else outputs
    activations = st.sampled_from(_ACTIVATIONS).flatmap(st.builds)
    dropouts = st.builds(nn.Dropout, p=st.sampled_from([0.5, 0.1]))
    # A list, from which shrinking can remove each hidden layer.
    hidden = st.tuples(sides, activations, st.none() | dropouts if dropout else st.none())
    layers: list[nn.Cell] = []
    for width, *others in draw(st.lists(hidden, max_size=max_layers - 1)):
        layers.append(draw(st.builds(nn.Dense, st.just(first), st.just(width))))
        layers += [layer for layer in others if layer is not None]
        first = width
    layers.append(draw(st.builds(nn.Dense, st.just(first), st.just(last))))
    return layers[0] if len(layers) == 1 else draw(st.builds(nn.SequentialCell, st.just(layers)))


@st.composite
def datasets(
    draw: st.DrawFn, features: int = 2, classes: int = 3, *, max_steps: int = 3
) -> Dataset:
    """Return a strategy for non-empty datasets of batches.

    Each batch is an input, float32 of shape (n, features), and a label, int32 of shape (n,).

    Args:
        draw: Passed by hypothesis.
        features: The number of input features.
        classes: The number of classes.
        max_steps: The maximum number of operations before `batch`.

    Returns:
        A strategy for datasets with the columns "x" and "y".

    Examples:
        >>> from hypothesis import find
        >>> find(datasets(), lambda dataset: dataset.get_dataset_size() > 1).get_col_names()
        ['x', 'y']
    """
    rows = draw(st.integers(1, 12))
    # All rows differ, so that tests can distinguish their orders.
    x = np.arange(rows * features, dtype=np.float32).reshape(rows, features) / 4
    y = np.arange(rows, dtype=np.int32) % classes
    columns: dict[str, AnyArray] = {"x": x, "y": y}
    dataset: Dataset = draw(st.builds(NumpySlicesDataset, st.just(columns), shuffle=st.just(False)))
    for _ in range(draw(st.integers(0, max_steps))):
        name = draw(st.sampled_from(["take", "skip", "repeat", "shuffle"]))
        if name == "skip" and rows == 1:
            continue
        bounds = {"take": (1, rows), "skip": (1, rows - 1)}.get(name, (2, 3))
        number = draw(st.integers(*bounds))
        operation: Callable[[Dataset, int], Dataset] = getattr(Dataset, name)
        dataset = draw(st.builds(operation, st.just(dataset), st.just(number)))
        rows = {"take": number, "skip": rows - number, "repeat": rows * number}.get(name, rows)
    size = draw(st.integers(1, 5))
    drop = draw(st.booleans()) and size <= rows
    return draw(st.builds(Dataset.batch, st.just(dataset), st.just(size), st.just(drop)))


def callback_lists(
    kind: Kind = "train", directory: Path | None = None, *, max_size: int = 4
) -> st.SearchStrategy[list[Callback]]:
    """Return a strategy for lists of minispore's callbacks.

    Args:
        kind: The kind of run. For "fit", which then needs validation data, there are also callbacks
            that monitor metrics.
        directory: The folder of callbacks that write files; None for no such callbacks.
        max_size: The maximum number of callbacks.

    Returns:
        A strategy for lists of up to `max_size` callbacks.

    Examples:
        >>> from hypothesis import given
        >>> from minispore.train import Callback
        >>> @given(callback_lists("train"))
        ... def contains_only_callbacks(callbacks):
        ...     assert all(isinstance(each, Callback) for each in callbacks)
        >>> contains_only_callbacks()
    """
    period = st.integers(1, 3)
    kinds: list[st.SearchStrategy[Callback]] = [
        st.builds(LossMonitor, period),
        st.builds(History),
        st.builds(TimeMonitor),
    ]
    if kind == "fit":
        patience = st.integers(0, 2)
        kinds.append(st.builds(EarlyStopping, patience=patience))
        kinds.append(st.builds(ReduceLROnPlateau, patience=patience))
    if directory is not None and kind != "eval":
        config = st.builds(CheckpointConfig, period, keep_checkpoint_max=period)
        kinds.append(st.builds(ModelCheckpoint, st.just("net"), st.just(directory), config))
        if kind == "fit":
            best = st.builds(BestCheckpoint, top_k=period, directory=st.just(directory))
            kinds.append(best)
    return st.lists(st.one_of(kinds), max_size=max_size)


@st.composite
def scenarios(
    draw: st.DrawFn,
    kinds: Collection[Kind] = ("train", "fit", "eval"),
    faults: Sequence[FaultKind] = ("stop", "exception", "interrupt", "kill"),
) -> Scenario:
    """Return a strategy for scenarios, some of them with a fault at some event.

    Args:
        draw: Passed by hypothesis.
        kinds: The kinds of runs.
        faults: The kinds of faults; none for runs without faults.

    Returns:
        A strategy for `Scenario`s.

    Examples:
        >>> from hypothesis import given
        >>> @given(scenarios(["eval"]))
        ... def is_an_evaluation(scenario):
        ...     assert scenario.kind == "eval"
        >>> is_an_evaluation()
    """
    few = st.integers(1, 3)
    kind = draw(st.sampled_from(list(kinds)))
    fields: dict[str, st.SearchStrategy[object]] = {}
    if kind != "eval":
        fields |= {"epochs": few, "batches": few}
    if kind != "train":
        fields["valid_batches"] = few
    if kind == "fit":
        fields["valid_batches"] = few | st.none()
        some = st.lists(st.integers(1, 4), max_size=2, unique=True).map(tuple)
        fields["valid_frequency"] = few | some
    has_fault: bool = draw(st.booleans())
    if faults and has_fault:
        events = [event for event in EVENTS if kind == "fit" or event.startswith(f"on_{kind}_")]
        fields["fault"] = st.builds(
            Fault,
            st.sampled_from(events),
            st.integers(1, 4),
            st.sampled_from(list(faults)),
            st.booleans(),
        )
    return draw(st.builds(Scenario, st.just(kind), **fields))


def _tensors_of_dtype(
    dtype: DType, shape: Shape | st.SearchStrategy[Shape], *, special: bool
) -> st.SearchStrategy[Tensor]:
    elements: st.SearchStrategy[object] | None = None
    if not special and dtype.category == FLOAT:
        width = cast("Literal[16, 32, 64]", 8 * dtype.numpy_dtype.itemsize)
        elements = st.floats(-_MAX_ABS, _MAX_ABS, width=width)
    elif not special and dtype.category == INTEGER:
        lowest = 0 if dtype.numpy_dtype.kind == "u" else -_MAX_ABS
        elements = st.integers(lowest, _MAX_ABS)
    return st.builds(Tensor, hnp.arrays(dtype.numpy_dtype, shape, elements=elements))
