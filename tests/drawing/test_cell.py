"""The drawing of a cell: its cells and parameters, with their numbers."""

import itertools
from collections.abc import Iterator

from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Parameter, Tensor, nn
from minispore.drawing import draw_cell
from minispore.testing import strategies as mst
from tests.helpers.svg_reader import Picture, Rect, check_texts, read


@given(mst.cells(dropout=True))
def test_each_cell_has_a_box_with_its_repr(cell: nn.Cell) -> None:
    picture = read(draw_cell(cell))
    cells = list(cell.cells_and_names())
    assert len(picture.boxes) == len(cells)
    for (path, part), box, texts in zip(cells, picture.boxes, picture.texts, strict=True):
        assert box.startswith(f"{path or 'whole'}; ")
        assert type(part).__name__ in texts[0]
        assert part.extend_repr() in " ".join(texts)
        for name, parameter in part.parameters_and_names(expand=False):
            assert f"{name} {parameter.shape}: {parameter.size}" in box
    total = sum(parameter.size for parameter in cell.get_parameters())
    assert f"{total} parameter" in picture.boxes[0]


@st.composite
def networks(draw: st.DrawFn) -> nn.Cell:
    """Draw a network with containers in containers."""
    inner = draw(st.lists(mst.cells(dropout=True), max_size=3))
    kind = draw(st.sampled_from([nn.SequentialCell, nn.CellList[nn.Cell]]))
    net = nn.SequentialCell(kind(inner), nn.Tanh())
    net.a_name_that_is_rather_long_for_a_cell_of_a_network = draw(mst.cells())
    return net


@given(networks())
@example(nn.SequentialCell(nn.Conv2d(1, 2, 3), nn.CellList([nn.Dense(200, 300)])))
def test_boxes_are_nested_like_cells(net: nn.Cell) -> None:
    picture = read(draw_cell(net))
    check_texts(picture)
    cells = dict(net.cells_and_names())
    rects = dict(zip(cells, [box.rect for box in picture.drawn_boxes], strict=True))
    assert picture.size.contains(rects[""], margin=4)
    arrows: list[tuple[str, str]] = []
    for path, cell in cells.items():
        children = [f"{path}.{name}".lstrip(".") for name in cell.name_cells()]
        for i, child in enumerate(children):
            assert rects[path].contains(rects[child], margin=4)
            assert not any(rects[child].overlaps(rects[other]) for other in children[:i])
            labels = [text.rect for text in picture.drawn_boxes[list(rects).index(path)].texts]
            assert not any(rects[child].overlaps(text) for text in labels)
        if isinstance(cell, nn.SequentialCell):
            arrows += itertools.pairwise(children)
    assert sorted(arrows_of(picture, rects)) == sorted(arrows)


def arrows_of(picture: Picture, rects: dict[str, Rect]) -> Iterator[tuple[str, str]]:
    """Yield the boxes that each arrow leads from and to."""
    for (x, top), (_, bottom) in ((arrow.start, arrow.end) for arrow in picture.drawn_edges):
        (start,) = [p for p, r in rects.items() if r.left < x < r.right and is_close(top, r.bottom)]
        (end,) = [p for p, r in rects.items() if r.left < x < r.right and is_close(bottom, r.top)]
        yield start, end


def is_close(one: float, other: float) -> bool:
    return abs(one - other) < 0.2


class Named(nn.Cell):
    """A cell with a parameter, an inner cell and settings, all with arbitrary names."""

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
    picture = read(draw_cell(Named(parameter, cell, settings)))
    assert len(picture.boxes) == 2
    check_texts(picture)


def test_shared_cells_and_parameters_are_drawn_once() -> None:
    dense = nn.Dense(2, 2)
    net = nn.SequentialCell(dense, nn.Dense(2, 2), dense)
    net[1].weight = dense.weight
    net.again = net
    whole, _, second, third, again = read(draw_cell(net)).boxes
    assert whole == "whole; SequentialCell: 8 parameters"
    assert "weight is 0.weight" in second
    assert third == "2; 2: Dense; is 0"
    assert again == "again; again: SequentialCell; is the whole"


def test_settings_of_cells_and_parameters_are_shown() -> None:
    """A frozen parameter is marked, and an object without a repr is shown by its class."""
    conv = nn.Conv2d(1, 2, 3)
    conv.weight.requires_grad = False
    assert "HeUniform(" in read(draw_cell(conv)).boxes[0]
    vars(conv)["weight_init"] = object()
    (box,) = read(draw_cell(conv)).boxes
    assert "weight (2, 1, 3, 3), not trained: 18" in box
    assert "weight_init=object" in box
    assert "0x" not in box
