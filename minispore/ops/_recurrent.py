"""The operation of recurrent layers and cells: all steps of sequences in one direction."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from minispore.engine.array import Array, device_namespace
from minispore.engine.dispatch import apply_n, cast_to, dtype_of, wrap
from minispore.engine.rules.recurrent import Recurrence
from minispore.ops.arithmetic import where
from minispore.ops.linalg import dense
from minispore.ops.manipulation import flip
from minispore.ops.tensors import Tensor

# One of the rules of `engine.rules.recurrent`.
Rule: TypeAlias = Callable[[Sequence[Array]], Recurrence[Array]]


class Weights(NamedTuple):
    """The weights of one direction of a layer, for the k vectors that a step computes.

    Attributes:
        ih: The weight of the input, of shape (k · hidden, inputs).
        hh: The weight of the hidden state, of shape (k · hidden, hidden).
        biases: The biases of both, each of shape (k · hidden,); empty for none.
    """

    ih: Tensor
    hh: Tensor
    biases: Sequence[Tensor]


def recur(
    rule: Rule,
    x: Tensor,
    state: Sequence[Tensor],
    weights: Weights,
    mask: Tensor | None = None,
    *,
    is_reverse: bool = False,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return the outputs of all steps, and the state after the last one.

    Args:
        rule: The rule.
        x: The inputs, of shape (steps, n, inputs) and of a float type, to which all others are
            converted.
        state: The state before the first step: the hidden state and, for `lstm`, the cell state,
            each of shape (n, hidden).
        weights: The weights.
        mask: Bools of shape (steps, n, 1): where one is false, the state stays as it is, and the
            output is 0. None if there is none.
        is_reverse: Whether the steps are taken from the last to the first.

    Returns:
        The hidden states of all steps, of shape (steps, n, hidden), and the last state.
    """
    dtype, steps = dtype_of(x), x.shape[0]
    ih, hh, *biases = (cast_to(w, dtype) for w in (weights.ih, weights.hh, *weights.biases))
    if not biases:
        zeros = device_namespace(ih._data).zeros(ih.shape[:1], dtype.numpy_dtype)
        biases = [wrap(zeros, x)] * 2
    inputs = dense(x, ih, biases[0])
    masks = [] if mask is None else [mask]
    if is_reverse:
        inputs, *masks = (flip(y, (0,)) for y in (inputs, *masks))
    value = apply_n(rule, [inputs, hh, biases[1], *(cast_to(y, dtype) for y in state), *masks])
    outputs = value[:steps]
    for valid in masks:
        outputs = where(valid, outputs, 0.0)
    if is_reverse:
        outputs = flip(outputs, (0,))
    return outputs, tuple(value[steps - 1 + i] for i in range(len(state)))
