"""Containers of cells: a `SequentialCell` applies its cells in order, the others only hold them.

The children's attribute names are their indices, "0", "1" and so on; those of a SequentialCell that
was made from an OrderedDict, and those of a CellDict, are the dictionary's keys.
"""

from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Sequence, ValuesView
from typing import Generic, Self, TypeAlias, TypeVar, cast, overload

from minispore.nn.cell import Cell
from minispore.ops.tensors import Tensor
from minispore.utils.checks import as_items, caller, check_type, describe_value

__all__ = ["CellDict", "CellList", "SequentialCell"]

C = TypeVar("C", bound=Cell)


class _Container(Cell, Generic[C]):
    """Base class of containers: the methods of a list."""

    # A cache of the children, so that len(), [i] and append() take constant time.
    _item_cache: list[tuple[str, C]] | None = None
    _not_compared = ("_item_cache",)

    def __setattr__(self, name: str, value: object) -> None:
        changes_children = isinstance(value, Cell) or isinstance(self.__dict__.get(name), Cell)
        super().__setattr__(name, value)
        if changes_children:
            self._clear_cache()

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        self._clear_cache()

    def insert_child_to_cell(self, child_name: str, child_cell: Cell | None) -> None:
        """Add a child cell; see `Cell.insert_child_to_cell`."""
        super().insert_child_to_cell(child_name, child_cell)
        self._clear_cache()

    def __len__(self) -> int:
        return len(self._items())

    def __bool__(self) -> bool:
        return len(self) > 0

    def __iter__(self) -> Iterator[C]:
        # Over a copy, since the container may change during the iteration.
        return iter([cell for _, cell in self._items()])

    @overload
    def __getitem__(self, index: int) -> C: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> C | Self:
        items = self._items()
        if isinstance(index, slice):
            part = type(self)()
            for name, cell in items[index]:
                # Not assigned, which would rename the parameters of the cells.
                part.insert_child_to_cell(name, cell)
            return part
        return items[self._checked_index(index)][1]

    def __setitem__(self, index: int, cell: C) -> None:
        index = self._checked_index(index)
        self._put(index, self._items()[index][0], self._checked_cell(cell))

    def __delitem__(self, index: int | slice) -> None:
        items = self._items().copy()
        del items[index if isinstance(index, slice) else self._checked_index(index)]
        self._replace_all(items)

    def append(self, cell: C) -> None:
        """Add a cell at the end.

        Raises:
            TypeError: `cell` is not a Cell.
        """
        self.insert(len(self), cell)

    def extend(self, cells: Iterable[C]) -> Self:
        """Add cells at the end. If an error is raised, no cell is added.

        Raises:
            TypeError: `cells` is not a list, tuple or container of cells.
        """
        if not isinstance(cells, list | tuple | _Container):
            raise TypeError(
                f"For '{type(self).__name__}', the cells to add must be a list, "
                f"but got {describe_value(cells)}."
            )
        checked = [self._checked_cell(cell) for cell in cells]
        for cell in checked:
            self.append(cell)
        return self

    def __iadd__(self, cells: Iterable[C]) -> Self:
        return self.extend(cells)

    def insert(self, index: int, cell: C) -> None:
        """Add a cell before the one at `index`.

        Raises:
            TypeError: `index` is not an int, or `cell` not a Cell.
            IndexError: `index` is out of range.
        """
        index = self._checked_index(index, end=True)
        self._checked_cell(cell)
        items = self._items()
        number = len(items)
        while str(number) in self.__dict__:
            number += 1
        if index == len(items):
            self._put(index, str(number), cell)
        else:
            self._replace_all([*items[:index], (str(number), cell), *items[index:]])

    def _items(self) -> list[tuple[str, C]]:
        """Return the names and cells, as a cached list that callers must not modify."""
        if self._item_cache is None:
            items = [(name, cast("C", cell)) for name, cell in self._children()]
            object.__setattr__(self, "_item_cache", items)
            return items
        return self._item_cache

    def _clear_cache(self) -> None:
        if self._item_cache is not None:
            object.__setattr__(self, "_item_cache", None)

    def _put(self, index: int, name: str, cell: C) -> None:
        """Set the cell at `index`, whose name is `name`, or append one under a new name."""
        # With the complete prefix, since the container may already be part of a network.
        if self._auto_prefix:
            cell.update_parameters_name(f"{self._param_prefix}{name}.")
        items = self._items()
        object.__setattr__(self, name, cell)
        items[index : index + 1] = [(name, cell)]

    def _replace_all(self, items: list[tuple[str, C]]) -> None:
        """Replace all cells; names that are indices are assigned again, other names are kept."""
        old_names = [name for name, _ in self._items()]
        numbered = old_names == [str(i) for i in range(len(old_names))]
        for name in old_names:
            delattr(self, name)
        for i, (name, cell) in enumerate(items):
            self._put(i, str(i) if numbered else name, cell)

    def _checked_index(self, index: object, *, end: bool = False) -> int:
        if not isinstance(index, int):
            raise TypeError(
                f"For '{caller()}', the type of 'index' must be int or slice, "
                f"but got {describe_value(index)}."
            )
        length = len(self)
        if not -length <= index < length + end:
            closing = "]" if end else ")"
            raise IndexError(
                f"For '{caller()}', the value of 'index' must be in [{-length}, {length}{closing}, "
                f"but got {index}."
            )
        return index + length if index < 0 else index

    def _checked_cell(self, cell: C) -> C:
        if not isinstance(cell, Cell):
            raise TypeError(
                f"For '{type(self).__name__}', each cell must be a Cell, "
                f"but got {describe_value(cell)}.{_hint(cell)}"
            )
        return cell


def _hint(value: object) -> str:
    """Return a hint for error messages if `value` is a class of cells instead of a cell."""
    if isinstance(value, type) and issubclass(value, Cell):
        return f" Call the class to make one: {value.__name__}(…)."
    return ""


class SequentialCell(_Container[Cell]):
    """A container that applies its cells in order, each to the output of the previous one.

    Args:
        *args: The cells, or a list of them, or an OrderedDict of names and cells.

    Raises:
        TypeError: An argument is of the wrong type.
        KeyError: A name is empty, contains a dot, or is that of another attribute.

    Examples:
        >>> from minispore import Tensor, nn
        >>> net = nn.SequentialCell(nn.Dense(2, 3), nn.ReLU())
        >>> net
        SequentialCell(
          (0): Dense(input_channels=2, output_channels=3, has_bias=True)
          (1): ReLU()
        )
        >>> [parameter.name for parameter in net.get_parameters()]
        ['0.weight', '0.bias']

    Source: MindSpore's `mindspore.nn.SequentialCell`.
    """

    def __init__(self, *args: Cell | list[Cell] | OrderedDict[str, Cell]) -> None:
        super().__init__()
        first = args[0] if args else None
        if len(args) == 1 and isinstance(first, OrderedDict):
            for name, cell in first.items():
                self.insert_child_to_cell(name, self._checked_cell(cell))
            for i, (name, cell) in enumerate(first.items()):
                self._put(i, name, cell)
        elif len(args) == 1 and isinstance(first, list):
            self.extend(first)
        elif len(args) == 1 and not isinstance(first, Cell):
            raise TypeError(
                f"For '{type(self).__name__}', a single argument must be a Cell, a list or an "
                f"OrderedDict, but got {describe_value(first)}.{_hint(first)}"
            )
        else:
            self.extend(cast("tuple[Cell, ...]", args))

    def construct(self, input_data: Tensor) -> Tensor:
        """Return the output of the last cell, or the input if there are no cells."""
        for cell in tuple(self.__dict__.values()):
            if isinstance(cell, Cell):
                input_data = cell(input_data)
        return input_data


class CellList(_Container[C]):
    """A list of cells, whose parameters belong to the network.

    Args:
        cells: The cells.
        auto_prefix: Whether to prefix the parameters' names with the indices of the cells.

    Raises:
        TypeError: `cells` is not a list, tuple or container of cells.

    Examples:
        >>> from minispore import nn
        >>> layers = nn.CellList([nn.Dense(2, 2), nn.Dense(2, 2)])
        >>> layers.append(nn.Dense(2, 1))
        >>> [layer.out_channels for layer in layers]
        [2, 2, 1]

    Source: MindSpore's `mindspore.nn.CellList`.
    """

    def __init__(self, cells: Iterable[C] = (), auto_prefix: bool = True) -> None:
        super().__init__(auto_prefix)
        self.extend(cells)

    def construct(self, *inputs: object) -> Tensor:
        """Raise NotImplementedError: a list of cells has no output."""
        raise NotImplementedError("For 'CellList', the method 'construct' is not defined.")


class CellDict(Cell, Generic[C]):
    """A dictionary of cells, whose parameters belong to the network.

    Args:
        cells: A dict of names and cells, or a list of pairs of a name and a cell.

    Raises:
        TypeError: `cells` is neither, a name is not a str, or a cell not a Cell.
        ValueError: An item has not two elements.
        KeyError: A name is empty, contains a dot, or is that of another attribute.

    Examples:
        >>> from minispore import nn
        >>> heads = nn.CellDict({"digit": nn.Dense(2, 10)})
        >>> heads["sign"] = nn.Dense(2, 1)
        >>> [parameter.name for parameter in heads.get_parameters()]
        ['digit.weight', 'digit.bias', 'sign.weight', 'sign.bias']
        >>> list(heads)
        ['digit', 'sign']

    Source: MindSpore's `mindspore.nn.CellDict`.
    """

    def __init__(self, cells: "Cells[C]" = ()) -> None:
        super().__init__()
        self.update(cells)

    def __len__(self) -> int:
        return len(self._cells())

    def __bool__(self) -> bool:
        # As MindSpore's: a container is a cell, also if it is empty.
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells())

    def __getitem__(self, key: str) -> C:
        return self._cells()[key]

    def __setitem__(self, key: str, cell: C) -> None:
        check_type(key, str, "key")
        check_type(cell, Cell, "cell")
        self._check_new_name(key, "key", Cell)
        # With the complete prefix, since the container may already be part of a network.
        cell.update_parameters_name(f"{self._param_prefix}{key}.")
        object.__setattr__(self, key, cell)

    def __delitem__(self, key: str) -> None:
        self.pop(key)

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._cells().keys()

    def values(self) -> ValuesView[C]:
        """Return the cells."""
        return self._cells().values()

    def items(self) -> ItemsView[str, C]:
        """Return the names and cells."""
        return self._cells().items()

    def pop(self, key: str) -> C:
        """Remove and return a cell.

        Raises:
            KeyError: There is no cell of that name.
        """
        cell = self[key]
        delattr(self, key)
        return cell

    def clear(self) -> None:
        """Remove all cells."""
        for key in self:
            delattr(self, key)

    def update(self, cells: "Cells[C]") -> None:
        """Add or replace cells.

        Args:
            cells: A dict of names and cells, or a list of pairs of a name and a cell.
        """
        check_type(cells, (dict, CellDict, list, tuple), "cells", self.cls_name)
        pairs = cells.items() if isinstance(cells, dict | CellDict) else cells
        for pair in pairs:
            if len(as_items(pair) or ()) != 2:
                raise ValueError(
                    f"For '{self.cls_name}', the elements of 'cells' must be pairs of a name and a "
                    f"cell, but got {describe_value(pair)}."
                )
        for key, cell in pairs:
            self[key] = cell

    def construct(self, *inputs: object) -> Tensor:
        """Raise NotImplementedError: a dictionary of cells has no output."""
        raise NotImplementedError("For 'CellDict', the method 'construct' is not defined.")

    def _cells(self) -> OrderedDict[str, C]:
        return OrderedDict((name, cast("C", cell)) for name, cell in self._children())


Cells: TypeAlias = dict[str, C] | CellDict[C] | Sequence[tuple[str, C]]
