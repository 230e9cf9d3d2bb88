"""Tables of other libraries, such as the DataFrames of pandas and polars, and their columns."""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

import numpy as np

from minispore.dataset._node import Array
from minispore.utils.checks import describe_value, type_error


@runtime_checkable
class Column(Protocol):
    """The values of a column, such as a Series of pandas."""

    def to_numpy(self) -> Array:
        """Return the values as an array."""
        ...


@runtime_checkable
class Table(Protocol):
    """Columns by name, such as a DataFrame of pandas."""

    @property
    def columns(self) -> Iterable[object]:
        """The names, in order."""
        ...

    def to_numpy(self) -> Array:
        """Return the values of all columns as an array."""
        ...

    def __getitem__(self, name: str, /) -> object: ...


def columns_of(table: Table) -> dict[str, object]:
    """Return the columns of a table by name.

    Raises:
        TypeError: A name is no string, or occurs twice.
    """
    names = [name for name in table.columns if isinstance(name, str)]
    if len({*names}) < len([*table.columns]):
        raise type_error([*table.columns], "data", "have different strings as names of columns")
    return {name: table[name] for name in names}


def values_of(column: Column, subject: str) -> Array | list[object]:
    """Return the values of a column: an array of numbers, or a list of strings.

    Args:
        column: The column.
        subject: The beginning of the error: the function and the argument.

    Raises:
        TypeError: There is another value, for example a missing one among strings.
    """
    values = np.asarray(column.to_numpy())
    if values.dtype.kind in "biuf":
        return values
    items: list[object] = [*values]
    is_text = any(isinstance(item, str) for item in items)
    for row, item in enumerate(items):
        if not isinstance(item, str if is_text else int | float | np.number):
            raise TypeError(
                f"{subject} must have numbers or strings, but has {describe_value(item)} in row "
                f"{row}: see 'fillna', 'dropna' and 'astype' of the table."
            )
    return items
