"""The operations of a pipeline as a table."""

import reprlib

from minispore.dataset._node import Node, field_values, nodes_of
from minispore.utils.checks import is_sequence
from minispore.utils.tables import Table


def pipeline_table(node: Node) -> Table:
    """Return a table of the operations in their order, with their settings and columns.

    No row is read, and no function of the user is called.
    """
    rows = [
        (type(inner).__name__.removesuffix("Node"), _settings(inner), ", ".join(inner.columns))
        for inner in reversed(nodes_of(node))
    ]
    return Table("Dataset", ["operation", "settings", "columns"], rows)


def _settings(node: Node) -> str:
    return ", ".join(
        f"{name}={_text(value)}"
        for name, value in field_values(node).items()
        if not isinstance(value, Node) and not _is_default(value)
    )


def _is_default(value: object) -> bool:
    return value is None or value is False or (isinstance(value, list | tuple) and not value)


def _text(value: object) -> str:
    """Return a short text of a setting; for an object the name of the function or class."""
    if isinstance(value, str | int | float):
        return reprlib.repr(value)
    if is_sequence(value):
        return f"[{', '.join(map(_text, value))}]"
    return str(getattr(value, "__name__", type(value).__name__))
