"""Recurrent cells: one step of a recurrent layer."""

import math

from minispore.engine.array import Shape
from minispore.engine.dispatch import (
    as_float,
    cast_to,
    check_shape,
    check_tensor,
    dtype_of,
    half_to_float32,
    shape_error,
)
from minispore.engine.dtypes import DType, float32
from minispore.engine.rules import recurrent as rules
from minispore.nn.cell import Cell
from minispore.ops._recurrent import Rule, Weights, recur
from minispore.ops.initializer import Uniform
from minispore.ops.parameter import Parameter, check_float_type, init_parameter
from minispore.ops.tensors import Tensor
from minispore.utils.checks import caller, check_int, check_one_of, check_type, type_error
from minispore.utils.unsupported import hint_keywords

__all__ = ["GRUCell", "LSTMCell", "RNNCell"]


class RNNCellBase(Cell):
    """The parameters of a recurrent cell, which are drawn uniformly from ±1 / √hidden_size.

    Args:
        input_size: The length of the input's last axis.
        hidden_size: The length of the hidden state's last axis.
        has_bias: Whether there are biases.
        vectors: The number of vectors that a step computes of the input and the hidden state.
        dtype: The dtype of the parameters, a float type.
    """

    def __init__(
        self, input_size: int, hidden_size: int, has_bias: bool, vectors: int, dtype: DType
    ) -> None:
        super().__init__()
        self.input_size: int = check_int(input_size, "input_size", low=1)
        self.hidden_size: int = check_int(hidden_size, "hidden_size", low=1)
        self.has_bias: bool = check_type(has_bias, bool, "has_bias")
        check_float_type(dtype)
        rows = vectors * hidden_size
        self.weight_ih: Parameter = new_parameter(
            "weight_ih", (rows, input_size), hidden_size, dtype
        )
        self.weight_hh: Parameter = new_parameter(
            "weight_hh", (rows, hidden_size), hidden_size, dtype
        )
        self.bias_ih: Parameter | None = None
        self.bias_hh: Parameter | None = None
        if has_bias:
            self.bias_ih = new_parameter("bias_ih", (rows,), hidden_size, dtype)
            self.bias_hh = new_parameter("bias_hh", (rows,), hidden_size, dtype)

    def _step(self, rule: Rule, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Return the state after a step, of the type of `x`."""
        if x.ndim != 2 or x.shape[1] != self.input_size:
            raise shape_error(x, "x", f"be of shape (n, {self.input_size})")
        check_states(state, (x.shape[0], self.hidden_size), dtype_of(x))
        biases = [b for b in (self.bias_ih, self.bias_hh) if b is not None]
        weights = Weights(self.weight_ih, self.weight_hh, biases)
        wide = half_to_float32(x).expand_dims(0)
        _, after = recur(rule, wide, state, weights)
        return tuple(cast_to(y, dtype_of(x)) for y in after)


class RNNCell(RNNCellBase):
    """A step of an Elman network: `tanh(x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh)`.

    The parameters are drawn uniformly from ±1 / √hidden_size.

    Args:
        input_size: The length of the input's last axis.
        hidden_size: The length of the hidden state's last axis.
        has_bias: Whether there are biases.
        nonlinearity: "tanh" or "relu".
        dtype: The dtype of the parameters, a float type.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A length is below 1, or `nonlinearity` is not one of these.

    Examples:
        >>> from minispore import nn, ops
        >>> cell = nn.RNNCell(3, 4)
        >>> cell(ops.ones((2, 3)), ops.zeros((2, 4))).shape
        (2, 4)

    Source: MindSpore's `mindspore.nn.RNNCell`; Elman, "Finding structure in time", 1990.
    """

    @hint_keywords
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        has_bias: bool = True,
        nonlinearity: str = "tanh",
        dtype: DType = float32,
    ) -> None:
        super().__init__(input_size, hidden_size, has_bias, 1, dtype)
        self.nonlinearity: str = check_type(nonlinearity, str, "nonlinearity")
        check_one_of(nonlinearity, [*NONLINEARITIES], "nonlinearity")

    def construct(self, x: Tensor, hx: Tensor) -> Tensor:
        """Return the next hidden state.

        Args:
            x: The input, of shape (n, input_size).
            hx: The hidden state, of shape (n, hidden_size) and the type of `x`.

        Returns:
            A tensor of shape (n, hidden_size) and the type of `x`.

        Raises:
            TypeError: An argument is not a tensor, or the types differ.
            ValueError: A shape is wrong.
        """
        (h,) = self._step(NONLINEARITIES[self.nonlinearity], as_float(x, "x"), (hx,))
        return h


class GRUCell(RNNCellBase):
    """A step of a gated recurrent unit.

    Of the input, `x @ weight_ih.T + bias_ih`, and of the hidden state, `h @ weight_hh.T + bias_hh`,
    three vectors are computed, x₁ to x₃ and h₁ to h₃. With the gates r = σ(x₁ + h₁) and
    z = σ(x₂ + h₂), and n = tanh(x₃ + r h₃), the next hidden state is (1 - z) n + z h. The
    parameters are drawn uniformly from ±1 / √hidden_size.

    Args:
        input_size: The length of the input's last axis.
        hidden_size: The length of the hidden state's last axis.
        has_bias: Whether there are biases.
        dtype: The dtype of the parameters, a float type.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A length is below 1.

    Examples:
        >>> from minispore import nn, ops
        >>> cell = nn.GRUCell(3, 4)
        >>> cell(ops.ones((2, 3)), ops.zeros((2, 4))).shape
        (2, 4)

    Source: MindSpore's `mindspore.nn.GRUCell`; Cho et al., "Learning phrase representations using
    RNN encoder-decoder for statistical machine translation", 2014.
    """

    @hint_keywords
    def __init__(
        self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: DType = float32
    ) -> None:
        super().__init__(input_size, hidden_size, has_bias, 3, dtype)

    def construct(self, x: Tensor, hx: Tensor) -> Tensor:
        """Return the next hidden state.

        Args:
            x: The input, of shape (n, input_size).
            hx: The hidden state, of shape (n, hidden_size) and the type of `x`.

        Returns:
            A tensor of shape (n, hidden_size) and the type of `x`.

        Raises:
            TypeError: An argument is not a tensor, or the types differ.
            ValueError: A shape is wrong.
        """
        (h,) = self._step(rules.gru, as_float(x, "x"), (hx,))
        return h


class LSTMCell(RNNCellBase):
    """A step of a long short-term memory.

    With the four vectors of `x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh`, the gates
    i = σ(1st), f = σ(2nd) and o = σ(4th), and g = tanh(3rd), the next cell state is f c + i g, and
    the next hidden state o tanh(c). The parameters are drawn uniformly from ±1 / √hidden_size.

    Args:
        input_size: The length of the input's last axis.
        hidden_size: The length of the last axis of both states.
        has_bias: Whether there are biases.
        dtype: The dtype of the parameters, a float type.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A length is below 1.

    Examples:
        >>> from minispore import nn, ops
        >>> cell = nn.LSTMCell(3, 4)
        >>> h, c = cell(ops.ones((2, 3)), (ops.zeros((2, 4)), ops.zeros((2, 4))))
        >>> h.shape, c.shape
        ((2, 4), (2, 4))

    Source: MindSpore's `mindspore.nn.LSTMCell`; Gers et al., "Learning to forget: continual
    prediction with LSTM", 2000.
    """

    @hint_keywords
    def __init__(
        self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: DType = float32
    ) -> None:
        super().__init__(input_size, hidden_size, has_bias, 4, dtype)

    def construct(self, x: Tensor, hx: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the next hidden state and cell state.

        Args:
            x: The input, of shape (n, input_size).
            hx: The hidden state and the cell state, each of shape (n, hidden_size) and the type of
                `x`.

        Returns:
            Two tensors of shape (n, hidden_size) and the type of `x`.

        Raises:
            TypeError: `x` is not a tensor, `hx` not a tuple of two, or the types differ.
            ValueError: A shape is wrong.
        """
        h, c = self._step(rules.lstm, as_float(x, "x"), check_pair(hx))
        return h, c


NONLINEARITIES: dict[str, Rule] = {"tanh": rules.rnn_tanh, "relu": rules.rnn_relu}


def new_parameter(name: str, shape: Shape, hidden_size: int, dtype: DType) -> Parameter:
    """Return a parameter of a recurrent layer with its initial values."""
    return init_parameter(Uniform(1 / math.sqrt(hidden_size)), shape, dtype, name, name)


def check_pair(hx: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """Return the states of an LSTM; TypeError unless they are a tuple of two."""
    check_type(hx, tuple, "hx")
    if len(hx) != 2:
        raise type_error(hx, "hx", "be a tuple of the hidden state and the cell state")
    return hx[0], hx[1]


def check_states(states: tuple[Tensor, ...], shape: Shape, dtype: DType) -> None:
    """Raise an error unless the states are tensors of a shape and a type."""
    for i, state in enumerate(states):
        name = "hx" if len(states) == 1 else f"hx[{i}]"
        check_tensor(state, name)
        if dtype_of(state) != dtype:
            raise TypeError(
                f"For '{caller()}', '{name}' must be of the type of 'x', {dtype!r}, but got "
                f"{dtype_of(state)!r}."
            )
        check_shape(state, shape, name)
