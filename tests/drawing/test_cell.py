"""The drawing of a cell: each of its cells and parameters, with what is counted."""

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Parameter, Tensor, nn
from minispore.drawing import draw_cell
from minispore.testing import strategies as mst

from .reading import read, sticking_out


@given(mst.cells(dropout=True))
def test_each_cell_has_a_box_with_what_it_prints(cell: nn.Cell) -> None:
    picture = read(draw_cell(cell))
    cells = list(cell.cells_and_names())
    assert len(picture.boxes) == len(cells)
    for (path, each), said, texts in zip(cells, picture.boxes, picture.texts, strict=True):
        assert said.startswith(f"{path or 'whole'}; ")
        assert type(each).__name__ in texts[0]
        assert each.extend_repr() in " ".join(texts)
        for name, parameter in each.parameters_and_names(expand=False):
            assert f"{name} {parameter.shape}: {parameter.size}" in said
    total = sum(parameter.size for parameter in cell.get_parameters())
    assert f"{total} parameter" in picture.boxes[0]


class Named(nn.Cell):
    """A cell with a parameter and a cell of any names, and any settings."""

    def __init__(self, parameter: str, cell: str, settings: str) -> None:
        super().__init__()
        self.insert_param_to_cell(parameter, Parameter(Tensor(1.0)))
        self.insert_child_to_cell(cell, nn.ReLU())
        self.settings = settings

    def extend_repr(self) -> str:
        return self.settings


# Of what can be typed and what cannot; but a name has no dot, and is no attribute's.
NAMES = st.text(st.characters(), max_size=8).map(lambda text: f"#{text}".replace(".", ""))


@given(NAMES, NAMES.map(lambda name: f"a{name}"), st.text())
def test_any_name_can_be_drawn(parameter: str, cell: str, settings: str) -> None:
    assert len(read(draw_cell(Named(parameter, cell, settings))).boxes) == 2


def test_what_is_in_two_places_counts_once() -> None:
    dense = nn.Dense(2, 2)
    net = nn.SequentialCell(dense, nn.Dense(2, 2), dense)
    net[1].weight = dense.weight
    whole, _, second, third = read(draw_cell(net)).boxes
    assert whole == "whole; SequentialCell: 8 parameters"
    assert "weight is 0.weight" in second
    assert third == "2; 2: Dense; is 0"


def test_a_cell_within_itself_is_drawn_once() -> None:
    net = nn.SequentialCell(nn.ReLU())
    net.again = net
    assert read(draw_cell(net)).boxes[-1] == "again; again: SequentialCell; is the whole"


def test_what_is_not_trained_is_said_to_be_so() -> None:
    dense = nn.Dense(2, 1)
    dense.weight.requires_grad = False
    assert "weight (1, 2), not trained: 2" in read(draw_cell(dense)).boxes[0]


def test_an_object_without_a_text_is_named_by_its_class() -> None:
    (box,) = read(draw_cell(nn.Conv2d(1, 2, 3))).boxes
    assert "weight_init=HeUniform" in box
    assert "0x" not in box


def test_cells_one_after_the_other_have_arrows_between_them() -> None:
    cells: list[nn.Cell] = [nn.ReLU(), nn.Tanh(), nn.Sigmoid()]
    arrows = [
        draw_cell(kind(cells)).count("<path") // 2 for kind in (nn.SequentialCell, nn.CellList)
    ]
    assert arrows == [2, 0]


def test_boxes_lie_within_one_another_or_apart() -> None:
    inner = nn.SequentialCell(nn.Dense(2, 2), nn.CellList([nn.ReLU(), nn.Dropout(p=0.5)]))
    root = ET.fromstring(draw_cell(nn.SequentialCell(inner, nn.Tanh())))
    rects = [
        tuple(float(rect.attrib[key]) for key in ("x", "y", "width", "height"))
        for rect in root.iter("{http://www.w3.org/2000/svg}rect")
    ]
    assert len(rects) == 7
    for i, (x, y, width, height) in enumerate(rects):
        for left, top, wide, high in rects[i + 1 :]:
            within = x < left and y < top and left + wide < x + width and top + high < y + height
            assert within or y + height < top


def test_every_text_lies_within_its_box() -> None:
    net = nn.SequentialCell(nn.Conv2d(1, 2, 3), nn.CellList([nn.Dense(200, 300)]))
    net.a_name_that_is_rather_long_for_a_cell_of_a_network = nn.ReLU()
    assert not sticking_out(draw_cell(net))


def test_too_many_cells_are_refused() -> None:
    with pytest.raises(ValueError, match="'cell' can have 200 cells, but it has 201"):
        draw_cell(nn.CellList([nn.ReLU() for _ in range(200)]))


def test_what_is_no_cell_is_refused() -> None:
    with pytest.raises(TypeError, match="'cell' must be one of Cell, but got 3 of type int"):
        draw_cell(3)  # type: ignore[arg-type]
