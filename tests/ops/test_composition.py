"""HyperMap, MultitypeFuncGraph, partial and vmap: nested arguments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, ops

X = ops.ones((2, 3))


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
