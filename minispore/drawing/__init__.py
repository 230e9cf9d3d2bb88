"""Drawings of computations and of networks, as SVG made without any other program.

`draw_graph` draws what a function computes, with each value and its gradient; `draw_cell` draws
what a network consists of. Both return the text of a picture: write it to a file that ends in
``.svg``, or show it in a notebook with ``IPython.display.SVG``. It follows its surroundings, light
or dark.
"""

from minispore.drawing._cell import draw_cell
from minispore.drawing._graph import draw_graph

__all__ = ["draw_cell", "draw_graph"]
