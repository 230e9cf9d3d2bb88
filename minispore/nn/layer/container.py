"""Where MindSpore keeps the cells that hold cells."""

from minispore.nn.container import CellList, SequentialCell

__all__ = ["CellList", "SequentialCell"]
