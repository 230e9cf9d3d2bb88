"""HyperMap, MultitypeFuncGraph, partial and vmap: nested arguments, and refused calls."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, ops
from tests.helpers.refusals import Refusal, refusals

X = ops.ones((2, 3))
TABLE = """
ops.partial(3)  # TypeError: func | callable | 3
ops.vmap(3)  # TypeError: fn | callable | 3
ops.vmap(ops.add, in_axes=1.5)  # TypeError: in_axes | int | 1.5
ops.vmap(ops.add, in_axes=(0,))(X, X)  # ValueError: in_axes | 2 items | (0,)
ops.vmap(ops.add, in_axes=None)(X, X)  # TypeError: in_axes | int | None
ops.vmap(ops.add, in_axes=(0, 1))(X, X)  # ValueError: For 'vmap' | equal number | [2, 3]
ops.vmap(ops.add, in_axes=(None, None))(X, X)  # ValueError: For 'vmap' | one or more | []
ops.HyperMap(3)  # TypeError: ops | callable | 3
ops.HyperMap()()  # TypeError: For 'HyperMap' | callable | None
ops.HyperMap()(3)  # TypeError: For 'HyperMap' | callable | 3
ops.HyperMap(ops.neg)()  # ValueError: For 'HyperMap' | arguments | none
ops.HyperMap(ops.add)([X], [X, X])  # ValueError: For 'HyperMap' | equal lengths | of type list
ops.meshgrid(X)  # ValueError: For 'meshgrid' | each tensor must have one axis | (2, 3)
ops.meshgrid(X, 3)  # TypeError: inputs[1] | Tensor | 3
ops.MultitypeFuncGraph("f").register("Tensors")  # ValueError: type_names | Tensor | Tensors
"""


@pytest.mark.parametrize("call", refusals(TABLE))
def test_refused_calls_are_explained(call: Refusal) -> None:
    call.check({"ops": ops, "X": X})


numbers = st.recursive(
    st.integers(-9, 9), lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6
)


@given(numbers)
def test_hyper_map_keeps_the_structure_of_its_argument(tree: object) -> None:
    def negated(item: object) -> object:
        if isinstance(item, tuple):
            return tuple(map(negated, item))
        assert isinstance(item, int)
        return -item

    assert ops.HyperMap(negated)(tree) == negated(tree)
    assert ops.HyperMap()(negated, tree) == negated(tree)


@given(rows=st.integers(1, 3), columns=st.integers(1, 3), axis=st.integers(-2, 1))
def test_vmap_stacks_the_results_of_slices(rows: int, columns: int, axis: int) -> None:
    x = ops.arange(rows * columns).reshape((rows, columns))
    slices = ops.unbind(x, axis)
    both = ops.vmap(lambda row: (row, row * 2), axis, (0, 1))(x)
    assert both[0].tolist() == ops.stack(slices, 0).tolist()
    assert both[1].tolist() == ops.stack([row * 2 for row in slices], 1).tolist()


def test_dispatch_is_by_the_types_of_the_arguments() -> None:
    add = ops.MultitypeFuncGraph("add")

    @add.register("Tensor", "Number")
    def _(x: Tensor, number: float) -> str:
        return "tensor and number"

    @add.register("Number", "Number")
    def _(x: float, y: float) -> str:
        return "numbers"

    assert (add(X, 2), add(1.5, 2)) == ("tensor and number", "numbers")
    with pytest.raises(ValueError, match=r"'add', no function .* types \(Tensor, Tensor\)"):
        add(X, X)
