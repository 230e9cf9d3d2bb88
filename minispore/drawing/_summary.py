"""The table of the layers of a cell, with the shapes of their outputs."""

from collections.abc import Callable

from minispore.drawing._value_labels import shape_of
from minispore.nn import Cell
from minispore.nn._graph_recorder import CellCallRecorder
from minispore.nn.cell import evaluation_mode
from minispore.ops._differentiation import tree_leaves
from minispore.utils.checks import check_type
from minispore.utils.tables import Table


def summarize(cell: Cell, *inputs: object) -> Table:
    """Return a table of a cell's layers, with the shapes of their outputs and their parameters.

    The cell is called once, as in an evaluation. A layer that is called several times has the shape
    of its last output; one that is not called has none.

    Args:
        cell: The cell.
        *inputs: The arguments of the call.

    Returns:
        A table with a row for each cell; a notebook shows it as HTML.

    Examples:
        >>> from minispore import Tensor, drawing, nn
        >>> net = nn.SequentialCell(nn.Dense(2, 3), nn.ReLU())
        >>> drawing.summarize(net, Tensor([[1.0, 2.0]]))
        SequentialCell: 9 parameters, 9 of them trained
        name  layer           output  parameters
              SequentialCell  (1, 3)           9
        0     Dense           (1, 3)           9
        1     ReLU            (1, 3)           0
    """
    check_type(cell, Cell, "cell")
    shapes: dict[str, str] = {}

    def recording(name: str, construct: Callable[..., object]) -> Callable[..., object]:
        def record(*args: object, **kwargs: object) -> object:
            output = construct(*args, **kwargs)
            shapes[name] = ", ".join(shape_of(x.shape) for x in tree_leaves(output))
            return output

        return record

    cells = list(cell.cells_and_names())
    recorder = CellCallRecorder([])
    for name, layer in cells:
        recorder.replace(layer, recording(name, layer.construct))
    try:
        with evaluation_mode(cell):
            cell(*inputs)
    finally:
        recorder.stop()
    table = cell._table()
    rows = [(*row[:2], shapes.get(str(row[0]), ""), row[3]) for row in table.rows]
    return Table(table.title, ["name", "layer", "output", "parameters"], rows)
