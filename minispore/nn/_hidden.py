"""A warning of parameters in plain lists and dicts, where a cell does not look for them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from minispore._warn import warn
from minispore.common.parameter import Parameter
from minispore.nn._moving import Movable


def warn_of_hidden(cells: Iterable[tuple[str, Movable]], found: Iterable[Parameter]) -> None:
    """Warn of each attribute that holds trainable parameters which have not been found.

    Args:
        cells: The cells of a network, by their paths.
        found: The parameters of the network.
    """
    known = {id(parameter) for parameter in found}
    for path, cell in cells:
        for name, value in cast("dict[str, object]", vars(cell)).items():
            if not _items_of(value):
                continue
            hidden = [p for p in _parameters_in(value) if p.requires_grad and id(p) not in known]
            if hidden:
                where = f"{path}.{name}" if path else name
                kind = type(value).__name__
                warn(
                    f"The attribute '{where}' of the cell is a {kind}, "
                    f"in which parameters are not found, such as '{hidden[0].name}'. Cells belong "
                    "in a CellList or SequentialCell, parameters in a ParameterTuple, or each in "
                    "an attribute."
                )


def _parameters_in(value: object) -> Iterator[Parameter]:
    """The parameters in lists, tuples and dicts, and of the cells there."""
    seen: set[int] = set()
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, Parameter):
            yield item
        elif isinstance(item, Movable):
            yield from item.get_parameters()
        elif id(item) not in seen:
            seen.add(id(item))
            todo.extend(_items_of(item))


def _items_of(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[object, object]", value).values()
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
