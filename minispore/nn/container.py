"""Cells that hold cells in order: `SequentialCell` runs them one after the other, `CellList` not.

The children's attribute names are their positions, "0", "1" and so on; those of a SequentialCell
made from an OrderedDict are the dictionary's keys.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Generic, Self, TypeVar, cast, overload

from minispore._checks import described
from minispore.common.tensor import Tensor
from minispore.nn.cell import Cell

C = TypeVar("C", bound=Cell)


class _Container(Cell, Generic[C]):
    """What both have in common: the behaviour of a list."""

    # The children, which the attributes are looked through for once: len(), [i] and append() are
    # each to cost as much in a large container as in a small one.
    _known: list[tuple[str, C]] | None = None

    def __setattr__(self, name: str, value: object) -> None:
        of_cells = isinstance(value, Cell) or isinstance(self.__dict__.get(name), Cell)
        super().__setattr__(name, value)
        if of_cells:
            self._forget()

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        self._forget()

    def insert_child_to_cell(self, child_name: str, child_cell: Cell | None) -> None:
        """As that of Cell."""
        super().insert_child_to_cell(child_name, child_cell)
        self._forget()

    def __len__(self) -> int:
        return len(self._items())

    def __bool__(self) -> bool:
        return len(self) > 0

    def __iter__(self) -> Iterator[C]:
        # Of a copy: the container may change while somebody iterates over it.
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
                # Inserted, not assigned: a slice is another view of the same, named cells.
                part.insert_child_to_cell(name, cell)
            return part
        return items[self._checked_index(index)][1]

    def __setitem__(self, index: int, cell: C) -> None:
        place = self._checked_index(index)
        self._put(place, self._items()[place][0], self._checked_cell(cell))

    def __delitem__(self, index: int | slice) -> None:
        items = self._items()
        left = items.copy()
        del left[index if isinstance(index, slice) else self._checked_index(index)]
        self._replace_all([cell for _, cell in left], [name for name, _ in left])

    def append(self, cell: C) -> None:
        """Add a cell at the end.

        Raises:
            TypeError: `cell` is no Cell.
        """
        self.insert(len(self), cell)

    def extend(self, cells: Iterable[C]) -> Self:
        """Add cells at the end, all or, if one of them is no Cell, none.

        Raises:
            TypeError: `cells` is no list, tuple or container, or one of them is no Cell.
        """
        if not isinstance(cells, list | tuple | _Container):
            raise TypeError(
                f"For '{type(self).__name__}', the cells to add must be a list, "
                f"but got {described(cells)}."
            )
        checked = [self._checked_cell(cell) for cell in cast("Iterable[C]", cells)]
        for cell in checked:
            self.append(cell)
        return self

    def __iadd__(self, cells: Iterable[C]) -> Self:
        return self.extend(cells)

    def insert(self, index: int, cell: C) -> None:
        """Add a cell before the one at `index`.

        Raises:
            TypeError: `index` is no int, or `cell` no Cell.
            IndexError: `index` is out of range.
        """
        place = self._checked_index(index, end=True)
        self._checked_cell(cell)
        items = self._items()
        number = len(items)
        while str(number) in self.__dict__:
            number += 1
        if place == len(items):
            self._put(place, str(number), cell)
            return
        names = [name for name, _ in items]
        cells = [item for _, item in items]
        names.insert(place, str(number))
        cells.insert(place, cell)
        self._replace_all(cells, names)

    def _items(self) -> list[tuple[str, C]]:
        """The cells with their names; kept until something changes, and not to be changed."""
        if self._known is None:
            known = [(name, cast("C", cell)) for name, cell in self._children()]
            object.__setattr__(self, "_known", known)
            return known
        return self._known

    def _forget(self) -> None:
        if self._known is not None:
            object.__setattr__(self, "_known", None)

    def _put(self, place: int, name: str, cell: C) -> None:
        """Have `cell` under a name that is that of the cell at `place`, or a new one at the end."""
        # With the whole prefix: the container may have got its own place in a network already.
        if self._auto_prefix:
            cell.update_parameters_name(f"{self._param_prefix}{name}.")
        items = self._items()
        object.__setattr__(self, name, cell)
        items[place : place + 1] = [(name, cell)]

    def _replace_all(self, cells: list[C], names: list[str]) -> None:
        """Hold `cells`, under `names` if they were given by the user, else under positions."""
        before = [name for name, _ in self._items()]
        numbered = before == [str(i) for i in range(len(before))]
        for name in before:
            delattr(self, name)
        for i, (name, cell) in enumerate(zip(names, cells, strict=True)):
            self._put(i, str(i) if numbered else name, cell)

    def _checked_index(self, index: object, *, end: bool = False) -> int:
        owner = type(self).__name__
        if not isinstance(index, int):
            raise TypeError(
                f"For '{owner}', the type of 'index' must be int or slice, "
                f"but got {described(index)}."
            )
        length = len(self)
        if not -length <= index < length + end:
            closing = "]" if end else ")"
            raise IndexError(
                f"For '{owner}', the value of 'index' must be in [{-length}, {length}{closing}, "
                f"but got {index}."
            )
        return index + length if index < 0 else index

    def _checked_cell(self, cell: C) -> C:
        if not isinstance(cell, Cell):
            raise TypeError(
                f"For '{type(self).__name__}', each cell must be a Cell, "
                f"but got {described(cell)}.{_hint(cell)}"
            )
        return cell


def _hint(given: object) -> str:
    """What to say of a class where a cell is wanted."""
    if isinstance(given, type) and issubclass(given, Cell):
        return f" Call the class to make one: {given.__name__}(…)."
    return ""


class SequentialCell(_Container[Cell]):
    """Cells that run one after the other, each on what the one before gave.

    >>> from minispore import Tensor, nn
    >>> net = nn.SequentialCell(nn.Dense(2, 3), nn.ReLU())
    >>> net
    SequentialCell(
      (0): Dense(input_channels=2, output_channels=3, has_bias=True)
      (1): ReLU()
    )
    >>> [parameter.name for parameter in net.get_parameters()]
    ['0.weight', '0.bias']

    Args:
        *args: The cells, or a list of them, or an OrderedDict from names to them.

    Raises:
        TypeError: An argument is none of these.
        KeyError: A name is empty, contains a dot, or is that of an attribute.
    """

    def __init__(self, *args: Cell | list[Cell] | OrderedDict[str, Cell]) -> None:
        super().__init__()
        first = args[0] if args else None
        if len(args) == 1 and isinstance(first, OrderedDict):
            for name, cell in first.items():
                self.insert_child_to_cell(name, self._checked_cell(cell))
            for place, (name, cell) in enumerate(first.items()):
                self._put(place, name, cell)
        elif len(args) == 1 and isinstance(first, list):
            self.extend(first)
        elif len(args) == 1 and not isinstance(first, Cell):
            raise TypeError(
                f"For '{type(self).__name__}', a single argument must be a Cell, a list or an "
                f"OrderedDict, but got {described(first)}.{_hint(first)}"
            )
        else:
            self.extend(cast("tuple[Cell, ...]", args))

    def construct(self, input_data: Tensor) -> Tensor:
        """Run the cells; without any, return the input."""
        for cell in tuple(self.__dict__.values()):
            if isinstance(cell, Cell):
                input_data = cell(input_data)
        return input_data


class CellList(_Container[C]):
    """A list of cells whose parameters are found; calling it is left to a subclass.

    >>> from minispore import nn
    >>> layers = nn.CellList([nn.Dense(2, 2), nn.Dense(2, 2)])
    >>> layers.append(nn.Dense(2, 1))
    >>> [layer.out_channels for layer in layers]
    [2, 2, 1]

    Args:
        cells: The cells.
        auto_prefix: Put the positions before the parameters' names.

    Raises:
        TypeError: `cells` is no list, tuple or container, or something in it no Cell.
    """

    def __init__(self, cells: Iterable[C] = (), auto_prefix: bool = True) -> None:
        super().__init__(auto_prefix)
        self.extend(cells)

    def construct(self, *inputs: object) -> Tensor:
        """Raise NotImplementedError: how to use the cells is not for this class to say."""
        raise NotImplementedError("For 'CellList', the method 'construct' is not defined.")
