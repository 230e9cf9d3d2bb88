"""CSVDataset: the columns of random tables, the order of rows, and errors."""

import csv
import io
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.dataset import CSVDataset
from tests.helpers.dataset_rows import order, rows

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=5)
NUMBERS = st.integers(-(2**31), 2**31 - 1)
HALVES = st.integers(-99, 99).map(lambda number: number / 2)
TABLES = st.lists(st.tuples(TEXTS, NUMBERS, HALVES), min_size=1, max_size=5)


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


@given(table=TABLES, delimiter=st.sampled_from(",;|"), header=st.booleans(), parts=st.booleans())
def test_columns_are_those_that_were_written(
    table: list[tuple[str, int, float]], delimiter: str, header: bool, parts: bool
) -> None:
    names = ["text", "number", "half"]
    with TemporaryDirectory() as folder:
        paths: list[Path] = []
        for part in (table[:1], table[1:]) if parts else (table,):
            text = io.StringIO()
            writer = csv.writer(text, delimiter=delimiter)
            writer.writerows([*([names] if header else []), *part])
            paths.append(Path(folder, str(len(paths))))
            paths[-1].write_bytes(text.getvalue().encode())
        dataset = CSVDataset(
            paths if parts else str(paths[0]),
            delimiter,
            ["", 0, 0.0],
            None if header else names,
            shuffle=False,
        )
    assert dataset.get_col_names() == names
    assert dataset.output_types() == [np.dtype("U"), np.int32, np.float32]
    assert rows(dataset) == [list(row) for row in table]
    lengths = [max(len(text.rstrip("\0")), 1) for text, _, _ in table]
    iterator = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert [row[0].dtype for row in iterator] == [np.dtype(f"U{length}") for length in lengths]


def test_rows_are_shuffled_by_default_and_sharded(tmp_path: Path) -> None:
    path = write(tmp_path / "numbers.csv", "n\n" + "\n".join(map(str, range(30))))
    in_order = [str(i) for i in range(30)]
    assert order(CSVDataset(path)) != in_order == sorted(order(CSVDataset(path)), key=int)  # type: ignore[arg-type]
    shard = CSVDataset(path, shuffle=False, num_shards=3, shard_id=1)
    assert order(shard) == in_order[1::3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the first line of each file must name the same columns"),
        ("a,b\n", "there must be rows, but .*csv' has none"),
        ("a,b\n1,2\n3\n", r"Row 1 of .*csv' must have 2 fields.* got \['3'\]: it has 1 fields"),
        ("a,b\n1,x\n", "column 'b' a value of int32, but got .*'x'"),
        ("a,b\n1,2147483648\n", "column 'b' a value of int32"),
    ],
)
def test_invalid_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        CSVDataset(write(tmp_path / "table.csv", text), column_defaults=["", 0])


def test_bad_arguments_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "table.csv", "a,b\n1,2\n")
    with pytest.raises(ValueError, match="there is no file '.*absent.csv'"):
        CSVDataset(tmp_path / "absent.csv")
    with pytest.raises(ValueError, match="'column_defaults' must have 2 values"):
        CSVDataset(path, column_defaults=[1])
    with pytest.raises(RuntimeError, match="must name the same columns"):
        CSVDataset([path, write(tmp_path / "other.csv", "a,c\n1,2\n")])
