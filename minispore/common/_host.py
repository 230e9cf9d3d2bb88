"""The elements of a tensor as Python and numpy see them."""

from collections.abc import Callable
from math import prod
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from minispore import _dtype
from minispore._array import is_host, to_host
from minispore._dtype import DType
from minispore._functional.variable import Variable
from minispore.common._numpy_protocol import (
    apply_function,
    apply_ufunc,
    check_not_differentiated,
)
from minispore.common._printing import tensor_repr

Scalar: TypeAlias = bool | int | float


class Host(Variable):
    """What can be read off a tensor."""

    __slots__ = ()

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return _dtype.of(self._data.dtype)

    @property
    def device(self) -> str:
        """Where the elements are: "CPU", or "GPU:0"."""
        return "CPU" if is_host(self._data) else "GPU:0"

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return self.dtype.numpy_dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """The bytes from one element to the next along each axis."""
        return to_host(self._data).strides

    def asnumpy(self) -> NDArray[np.generic]:
        """Return the elements as a numpy array; no gradient flows through it.

        The array shares the tensor's memory, unless that is a GPU's. Writing into it changes
        gradients in which the tensor's elements are still to be used.
        """
        return to_host(self._data)

    def numpy(self) -> NDArray[np.generic]:
        """As `asnumpy`."""
        return to_host(self._data)

    def item(self) -> Scalar:
        """Return the one element as a Python number; no gradient flows through it.

        >>> from minispore import Tensor
        >>> Tensor([[0.5]]).item()
        0.5

        Raises:
            ValueError: There are more or fewer elements than one.
        """
        if self.size != 1:
            raise ValueError(
                f"Only a tensor of one element is a number, but the shape is {self.shape}."
            )
        return cast("Scalar", to_host(self._data).item())

    def tolist(self) -> object:
        """Return the elements as nested lists of numbers; no gradient flows through them."""
        return to_host(self._data).tolist()

    def numel(self) -> int:
        """The number of elements."""
        return self.size

    def dim(self) -> int:
        """The number of axes."""
        return self.ndim

    def __repr__(self) -> str:
        return tensor_repr(to_host(self._data))

    def __str__(self) -> str:
        return str(to_host(self._data))

    def __format__(self, spec: str) -> str:
        # An f-string shows what the tensor is; with a format the one element is formatted.
        return format(self.item(), spec) if spec else repr(self)

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __index__(self) -> int:
        value = self.item()
        if isinstance(value, float):
            raise TypeError(f"Only a tensor of an integer can be used as an index, but got {self}.")
        return value

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("A tensor without axes has no length.")
        return self.shape[0]

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object
    ) -> object:
        return apply_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> object:
        return apply_function(func, args, kwargs)

    def __array__(
        self, dtype: "np.dtype[np.generic] | None" = None, copy: bool | None = None
    ) -> NDArray[np.generic]:
        check_not_differentiated(self)
        return np.array(to_host(self._data), dtype=dtype, copy=copy)
