"""Where a pass over a pipeline stands: what is needed to go on from there in another process."""

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Final, Protocol, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from minispore.dataset._node import Node
from minispore.dataset._random import Epoch
from minispore.dataset._sources import ArrayStore, ObjectStore, Store
from minispore.dataset.samplers import BuiltinSampler, DistributedSampler, IterSampler

_OF_ONE_SHARD: Final = ("num_shards", "shard_id")
_FUNCTIONS: Final = ("functions", "rows", "per_batch", "predicate", "start")


@runtime_checkable
class Stateful(Protocol):
    """Whatever remembers something, and can be told to go back to it."""

    @property
    def state_dict(self) -> Callable[[], Mapping[str, object]]:
        """What it remembers."""
        ...

    @property
    def load_state_dict(self) -> Callable[[Mapping[str, object]], object]:
        """Remember this instead."""
        ...


def nodes_of(node: Node) -> list[Node]:
    """A pipeline's nodes, the end first; each once, also where a dataset is joined to itself."""
    return [each for each, before in _walk(node, {}) if before is None]


def _walk(node: Node, seen: dict[int, int]) -> Iterator[tuple[Node, int | None]]:
    """Yield the nodes as often as they are used, with the place of one that has come before."""
    before = seen.get(id(node))
    yield node, before
    if before is None:
        seen[id(node)] = len(seen)
        for child in _children(node):
            yield from _walk(child, seen)


def user_code_of(node: Node) -> list[object]:
    """The objects and functions of the user's that make a pipeline's rows; of methods the object.

    With any of them, rows may depend on what was drawn or counted before.
    """
    code = [item for each in nodes_of(node) for item in each.user_code]
    return [getattr(item, "__self__", item) for item in code]


def remembering(node: Node) -> list[Stateful]:
    """Those among the user's objects that have a state."""
    return [item for item in user_code_of(node) if isinstance(item, Stateful)]


def described(node: Node) -> list[str]:
    """What makes a pipeline give these rows in this order, without code and data: a line a node.

    Of a data set in shards this is what all shards together give. So any of them, or of another
    number of shards with as many rows in all their batches, can go on from where one of them stood.
    """
    samplers = [value for each in nodes_of(node) for value in _values(each).values()]
    shards = max((s.num_shards for s in samplers if isinstance(s, DistributedSampler)), default=1)
    walk = _walk(node, {})
    return [_line(each, shards) if before is None else f"{before} again" for each, before in walk]


def code_and_data(node: Node) -> dict[str, object]:
    """What `described` leaves out, by the line's number and a name: functions, objects and rows.

    Of files it is some of the rows. The user's own objects are asked for none: they may count that.
    """
    found: dict[str, object] = {}
    for i, (each, before) in enumerate(_walk(node, {})):
        for name, value in _values(each).items() if before is None else ():
            if name in _FUNCTIONS and not isinstance(value, int):
                found[f"{i}.{name}"] = value
            elif isinstance(value, IterSampler):
                found[f"{i}.{name}"] = value.sampler
            elif isinstance(value, ObjectStore):
                found[f"{i}.source"] = value.source
            elif isinstance(value, ArrayStore):
                found[f"{i}.rows"] = value.arrays
            elif isinstance(value, Store):
                found[f"{i}.rows"] = list(value.rows(spread(value.count())))
    return found


def spread(count: int, most: int = 64) -> npt.NDArray[np.intp]:
    """Return the numbers of at most so many rows, the first, the last and some evenly between."""
    return np.linspace(0, count - 1, min(count, most)).astype(np.intp)


def _children(node: Node) -> Iterator[Node]:
    for value in _values(node).values():
        for item in cast("tuple[object, ...]", value if isinstance(value, tuple) else (value,)):
            if isinstance(item, Node):
                yield item


def _in_each_shard(node: object) -> Iterator[str]:
    """The settings that count rows of one shard, where all shards together have as many each."""
    if is_dataclass(node):
        yield from (field.name for field in fields(node) if "in_each_shard" in field.metadata)


def _values(node: object) -> dict[str, object]:
    if is_dataclass(node):
        return {field.name: getattr(node, field.name) for field in fields(node)}
    return dict(vars(node))


def _line(what: object, shards: int = 1) -> str:
    values = _values(what)
    if isinstance(what, DistributedSampler):
        values = {name: value for name, value in values.items() if name not in _OF_ONE_SHARD}
    for name in _in_each_shard(what):
        if isinstance(values[name], int):
            values[name] = cast("int", values[name]) * shards
    told = {name: _told(value) for name, value in values.items()}
    settings = ", ".join(f"{name}={text}" for name, text in told.items() if text)
    return f"{type(what).__name__}({settings})"


def _told(value: object) -> str:  # noqa: PLR0911 (one for each kind of value)
    """A setting as text; nothing for what is no setting."""
    if isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, np.ndarray):
        array = cast("npt.NDArray[np.generic]", value)
        return f"{array.shape}#{zlib.crc32(array.tobytes()):08x}"
    if isinstance(value, Epoch):
        return f"Epoch({value.seed}, {value.number})"
    if isinstance(value, BuiltinSampler):
        return _line(value)
    if isinstance(value, Store):
        return f"{value.count()} rows"
    if isinstance(value, tuple):
        texts = [_told(item) for item in cast("tuple[object, ...]", value)]
        return f"({', '.join(texts)})" if all(texts) else ""
    return ""
