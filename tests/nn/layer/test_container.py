"""SequentialCell and CellList: list operations and parameter names."""

import copy
from collections import OrderedDict
from functools import reduce
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Tensor, nn, ops


def dense(size: int = 1) -> nn.Dense:
    return nn.Dense(size, size)


def names(cell: nn.Cell) -> list[str]:
    pairs = [(path, parameter.name) for path, parameter in cell.parameters_and_names()]
    assert all(path == name for path, name in pairs)
    return [name.removesuffix(".weight") for _, name in pairs if name.endswith("weight")]


def identities(cells: object) -> list[int]:
    return [id(cell) for cell in cells]  # type: ignore[attr-defined]


operation = st.one_of(
    st.tuples(st.just("append"), st.just(0)),
    st.tuples(st.just("insert"), st.integers(-6, 6)),
    st.tuples(st.just("set"), st.integers(-6, 6)),
    st.tuples(st.just("delete"), st.integers(-6, 6)),
    st.tuples(st.just("cut"), st.integers(0, 4)),
    st.tuples(st.just("extend"), st.integers(0, 2)),
)


def apply(cells: list[nn.Cell] | nn.SequentialCell, kind: str, at: int, new: nn.Cell) -> bool:
    """Apply an operation; return False if the index is out of range."""
    try:
        match kind:
            case "append":
                cells.append(new)
            case "insert":
                if not -len(cells) <= at <= len(cells):
                    raise IndexError
                cells.insert(at, new)
            case "set":
                cells[at] = new
            case "delete":
                del cells[at]
            case "cut":
                del cells[at : at + 2]
            case _:
                cells.extend([new] if at else [])
    except IndexError:
        return False
    return True


@given(st.integers(0, 4), st.lists(operation, max_size=8), st.booleans())
@example(3, [("insert", 0), ("insert", -1), ("set", -1), ("delete", -2), ("append", 0)], True)
def test_container_behaves_like_a_list(
    start: int, operations: list[tuple[str, int]], in_network: bool
) -> None:
    model: list[nn.Cell] = [dense() for _ in range(start)]
    cells = nn.SequentialCell(list(model))
    prefix = ""
    if in_network:
        net: Any = nn.Cell()
        net.body = cells
        outer: Any = nn.Cell()
        outer.net = net
        prefix = "net.body."
    for kind, at in operations:
        new = dense()
        assert apply(cells, kind, at, new) == apply(model, kind, at, new)
        assert identities(cells) == identities(model)
        assert len(cells) == len(model)
        assert bool(cells) == bool(model)
        assert list(cells.name_cells()) == [str(i) for i in range(len(model))]
        # The names of parameters contain the index and the path of the container.
        assert [p.name for p in cells.get_parameters()] == [
            f"{prefix}{i}.{kind}" for i in range(len(model)) for kind in ("weight", "bias")
        ]
        assert [id(cells[i]) for i in range(-len(model), len(model))] == identities(model * 2)
        assert identities(cells[1:3]) == identities(model[1:3])


attribute = st.tuples(
    st.sampled_from(["append", "assign", "insert_child", "none", "delete", "copy", "cut"]),
    st.sampled_from(["0", "1", "2", "a", "b"]),
)


@given(st.lists(attribute, max_size=8))
@example([("assign", "a"), ("assign", "b"), ("none", "a"), ("insert_child", "1")])
def test_cells_are_the_cell_attributes(changes: list[tuple[str, str]]) -> None:
    cells: Any = nn.CellList([dense()])
    copied_from: Any = nn.CellList()
    for kind, name in changes:
        is_cell = isinstance(cells.__dict__.get(name), nn.Cell)
        match kind:
            case "append":
                cells.append(dense())
            case "assign":
                setattr(cells, name, dense())
            case "insert_child":
                cells.insert_child_to_cell(name, dense())
            case "none":
                setattr(cells, name, None)
            case "delete" if is_cell:
                delattr(cells, name)
            case "copy":
                copied_from, cells = cells, copy.deepcopy(cells)
            case _:
                cells = cells[1:]
        attributes: list[object] = list(cells.__dict__.values())
        held = [value for value in attributes if isinstance(value, nn.Cell)]
        assert identities(cells) == identities(held)
        assert len(cells) == len(held)
        assert [id(cells[i]) for i in range(len(held))] == identities(held)
        assert not set(identities(cells)) & set(identities(copied_from))


def test_container_may_change_during_iteration() -> None:
    cells = nn.CellList([dense(), dense()])
    for cell in cells:
        cells.append(cell)
    assert len(cells) == 4


SAME = dense(2)


@given(st.lists(st.sampled_from([nn.ReLU(), nn.Dense(2, 2), nn.Tanh(), SAME]), max_size=4))
def test_sequential_cell_applies_cells_in_order(cells: list[nn.Cell]) -> None:
    x = Tensor([[1.0, -5.0]])
    expected = reduce(lambda x, cell: cell(x), cells, x)
    assert nn.SequentialCell(cells)(x).tolist() == expected.tolist()
    assert nn.SequentialCell(*cells, SAME, SAME)(x).tolist() == SAME(SAME(expected)).tolist()
    assert nn.SequentialCell()(x) is x


def test_sequential_cell_from_ordered_dict() -> None:
    net = nn.SequentialCell(OrderedDict([("a", dense()), ("b", nn.ReLU()), ("c", dense())]))
    assert names(net) == ["a", "c"]
    part = net[0:2]
    assert list(part.name_cells()) == ["a", "b"]
    net.append(dense())
    assert list(net.name_cells()) == ["a", "b", "c", "3"]
    assert names(net) == ["a", "c", "3"]
    del net[1]
    assert list(net.name_cells()) == ["a", "c", "3"]
    net.append(dense())
    assert list(net.name_cells()) == ["a", "c", "3", "4"]


def test_slice_does_not_rename_parameters() -> None:
    net = nn.SequentialCell(dense(), nn.ReLU(), dense())
    part = net[1:]
    assert isinstance(part, nn.SequentialCell)
    assert repr(part) == (
        "SequentialCell(\n  (1): ReLU()\n"
        "  (2): Dense(input_channels=1, output_channels=1, has_bias=True)\n)"
    )
    assert part[1] is net[2]
    assert [p.name for p in net.get_parameters()] == ["0.weight", "0.bias", "2.weight", "2.bias"]


def test_cell_list() -> None:
    layers = nn.CellList([dense()])
    layers.append(dense())
    layers += [dense()]
    assert layers.extend((dense(),)) is layers
    layers.insert(1, dense())
    assert names(layers) == ["0", "1", "2", "3", "4"]
    assert nn.CellList(layers)[1] is layers[1]
    net: Any = nn.Cell()
    net.layers = nn.CellList[nn.Dense]()
    net.layers.append(dense())
    # Not just "0", which a second list would have too.
    assert names(net) == ["layers.0"]
    assert [p.name for p in nn.CellList([dense()], auto_prefix=False).get_parameters()] == [
        "weight",
        "bias",
    ]
    with pytest.raises(NotImplementedError, match="CellList"):
        layers(ops.ones(1))


def test_failed_extend_adds_no_cell() -> None:
    net = nn.SequentialCell(dense())
    with pytest.raises(TypeError, match="each cell"):
        net.extend([dense(), 3])  # type: ignore[list-item]
    assert len(net) == 1
