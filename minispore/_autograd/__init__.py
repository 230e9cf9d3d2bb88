"""Floor 2: the graph of a computation and the walk back through it; it knows no rule."""

from minispore._autograd.graph import Node, in_record_block, is_recording, record, walk

__all__ = ["Node", "in_record_block", "is_recording", "record", "walk"]
