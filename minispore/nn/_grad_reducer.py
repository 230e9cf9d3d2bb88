"""The gradients of several processes as one: what a training step does with them in between."""

from collections.abc import Iterable, Sequence
from typing import Final, cast

import numpy as np

from minispore._array import Array, device_namespace, is_host, own, place, target_of
from minispore._checks import as_items, check_one_of, check_type, described
from minispore._functional.variable import wrap
from minispore.common.parallel import get_auto_parallel_context, is_chosen
from minispore.common.parameter import Parameter, ParameterTuple
from minispore.common.tensor import Tensor
from minispore.communication import GlobalComm, get_group_size
from minispore.communication._exchange import (
    at_hand,
    check_alike,
    described_setting,
    is_data_parallel,
    spread,
    sums,
    travels_as,
)
from minispore.nn.cell import Cell
from minispore.nn.optim.optimizer import Optimizer

# Attributes that are no settings.
_OF_ANY_CELL: Final = frozenset(vars(Cell()))


class DistributedGradReducer(Cell):
    """Gradients in, and out what the optimiser of every process is to use: their sum or mean.

    `TrainOneStepCell`, and so `Model`, has one where
    ``set_auto_parallel_context(parallel_mode="data_parallel")`` was called. A training loop of your
    own calls one between the gradients and the optimizer. All processes must call it at the same
    step; the gradients travel together in a few buffers.

    >>> from minispore import Tensor, nn
    >>> net = nn.Dense(1, 1)
    >>> reduced = nn.DistributedGradReducer(net.trainable_params(), mean=True)
    >>> reduced((Tensor([[0.5]]), Tensor([2.0])))[1].tolist()  # there is one process
    [2.0]

    Source: MindSpore's `mindspore.nn.DistributedGradReducer`.

    Args:
        parameters: What the gradients are of.
        mean: Whether the sum is divided by `degree`; None for what `gradients_mean` says.
        degree: What it is divided by; None for the number of processes.
        fusion_type: 1; accepted for MindSpore's sake.
        group: The group of all processes.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: `degree` is no int above 0, or `group` is another one.
    """

    def __init__(
        self,
        parameters: Iterable[Parameter],
        mean: bool | None = None,
        degree: int | None = None,
        fusion_type: int = 1,
        group: str = GlobalComm.WORLD_COMM_GROUP,
    ) -> None:
        super().__init__(auto_prefix=False)
        owner = "DistributedGradReducer"
        check_type(mean, bool, "mean", owner, none=True)
        check_type(fusion_type, int, "fusion_type", owner)
        check_type(parameters, Iterable, "parameters", owner)
        given = [parameters] if isinstance(parameters, Tensor) else list(parameters)
        for i, parameter in enumerate(given):
            check_type(parameter, Parameter, f"parameters[{i}]", owner)
        check_one_of(group, (GlobalComm.WORLD_COMM_GROUP,), "group", owner)
        size = get_group_size()
        if degree is not None and (type(degree) is not int or degree <= 0):
            raise ValueError(
                f"For '{owner}', the argument 'degree' must be an int above 0, but got "
                f"{described(degree)}."
            )
        self._count = len(given)
        if mean is None:
            mean = bool(get_auto_parallel_context("gradients_mean"))
        self.mean: bool = mean
        self.degree: int = degree or size

    def construct(self, grads: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The gradients of all processes as one, in new memory.

        Raises:
            ValueError: They are more or fewer than the parameters.
        """
        arrays = self._arrays(grads)
        # Alone there is nothing to add, but what comes out is in new memory all the same.
        totals = sums(arrays) if GlobalComm.INITED else [own(x, copy=True) for x in arrays]
        return self._reduced(totals, self.degree, grads)

    def of_step(
        self, outputs: Tensor, grads: Sequence[Tensor], rows: int
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Likewise in a step of `TrainOneStepCell`, and in the same message the mean loss.

        There every row counts once, in whichever process: so the loss and, with `mean`, the
        gradients are those of one batch of all processes' rows.

        Args:
            outputs: The loss, or, in spite of the annotation, a tuple that begins with it.
            grads: The gradients.
            rows: How many rows of data both are means of; 0 where they are only zeros.
        """
        arrays = self._arrays(grads)
        several = as_items(outputs)
        first: object = several[0] if several else outputs
        loss = first if isinstance(first, Tensor) else Tensor(cast("float", first))
        value = _beside(loss._data, arrays[0]) if arrays else at_hand([loss._data])[0]
        library = device_namespace(value)
        # A process without rows cannot know of which type the loss is, but that of its parameters.
        kind = travels_as(arrays[0]) if arrays else np.dtype(np.float32)
        weight, times = (rows, 1) if self.mean else (1, rows)
        total = library.astype(library.reshape(value, (1,)), kind) * times
        counted = library.full((1,), times, dtype=kind)
        total, counted, *totals = sums([total, counted, *arrays], weight)
        counted = library.maximum(counted, 1.0)
        mean = library.reshape(library.astype(total / counted, value.dtype), value.shape)
        divisor = library.reshape(counted * (self.degree / get_group_size()), ())
        reduced = self._reduced(totals, divisor, grads)
        told = wrap(_beside(mean, loss._data), loss)
        return (cast("Tensor", (told, *several[1:])) if several else told), reduced

    def _arrays(self, grads: Sequence[Tensor]) -> list[Array]:
        if len(grads) != self._count:
            raise ValueError(
                f"For '{self.cls_name}', there must be a gradient for each of the {self._count} "
                f"parameters, but got {len(grads)}."
            )
        return at_hand([gradient._data for gradient in grads])

    def _reduced(
        self,
        totals: Sequence[Array],
        divisor: Array | float,
        grads: Sequence[Tensor],
    ) -> tuple[Tensor, ...]:
        made: list[Tensor] = []
        for total, gradient in zip(totals, grads, strict=True):
            library, kind = device_namespace(total), gradient._data.dtype
            values = total
            if self.mean:
                is_float = cast("np.dtype[np.generic]", total.dtype).kind == "f"
                values = library.divide(total, divisor, out=total if is_float else None)
            if values.dtype != kind:
                values = library.astype(values, kind)
            made.append(wrap(_beside(values, gradient._data), gradient))
        return tuple(made)


def _beside(x: Array, like: Array) -> Array:
    if is_host(x) == is_host(like):
        return x
    return place(x, target_of(like), "DistributedGradReducer")


def reducer_of(parameters: Sequence[Parameter]) -> DistributedGradReducer | None:
    """What reduces their gradients in a training step; None where a process trains alone."""
    if not is_data_parallel("TrainOneStepCell"):
        return None
    return DistributedGradReducer(parameters)


def broadcasts_parameters() -> bool:
    """Whether all processes begin with the first process's parameters."""
    return not is_chosen("parameter_broadcast") or bool(
        get_auto_parallel_context("parameter_broadcast")
    )


def begin_alike(network: Cell) -> None:
    """Give every process the first one's parameters, unless `parameter_broadcast` was set to False.

    Raises:
        ValueError: In all processes: their parameters have other names, shapes or types, or their
            optimizers other settings.
    """
    parameters = list(network.get_parameters())
    if get_group_size() > 1:
        described = {
            f"parameter {p.name}": f"{p.dtype} {p.shape}, requires_grad={p.requires_grad}"
            for p in parameters
        }
        for _, cell in network.cells_and_names():
            if isinstance(cell, Optimizer):
                described = _settings(cell) | described
        check_alike(network.cls_name, described)
    if not broadcasts_parameters():
        return
    for parameter, values in zip(parameters, spread([p._data for p in parameters]), strict=True):
        parameter.set_data(wrap(values, parameter))


def _settings(optimizer: Optimizer) -> dict[str, str]:
    """Describe the classes and settings of an optimizer and of the cells in it, by their paths."""
    found: dict[str, str] = {}
    for path, cell in optimizer.cells_and_names(name_prefix="optimizer"):
        found.setdefault(path, type(cell).__qualname__)
        settings = vars(cell) | (optimizer._given if cell is optimizer else {})
        for name, value in settings.items():
            # The values of parameters are the first process's everywhere.
            is_own = name not in _OF_ANY_CELL and not name.startswith("_")
            if is_own and not isinstance(value, Parameter | ParameterTuple):
                found[f"{path}.{name}"] = described_setting(value)
    return found
