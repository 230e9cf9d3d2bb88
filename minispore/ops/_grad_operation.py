"""Gradients in MindSpore's older form."""

from collections.abc import Callable
from typing import cast

from minispore._checks import check_type
from minispore.common.tensor import Tensor
from minispore.ops._derivative import (
    Weights,
    check_callable,
    derivative_of,
    in_sequence,
    start_of,
)


class GradOperation:
    """Gradients in MindSpore's older form: first what is wanted, then of which function.

    >>> from minispore import Tensor, ops
    >>> ops.GradOperation(get_all=True)(lambda x, y: x * y)(Tensor(3.0), Tensor(2.0))
    (Tensor(shape=[], dtype=Float32, value= 2), Tensor(shape=[], dtype=Float32, value= 3))

    Source: MindSpore's `mindspore.ops.GradOperation`.

    Args:
        get_all: Whether to differentiate by all arguments, not only the first.
        get_by_list: Whether to differentiate by weights.
        sens_param: Whether the gradient of the output to start from is given with the arguments:
            after them, or as `sens`.

    Raises:
        TypeError: An argument is no bool.
    """

    def __init__(
        self, get_all: bool = False, get_by_list: bool = False, sens_param: bool = False
    ) -> None:
        for name, value in (("get_all", get_all), ("get_by_list", get_by_list)):
            check_type(value, bool, name, "GradOperation")
        check_type(sens_param, bool, "sens_param", "GradOperation")
        self.get_all = get_all
        self.get_by_list = get_by_list
        self.sens_param = sens_param

    def __call__(
        self, fn: Callable[..., object], weights: Tensor | Weights | None = None
    ) -> Callable[..., object]:
        """The function of gradients of `fn`; without `weights` a Cell's trainable parameters.

        Raises:
            TypeError: `fn` cannot be called.
            ValueError: Weights are wanted, but `fn` is no Cell and none are given.
        """
        check_callable(fn, "GradOperation")

        def gradients(*args: object, **kwargs: object) -> object:
            owner = "GradOperation"
            chosen = self._weights(fn, weights)
            sens = None
            if self.sens_param:
                args, sens = start_of(args, kwargs, owner)
            if self.get_all:
                positions = tuple(i for i, x in enumerate(args) if isinstance(x, Tensor))
            else:
                positions = () if self.get_by_list else (0,)
            derivative = derivative_of(fn, args, kwargs, positions, chosen, owner, sens=sens)
            inputs = derivative.inputs if self.get_all else derivative.inputs[:1]
            if not self.get_by_list:
                return inputs if self.get_all else inputs[0]
            by_weight: object = derivative.weights
            if isinstance(weights, Tensor):
                by_weight = derivative.weights[0]
            return (inputs, by_weight) if self.get_all else by_weight

        return gradients

    def _weights(self, fn: Callable[..., object], weights: Tensor | Weights | None) -> Weights:
        if not self.get_by_list:
            return ()
        if weights is not None:
            return in_sequence(weights, "GradOperation")
        trainable = getattr(fn, "trainable_params", None)
        if trainable is None:
            raise ValueError(
                "For 'GradOperation', 'weights' must be given with get_by_list=True, "
                "unless the function is a Cell."
            )
        return cast("Weights", trainable())
