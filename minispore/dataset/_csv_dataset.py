"""CSVDataset: the rows of text files with columns that a character separates."""

import csv
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from reprlib import repr as short
from types import NoneType
from typing import Final, TypeAlias

import numpy as np

from minispore.dataset._dataset import as_names, check_workers
from minispore.dataset._node import Array
from minispore.dataset._source_datasets import MappableDataset, check_absent
from minispore.dataset._sources import ArraySource, MapStyleNode
from minispore.dataset.samplers import choose_sampler
from minispore.utils.atomic import open_regular_file
from minispore.utils.checks import caller, check_type, value_error

Default = str | int | float
_Path: TypeAlias = str | os.PathLike[str]
_DTYPES: Final[dict[type[Default], type[np.generic]]] = {
    str: np.str_,
    int: np.int32,
    float: np.float32,
}


class CSVDataset(MappableDataset):
    r"""The rows of CSV files, in a column of strings, int32 or float32 for each field.

    Fields may be quoted, as in "a, b". The files are read at once.

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
            of fields, or a field is not a number.

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
        tables = [_read(path, field_delim) for path in dataset_files]
        header: Sequence[str] = ()
        if column_names is None:
            header, *others = [table.pop(0) if table else [] for table in tables]
            if not header or any(other != header for other in others):
                raise RuntimeError(
                    f"For '{caller()}', the first line of each file must name the same columns "
                    "unless 'column_names' is given."
                )
        names = as_names(column_names or header, "column_names")
        if not any(tables):
            paths = ", ".join(f"'{os.fspath(path)}'" for path in dataset_files)
            raise RuntimeError(f"For '{caller()}', there must be rows, but {paths} has none.")
        types = _types(column_defaults, names)
        files = dict(zip(dataset_files, tables, strict=True))
        arrays = tuple([_convert(files, i, type_, names) for i, type_ in enumerate(types)])
        super().__init__(MapStyleNode(names, ArraySource(arrays), chosen))


def _read(path: _Path, delimiter: str) -> list[list[str]]:
    """Return the fields of each line of a file, but for empty lines."""
    check_type(path, (str, os.PathLike), "dataset_files")
    if not Path(path).is_file():
        raise ValueError(f"For 'CSVDataset', there is no file '{os.fspath(path)}'.")
    try:
        with open(path, encoding="utf-8-sig", newline="", opener=open_regular_file) as file:
            return [row for row in csv.reader(file, delimiter=delimiter) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise RuntimeError(f"'{os.fspath(path)}' cannot be read as CSV: {error}.") from None


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


def _convert(
    files: Mapping[_Path, Sequence[Sequence[str]]],
    column: int,
    kind: type[Default],
    names: tuple[str, ...],
) -> Array:
    """Return one field of each row as an array."""
    values: list[Array] = []
    for path, rows in files.items():
        for number, row in enumerate(rows):
            try:
                if len(row) != len(names):
                    raise ValueError(f"it has {len(row)} fields")
                values.append(np.array(kind(row[column]), _DTYPES[kind]))
            except (ValueError, OverflowError) as error:
                raise RuntimeError(
                    f"Row {number} of '{os.fspath(path)}' must have {len(names)} fields, and in "
                    f"the column {names[column]!r} a value of {np.dtype(_DTYPES[kind])}, but got "
                    f"{short(row)}: {str(error)[:200]}."
                ) from error
    return np.array(values, _DTYPES[kind])
