"""Rules of recurrent layers: one rule for all steps of a sequence.

The inputs of all steps come multiplied by their weights, in one product. Backward, the steps are
visited from the last to the first, and the gradient of the other weights is one product.

A step computes several vectors from its input and the hidden state, such as gates. An array of the
shape (k, n, hidden) has the k parts one after the other in memory, so that each is a fast operand;
their gradients are joined to rows, for the products.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from minispore.engine.array import A, namespace
from minispore.engine.rules import Pullback
from minispore.engine.rules.joint import jointly
from minispore.engine.rules.linalg import gemm

# The last operand of a rule may be a mask, which has no pullback.
Recurrence: TypeAlias = tuple[A, list[Pullback[A] | None]]
# What a step leaves to the next one; the first array is the hidden state.
_State: TypeAlias = tuple[A, ...]
# From the gradient of the state after a step to the gradients of its input and of the product, each
# of shape (n, k · hidden), and of the state before it.
_StepPullback: TypeAlias = Callable[[_State[A]], tuple[A, A, _State[A]]]
# From the parts of the input and of the product h weightᵀ + bias, and the state before a step.
_Step: TypeAlias = Callable[[A, A, _State[A]], tuple[_State[A], _StepPullback[A]]]


def rnn_tanh(operands: Sequence[A]) -> Recurrence[A]:
    """Return the hidden states of all steps: the next one is tanh(x + h weightᵀ + bias).

    Args:
        operands: The inputs x of all steps, of shape (steps, n, hidden); the weight (hidden,
            hidden); the bias (hidden,); the state h before the first step, (n, hidden); and, if
            sequences have different lengths, a mask of shape (steps, n, 1), which is false where
            the state stays as it is. There is at least one step.

    Returns:
        An array of shape (steps, n, hidden), and a pullback for each operand but the mask.
    """

    def step(x: A, product: A, _: _State[A]) -> tuple[_State[A], _StepPullback[A]]:
        h = namespace(x).tanh((x + product)[0, ...])

        def pullback(g: _State[A]) -> tuple[A, A, _State[A]]:
            gradient = g[0] * (1.0 - h * h)
            return gradient, gradient, (gemm(gradient, operands[1]),)

        return (h,), pullback

    return _recur(step, operands, 1)


def rnn_relu(operands: Sequence[A]) -> Recurrence[A]:
    """Return the hidden states of all steps: the next one is relu(x + h weightᵀ + bias).

    Args:
        operands: As for `rnn_tanh`.

    Returns:
        An array of shape (steps, n, hidden), and a pullback for each operand but the mask.
    """

    def step(x: A, product: A, _: _State[A]) -> tuple[_State[A], _StepPullback[A]]:
        xp = namespace(x)
        h = xp.maximum((x + product)[0, ...], 0)

        def pullback(g: _State[A]) -> tuple[A, A, _State[A]]:
            gradient = g[0] * xp.astype(h > 0, h.dtype)
            return gradient, gradient, (gemm(gradient, operands[1]),)

        return (h,), pullback

    return _recur(step, operands, 1)


def gru(operands: Sequence[A]) -> Recurrence[A]:
    """Return the hidden states of all steps of a gated recurrent unit (Cho et al., 2014).

    With three parts of x and of p = h weightᵀ + bias, r = σ(x₁ + p₁), u = σ(x₂ + p₂) and
    n = tanh(x₃ + r p₃), the next state is n + u (h − n).

    Args:
        operands: As for `rnn_tanh`, with 3 · hidden instead of hidden in x, in the rows of the
            weight, and in the bias.

    Returns:
        An array of shape (steps, n, hidden), and a pullback for each operand but the mask.
    """

    def step(x: A, product: A, state: _State[A]) -> tuple[_State[A], _StepPullback[A]]:
        xp, h = namespace(x), state[0]
        gates = _sigmoid(x[:2, ...] + product[:2, ...])
        r, u, candidate = gates[0, ...], gates[1, ...], product[2, ...]
        n = xp.tanh(x[2, ...] + r * candidate)
        change = h - n

        def pullback(g: _State[A]) -> tuple[A, A, _State[A]]:
            # In place, where the array is new.
            to_n = 1.0 - n * n
            to_n *= g[0]
            to_n *= 1.0 - u
            to_r = to_n * candidate
            to_r *= r
            to_r *= 1.0 - r
            to_u = g[0] * change
            to_u *= u
            to_u *= 1.0 - u
            to_product = xp.concat([to_r, to_u, to_n * r], axis=1)
            to_h = gemm(to_product, operands[1])
            to_h += g[0] * u
            return xp.concat([to_r, to_u, to_n], axis=1), to_product, (to_h,)

        return (n + u * change,), pullback

    return _recur(step, operands, 1)


def lstm(operands: Sequence[A]) -> Recurrence[A]:
    """Return the hidden states of all steps of a long short-term memory (Gers et al., 2000).

    With four parts of y = x + h weightᵀ + bias, i = σ(y₁), f = σ(y₂), m = tanh(y₃) and o = σ(y₄),
    the next cell state is f c + i m, and the next hidden state o tanh(c).

    Args:
        operands: As for `rnn_tanh`, with 4 · hidden instead of hidden in x, in the rows of the
            weight, and in the bias. After h follows the cell state c before the first step.

    Returns:
        An array of shape (steps + 1, n, hidden), of which the last item is the last cell state, and
        a pullback for each operand but the mask.
    """

    def step(x: A, product: A, state: _State[A]) -> tuple[_State[A], _StepPullback[A]]:
        xp, before = namespace(x), state[1]
        product += x
        gates = _sigmoid(product[:2, ...])
        i, f, m = gates[0, ...], gates[1, ...], xp.tanh(product[2, ...])
        o = _sigmoid(product[3, ...])
        c = f * before
        c += i * m
        bounded = xp.tanh(c)

        def pullback(g: _State[A]) -> tuple[A, A, _State[A]]:
            # In place, where the array is new.
            to_c = 1.0 - bounded * bounded
            to_c *= o
            to_c *= g[0]
            to_c += g[1]
            to_i = 1.0 - i
            to_i *= i
            to_i *= m
            to_i *= to_c
            to_f = 1.0 - f
            to_f *= f
            to_f *= before
            to_f *= to_c
            to_m = 1.0 - m * m
            to_m *= i
            to_m *= to_c
            to_o = 1.0 - o
            to_o *= o
            to_o *= bounded
            to_o *= g[0]
            gradient = xp.concat([to_i, to_f, to_m, to_o], axis=1)
            to_c *= f
            return gradient, gradient, (gemm(gradient, operands[1]), to_c)

        return (o * bounded, c), pullback

    return _recur(step, operands, 2)


def _sigmoid(x: A) -> A:
    """Return σ(x) with the error of a number near 1, in half the time of the elementwise rule."""
    value = namespace(x).tanh(0.5 * x)
    value *= 0.5
    value += 0.5
    return value


def _recur(step: _Step[A], operands: Sequence[A], count: int) -> Recurrence[A]:
    """Return the hidden states of all steps, and then the rest of the last state.

    Args:
        step: The step.
        operands: The inputs, the weight, the bias, the `count` arrays of the first state, and
            perhaps the mask.
        count: The number of arrays of the state.
    """
    inputs, weight, bias, *rest = operands
    state, masks = tuple(rest[:count]), rest[count:]
    xp, (rows, hidden), (steps, n, _) = namespace(inputs), weight.shape, inputs.shape
    parts = rows // hidden
    x = xp.permute_dims(xp.reshape(inputs, (steps, n, parts, hidden)), (0, 2, 1, 3))
    # Reshaped, so that each matrix is copied in the order in which it is multiplied.
    weights = xp.reshape(weight, (parts, hidden, hidden)).mT
    weights = xp.reshape(xp.reshape(weights, (-1,)), weights.shape)
    summand = xp.reshape(bias, (parts, 1, hidden))

    def where_valid(t: int, new: A, old: A | float) -> A:
        return xp.where(masks[0][t, ...], new, old) if masks else new

    befores: list[A] = []
    afters: list[A] = []
    pullbacks: list[_StepPullback[A]] = []
    for t in range(steps):
        befores.append(state[0])
        product = gemm(state[0], weights)
        product += summand
        after, pullback = step(x[t, ...], product, state)
        state = tuple(where_valid(t, *pair) for pair in zip(after, state, strict=True))
        afters.append(state[0])
        pullbacks.append(pullback)

    def backward(g: A) -> Sequence[A]:
        to_state = (xp.zeros_like(state[0]), *(g[t, ...] for t in range(steps, g.shape[0])))
        to_inputs: list[A] = []
        to_products: list[A] = []
        for t in reversed(range(steps)):
            to_after = (to_state[0] + g[t, ...], *to_state[1:])
            to_input, to_product, to_before = pullbacks[t](to_after)
            to_state = tuple(
                where_valid(t, *pair) for pair in zip(to_before, to_after, strict=True)
            )
            to_inputs.append(where_valid(t, to_input, 0.0))
            to_products.append(where_valid(t, to_product, 0.0))
        all_inputs = all_products = xp.stack(to_inputs[::-1], axis=0)
        if to_products[0] is not to_inputs[0]:
            all_products = xp.stack(to_products[::-1], axis=0)
        all_products = xp.reshape(all_products, (steps * n, rows))
        states = xp.reshape(xp.stack(befores, axis=0), (steps * n, hidden))
        to_weight = gemm(all_products.mT, states)
        return all_inputs, to_weight, xp.sum(all_products, axis=0), *to_state

    value = xp.stack([*afters, *state[1:]], axis=0)
    return value, [*jointly(backward, 3 + count), *(None for _ in masks)]
