"""Cells: attributes, parameter names as in MindSpore, the cell tree, modes, repr."""

import copy
import itertools
import warnings
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, assert_type

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
from minispore import Parameter, ParameterTuple, Tensor, nn
from minispore.nn.cell import _parameters_in


class Empty(nn.Cell):
    pass


class Pair(nn.Cell):
    def construct(self, x: Tensor, y: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return x, x if y is None else y


class Tutorial(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.flatten = nn.Flatten()
        self.dense_relu_sequential = nn.SequentialCell(
            nn.Dense(8, 5), nn.ReLU(), nn.Dense(5, 5), nn.ReLU(), nn.Dense(5, 3)
        )

    def construct(self, x: Tensor) -> Tensor:
        return self.dense_relu_sequential(self.flatten(x))


def names(cell: nn.Cell) -> list[tuple[str, str]]:
    return [(path, parameter.name) for path, parameter in cell.parameters_and_names()]


def anything() -> Any:  # noqa: ANN401 (its attributes are untyped)
    """Return a cell whose attributes are untyped."""
    return Empty()


def one() -> Parameter:
    return Parameter(Tensor(1.0))


# Random trees of assignments.
trees = st.recursive(
    st.sampled_from(["parameter", "dense", "relu"]),
    lambda inner: st.dictionaries(st.sampled_from("abcde"), inner, max_size=4),
    max_leaves=12,
)
Tree = str | dict[str, "Tree"]


def build(tree: Tree) -> Parameter | nn.Cell:
    if isinstance(tree, dict):
        cell = Empty()
        for name, child in tree.items():
            setattr(cell, name, build(child))
        return cell
    if tree == "parameter":
        return one()
    return nn.Dense(1, 1) if tree == "dense" else nn.ReLU()


def paths(tree: Tree, prefix: str = "") -> list[str]:
    """Return the expected parameter names by recursion: own parameters before those of children."""
    if tree == "dense":
        return [f"{prefix}weight", f"{prefix}bias"]
    if not isinstance(tree, dict):
        return []
    direct = [prefix + name for name, child in tree.items() if child == "parameter"]
    below = [paths(child, f"{prefix}{name}.") for name, child in tree.items()]
    return direct + list(chain.from_iterable(below))


@given(st.dictionaries(st.sampled_from("abcde"), trees, max_size=4))
def test_parameter_name_is_its_path(tree: dict[str, Tree]) -> None:
    cell = build(tree)
    assert isinstance(cell, nn.Cell)
    expected = paths(tree)
    assert names(cell) == [(path, path) for path in expected]
    assert list(cell.parameters_dict()) == expected
    outer: Any = Empty()
    outer.net = cell
    assert names(outer) == [(f"net.{path}", f"net.{path}") for path in expected]


@given(st.dictionaries(st.sampled_from("abcde"), trees, max_size=4))
def test_cells_and_names_yields_each_cell_once(tree: dict[str, Tree]) -> None:
    cell = build(tree)
    assert isinstance(cell, nn.Cell)
    cells = dict(cell.cells_and_names())
    assert cells[""] is cell
    for path, below in cells.items():
        at: object = cell
        for name in path.split(".") if path else ():
            at = getattr(at, name)
        assert at is below
    applied: list[nn.Cell] = []
    assert cell.apply(applied.append) is cell
    assert {id(c) for c in applied} == {id(c) for c in cells.values()}
    assert applied[-1] is cell
    for mode, phase in ((True, "train"), (False, "predict")):
        assert cell.set_train(mode) is cell
        assert {(c.training, c.phase) for c in cells.values()} == {(mode, phase)}


def test_tutorial_network() -> None:
    net = Tutorial()
    assert [p.name for p in net.trainable_params()] == [
        f"dense_relu_sequential.{i}.{kind}" for i in (0, 2, 4) for kind in ("weight", "bias")
    ]
    assert str(net) == repr(net)
    assert repr(net) == (
        "Tutorial(\n"
        "  (flatten): Flatten()\n"
        "  (dense_relu_sequential): SequentialCell(\n"
        "    (0): Dense(input_channels=8, output_channels=5, has_bias=True)\n"
        "    (1): ReLU()\n"
        "    (2): Dense(input_channels=5, output_channels=5, has_bias=True)\n"
        "    (3): ReLU()\n"
        "    (4): Dense(input_channels=5, output_channels=3, has_bias=True)\n"
        "  )\n"
        ")"
    )


def test_cell_assigned_twice_has_the_later_name() -> None:
    net: Any = Empty()
    net.x = net.y = nn.Dense(1, 1)
    assert names(net) == [("x.weight", "y.weight"), ("x.bias", "y.bias")]
    assert list(net.name_cells()) == ["x"]
    assert len(net.cells()) == 1
    assert repr(net).count("Dense") == 2


def test_shared_parameter_is_listed_once() -> None:
    first, second = nn.Dense(1, 1), nn.Dense(1, 1)
    second.weight = first.weight
    net = nn.SequentialCell(first, second)
    assert names(net) == [("0.weight", "1.weight"), ("0.bias", "0.bias"), ("1.bias", "1.bias")]
    parameter = one()
    twice: Any = Empty()
    twice.a = twice.b = parameter
    assert names(twice) == [("a", "a")]


def test_user_defined_parameter_names() -> None:
    net: Any = Empty()
    net.w = Parameter(Tensor(1.0), name="vee")
    assert names(net) == [("w", "vee")]
    outer: Any = Empty()
    outer.net = net
    assert names(outer) == [("net.w", "net.w")]
    other: Any = Empty()
    other.z = net.w
    assert names(other) == [("z", "net.w")]


def test_late_assignment_does_not_add_the_network_prefix() -> None:
    outer: Any = Empty()
    inner = anything()
    outer.net = inner
    inner.dense = nn.Dense(1, 1)
    assert names(outer) == [("net.dense.weight", "dense.weight"), ("net.dense.bias", "dense.bias")]


def test_auto_prefix_false_keeps_names() -> None:
    net: Any = nn.Cell(auto_prefix=False)
    net.x, net.w = nn.Dense(1, 1), one()
    assert names(net) == [("w", "w"), ("x.weight", "weight"), ("x.bias", "bias")]


def test_class_as_auto_prefix_is_true() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__(Net)  # type: ignore[arg-type]
            self.x = nn.Dense(1, 1, has_bias=False)

    assert names(Net()) == [("x.weight", "x.weight")]


def test_parameter_tuple_attributes() -> None:
    net: Any = Empty()
    net.weights = ParameterTuple([Parameter(Tensor(1.0), name=n) for n in ("training", "y")])
    assert names(net) == [("training", "training"), ("y", "y")]
    assert net.training is False
    middle, outer = anything(), anything()
    middle.k = net
    outer.z = middle
    assert names(outer) == [("z.k.training",) * 2, ("z.k.y",) * 2]


def wrapped(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.one_of(
        inner.map(lambda value: [value]),
        inner.map(lambda value: (3, value)),
        inner.map(lambda value: {"key": value}),
    )


def itself() -> list[object]:
    """Return a list in itself, with a parameter."""
    values: list[object] = [one()]
    values.append(values)
    return values


@given(
    st.recursive(st.builds(one) | st.builds(lambda: nn.Dense(1, 1)), wrapped, max_leaves=3).filter(
        lambda value: isinstance(value, list | tuple | dict)
    )
    | st.builds(itself),
    st.sampled_from(["hidden", "frozen", "registered"]),
)
def test_parameters_in_lists_tuples_and_dicts_are_not_found(value: object, kind: str) -> None:
    """A warning names the attribute, unless the parameters are frozen or found elsewhere."""
    net: Any = Empty()
    net.inner = Empty()
    net.inner.values = value
    found = list(_parameters_in(value))
    for i, parameter in enumerate(found):
        if kind == "frozen":
            parameter.requires_grad = False
        if kind == "registered":
            setattr(net, f"p{i}", parameter)
    assert list(net.inner.cells()) == []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert len(net.trainable_params()) == (len(found) if kind == "registered" else 0)
    expected = [f"'inner.values' of the cell is a {type(value).__name__}"] * (kind == "hidden")
    assert [message for message in expected if message not in str(caught[0].message)] == []
    assert len(caught) == len(expected)


def test_update_parameters_name_and_param_prefix() -> None:
    net: Any = Empty()
    net.p, net.d = one(), nn.Dense(1, 1)
    net.update_parameters_name("pre_", recurse=False)
    assert names(net) == [("p", "pre_p"), ("d.weight", "d.weight"), ("d.bias", "d.bias")]
    net.update_parameters_name("pre.")
    assert names(net)[1] == ("d.weight", "pre.d.weight")
    assert (net.param_prefix, net.d.param_prefix) == ("pre", "pre.d")
    with pytest.raises(TypeError, match="prefix"):
        net.update_parameters_name(3)


def test_attributes_can_be_replaced_and_deleted() -> None:
    net: Any = Empty()
    net.p, net.d, net.n = one(), nn.Dense(1, 1), 3
    parameter = net.p
    net.p = Tensor(2.0)
    assert net.p is parameter
    assert parameter.item() == 2
    for name in ("p", "d"):
        with pytest.raises(TypeError, match=f"'{name}' is a"):
            setattr(net, name, 3)
    net.p = other = one()
    assert list(net.get_parameters(expand=False)) == [other]
    net.p = net.d = None
    assert list(net.get_parameters()) == []
    assert list(net.cells()) == []
    net.n = nn.ReLU()
    assert list(net.name_cells()) == ["n"]
    del net.n
    assert list(net.cells()) == []
    with pytest.raises(AttributeError, match="n"):
        _ = net.n


def test_trainable_and_untrainable_params() -> None:
    net: Any = nn.SequentialCell(nn.Dense(1, 1), nn.Dense(1, 1))
    net[0].weight.requires_grad = False
    assert [p.name for p in net.untrainable_params()] == ["0.weight"]
    assert [p.name for p in net.trainable_params()] == ["0.bias", "1.weight", "1.bias"]
    assert net.trainable_params(recurse=False) == []
    assert list(net.parameters_dict(recurse=False)) == []
    assert next(path for path, _ in net.parameters_and_names("pre")) == "pre.0.weight"
    assert list(net.init_parameters_data()) == list(net.get_parameters())


def test_insert_child_and_insert_param() -> None:
    net: Any = Empty()
    net.insert_child_to_cell("d", nn.Dense(1, 1, has_bias=False))
    net.insert_param_to_cell("p", one())
    net.insert_param_to_cell("q", Parameter(Tensor(1.0), name="zz"))
    net.insert_param_to_cell("a.b", one(), check_name_contain_dot=False)
    net.insert_child_to_cell("none", None)
    assert names(net) == [("p", "p"), ("q", "zz"), ("a.b", "a.b"), ("d.weight", "weight")]
    net.x = 3
    refused: list[tuple[Callable[[], None], type[Exception]]] = [
        (lambda: net.insert_child_to_cell("x", nn.ReLU()), KeyError),
        (lambda: net.insert_child_to_cell("", nn.ReLU()), KeyError),
        (lambda: net.insert_child_to_cell("a.b", nn.ReLU()), KeyError),
        (lambda: net.insert_child_to_cell("y", 3), TypeError),
        (lambda: net.insert_child_to_cell(3, nn.ReLU()), TypeError),
        (lambda: net.insert_param_to_cell("x", one()), KeyError),
        (lambda: net.insert_param_to_cell("", one()), KeyError),
        (lambda: net.insert_param_to_cell("c.d", one()), KeyError),
        (lambda: net.insert_param_to_cell("y", 3), TypeError),
        (lambda: net.insert_param_to_cell(3, one()), TypeError),
    ]
    for make, error in refused:
        with pytest.raises(error, match=r"insert_(child|param)_to_cell"):
            make()


class NoInit(nn.Cell):
    def __init__(self, value: object) -> None:  # no super().__init__()
        self.value = value


@pytest.mark.parametrize(
    "use",
    [
        lambda: NoInit(nn.ReLU()),
        lambda: NoInit(one()),
        lambda: NoInit(ParameterTuple([one()])),
        lambda: NoInit(3)(Tensor(1.0)),
        lambda: NoInit(3).trainable_params(),
        lambda: NoInit(3).set_train(),
        lambda: NoInit(3).register_forward_hook(print),
        lambda: setattr(Empty(), "child", NoInit(3)),
    ],
)
def test_missing_super_init_raises(use: Callable[[], object]) -> None:
    with pytest.raises(AttributeError, match=r"'NoInit'.*super\(\).__init__\(\)"):
        use()
    assert "NoInit object" in repr(NoInit(3))


def test_set_train_set_grad_and_to_float() -> None:
    net = Tutorial()
    assert (net.training, net.requires_grad) == (False, False)
    assert net.set_grad() is net
    assert net.dense_relu_sequential[0].requires_grad
    for use in (net.set_train, net.set_grad):
        with pytest.raises(TypeError, match=r"must be one of bool"):
            use(1)  # type: ignore[arg-type]
    assert net.to_float(ms.float32) is net
    with pytest.raises(ValueError, match="dst_type"):
        net.to_float(ms.int32)
    with pytest.raises(ValueError, match="auto_parallel_mode"):
        net.init_parameters_data(auto_parallel_mode=True)


@pytest.mark.parametrize("items", [(Tensor([1.0]), Tensor([2])), [Tensor([1.0]), Tensor([2])]])
def test_float_type_applies_to_the_elements_of_inputs(items: Sequence[Tensor]) -> None:
    class First(nn.Cell):
        def construct(self, received: Sequence[Tensor]) -> Tensor:
            assert type(received) is type(items)
            assert [item.dtype for item in received] == [ms.float16, ms.int64]
            return received[0]

    assert First().to_float(ms.float16)(items).dtype == ms.float16


def test_call_runs_construct() -> None:
    dense = nn.Dense(2, 3)
    x = ms.ops.ones((1, 2))
    assert dense(x=x).shape == (1, 3)
    for arguments in ((), (x, x)):
        with pytest.raises(TypeError, match="construct"):
            dense(*arguments)
    with pytest.raises(AttributeError, match="For 'Empty', the method 'construct'"):
        Empty()(x)


def test_static_types_of_calls() -> None:
    x = ms.ops.ones((1, 2))
    assert_type(nn.Dense(2, 2)(x), Tensor)
    assert_type(Pair()(x, y=x), tuple[Tensor, Tensor])
    assert_type(called(Pair(), x), Tensor)
    layers = nn.CellList([nn.Dense(2, 2), nn.Dense(2, 2)])
    for layer in layers:
        x = layer(x)
    assert_type(layers[0].in_channels, int)


def called(cell: nn.Cell, x: Tensor) -> Tensor:
    return assert_type(cell(x, x), Tensor)


def test_repr() -> None:
    class Named(nn.Cell):
        def extend_repr(self) -> str:
            return "hi=3"

    net: Any = Named()
    assert repr(net) == "Named(hi=3)"
    net.a, net.b = Named(), nn.SequentialCell()
    assert repr(net) == "Named(\n  hi=3\n  (a): Named(hi=3)\n  (b): SequentialCell()\n)"
    assert repr(nn.Cell()) == "Cell()"
    assert net.cls_name == "Named"


def test_deep_copy_is_independent() -> None:
    net: Any = Tutorial()
    net.tied = net.dense_relu_sequential[0].weight
    twin = copy.deepcopy(net)
    assert names(twin) == names(net)
    assert twin.tied is twin.dense_relu_sequential[0].weight
    assert twin.tied is not net.tied
    x = ms.ops.ones((2, 8))
    assert (twin(x) == net(x)).all()
    twin.tied.set_data(twin.tied * 2)
    assert not (twin.tied == net.tied).any()


def test_deep_networks_are_traversed_without_recursion() -> None:
    cells = [anything() for _ in range(3_000)]
    for outer, inner in itertools.pairwise(cells):
        outer.insert_child_to_cell("next", inner)
    cells[-1].p = one()
    assert len(list(cells[0].cells_and_names())) == 3_000
    assert len(cells[0].trainable_params()) == 1
    cells[0].set_train()
    assert cells[-1].training
