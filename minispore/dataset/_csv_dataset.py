"""CSVDataset: the rows of text files with columns that a character separates."""

import csv
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import length_hint
from pathlib import Path
from reprlib import repr as short
from types import NoneType
from typing import Final, TypeAlias
from warnings import catch_warnings, simplefilter

import numpy as np

from minispore.dataset._dataset import as_names, check_workers
from minispore.dataset._node import Array
from minispore.dataset._source_datasets import MappableDataset, check_absent
from minispore.dataset._sources import ArraySource, MapStyleNode, TextColumn
from minispore.dataset.samplers import choose_sampler
from minispore.utils.atomic import open_regular_file
from minispore.utils.checks import caller, check_type, value_error

Default = str | int | float
_Path: TypeAlias = str | os.PathLike[str]
_Column: TypeAlias = TextColumn | list[Array]  # of numbers, the blocks
_DTYPES: Final[dict[type[Default], type[np.generic]]] = {
    str: np.object_,
    int: np.int32,
    float: np.float32,
}
# The number of characters that are read at once.
_BLOCK: Final = 2**20
# The least number that is infinite in float32.
_TOO_LARGE: Final = 2.0**128 - 2.0**103
_MISSING: Final = (
    " A column with missing numbers can be read as strings, with a default of '', which a function "
    "of 'map' converts."
)


class CSVDataset(MappableDataset):
    r"""The rows of CSV files, in a column of strings, int32 or float32 for each field.

    Fields may be quoted, as in "a, b". The files are read at once; numbers take the memory of their
    type, and strings that of their UTF-8. A number must be in decimal digits, and in the range of
    its type; `nan` and `inf` are floats. A missing number is an error: read such a column as
    strings, and convert them by a function of `map`, such as `lambda s: float(str(s) or "nan")`.

    Args:
        dataset_files: One file or several, which are read one after the other.
        field_delim: The character between fields.
        column_defaults: A value for each column: a string, an int or a float, which determines the
            column's type; None for strings.
        column_names: Names of the columns; None if the first line of each file has them.
        num_samples: The maximum number of rows of an epoch; None for all.
        num_parallel_workers: Accepted without effect: all work is done in the calling thread.
        shuffle: Whether each epoch has another random order; None for True.
        num_shards: The number of processes among which the rows are divided.
        shard_id: The index of this process, from 0.
        cache: Must be None: MindSpore's cache server is not supported.

    Raises:
        ValueError: If there is no such file, or arguments contradict one another.
        RuntimeError: If there are no rows, or files name other columns, or a row has another number
            of fields, or a field is not a number of its column's type.

    Examples:
        >>> import pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> file = pathlib.Path(folder.name, "people.csv")
        >>> _ = file.write_text("name,age\nAda,36\nAlan,41\n", "utf-8")
        >>> data = CSVDataset(file, column_defaults=["", 0], shuffle=False)
        >>> for row in data.create_dict_iterator(num_epochs=1, output_numpy=True):
        ...     print(row["name"], row["age"] + 1)
        Ada 37
        Alan 42
        >>> folder.cleanup()

    Source: MindSpore's `mindspore.dataset.CSVDataset`.
    """

    def __init__(
        self,
        dataset_files: _Path | Sequence[_Path],
        field_delim: str = ",",
        column_defaults: Sequence[Default] | None = None,
        column_names: str | Sequence[str] | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = True,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: None = None,
    ) -> None:
        check_type(dataset_files, (str, os.PathLike, list, tuple), "dataset_files")
        if isinstance(dataset_files, str | os.PathLike):
            dataset_files = [dataset_files]
        if not dataset_files:
            raise value_error(dataset_files, "dataset_files", "name at least one file")
        check_type(field_delim, str, "field_delim")
        if len(field_delim) != 1 or field_delim in '"\r\n':
            raise value_error(
                field_delim, "field_delim", "be one character, and no quote or line break"
            )
        check_type(column_defaults, (list, tuple, NoneType), "column_defaults")
        check_workers(num_parallel_workers)
        check_absent(cache, "cache")
        chosen = choose_sampler(None, shuffle, num_samples, num_shards, shard_id)
        files = [_File(path, field_delim) for path in dataset_files]
        headers = [file.read_header() for file in files] if column_names is None else []
        if any(header != headers[0] for header in headers):
            raise RuntimeError(
                f"For '{caller()}', the first line of each file must name the same columns unless "
                f"'column_names' is given, but they name {headers}."
            )
        names = headers[0] if headers else as_names(column_names, "column_names")
        types = _types(column_defaults, names)
        columns: list[_Column] = [TextColumn() if kind is str else [] for kind in types]
        for file in files:
            file.read_rows(dict(zip(names, types, strict=True)), columns)
        if not columns[0]:
            paths = ", ".join(f"'{file.path}'" for file in files)
            found = "has only a line of names" if headers else "is empty"
            raise RuntimeError(f"For '{caller()}', there must be rows, but {paths} {found}.")
        arrays: list[Array | TextColumn] = []
        while columns:  # each column's blocks are freed before the next column is joined
            column = columns.pop(0)
            arrays.append(column if isinstance(column, TextColumn) else np.concatenate(column))
        super().__init__(MapStyleNode(names, ArraySource(tuple(arrays)), chosen))


def _types(defaults: Sequence[Default] | None, names: tuple[str, ...]) -> list[type[Default]]:
    types: list[type[Default]] = [str for _ in names]
    if defaults is not None:
        for default in defaults:
            check_type(default, (str, int, float), "column_defaults")
        types = [type(default) for default in defaults]
    if len(types) != len(names):
        raise ValueError(
            f"For 'CSVDataset', 'column_defaults' must have {len(names)} values, one for each "
            f"column, but got {len(types)}."
        )
    return types


class _File:
    """A file that is read once, in blocks of lines, by numpy's parser.

    Args:
        path: The file.
        delimiter: The character between fields.
    """

    def __init__(self, path: _Path, delimiter: str) -> None:
        check_type(path, (str, os.PathLike), "dataset_files")
        self.path: str = os.fspath(path)
        if not Path(self.path).is_file():
            raise ValueError(f"For 'CSVDataset', there is no file '{self.path}'.")
        self.delimiter = delimiter
        self.lines: Iterator[str] = self._read()
        self.block: list[str] = []  # the lines of the current block
        self.before = 0  # the number of lines before them

    def _read(self) -> Iterator[str]:
        try:
            with open(
                self.path, encoding="utf-8-sig", newline="", opener=open_regular_file
            ) as file:
                for line in file:
                    self.block.append(line)
                    yield line
        except UnicodeDecodeError as error:
            raise RuntimeError(f"'{self.path}' cannot be read as CSV: {error}.") from None
        # A quoted field without an end has all lines after it.
        last = self.block if any('"' in line for line in self.block) else ()
        try:
            for _ in csv.reader(last, delimiter=self.delimiter, strict=True):
                pass
        except csv.Error as error:
            if "unexpected end" in str(error):
                raise RuntimeError(
                    f"'{self.path}' cannot be read as CSV: it ends in a quoted field."
                ) from None

    def read_header(self) -> tuple[str, ...]:
        """Return the names of the columns in the first line."""
        names: tuple[str, ...] = tuple(self._parse(self.lines, np.object_, 1).ravel().tolist())
        if not names:
            raise RuntimeError(
                f"For '{caller()}', '{self.path}' is empty, but its first line must name the "
                "columns unless 'column_names' is given."
            )
        if len({*names}) < len(names):
            raise RuntimeError(
                f"For '{caller()}', the first line of '{self.path}' must name different columns, "
                f"but names {short(names)}."
            )
        return names

    def read_rows(self, types: Mapping[str, type[Default]], columns: Sequence[_Column]) -> None:
        """Append the rows to the columns, whose names and types are given."""
        dtype = np.dtype([(f"{i}", _DTYPES[kind]) for i, kind in enumerate(types.values())])
        rows = 1
        while True:
            self.before += len(self.block)
            self.block.clear()
            try:
                table = self._parse(self.lines, dtype, rows)
            except ValueError as error:
                raise self._error(types, error) from None
            if not len(table):
                return
            for column, name in zip(columns, dtype.names or (), strict=True):
                values = table[name]
                if isinstance(column, TextColumn):
                    column.extend(values)
                    continue
                column.append(np.ascontiguousarray(values))
                infinite = np.isinf(values)
                if infinite.any():
                    texts = self._parse(self.block, np.dtype([(n, "O") for n in dtype.names or ()]))
                    if not all(_is_held(text, float) for text in texts[name][infinite]):
                        raise self._error(types, "a number is too large")
            # numpy allocates them before it reads the first one.
            rows = min(2 * rows, max(1, _BLOCK * len(table) // sum(map(len, self.block))))

    def _parse(
        self,
        lines: Iterable[str],
        dtype: type[np.object_] | np.dtype[np.void],
        max_rows: int | None = None,
    ) -> Array:
        with catch_warnings():
            simplefilter("ignore")  # of empty lines
            table: Array = np.loadtxt(
                lines,
                dtype,
                comments=None,
                delimiter=self.delimiter,
                ndmin=1,
                max_rows=max_rows,
                quotechar='"',
            )
        return table

    def _error(self, types: Mapping[str, type[Default]], reason: object) -> RuntimeError:
        """Return the error for the first line of the block that is wrong."""
        lines = iter(self.block)
        while len(row := self._parse(lines, np.object_, 1).ravel().tolist()):
            number = self.before + len(self.block) - length_hint(lines)
            where = f"Line {number} of '{self.path}' must have"
            if len(row) != len(types):
                return RuntimeError(
                    f"{where} {len(types)} fields, one for each column, but has {len(row)}: "
                    f"{short(row)}."
                )
            for (name, kind), text in zip(types.items(), row, strict=True):
                if not _is_held(text, kind):
                    return RuntimeError(
                        f"{where} a value of {np.dtype(_DTYPES[kind])} in the column {name!r}, but "
                        f"has {short(text)}.{'' if text else _MISSING}"
                    )
        return RuntimeError(f"'{self.path}' cannot be read as CSV: {reason}.")


def _is_held(text: str, kind: type[Default]) -> bool:
    """Return whether the type of a column can hold a field."""
    if kind is str:
        return True
    if "_" in text or not text.strip().isascii():  # Python would read them as numbers
        return False
    try:
        number = int(text) if kind is int else float(text)
    except ValueError:
        return False
    if kind is int:
        return -(2**31) <= number < 2**31
    return abs(number) < _TOO_LARGE or "n" in text.lower()  # inf, infinity or nan
