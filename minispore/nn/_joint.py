"""Gradients that arrive one by one, handed over together.

A walk back through the graph visits nodes one at a time, but a `bprop` or a backward hook wants
the gradients of all of a cell's outputs in one call, and answers for all of its inputs. So the
outputs get nodes that only put their gradient down, behind them lies one node that makes the call,
and from there each input takes its share.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from minispore._array import Array, device_namespace, namespace, own
from minispore._autograd import Node
from minispore._functional.apply import Pull
from minispore._functional.variable import Variable, wrap
from minispore.common.tensor import Tensor

Backward: TypeAlias = Callable[[tuple[Tensor, ...]], Sequence[Tensor]]
# A pullback of arrays or, where the walk itself is recorded, of values.
Carry: TypeAlias = Callable[[Variable | Array], Variable | Array]


def joint(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], backward: Backward
) -> tuple[Tensor, ...]:
    """`outputs` as functions of `inputs` whose gradients `backward` computes all at once.

    Args:
        outputs: Values, computed in any way; how is forgotten, unless they are inputs as well.
        inputs: What the gradients go to.
        backward: From the outputs' gradients, zeros where none arrived, to one for each input.
            It is called once a walk, also where no input is a part of the graph.
    """
    if not outputs:
        return ()
    join = _Join(outputs, inputs, backward)
    # The anchor is an operand that always wants a gradient: it makes the walk ask, and ask first.
    parents = (Node(), *(x._node for x in inputs))
    middle = _node(parents, join.pulls, [outputs[0]._data, *(x._data for x in inputs)])
    made: list[Tensor] = []
    for i, y in enumerate(outputs):
        made.append(wrap(y._data, y, _node((middle,), [_collector(join, i)], [y._data])))
    return tuple(made)


def is_joint(node: Node) -> bool:
    """Whether a node is one of those: each output's, or the one behind them with the anchor."""
    return isinstance(node.rule, _Given)


class _Join:
    """What the nodes of one `joint` share during a walk."""

    def __init__(
        self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], backward: Backward
    ) -> None:
        self.outputs = outputs
        self.inputs = inputs
        self.backward = backward
        self.arrived: dict[int, Tensor] = {}
        self.shares: Sequence[Tensor] = ()
        self.pulls: list[Carry] = [self.ask, *(_share(self, k) for k in range(len(inputs)))]

    def ask(self, token: Variable | Array) -> Variable | Array:
        gradients = tuple(
            self.arrived[i] if i in self.arrived else _zeros(y) for i, y in enumerate(self.outputs)
        )
        self.arrived = {}
        self.shares = self.backward(gradients)
        for k, (x, share) in enumerate(zip(self.inputs, self.shares, strict=True)):
            if share.shape != x.shape:
                raise ValueError(
                    f"The gradient of input {k} must be of its shape {x.shape}, "
                    f"but the bprop or hook gave {share.shape}."
                )
        return token


def _collector(join: _Join, i: int) -> Carry:
    def collect(gradient: Variable | Array) -> Variable | Array:
        # What flows on is a token, a zero without axes: of the gradients' own kind, arrays or
        # values being recorded, so that the shares can be of that kind too.
        if isinstance(gradient, Variable):
            join.arrived[i] = cast("Tensor", gradient)
            return wrap(_zero(gradient._data), gradient)
        join.arrived[i] = wrap(gradient, join.outputs[i])
        return _zero(gradient)

    return collect


def _share(join: _Join, k: int) -> Carry:
    def share(token: Variable | Array) -> Variable | Array:
        mine = join.shares[k]
        if isinstance(token, Variable):
            return mine
        # What the user's code hands back it may also keep.
        return own(mine._data, copy=True)

    return share


def _node(parents: Sequence[Node | None], pulls: Sequence[Carry], arrays: Sequence[Array]) -> Node:
    # The pullbacks serve arrays and recorded values alike: the rule has none to make anew.
    pullbacks = cast("Sequence[Pull]", pulls)
    return Node(parents, pullbacks, _Given(pulls), tuple(arrays))


class _Given:
    """A rule whose pullbacks are there already."""

    def __init__(self, pulls: Sequence[Carry]) -> None:
        self.__name__ = "joint"
        self._pulls = pulls

    def __call__(self, *_: object) -> tuple[None, Sequence[Carry]]:
        return None, self._pulls


def _zero(x: Array) -> Array:
    return device_namespace(x).zeros((), x.dtype)


def _zeros(x: Tensor) -> Tensor:
    return wrap(namespace(x._data).zeros_like(x._data), x)
