"""Draw `docs/assets/neuron.svg`, which is committed: `python docs/scripts/draw.py`."""

from pathlib import Path

from minispore import Tensor, ops
from minispore.drawing import draw_graph

FILE = Path(__file__).parents[1] / "assets" / "neuron.svg"


def neuron(weight: Tensor, x: Tensor, bias: Tensor) -> Tensor:
    """Return the output of a neuron with one input."""
    return ops.tanh(weight * x + bias)


def draw() -> str:
    """Return the computational graph of a neuron as SVG."""
    return draw_graph(neuron, Tensor(0.5), Tensor(3.0), Tensor(-1.0))


if __name__ == "__main__":
    FILE.write_text(draw() + "\n", "utf-8")
