"""Recurrent layers: all steps of sequences."""

from functools import partial
from typing import ClassVar

from minispore import ops
from minispore.engine.array import Array, Shape, device_namespace, host_check, is_host, to_host
from minispore.engine.dispatch import (
    as_float,
    cast_to,
    check_shape,
    check_tensor,
    dtype_of,
    half_to_float32,
    shape_error,
    wrap,
)
from minispore.engine.dtypes import DType, float32, int32, int64
from minispore.engine.rules import recurrent as rules
from minispore.nn.cell import Cell
from minispore.nn.layer.basic import Dropout
from minispore.nn.layer.rnn_cells import NONLINEARITIES, check_pair, check_states, new_parameter
from minispore.ops._recurrent import Rule, Weights, recur
from minispore.ops.parameter import ParameterTuple, check_float_type
from minispore.ops.tensors import Tensor
from minispore.utils.checks import caller, check_int, check_one_of, check_type
from minispore.utils.unsupported import hint_keywords
from minispore.utils.warn import warn_at_caller

__all__ = ["GRU", "LSTM", "RNN"]


class RNNBase(Cell):
    """The parameters of a recurrent layer, and its calls; see `LSTM`."""

    # The number of vectors that a step computes of the input and the hidden state.
    _vectors: ClassVar[int]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int,
        has_bias: bool,
        batch_first: bool,
        dropout: float,
        bidirectional: bool,
        dtype: DType,
    ) -> None:
        super().__init__()
        self.input_size: int = check_int(input_size, "input_size", low=1)
        self.hidden_size: int = check_int(hidden_size, "hidden_size", low=1)
        self.num_layers: int = check_int(num_layers, "num_layers", low=1, high=1000)
        self.has_bias: bool = check_type(has_bias, bool, "has_bias")
        self.batch_first: bool = check_type(batch_first, bool, "batch_first")
        self.dropout: float = check_type(dropout, float, "dropout")
        self.bidirectional: bool = check_type(bidirectional, bool, "bidirectional")
        check_float_type(dtype)
        if not 0 <= dropout < 1:
            raise ValueError(
                f"For '{caller()}', the argument 'dropout' must be in [0, 1), but got {dropout}."
            )
        if dropout and num_layers == 1:
            warn_at_caller(
                f"For '{caller()}', 'dropout' = {dropout} has no effect: it is applied between "
                "layers, and 'num_layers' is 1."
            )
        self.dropout_op: Dropout = Dropout(p=dropout)
        directions = ("", "_reverse") if bidirectional else ("",)
        rows = self._vectors * hidden_size
        lengths = {
            f"l{layer}{direction}": len(directions) * hidden_size if layer else input_size
            for layer in range(num_layers)
            for direction in directions
        }

        def new(name: str, shapes: list[Shape]) -> ParameterTuple:
            """Return a parameter for each layer and direction."""
            return ParameterTuple(
                [
                    new_parameter(f"{name}_{place}", shape, hidden_size, dtype)
                    for place, shape in zip(lengths, shapes, strict=True)
                ]
            )

        count = len(lengths)
        self.w_ih_list: ParameterTuple = new("weight_ih", [(rows, n) for n in lengths.values()])
        self.w_hh_list: ParameterTuple = new("weight_hh", [(rows, hidden_size)] * count)
        no_biases = ParameterTuple(())
        self.b_ih_list: ParameterTuple = (
            new("bias_ih", [(rows,)] * count) if has_bias else no_biases
        )
        self.b_hh_list: ParameterTuple = (
            new("bias_hh", [(rows,)] * count) if has_bias else no_biases
        )

    def _run(
        self,
        rule: Rule,
        x: Tensor,
        hx: tuple[Tensor, ...] | None,
        seq_length: Tensor | None,
        states: int = 1,
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the outputs of the last layer, and the last states of all layers.

        Args:
            rule: The rule of all steps.
            x: The argument of `construct`.
            hx: The `states` first states; None for zeros.
            seq_length: The argument of `construct`.
            states: The number of states.
        """
        if x.ndim != 3 or x.shape[2] != self.input_size:
            axes = "n, steps" if self.batch_first else "steps, n"
            raise shape_error(x, "x", f"be of shape ({axes}, {self.input_size})")
        wide = half_to_float32(x)
        y = ops.swapaxes(wide, 0, 1) if self.batch_first else wide
        steps, n, _ = y.shape
        if not steps:
            raise shape_error(x, "x", "have at least one step")
        directions = 2 if self.bidirectional else 1
        shape = (directions * self.num_layers, n, self.hidden_size)
        if hx is None:
            zeros = device_namespace(y._data).zeros(shape, dtype_of(y).numpy_dtype)
            hx = (wrap(zeros, y),) * states
        else:
            check_states(hx, shape, dtype_of(x))
        mask = None if seq_length is None else _mask(seq_length, steps, n)
        last: list[tuple[Tensor, ...]] = []
        for layer in range(self.num_layers):
            if layer and self.dropout:
                y = self.dropout_op(y)
            outputs: list[Tensor] = []
            for direction in range(directions):
                i = layer * directions + direction
                biases = [b[i] for b in (self.b_ih_list, self.b_hh_list) if b]
                weights = Weights(self.w_ih_list[i], self.w_hh_list[i], biases)
                output, after = recur(
                    rule, y, [h[i] for h in hx], weights, mask, is_reverse=direction == 1
                )
                outputs.append(output)
                last.append(after)
            y = ops.cat(outputs, axis=2) if self.bidirectional else outputs[0]
        y = ops.swapaxes(y, 0, 1) if self.batch_first else y
        dtype = dtype_of(x)
        return cast_to(y, dtype), tuple(
            cast_to(ops.stack(h), dtype) for h in zip(*last, strict=True)
        )


class RNN(RNNBase):
    """Layers of an Elman network, each of which gets the outputs of the one before.

    The next hidden state is `tanh(x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh)`; see
    `RNNCell`. The parameters are drawn uniformly from ±1 / √hidden_size.

    Args:
        input_size: The length of the input's last axis.
        hidden_size: The length of the hidden state's last axis.
        num_layers: The number of layers, from 1 to 1000.
        has_bias: Whether there are biases.
        batch_first: Whether the first axis of input and output is that of the sequences instead of
            the steps. That of the states never is.
        dropout: The probability with which, in training, an output of a layer other than the last
            is set to 0; see `Dropout`.
        bidirectional: Whether each layer also takes the steps from the last to the first, with
            parameters of its own, and appends what it computes to its outputs.
        dtype: The dtype of the parameters, a float type.
        nonlinearity: "tanh" or "relu".

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range, `dropout` is not in [0, 1), or there is no such
            nonlinearity.

    Examples:
        >>> from minispore import nn, ops
        >>> output, h = nn.RNN(3, 4, num_layers=2)(ops.ones((5, 1, 3)))
        >>> output.shape, h.shape
        ((5, 1, 4), (2, 1, 4))

    Source: MindSpore's `mindspore.nn.RNN`; Elman, "Finding structure in time", 1990.
    """

    _vectors: ClassVar[int] = 1

    @hint_keywords
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        has_bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: DType = float32,
        *,
        nonlinearity: str = "tanh",
    ) -> None:
        super().__init__(
            input_size,
            hidden_size,
            num_layers,
            has_bias,
            batch_first,
            dropout,
            bidirectional,
            dtype,
        )
        check_one_of(nonlinearity, [*NONLINEARITIES], "nonlinearity")
        self.nonlinearity = nonlinearity

    def construct(
        self, x: Tensor, hx: Tensor | None = None, seq_length: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the outputs of all steps, and the last hidden states.

        Args:
            x: The sequences, of shape (steps, n, input_size), or (n, steps, input_size) if
                `batch_first`.
            hx: The hidden states before the first step, of shape (num_layers · directions, n,
                hidden_size) and the type of `x`; None for zeros.
            seq_length: The number of steps of each sequence, n integers of int32 or int64; None if
                all have as many. The outputs of further steps are 0, and the last hidden state is
                that of the last step that counts.

        Returns:
            The outputs, of shape (steps, n, directions · hidden_size), or (n, steps, …) if
            `batch_first`, and the hidden states in the shape of `hx`.

        Raises:
            TypeError: An argument is not a tensor, or of the wrong type.
            ValueError: A shape is wrong, or a sequence is longer than `x`.
        """
        h = None if hx is None else (hx,)
        output, (last,) = self._run(
            NONLINEARITIES[self.nonlinearity], as_float(x, "x"), h, seq_length
        )
        return output, last


class GRU(RNNBase):
    """Layers of gated recurrent units, each of which gets the outputs of the one before.

    See `GRUCell` for the formula. The parameters are drawn uniformly from ±1 / √hidden_size.

    Args:
        input_size: The length of the input's last axis.
        hidden_size: The length of the hidden state's last axis.
        num_layers: The number of layers, from 1 to 1000.
        has_bias: Whether there are biases.
        batch_first: Whether the first axis of input and output is that of the sequences instead of
            the steps. That of the states never is.
        dropout: The probability with which, in training, an output of a layer other than the last
            is set to 0; see `Dropout`.
        bidirectional: Whether each layer also takes the steps from the last to the first, with
            parameters of its own, and appends what it computes to its outputs.
        dtype: The dtype of the parameters, a float type.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range, or `dropout` is not in [0, 1).

    Examples:
        >>> from minispore import nn, ops
        >>> output, h = nn.GRU(3, 4, bidirectional=True)(ops.ones((5, 1, 3)))
        >>> output.shape, h.shape
        ((5, 1, 8), (2, 1, 4))

    Source: MindSpore's `mindspore.nn.GRU`; Cho et al., "Learning phrase representations using RNN
    encoder-decoder for statistical machine translation", 2014.
    """

    _vectors: ClassVar[int] = 3

    @hint_keywords
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        has_bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: DType = float32,
    ) -> None:
        super().__init__(
            input_size,
            hidden_size,
            num_layers,
            has_bias,
            batch_first,
            dropout,
            bidirectional,
            dtype,
        )

    def construct(
        self, x: Tensor, hx: Tensor | None = None, seq_length: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the outputs of all steps, and the last hidden states.

        Args:
            x: The sequences; see `RNN.construct`.
            hx: The hidden states before the first step; None for zeros.
            seq_length: The number of steps of each sequence; None if all have as many.

        Returns:
            The outputs and the hidden states; see `RNN.construct`.

        Raises:
            TypeError: An argument is not a tensor, or of the wrong type.
            ValueError: A shape is wrong, or a sequence is longer than `x`.
        """
        h = None if hx is None else (hx,)
        output, (last,) = self._run(rules.gru, as_float(x, "x"), h, seq_length)
        return output, last


class LSTM(RNNBase):
    """Layers of long short-term memories, each of which gets the outputs of the one before.

    See `LSTMCell` for the formula. The parameters are drawn uniformly from ±1 / √hidden_size.

    Args:
        input_size: The length of the input's last axis.
        hidden_size: The length of the last axis of both states.
        num_layers: The number of layers, from 1 to 1000.
        has_bias: Whether there are biases.
        batch_first: Whether the first axis of input and output is that of the sequences instead of
            the steps. That of the states never is.
        dropout: The probability with which, in training, an output of a layer other than the last
            is set to 0; see `Dropout`.
        bidirectional: Whether each layer also takes the steps from the last to the first, with
            parameters of its own, and appends what it computes to its outputs.
        dtype: The dtype of the parameters, a float type.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range, or `dropout` is not in [0, 1).

    Examples:
        >>> from minispore import Tensor, nn, ops
        >>> layer = nn.LSTM(3, 4, batch_first=True)
        >>> output, (h, c) = layer(ops.ones((2, 5, 3)), seq_length=Tensor([5, 2]))
        >>> output.shape, h.shape, c.shape
        ((2, 5, 4), (1, 2, 4), (1, 2, 4))
        >>> bool((output[1, 2:] == 0).all()), bool((output[1, 1] == h[0, 1]).all())
        (True, True)

    Source: MindSpore's `mindspore.nn.LSTM`; Gers et al., "Learning to forget: continual prediction
    with LSTM", 2000.
    """

    _vectors: ClassVar[int] = 4

    @hint_keywords
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        has_bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: DType = float32,
    ) -> None:
        super().__init__(
            input_size,
            hidden_size,
            num_layers,
            has_bias,
            batch_first,
            dropout,
            bidirectional,
            dtype,
        )

    def construct(
        self,
        x: Tensor,
        hx: tuple[Tensor, Tensor] | None = None,
        seq_length: Tensor | None = None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the outputs of all steps, and the last hidden states and cell states.

        Args:
            x: The sequences; see `RNN.construct`.
            hx: The hidden states and the cell states before the first step, each of shape
                (num_layers · directions, n, hidden_size) and the type of `x`; None for zeros.
            seq_length: The number of steps of each sequence; None if all have as many.

        Returns:
            The outputs, see `RNN.construct`; the hidden states and the cell states, as in `hx`.

        Raises:
            TypeError: An argument is not a tensor, or of the wrong type; `hx` is not a tuple of
                two.
            ValueError: A shape is wrong, or a sequence is longer than `x`.
        """
        x = as_float(x, "x")
        states = None if hx is None else check_pair(hx)
        output, (h, c) = self._run(rules.lstm, x, states, seq_length, 2)
        return output, (h, c)


def _mask(seq_length: Tensor, steps: int, n: int) -> Tensor:
    """Return whether each step counts, of shape (steps, n, 1)."""
    lengths = check_tensor(seq_length, "seq_length")._data
    if seq_length.dtype not in {int32, int64}:
        raise TypeError(
            f"For '{caller()}', the argument 'seq_length' must be of int32 or int64, but got "
            f"{seq_length.dtype!r}."
        )
    check_shape(seq_length, (n,), "seq_length")
    # Not on a device, where the check would synchronize.
    if is_host(lengths):
        host_check(partial(_check_lengths, steps=steps), lengths)
    xp = device_namespace(lengths)
    places = xp.reshape(xp.arange(0, steps, 1, lengths.dtype), (steps, 1, 1))
    return wrap(places < xp.reshape(lengths, (1, n, 1)), seq_length)


def _check_lengths(lengths: Array, steps: int, function: str | None = None) -> None:
    values = to_host(lengths)
    if ((values < 0) | (values > steps)).any():
        raise ValueError(
            f"For '{function or caller()}', the argument 'seq_length' must be from 0 to {steps}, "
            f"the number of steps of 'x', but got {values.tolist()}."
        )
