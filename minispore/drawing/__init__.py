"""Drawings of computation graphs, networks, runs, curves and images, as SVG.

`draw_graph` draws the graph of a function, with each value and its gradient; `draw_cell` draws the
structure of a network, `draw_events` the events of a run, `draw_curves` its losses, `draw_images`
grey images, `draw_broadcast` operands of different shapes, `draw_spans` parts of a file, intervals
of time or places in memory. They return a `Drawing`, the text of an SVG file: a notebook shows it,
and its `save` writes it to a file. It has colours for light and dark pages. `summarize` returns a
table of a network's layers with the shapes of their outputs, `digit_pad` a `Page` on which one
draws digits.
"""

from minispore.drawing._broadcast import draw_broadcast
from minispore.drawing._cell import draw_cell
from minispore.drawing._curves import draw_curves
from minispore.drawing._events import draw_events
from minispore.drawing._graph import draw_graph
from minispore.drawing._images import draw_images
from minispore.drawing._pad import Page, digit_pad
from minispore.drawing._spans import Span, draw_spans
from minispore.drawing._summary import summarize
from minispore.drawing._svg import Drawing

__all__ = [
    "Drawing",
    "Page",
    "Span",
    "digit_pad",
    "draw_broadcast",
    "draw_cell",
    "draw_curves",
    "draw_events",
    "draw_graph",
    "draw_images",
    "draw_spans",
    "summarize",
]
