"""The table of layers with their outputs, which changes nothing, and drawings as files."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, drawing, nn
from tests.helpers.stub_models import ConstantLoss


@given(st.lists(st.integers(1, 4), min_size=2, max_size=5), st.booleans())
def test_summary_has_the_shape_of_each_layer(widths: list[int], training: bool) -> None:
    layers: list[nn.Cell] = []
    for width, following in pairwise(widths):
        layers += [nn.Dense(width, following), nn.BatchNorm1d(following), nn.ReLU()]
    net = nn.SequentialCell(*layers)
    net.set_train(training)
    layers[0].set_train(not training)
    before = {name: x.asnumpy().copy() for name, x in net.parameters_dict().items()}

    table = drawing.summarize(net, Tensor(np.ones((3, widths[0]), np.float32)))

    shapes = [shape for width in widths[1:] for shape in [f"(3, {width})"] * 3]
    assert [row[2] for row in table.rows] == [f"(3, {widths[-1]})", *shapes]
    assert [row[3] for row in table.rows[1::3]] == [x * y + y for x, y in pairwise(widths)]
    # Nothing has changed.
    for name, x in net.parameters_dict().items():
        np.testing.assert_array_equal(x.asnumpy(), before[name])
    assert layers[0].training is not training
    assert all(layer.training is training for layer in layers[1:])
    assert all("construct" not in cell.__dict__ for _, cell in net.cells_and_names())


def test_layer_that_is_not_called_has_no_shape() -> None:
    net = ConstantLoss()
    net.unused = nn.Dense(2, 2)
    assert drawing.summarize(net, Tensor(1.0)).rows[1][2] == ""
    with pytest.raises(TypeError, match="'cell'"):
        drawing.summarize(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_drawing_is_the_text_that_it_saves(tmp_path: Path) -> None:
    drawn = drawing.draw_cell(nn.Dense(2, 3))
    drawn.save(tmp_path / "net.svg")
    assert (tmp_path / "net.svg").read_text("utf-8") == drawn == drawn._repr_svg_()
