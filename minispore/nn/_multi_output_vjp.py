"""Vector-Jacobian products of functions with several outputs.

The backward pass visits nodes one at a time, but a `bprop` or a backward hook receives the
gradients of all outputs in one call and returns those of all inputs. So each output gets a node
that only stores its gradient. Their common operand is a node whose first pullback calls the
function, and whose other pullbacks return one gradient each.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias, cast

from minispore.engine.array import Array, device_namespace, ensure_owned
from minispore.engine.dispatch import OptionalPullback, Variable, cast_to, dtype_of, share, wrap
from minispore.engine.dtypes import FLOAT, float16
from minispore.engine.graph import Node
from minispore.ops._namespace import zeros_like
from minispore.ops.tensors import Tensor

Backward: TypeAlias = Callable[[tuple[Tensor, ...]], Sequence[Tensor]]
# A pullback of arrays or, if the backward pass is recorded, of variables.
Pullback: TypeAlias = Callable[[Variable | Array], Variable | Array]


def multi_output_vjp(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], backward: Backward
) -> tuple[Tensor, ...]:
    """Return `outputs` as functions of `inputs` whose VJP is `backward`.

    Args:
        outputs: Tensors; the graph that computed them is ignored, unless they are inputs too.
        inputs: The tensors that receive gradients.
        backward: A function from the gradients of the outputs, zeros where no gradient arrived, to
            one gradient for each input. It is called once in each backward pass, even if no input
            is part of the graph.
    """
    if not outputs:
        return ()
    # The state that the nodes share during a backward pass.
    grad_outputs: dict[int, Tensor] = {}
    grad_inputs: list[Tensor] = []

    def run_backward(token: Variable | Array) -> Variable | Array:
        """Call `backward` with the gradients that have been collected."""
        gradients = tuple(
            grad_outputs[i] if i in grad_outputs else zeros_like(y) for i, y in enumerate(outputs)
        )
        grad_outputs.clear()
        grad_inputs[:] = backward(gradients)
        for k, (x, gradient) in enumerate(zip(inputs, grad_inputs, strict=True)):
            if gradient.shape != x.shape:
                raise ValueError(
                    f"The gradient of input {k} must be of its shape {x.shape}, "
                    f"but 'bprop' gave {gradient.shape}."
                )
            if dtype_of(x).category == FLOAT:
                grad_inputs[k] = cast_to(gradient, dtype_of(x))
        return token

    def collect(i: int, gradient: Variable | Array) -> Variable | Array:
        """Store the gradient of output `i`."""
        # The gradient that flows on is a zero without axes, an array or a variable like the
        # gradients, so that the gradients of the inputs can be of the same kind.
        if isinstance(gradient, Variable):
            grad_outputs[i] = cast("Tensor", gradient)
            return wrap(_zero(gradient._data), gradient)
        # Several gradients in float16 are added up in float32.
        like = outputs[i]
        is_half, wide = dtype_of(like) is float16, wrap(gradient, like)
        grad_outputs[i] = cast_to(wide, float16) if is_half else wide
        return _zero(gradient)

    def grad_input(k: int, token: Variable | Array) -> Variable | Array:
        """Return the gradient of input `k`."""
        gradient = grad_inputs[k]
        if isinstance(token, Variable):
            return gradient
        # A copy, since the user's code may keep what it returned.
        return ensure_owned(gradient._data, copy=True)

    # The first operand is a new node, which always needs a gradient: so the first pullback, which
    # calls `backward`, runs before the others.
    parents = (Node(), *(x._node for x in inputs))
    pullbacks: list[Pullback] = [
        run_backward,
        *(partial(grad_input, k) for k in range(len(inputs))),
    ]
    middle = _node(parents, pullbacks, [outputs[0]._data, *(x._data for x in inputs)])
    results: list[Tensor] = []
    for i, y in enumerate(outputs):
        results.append(wrap(y._data, y, _node((middle,), [partial(collect, i)], [y._data])))
        share(results[i], y)
    return tuple(results)


def is_joint(node: Node) -> bool:
    """Return whether a node was made by `multi_output_vjp`."""
    return isinstance(node.rule, _PrecomputedPullbacks)


def _node(
    parents: Sequence[Node | None], pullbacks: Sequence[Pullback], operands: Sequence[Array]
) -> Node:
    return Node(
        parents,
        # They accept arrays and variables alike.
        cast("Sequence[OptionalPullback]", pullbacks),
        _PrecomputedPullbacks(pullbacks),
        tuple(operands),
    )


class _PrecomputedPullbacks:
    """A derivative rule that returns the pullbacks it was made with."""

    def __init__(self, pullbacks: Sequence[Pullback]) -> None:
        self.__name__ = "joint"
        self._pullbacks = pullbacks

    def __call__(self, *_: object) -> tuple[None, Sequence[Pullback]]:
        return None, self._pullbacks


def _zero(x: Array) -> Array:
    return device_namespace(x).zeros((), x.dtype)
