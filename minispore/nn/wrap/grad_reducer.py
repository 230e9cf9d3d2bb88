"""Reduce gradients over processes, between the backward pass and the optimizer."""

from collections.abc import Iterable, Sequence
from types import NoneType
from typing import Final, cast

import numpy as np

from minispore.common.parallel import get_auto_parallel_context, is_set_explicitly
from minispore.communication import GlobalComm, get_group_size
from minispore.communication._collectives import (
    all_reduce_sum,
    broadcast,
    check_alike,
    described_setting,
    to_mpi_buffers,
    wire_dtype,
)
from minispore.engine.array import (
    Array,
    device_namespace,
    device_of,
    ensure_owned,
    is_host,
    to_device,
)
from minispore.engine.dispatch import wrap
from minispore.nn.cell import Cell
from minispore.nn.optim.optimizer import Optimizer
from minispore.ops.parameter import Parameter, ParameterTuple
from minispore.ops.tensors import Tensor
from minispore.utils.checks import as_items, check_one_of, check_type, type_error

__all__ = ["DistributedGradReducer"]

# Attributes that are not settings.
_CELL_ATTRIBUTES: Final = frozenset(vars(Cell()))


class DistributedGradReducer(Cell):
    """Compute the sum or mean of the gradients of all processes.

    `TrainOneStepCell`, and so `Model`, uses one after
    ``set_auto_parallel_context(parallel_mode="data_parallel")``. A custom training loop calls one
    between computing the gradients and the optimizer. All processes must call it in the same step;
    the gradients are sent in a few messages.

    Args:
        parameters: The parameters to which the gradients belong.
        mean: Whether to divide the sum by `degree`; None for the setting `gradients_mean`.
        degree: The divisor; None for the number of processes.
        fusion_type: 1; it has no effect.
        group: The group of all processes.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: `degree` is not an int above 0, or `group` is another group.

    Examples:
        >>> from minispore import Tensor, nn
        >>> net = nn.Dense(1, 1)
        >>> reducer = nn.DistributedGradReducer(net.trainable_params(), mean=True)
        >>> reducer((Tensor([[0.5]]), Tensor([2.0])))[1].tolist()  # a single process
        [2.0]

    Source: MindSpore's `mindspore.nn.DistributedGradReducer`.
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
        check_type(mean, (bool, NoneType), "mean")
        check_type(fusion_type, int, "fusion_type")
        iterable: type = Iterable
        check_type(parameters, iterable, "parameters")
        items = [parameters] if isinstance(parameters, Tensor) else list(parameters)
        for i, parameter in enumerate(items):
            check_type(parameter, Parameter, f"parameters[{i}]")
        check_one_of(group, (GlobalComm.WORLD_COMM_GROUP,), "group")
        size = get_group_size()
        if degree is not None and (type(degree) is not int or degree <= 0):
            raise type_error(degree, "degree", "be an int above 0", ValueError)
        self._count = len(items)
        if mean is None:
            mean = bool(get_auto_parallel_context("gradients_mean"))
        self.mean: bool = mean
        self.degree: int = degree or size
        self._degree = degree

    # A run may be resumed by another number of processes.
    _not_compared = ("degree",)

    def construct(self, grads: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Return the reduced gradients, in new memory.

        Raises:
            ValueError: The numbers of gradients and parameters differ.
        """
        arrays = self._arrays(grads)
        # A single process copies the gradients, so that the results are in new memory too.
        totals = (
            all_reduce_sum(arrays)
            if GlobalComm.INITED
            else [ensure_owned(x, copy=True) for x in arrays]
        )
        return self._reduced(totals, self.degree, grads)

    def reduce_step(
        self, outputs: Tensor, grads: Sequence[Tensor], rows: int
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the reduced loss and gradients of a step of `TrainOneStepCell`.

        All rows of data have the same weight. So the loss and, with `mean`, the gradients are those
        of one batch that consists of the rows of all processes.

        Args:
            outputs: The loss, or, despite the annotation, a tuple whose first item is the loss.
            grads: The gradients.
            rows: The number of rows over which loss and gradients are means; 0 if this process had
                no data and both are zero.
        """
        arrays = self._arrays(grads)
        items = as_items(outputs)
        first: object = items[0] if items else outputs
        loss = first if isinstance(first, Tensor) else Tensor(cast("float", first))
        value = _to_device_of(loss._data, arrays[0]) if arrays else to_mpi_buffers([loss._data])[0]
        library = device_namespace(value)
        # The dtype of the parameters, since a process without rows does not know that of the loss.
        dtype = wire_dtype(arrays[0]) if arrays else np.dtype(np.float32)
        weight, factor = (rows, 1) if self.mean else (1, rows)
        total = library.astype(library.reshape(value, (1,)), dtype) * factor
        count = library.full((1,), factor, dtype=dtype)
        total, count, *totals = all_reduce_sum([total, count, *arrays], weight)
        count = library.maximum(count, 1.0)
        mean = library.reshape(library.astype(total / count, value.dtype), value.shape)
        divisor = library.reshape(count * (self.degree / get_group_size()), ())
        reduced = self._reduced(totals, divisor, grads)
        mean_loss = wrap(_to_device_of(mean, loss._data), loss)
        return (cast("Tensor", (mean_loss, *items[1:])) if items else mean_loss), reduced

    def _arrays(self, grads: Sequence[Tensor]) -> list[Array]:
        if len(grads) != self._count:
            raise ValueError(
                f"For '{self.cls_name}', there must be a gradient for each of the {self._count} "
                f"parameters, but got {len(grads)}."
            )
        return to_mpi_buffers([gradient._data for gradient in grads])

    def _reduced(
        self,
        totals: Sequence[Array],
        divisor: Array | float,
        grads: Sequence[Tensor],
    ) -> tuple[Tensor, ...]:
        results: list[Tensor] = []
        for total, gradient in zip(totals, grads, strict=True):
            library, dtype = device_namespace(total), gradient._data.dtype
            values = total
            if self.mean:
                is_float = wire_dtype(total).kind == "f"
                values = library.divide(total, divisor, out=total if is_float else None)
            if values.dtype != dtype:
                values = library.astype(values, dtype)
            results.append(wrap(_to_device_of(values, gradient._data), gradient))
        return tuple(results)


def _to_device_of(x: Array, like: Array) -> Array:
    if is_host(x) == is_host(like):
        return x
    return to_device(x, device_of(like))


def broadcasts_parameters() -> bool:
    """Return whether all processes start with the parameters of the chief process."""
    return not is_set_explicitly("parameter_broadcast") or bool(
        get_auto_parallel_context("parameter_broadcast")
    )


def broadcast_parameters(network: Cell, *, trained: bool = True) -> None:
    """Copy the chief's parameters to all processes, unless `parameter_broadcast` is False.

    Args:
        network: The network.
        trained: Whether to copy those that are trained, too.

    Raises:
        ValueError: The processes' parameters differ in names, shapes or dtypes, or their optimizers
            in settings. All processes raise it.
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
    parameters = [p for p in parameters if trained or not p.requires_grad]
    for parameter, values in zip(parameters, broadcast([p._data for p in parameters]), strict=True):
        parameter.set_data(wrap(values, parameter))


def _settings(optimizer: Optimizer) -> dict[str, str]:
    """Return the classes and settings of an optimizer and of the cells in it, by their paths."""
    settings: dict[str, str] = {}
    for path, cell in optimizer.cells_and_names(name_prefix="optimizer"):
        settings.setdefault(path, type(cell).__qualname__)
        attributes = vars(cell) | (optimizer._initial_arguments if cell is optimizer else {})
        for name, value in attributes.items():
            # The values of parameters are copied from the chief.
            is_own = name not in _CELL_ATTRIBUTES and not name.startswith("_")
            if is_own and not isinstance(value, Parameter | ParameterTuple):
                settings[f"{path}.{name}"] = described_setting(value)
    return settings
