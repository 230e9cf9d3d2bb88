"""Drawings of computation graphs, networks, runs, curves and images, as SVG.

`draw_graph` draws the graph of a function, with each value and its gradient; `draw_cell` draws the
structure of a network, `draw_events` the events of a run, `draw_curves` its losses, `draw_images`
grey images, `draw_broadcast` operands of different shapes, `draw_spans` parts of a file, intervals
of time or places in memory. They return a `Drawing`, the text of an SVG file: a notebook shows it,
and its `save` writes it to a file. It has colours for light and dark pages. `summarize` returns a
table of a network's layers with the shapes of their outputs, `digit_pad` a `Page` on which one
draws digits.

Its modules import `engine`, `nn`, `ops` and `utils`.
"""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
