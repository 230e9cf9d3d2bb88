"""Cells: attributes, parameter names (as MindSpore gives them), the tree, modes, printing."""

import copy
import itertools
from collections.abc import Callable
from typing import Any, assert_type

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
from minispore import Parameter, ParameterTuple, Tensor, nn


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


def anything() -> Any:  # noqa: ANN401 (that is the point)
    """A cell whose attributes no type checker knows."""
    return Empty()


def one() -> Parameter:
    return Parameter(Tensor(1.0))


# Random trees: what is assigned where.
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
    """What the parameters are called, by a plain recursion: own ones before those of children."""
    if tree == "dense":
        return [f"{prefix}weight", f"{prefix}bias"]
    if not isinstance(tree, dict):
        return []
    own = [prefix + name for name, child in tree.items() if child == "parameter"]
    below = [paths(child, f"{prefix}{name}.") for name, child in tree.items()]
    return own + [path for found in below for path in found]


@given(st.dictionaries(st.sampled_from("abcde"), trees, max_size=4))
def test_a_parameter_is_called_by_its_path(tree: dict[str, Tree]) -> None:
    cell = build(tree)
    assert isinstance(cell, nn.Cell)
    expected = paths(tree)
    assert names(cell) == [(path, path) for path in expected]
    assert list(cell.parameters_dict()) == expected
    outer: Any = Empty()
    outer.net = cell
    assert names(outer) == [(f"net.{path}", f"net.{path}") for path in expected]


@given(st.dictionaries(st.sampled_from("abcde"), trees, max_size=4))
def test_every_cell_is_reached_once_with_its_path(tree: dict[str, Tree]) -> None:
    cell = build(tree)
    assert isinstance(cell, nn.Cell)
    found = dict(cell.cells_and_names())
    assert found[""] is cell
    for path, below in found.items():
        at: object = cell
        for name in path.split(".") if path else ():
            at = getattr(at, name)
        assert at is below
    applied: list[nn.Cell] = []
    assert cell.apply(applied.append) is cell
    assert {id(c) for c in applied} == {id(c) for c in found.values()}
    assert applied[-1] is cell
    cell.set_train()
    assert all(c.training for c in found.values())
    cell.set_train(False)
    assert not any(c.training for c in found.values())


def test_the_tutorial_network() -> None:
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


def test_a_cell_assigned_twice_has_the_later_name() -> None:
    net: Any = Empty()
    net.x = net.y = nn.Dense(1, 1)
    assert names(net) == [("x.weight", "y.weight"), ("x.bias", "y.bias")]
    assert list(net.name_cells()) == ["x"]
    assert len(net.cells()) == 1
    assert repr(net).count("Dense") == 2


def test_a_shared_parameter() -> None:
    first, second = nn.Dense(1, 1), nn.Dense(1, 1)
    second.weight = first.weight
    net = nn.SequentialCell(first, second)
    assert names(net) == [("0.weight", "1.weight"), ("0.bias", "0.bias"), ("1.bias", "1.bias")]
    parameter = one()
    twice: Any = Empty()
    twice.a = twice.b = parameter
    assert names(twice) == [("a", "a")]


def test_names_given_by_the_user() -> None:
    net: Any = Empty()
    net.w = Parameter(Tensor(1.0), name="vee")
    assert names(net) == [("w", "vee")]
    outer: Any = Empty()
    outer.net = net
    assert names(outer) == [("net.w", "net.w")]
    other: Any = Empty()
    other.z = net.w
    assert names(other) == [("z", "net.w")]


def test_late_assignments_do_not_know_the_network() -> None:
    outer: Any = Empty()
    inner = anything()
    outer.net = inner
    inner.dense = nn.Dense(1, 1)
    assert names(outer) == [("net.dense.weight", "dense.weight"), ("net.dense.bias", "dense.bias")]


def test_without_auto_prefix() -> None:
    net: Any = nn.Cell(auto_prefix=False)
    net.x, net.w = nn.Dense(1, 1), one()
    assert names(net) == [("w", "w"), ("x.weight", "weight"), ("x.bias", "bias")]


def test_parameter_tuples() -> None:
    net: Any = Empty()
    net.weights = ParameterTuple([Parameter(Tensor(1.0), name=n) for n in ("training", "y")])
    assert names(net) == [("training", "training"), ("y", "y")]
    assert net.training is False
    middle, outer = anything(), anything()
    middle.k = net
    outer.z = middle
    assert names(outer) == [("z.k.training",) * 2, ("z.k.y",) * 2]


def test_lists_of_cells_are_no_children() -> None:
    net: Any = Empty()
    net.list = [nn.Dense(1, 1)]
    net.tuple = (one(),)
    assert list(net.cells()) == []
    with (
        pytest.warns(UserWarning, match="'list' of the cell is a list"),
        pytest.warns(UserWarning, match="'tuple' of the cell is a tuple"),
    ):
        assert net.trainable_params() == []


def test_update_parameters_name_and_prefixes() -> None:
    net: Any = Empty()
    net.p, net.d = one(), nn.Dense(1, 1)
    net.update_parameters_name("pre_", recurse=False)
    assert names(net) == [("p", "pre_p"), ("d.weight", "d.weight"), ("d.bias", "d.bias")]
    net.update_parameters_name("pre.")
    assert names(net)[1] == ("d.weight", "pre.d.weight")
    assert (net.param_prefix, net.d.param_prefix) == ("pre", "pre.d")
    with pytest.raises(TypeError, match="prefix"):
        net.update_parameters_name(3)


def test_replacing_and_removing() -> None:
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


def test_trainable_and_not() -> None:
    net: Any = nn.SequentialCell(nn.Dense(1, 1), nn.Dense(1, 1))
    net[0].weight.requires_grad = False
    assert [p.name for p in net.untrainable_params()] == ["0.weight"]
    assert [p.name for p in net.trainable_params()] == ["0.bias", "1.weight", "1.bias"]
    assert net.trainable_params(recurse=False) == []
    assert list(net.parameters_dict(recurse=False)) == []
    assert next(path for path, _ in net.parameters_and_names("pre")) == "pre.0.weight"
    assert list(net.init_parameters_data()) == list(net.get_parameters())


def test_insertion() -> None:
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
def test_a_forgotten_super_init_is_named(use: Callable[[], object]) -> None:
    with pytest.raises(AttributeError, match=r"'NoInit'.*super\(\).__init__\(\)"):
        use()
    assert "NoInit object" in repr(NoInit(3))


def test_modes() -> None:
    net = Tutorial()
    assert (net.training, net.requires_grad) == (False, False)
    assert net.set_grad() is net
    assert net.dense_relu_sequential[0].requires_grad
    for use in (net.set_train, net.set_grad):
        with pytest.raises(TypeError, match=r"must be one of bool"):
            use(1)  # type: ignore[arg-type]
    assert net.to_float(ms.float32) is net
    with pytest.raises(NotImplementedError, match="mixed precision"):
        net.to_float(ms.float16)
    with pytest.raises(ValueError, match="dst_type"):
        net.to_float(ms.int32)
    with pytest.raises(ValueError, match="flags"):
        nn.Cell(flags={"fp16": True})
    with pytest.raises(ValueError, match="auto_parallel_mode"):
        net.init_parameters_data(auto_parallel_mode=True)


def test_calls() -> None:
    dense = nn.Dense(2, 3)
    x = ms.ops.ones((1, 2))
    assert dense(x=x).shape == (1, 3)
    for arguments in ((), (x, x)):
        with pytest.raises(TypeError, match="construct"):
            dense(*arguments)
    with pytest.raises(AttributeError, match="For 'Empty', the method 'construct'"):
        Empty()(x)


def test_what_a_type_checker_knows_of_a_call() -> None:
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


def test_printing() -> None:
    class Told(nn.Cell):
        def extend_repr(self) -> str:
            return "hi=3"

    net: Any = Told()
    assert repr(net) == "Told(hi=3)"
    net.a, net.b = Told(), nn.SequentialCell()
    assert repr(net) == "Told(\n  hi=3\n  (a): Told(hi=3)\n  (b): SequentialCell()\n)"
    assert repr(nn.Cell()) == "Cell()"
    assert net.cls_name == "Told"


def test_a_deep_copy_is_a_network_of_its_own() -> None:
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


def test_a_chain_of_ten_thousand_cells_is_listed_without_recursion() -> None:
    cells = [anything() for _ in range(10_000)]
    for outer, inner in itertools.pairwise(cells):
        outer.insert_child_to_cell("next", inner)
    cells[-1].p = one()
    assert len(list(cells[0].cells_and_names())) == 10_000
    assert len(cells[0].trainable_params()) == 1
    cells[0].set_train()
    assert cells[-1].training
