"""The gradients of several processes as one: what a training step does with them in between."""

from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np

from minispore._array import beside, to_host
from minispore._checks import as_items, check_one_of, check_type, described
from minispore._functional.variable import wrap
from minispore.common.parallel import get_auto_parallel_context, is_chosen
from minispore.common.parameter import Parameter
from minispore.common.tensor import Tensor, host_tensor
from minispore.communication import GlobalComm, get_group_size
from minispore.communication._exchange import is_data_parallel, spread, sums
from minispore.nn.cell import Cell


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
        self._check(grads)
        return self._reduced([], grads)[1]

    def with_loss(
        self, outputs: Tensor, grads: Sequence[Tensor]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Likewise, and in the same message the mean of the losses.

        Args:
            outputs: The loss, or, in spite of the annotation, a tuple that begins with it.
            grads: The gradients.
        """
        self._check(grads)
        several = as_items(outputs)
        loss = several[0] if several else outputs
        if not isinstance(loss, Tensor):
            return outputs, self._reduced([], grads)[1]
        (mean,), reduced = self._reduced([loss], grads)
        return (cast("Tensor", (mean, *several[1:])) if several else mean), reduced

    def _check(self, grads: Sequence[Tensor]) -> None:
        if len(grads) != self._count:
            raise ValueError(
                f"For '{self.cls_name}', there must be a gradient for each of the {self._count} "
                f"parameters, but got {len(grads)}."
            )

    def _reduced(
        self, losses: Sequence[Tensor], grads: Sequence[Tensor]
    ) -> tuple[list[Tensor], tuple[Tensor, ...]]:
        given = [*losses, *grads]
        size = get_group_size()
        arrays = [to_host(tensor._data) for tensor in given]
        # Alone there is nothing to add, but what comes out is in new memory all the same.
        found = sums(arrays) if GlobalComm.INITED else [array.copy() for array in arrays]
        made: list[Tensor] = []
        for i, (tensor, total) in enumerate(zip(given, found, strict=True)):
            divisor = size if i < len(losses) else self.degree if self.mean else 1
            if divisor != 1:
                np.divide(total, divisor, out=total, casting="unsafe")
            made.append(wrap(beside(total, tensor._data), tensor))
        return made[: len(losses)], tuple(made[len(losses) :])


def reducer_of(parameters: Sequence[Parameter]) -> DistributedGradReducer | None:
    """What reduces their gradients in a training step; None where a process trains alone."""
    if not is_data_parallel("TrainOneStepCell"):
        return None
    return DistributedGradReducer(parameters)


def begin_alike(parameters: Iterable[Parameter]) -> None:
    """Give every process the first one's values, unless `parameter_broadcast` was set to False."""
    if is_chosen("parameter_broadcast") and not get_auto_parallel_context("parameter_broadcast"):
        return
    listed = list(parameters)
    for parameter, values in zip(
        listed, spread([to_host(each._data) for each in listed]), strict=True
    ):
        parameter.set_data(host_tensor(values))
