"""The automatic differentiation engine: arrays, derivative rules, and the computational graph.

A *derivative rule* is a function of arrays that returns an operation's value and one pullback for
each operand. A *pullback* maps the gradient of the value to the gradient of that operand: it
computes a vector-Jacobian product. `apply_rule` applies a rule to tensors and records a `Node`,
which stores the nodes of the operands and the pullbacks. `backward_pass` visits the nodes in
descending order of their numbers, which is a reverse topological order, and accumulates gradients.

A rule calls only operators and the functions of `namespace(x)`, so it runs on every array library,
and on tensors: the pullbacks of recorded tensors are recorded themselves, which gives derivatives
of any order.

- `engine.array`: array namespaces and devices.
- `engine.rules`: the derivative rules.
- `engine.graph`: nodes, recording and the backward pass.
- `engine.dispatch`: variables, type promotion, and the application of rules to variables.
- `engine.dtypes`: data types.

Its modules import `utils`.

Examples:
    >>> x = Node()
    >>> square = Node([x, x], [lambda g: 3.0 * g, lambda g: 3.0 * g])  # 3.0 * 3.0
    >>> gradients = backward_pass(
    ...     [(square, 1.0)], {x.number}, 0, lambda node: node.pullbacks, lambda a, b: a + b
    ... )
    >>> gradients[x.number]
    6.0
"""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)

# An error in any other function of this package names the function that has called it.
_NAMED_IN_ERRORS = ("apply_rule", "dtype_to_nptype", "dtype_to_pytype", "pytype_to_dtype")
