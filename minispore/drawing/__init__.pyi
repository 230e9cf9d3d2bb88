# The names of the module; each is imported when it is first used.

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
