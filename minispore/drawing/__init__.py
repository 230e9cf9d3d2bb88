"""Drawings of computation graphs and of networks, as SVG.

`draw_graph` draws the graph of a function, with each value and its gradient; `draw_cell` draws the
structure of a network. Both return the text of an SVG file: write it to a file that ends in
``.svg``, or show it in a notebook with ``IPython.display.SVG``. It has colours for light and dark
pages.
"""

from minispore.drawing._cell import draw_cell
from minispore.drawing._graph import draw_graph
from minispore.utils.unsupported import module_attributes

__all__ = ["draw_cell", "draw_graph"]
globals()["__getattr__"], globals()["__dir__"] = module_attributes(__name__)
