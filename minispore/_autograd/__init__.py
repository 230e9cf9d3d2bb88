"""Floor 2: the graph of a computation and the walk back through it; it knows no rule."""

from minispore._autograd.graph import Node, record, recording, walk

__all__ = ["Node", "record", "recording", "walk"]
