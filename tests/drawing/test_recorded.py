"""Drawings keep their look: colours, dashes, fonts and titles are those of pictures looked at.

`python -m tests.record` writes the pictures; look at those that change.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from minispore import Parameter, Tensor, nn, ops
from minispore.drawing import draw_cell, draw_events, draw_graph
from minispore.testing import Event
from minispore.utils.curves import plot_curves

FOLDER = Path(__file__).with_name("recorded")


class Network(nn.Cell):
    """A network with a shared parameter, a frozen one, and cells in cells."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
        self.same = self.dense.bias
        self.scale = Parameter(Tensor(0.5), name="scale", requires_grad=False)
        self.blocks = nn.SequentialCell(nn.Dropout(p=0.5), nn.CellList([nn.ReLU(), nn.Tanh()]))

    def construct(self, x: Tensor) -> Tensor:
        return ops.relu(self.dense(x)) * self.scale + ops.stop_gradient(x.sum())


def graph() -> str:
    network = Network()

    def total(x: Tensor, y: Tensor) -> Tensor:
        return network(x).sum() + y.max()

    return draw_graph(
        total, Tensor([[1.0, -2.0, 3.0], [float("nan"), 0.0, 1e6]]), Tensor([True, False])
    )


def visited() -> str:
    return draw_graph(lambda x: ops.exp(x) * 2.0, Tensor(0.0), visited=2)


def cell() -> str:
    return draw_cell(Network())


def events() -> str:
    trace = [
        Event("run"), Event("on_train_begin", depth=1), Event("on_train_begin", "History", depth=2),
        Event("on_train_step_begin", depth=2, epoch=1, step=1),
        Event("on_train_step_begin", "Stops", depth=3, stop=True),
        Event("on_train_step_end", depth=2, epoch=1, step=1),
        Event("on_train_step_end", "History", depth=3, raised="ValueError"),
        Event("on_train_epoch_begin", depth=2, epoch=2, raised="KeyError"),
    ]  # fmt: skip
    return draw_events(trace)


def curves() -> str:
    return plot_curves({"loss": [2.0, float("nan"), 1.0, 0.5], "<lr>": [0.1], "none": []})


PICTURES: dict[str, Callable[[], str]] = {
    "graph": graph, "visited": visited, "cell": cell, "events": events, "curves": curves,
}  # fmt: skip


@pytest.mark.parametrize("name", PICTURES)
def test_drawing_is_the_recorded_one(name: str) -> None:
    assert PICTURES[name]() + "\n" == (FOLDER / f"{name}.svg").read_text("utf-8")


def record() -> None:
    """Write the pictures."""
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(draw() + "\n", "utf-8")
