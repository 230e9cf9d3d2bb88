"""CSVDataset: the columns of random tables, the order of rows, and errors."""
# Functions of users carry no types; the lambdas here stand for them.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

import csv
import io
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore.dataset import CSVDataset
from tests.helpers.dataset_rows import order, rows
from tests.helpers.memory import peak_of

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


FORMS = st.text(st.sampled_from("0123459+-.eEnaif_ x\t٣５"), max_size=6) | st.one_of(
    st.integers(-(2**33), 2**33).map(str),
    st.floats().map(str),
    st.floats(-1e39, 1e39).map("{:.3e}".format),
)
DECIMAL = {
    int: re.compile(r"\s*[+-]?[0-9]+\s*"),
    float: re.compile(
        r"\s*[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|inf|infinity|nan)\s*", re.IGNORECASE
    ),
}


@pytest.mark.parametrize("kind", [int, float])
@given(field=FORMS, before=st.integers(0, 3), quoted=st.booleans())
@example("1_000", 0, False)
@example("1_0.5", 1, False)
@example("\u0663", 0, False)
@example("1e39", 2, False)
@example("-1e400", 0, True)
@example("2147483648", 0, False)
@example("-2147483648", 0, False)
@example("inf", 0, False)
def test_field_is_the_number_that_it_says_or_an_error_that_shows_it(
    kind: type[int] | type[float], field: str, before: int, quoted: bool
) -> None:
    with TemporaryDirectory() as folder:
        lines = ["a,b", *["0,x"] * before, f'"{field}",y' if quoted else f"{field},y"]
        path = write(Path(folder, "table.csv"), "\n".join(lines))
        number: int | float | None = None
        if DECIMAL[kind].fullmatch(field):
            with np.errstate(over="ignore"):
                number = int(field) if kind is int else float(np.float32(field))
        if number is None or (
            abs(number) > 2**31 - (number > 0)
            if kind is int
            else np.isinf(number) and "n" not in field.lower()
        ):
            shown = (
                rf"Line {before + 2} of .*csv' .* {np.dtype(f'{kind.__name__}32')} .* 'a', but has "
            )
            with pytest.raises(RuntimeError, match=shown + re.escape(repr(field))):
                CSVDataset(path, column_defaults=[kind(), ""])
            return
        read = rows(CSVDataset(path, column_defaults=[kind(), ""], shuffle=False))
    np.testing.assert_array_equal(read[-1][0], number)
    assert [row[0] for row in read[:-1]] == [0] * before


@pytest.mark.parametrize("kind", [int, float])
def test_numbers_take_little_more_memory_than_their_file(
    tmp_path: Path, kind: type[int] | type[float]
) -> None:
    table = np.random.default_rng(1).integers(-(10**8), 10**8, (12_000, 20))
    path = tmp_path / "table.csv"
    with path.open("w", encoding="utf-8") as file:
        np.savetxt(file, table, fmt="%d" if kind is int else "%d.25", delimiter=",")
    names = [f"c{i}" for i in range(20)]

    def read() -> CSVDataset:
        return CSVDataset(path, column_defaults=[kind()] * 20, column_names=names, shuffle=False)

    (columns,) = read().batch(12_000).create_tuple_iterator(num_epochs=1, output_numpy=True)
    expected = (table + (np.sign(table) / 4 if kind is float else 0)).astype(columns[0].dtype)
    np.testing.assert_array_equal(np.stack(columns, 1), expected)
    assert peak_of(read) < 1.5 * path.stat().st_size


def test_column_without_a_name_can_be_renamed(tmp_path: Path) -> None:
    """Other programs write the number of a row into such a column."""
    table = CSVDataset(write(tmp_path / "table.csv", ",a\n0,5\n"), column_defaults=[0, 0])
    assert table.get_col_names() == ["", "a"]
    assert rows(table.rename("", "index").project(["a", "index"])) == [[5, 0]]
    assert rows(table.map(lambda x: x + 1, [""])) == [[1, 5]]


def test_missing_numbers_are_converted_by_a_function(tmp_path: Path) -> None:
    table = CSVDataset(write(tmp_path / "table.csv", "a,b\n1.5,2\n,3\n"), shuffle=False)
    numbers = table.map(lambda text: np.float32(str(text) or "nan"), "a")
    np.testing.assert_array_equal([row[0] for row in rows(numbers)], [1.5, np.nan])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'.*csv' is empty, but its first line must name the columns"),
        ("\ufeff\n\r\n", "'.*csv' is empty"),
        ("a,b\n", "there must be rows, but .*csv' has only a line of names"),
        (",,a\n1,2,3\n", "the first line of '.*csv' must name different columns"),
        ("a,b\n1,2\n3\n", r"Line 3 of .*csv' must have 2 fields, .* but has 1: \['3'\]"),
        ("a,b\n\n'1,2,3\n", "Line 3 of .*csv' must have 2 fields"),
        ("a,b\n1,2\n'x,y\n", "Line 3 of .*csv' must have a value of int32 .* 'b', but has 'y'"),
        ('a,b\n"1\n2",x\n', "Line 3 of .*csv' must have a value of int32 in the column 'b'"),
        ("a,b\n1,\n", "but has ''. A column with missing numbers can be read as strings"),
        ('a,b\n1,2\n1,"2\n', "csv' cannot be read as CSV: it ends in a quoted field"),
        ('b,a\n1,"2\n3,4\n', "csv' cannot be read as CSV: it ends in a quoted field"),
        ('a,b\n"1,2\n3,4\n', "csv' cannot be read as CSV: it ends in a quoted field"),
    ],
)
def test_invalid_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        defaults: list[str | int] = ["", "" if text.startswith("b") else 0]
        CSVDataset(write(tmp_path / "table.csv", text), column_defaults=defaults)


def test_bad_arguments_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "table.csv", "a,b\n1,2\n")
    with pytest.raises(ValueError, match="there is no file '.*absent.csv'"):
        CSVDataset(tmp_path / "absent.csv")
    with pytest.raises(ValueError, match="'column_defaults' must have 2 values"):
        CSVDataset(path, column_defaults=[1])
    with pytest.raises(RuntimeError, match="must name the same columns"):
        CSVDataset([path, write(tmp_path / "other.csv", "a,c\n1,2\n")])
