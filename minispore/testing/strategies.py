"""Strategies for hypothesis: random tensors, networks, pipelines, callbacks and runs.

What fails is printed as a short program: ``Dense(1, 1)``, ``Schedule('train', 1, 1)``.

With this module imported, hypothesis seeds minispore's random streams before each example, as it
does with those of `random` and numpy, and puts them back afterwards: a network begins with the same
weights when a failing example is run again.
"""

import os
from collections.abc import Callable, Collection, Sequence
from typing import Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from hypothesis import register_random
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore import nn
from minispore._dtype import ALL, BOOL, FLOAT, INTEGER
from minispore.common import Tensor, set_seed
from minispore.common.dtype import DType
from minispore.common.seed import random_state, set_random_state
from minispore.dataset import Dataset, NumpySlicesDataset
from minispore.testing._schedule import Kind, Schedule, Trouble
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
from minispore.train._protocol.callback import EVENTS

__all__ = [
    "broadcastable_tensors",
    "callback_lists",
    "cells",
    "datasets",
    "dtypes",
    "schedules",
    "shapes",
    "tensors",
]

Shape: TypeAlias = tuple[int, ...]
Path: TypeAlias = str | os.PathLike[str]

_CATEGORIES = {"bool": BOOL, "int": INTEGER, "float": FLOAT}
# Numbers whose sums, products and powers are numbers too.
_LARGEST = 100
_ACTIVATIONS = (nn.ReLU, nn.Tanh, nn.Sigmoid, nn.Identity)


class _Streams:
    """The program's random streams, as hypothesis knows what is random."""

    def seed(self, seed: int) -> None:
        set_seed(seed % 2**32)

    def getstate(self) -> object:
        return random_state()["program"]

    def setstate(self, state: object) -> None:
        set_random_state(random_state() | {"program": state})


_streams = _Streams()  # of which hypothesis keeps no reference
register_random(_streams)


def dtypes(*categories: Literal["bool", "int", "float"]) -> st.SearchStrategy[DType]:
    """Types of tensors.

    Args:
        *categories: Of which kinds; without any, of all.

    Raises:
        KeyError: There is no such kind.

    Examples:
        >>> from hypothesis import find
        >>> find(dtypes("float"), lambda dtype: True)
        minispore.float16
    """
    wanted = [_CATEGORIES[name] for name in categories or _CATEGORIES]
    return st.sampled_from([dtype for dtype in ALL if dtype.category in wanted])


def shapes(
    min_dims: int = 0, max_dims: int = 3, min_side: int = 0, max_side: int = 4
) -> st.SearchStrategy[Shape]:
    """Shapes of tensors; by default also those of scalars and of tensors without elements.

    Args:
        min_dims: The fewest axes.
        max_dims: The most axes.
        min_side: The shortest axis.
        max_side: The longest axis.
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
    """Tensors.

    Args:
        dtype: The type, or a strategy for it; by default any type.
        shape: The shape, or a strategy for it; by default any of `shapes`.
        special: Whether the elements are all that the type can hold, with NaN and infinities,
            or only between −100 and 100.

    Examples:
        >>> from hypothesis import find
        >>> from minispore import float32
        >>> find(tensors(float32, (2,)), lambda x: True)
        Tensor(shape=[2], dtype=Float32, value= [ 0.00000000e+00,  0.00000000e+00])
    """
    types = dtypes() if dtype is None else dtype
    drawn = types if isinstance(types, st.SearchStrategy) else st.just(types)
    sizes = shapes() if shape is None else shape
    return drawn.flatmap(lambda each: _of_type(each, sizes, special=special))


def broadcastable_tensors(
    count: int = 2,
    dtype: DType | st.SearchStrategy[DType] | None = None,
    *,
    special: bool = False,
) -> st.SearchStrategy[tuple[Tensor, ...]]:
    """Tensors whose shapes broadcast together.

    Args:
        count: How many.
        dtype: The type of all, or a strategy for the type of each; by default any type.
        special: As in `tensors`.
    """
    together = hnp.mutually_broadcastable_shapes(
        num_shapes=count, min_dims=0, max_dims=3, min_side=0, max_side=4
    )
    return together.flatmap(
        lambda drawn: st.tuples(
            *(tensors(dtype, own, special=special) for own in drawn.input_shapes)
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
    """Small networks of dense layers and activations, from (n, inputs) to (n, outputs).

    Args:
        draw: Is given by hypothesis.
        inputs: The features that go in; by default from 1 to 4. Then
            ``next(net.get_parameters()).shape[1]`` tells.
        outputs: The features that come out; by default from 1 to 4.
        max_layers: The most dense layers.
        dropout: Whether there may be dropout.
    """
    sides = st.integers(1, 4)
    count = draw(st.integers(1, max_layers))
    widths = [draw(sides) for _ in range(count + 1)]
    widths[0] = widths[0] if inputs is None else inputs
    widths[-1] = widths[-1] if outputs is None else outputs
    layers: list[nn.Cell] = []
    for i in range(count):
        sizes = st.just(widths[i]), st.just(widths[i + 1])
        layers.append(draw(st.builds(nn.Dense, *sizes)))
        if i < count - 1:
            layers.append(draw(st.sampled_from(_ACTIVATIONS).flatmap(st.builds)))
            if dropout and draw(st.booleans()):
                layers.append(draw(st.builds(nn.Dropout, p=st.sampled_from([0.5, 0.1]))))
    return layers[0] if count == 1 else draw(st.builds(nn.SequentialCell, st.just(layers)))


@st.composite
def datasets(
    draw: st.DrawFn, features: int = 2, classes: int = 3, *, max_steps: int = 3
) -> Dataset:
    """Pipelines of which each batch is an input, float32 (n, features), and a label, int32 (n,).

    None is empty.

    Args:
        draw: Is given by hypothesis.
        features: The numbers of an input.
        classes: How many labels there are.
        max_steps: The most operations before the batching.
    """
    rows = draw(st.integers(1, 12))
    # All different, so that an order can be told from another.
    x = np.arange(rows * features, dtype=np.float32).reshape(rows, features) / 4
    y = np.arange(rows, dtype=np.int32) % classes
    columns: dict[str, npt.NDArray[np.generic]] = {"x": x, "y": y}
    dataset: Dataset = draw(st.builds(NumpySlicesDataset, st.just(columns), shuffle=st.just(False)))
    for _ in range(draw(st.integers(0, max_steps))):
        name = draw(st.sampled_from(["take", "skip", "repeat", "shuffle"]))
        if name == "skip" and rows == 1:
            continue
        least, most = {"take": (1, rows), "skip": (1, rows - 1)}.get(name, (2, 3))
        number = draw(st.integers(least, most))
        step = cast("Callable[[Dataset, int], Dataset]", getattr(Dataset, name))
        dataset = draw(st.builds(step, st.just(dataset), st.just(number)))
        rows = {"take": number, "skip": rows - number, "repeat": rows * number}.get(name, rows)
    size = draw(st.integers(1, 5))
    drop = draw(st.booleans()) and size <= rows
    return draw(st.builds(Dataset.batch, st.just(dataset), st.just(size), st.just(drop)))


def callback_lists(
    kind: Kind = "train", directory: Path | None = None, *, max_size: int = 4
) -> st.SearchStrategy[list[Callback]]:
    """Lists of the package's callbacks.

    Args:
        kind: What they are for: in "fit", for one with a validation, there are also those that
            look at its results.
        directory: The folder for those that write files; without it there are none of them.
        max_size: The most callbacks.
    """
    often = st.integers(1, 3)
    kinds: list[st.SearchStrategy[Callback]] = [
        st.builds(LossMonitor, often),
        st.builds(History),
        st.builds(TimeMonitor),
    ]
    if kind == "fit":
        patience = st.integers(0, 2)
        kinds.append(st.builds(EarlyStopping, patience=patience))
        kinds.append(st.builds(ReduceLROnPlateau, patience=patience))
    if directory is not None and kind != "eval":
        config = st.builds(CheckpointConfig, often, keep_checkpoint_max=often)
        kinds.append(st.builds(ModelCheckpoint, st.just("net"), st.just(directory), config))
        if kind == "fit":
            best = st.builds(BestCheckpoint, top_k=often, directory=st.just(directory))
            kinds.append(best)
    return st.lists(st.one_of(kinds), max_size=max_size)


@st.composite
def schedules(
    draw: st.DrawFn,
    kinds: Collection[Kind] = ("train", "fit", "eval"),
    troubles: Sequence[Literal["stop", "exception", "interrupt", "kill"]] = (
        "stop",
        "exception",
        "interrupt",
        "kill",
    ),
) -> Schedule:
    """Small runs, some of them with a stop, an exception, an interrupt or a kill at some event.

    Args:
        draw: Is given by hypothesis.
        kinds: Which kinds of runs there are.
        troubles: Which kinds of trouble there are; none for undisturbed runs.
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
    disturbed: bool = draw(st.booleans())
    if troubles and disturbed:
        events = [event for event in EVENTS if kind == "fit" or event.startswith(f"on_{kind}_")]
        fields["trouble"] = st.builds(
            Trouble,
            st.sampled_from(events),
            st.integers(1, 4),
            st.sampled_from(list(troubles)),
            st.booleans(),
        )
    return draw(st.builds(Schedule, st.just(kind), **fields))


def _of_type(
    dtype: DType, shape: Shape | st.SearchStrategy[Shape], *, special: bool
) -> st.SearchStrategy[Tensor]:
    elements: st.SearchStrategy[object] | None = None
    if not special and dtype.category == FLOAT:
        width = cast("Literal[16, 32, 64]", 8 * dtype.numpy_dtype.itemsize)
        elements = st.floats(-_LARGEST, _LARGEST, width=width)
    elif not special and dtype.category == INTEGER:
        least = 0 if dtype.numpy_dtype.kind == "u" else -_LARGEST
        elements = st.integers(least, _LARGEST)
    return st.builds(Tensor, hnp.arrays(dtype.numpy_dtype, shape, elements=elements))
