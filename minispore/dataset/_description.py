"""Descriptions of pipelines: what determines their rows, to compare a saved position with them."""

import zlib
from dataclasses import fields, is_dataclass
from typing import Literal

import numpy as np

from minispore.dataset._batches import Batch, Padding
from minispore.dataset._node import EpochKey, Node, field_values, nodes_of, traverse
from minispore.dataset._object_nodes import ObjectSource
from minispore.dataset._sources import ArraySource, MapStyleSource, TextColumn
from minispore.dataset.samplers import BuiltinSampler, DistributedSampler, IterSampler
from minispore.engine.array import is_ndarray
from minispore.utils.arrays import IndexArray
from minispore.utils.checks import is_tuple


def describe_pipeline(node: Node) -> list[str]:
    """Return the settings that determine a pipeline's rows and their order, a line for each node.

    Code and data are left out. The lines of a sharded dataset describe what all shards yield
    together, so another shard can continue from the position of one, and so can a shard of another
    division with equally many rows in the batches of all shards together.
    """
    samplers = [value for inner in nodes_of(node) for value in field_values(inner).values()]
    shards = max((s.num_shards for s in samplers if isinstance(s, DistributedSampler)), default=1)
    return [
        _format_fields(inner, shards) if number is None else f"{number} again"
        for inner, number in traverse(node)
    ]


def code_and_data(node: Node) -> dict[str, object]:
    """Return what `describe_pipeline` leaves out: functions, objects and rows, by line and name.

    Of files, evenly spaced rows are included. Objects of the user are not read: reading may change
    their state.
    """
    items: dict[str, object] = {}
    for i, (inner, number) in enumerate(traverse(node)):
        for name, value in _declared(inner, "compare").items() if number is None else ():
            if value is None or isinstance(value, Node):
                continue
            if isinstance(value, IterSampler):
                items[f"{i}.{name}"] = value.sampler
            elif isinstance(value, ObjectSource):
                items[f"{i}.source"] = value.source
            elif isinstance(value, ArraySource):
                items[f"{i}.rows"] = [
                    column.memory if isinstance(column, TextColumn) else column
                    for column in value.arrays
                ]
            elif isinstance(value, MapStyleSource):
                items[f"{i}.rows"] = list(value.rows(sample_indices(value.count())))
            elif not _format_setting(value):
                items[f"{i}.{name}"] = value
    return items


def sample_indices(count: int, max_count: int = 64) -> IndexArray:
    """Return at most `max_count` evenly spaced indices, from 0 to `count` - 1."""
    return np.linspace(0, count - 1, min(count, max_count)).astype(np.intp)


def _declared(item: object, flag: Literal["compare", "repr"]) -> dict[str, object]:
    """Return the fields of a node that are declared with a flag, and all of another object."""
    flags = (
        {field.name: getattr(field, flag) for field in fields(item)} if is_dataclass(item) else {}
    )
    return {name: value for name, value in field_values(item).items() if flags.get(name, True)}


def _format_fields(item: object, shards: int = 1) -> str:
    values = _declared(item, "repr")
    if isinstance(item, DistributedSampler):
        del values["num_shards"], values["shard_id"]
    if isinstance(item, Batch) and isinstance(item.rows, int):
        values["rows"] = item.rows * shards  # the rows of a batch in all shards
    texts = {name: _format_setting(value) for name, value in values.items()}
    settings = ", ".join(f"{name}={text}" for name, text in texts.items() if text)
    return f"{type(item).__name__}({settings})"


def _format_setting(value: object) -> str:  # noqa: PLR0911 (one for each kind of value)
    """Return a setting as text; the empty text for a value that is not a setting."""
    if isinstance(value, bool | int | float | str | Padding):
        return repr(value)
    if is_ndarray(value):
        return f"{value.shape}#{zlib.crc32(value.tobytes()):08x}"
    if isinstance(value, EpochKey):
        return f"Epoch({value.seed}, {value.number})"
    if isinstance(value, BuiltinSampler):
        return _format_fields(value)
    if isinstance(value, MapStyleSource):
        return f"{value.count()} rows"
    if is_tuple(value):
        texts = [_format_setting(item) for item in value]
        return f"({', '.join(texts)})" if all(texts) else ""
    return ""
