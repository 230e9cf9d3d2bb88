"""Moving a cell from one device to another."""

from collections.abc import Iterator
from typing import Self, overload

from minispore._dtype import FLOAT, DTypeLike
from minispore._functional import placing
from minispore.common.parameter import Parameter
from minispore.common.tensor import Tensor


class Movable:
    """What has parameters that can be moved."""

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        """Each parameter once."""
        raise NotImplementedError

    @overload
    def to(
        self,
        device: str | None = None,
        dtype: DTypeLike | None = None,
        non_blocking: bool = False,
    ) -> Self: ...
    @overload
    def to(self, dtype: DTypeLike, non_blocking: bool = False) -> Self: ...
    @overload
    def to(self, other: Tensor, non_blocking: bool = False) -> Self: ...
    def to(self, *args: object, **kwargs: object) -> Self:
        """Move the parameters of this cell and all below to another device, or to another type.

        They stay the same Parameters. An optimiser makes its own beside those it is given, so the
        network is moved before.

        >>> from minispore import float16, nn
        >>> nn.Dense(2, 1).to("CPU", float16).weight.dtype
        minispore.float16

        Args:
            *args: `(device, dtype)`, `(dtype)` or `(other)`, as for `Tensor.to`; integer
                parameters keep their type.
            **kwargs: The same by name.

        Raises:
            TypeError: The arguments are of none of the forms, or the type is no float's.
            ValueError: There is no device of that name.
            RuntimeError: A GPU is asked for where there is none, or no CuPy.
        """
        there = placing.destination(args, kwargs, "to")
        if there.dtype is not None and there.dtype.category != FLOAT:
            raise TypeError(
                f"For 'to', the type of a cell must be one of floats, but got {there.dtype!r}."
            )
        for parameter in self.get_parameters():
            floats = parameter.dtype.category == FLOAT
            target = there if floats else there._replace(dtype=None)
            parameter._data = placing.to(parameter.value(), target, "to")._data
        return self
