"""Datasets of arrays and of Python objects: columns, rows by index, restarts and errors."""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

import minispore.dataset as ds
from minispore import Tensor
from minispore.dataset._node import Array
from minispore.dataset.idx import write_idx
from minispore.utils.checks import as_tuple
from tests.helpers.dataset_rows import order, rows
from tests.helpers.memory import peak_of

COLUMNS = st.integers(1, 4).flatmap(
    lambda count: st.lists(
        hnp.arrays(
            st.sampled_from([np.int64, np.float32, np.bool_, np.uint8]),
            hnp.array_shapes(max_dims=2, max_side=3).map(lambda shape: (count, *shape[1:])),
            elements=st.integers(0, 1),
        ),
        min_size=1,
        max_size=3,
    )
)


@given(columns=COLUMNS, named=st.booleans(), listed=st.booleans())
def test_slices_of_an_array_list_tuple_or_dictionary(
    columns: list[Array], named: bool, listed: bool
) -> None:
    names = ["column_0", "column_1", "column_2"][: len(columns)]
    values = [column.tolist() if listed else column for column in columns]
    data: Any = tuple(values) if len(columns) > 1 else values[0]
    if named:
        names = [f"name {i}" for i in range(len(columns))]
        data = dict(zip(names, values, strict=True))
    dataset = ds.NumpySlicesDataset(data, shuffle=False)
    assert dataset.get_col_names() == names
    assert dataset.output_types() == [np.asarray(value).dtype for value in values]
    assert dataset.output_shapes() == [list(column.shape[1:]) for column in columns]
    expected = [[column[i].tolist() for column in columns] for i in range(len(columns[0]))]
    assert rows(dataset) == expected
    for i in range(-len(dataset), len(dataset)):
        assert [value.tolist() for value in dataset[i]] == expected[i]


def csv_of(texts: list[str]) -> ds.Dataset:
    with TemporaryDirectory() as folder:
        path = Path(folder, "texts.csv")
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, quoting=csv.QUOTE_ALL).writerows([text] for text in ["x", *texts])
        return ds.CSVDataset(path, shuffle=False)


OF_TEXTS: dict[str, Callable[[list[str]], ds.Dataset]] = {
    "CSV": csv_of,
    "list": lambda texts: ds.NumpySlicesDataset(texts, "x", shuffle=False),
    "tuple in a dictionary": lambda texts: ds.NumpySlicesDataset(
        {"x": tuple(texts)}, shuffle=False
    ),
    "object": lambda texts: ds.GeneratorDataset(texts, "x", shuffle=False),
    "iterable": lambda texts: ds.GeneratorDataset(lambda: iter(texts), "x"),
}
CHANGES: dict[str, Callable[[ds.Dataset], ds.Dataset]] = {
    "nothing": lambda data: data,
    "filter": lambda data: data.filter(lambda x: True),
    "map": lambda data: data.map(lambda x: str(x)),
    "map and batch": lambda data: data.map(lambda x: str(x)).batch(8),
    "buckets": lambda data: data.bucket_batch_by_length(["x"], [9], [8, 8], lambda x: len(str(x))),
    "repeat": lambda data: data.repeat(2),
    "shuffle and batch": lambda data: data.shuffle(2000).batch(8),
    "split": lambda data: data.split([0.3, 0.7], randomize=False)[1],
}


@pytest.mark.parametrize("kind", OF_TEXTS)
@pytest.mark.parametrize("change", CHANGES)
def test_long_text_takes_little_more_than_its_own_memory(kind: str, change: str) -> None:
    """In an array each text has room for the longest: 1000 of 40,000 characters take 160 MB."""
    texts = ["short"] * 1000
    texts[500] = "é" * 40_000

    def read() -> None:
        data = CHANGES[change](OF_TEXTS[kind](texts))
        rows_read = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
        lengths = [len(str(text)) for (row,) in rows_read for text in row.reshape(-1)]
        assert sorted(lengths)[-2 if change != "repeat" else -3] == 5 < max(lengths)

    # A batch of eight in three places, and the blocks of 2**20 characters of four bytes.
    assert peak_of(read) < 3 * 8 * 40_000 * 4 + 4 * 2**20


@given(st.lists(st.text(max_size=9) | st.text(min_size=300, max_size=400), min_size=1))
def test_texts_of_any_length_are_kept(texts: list[str]) -> None:
    expected = [text.rstrip("\0") for text in texts]  # as in numpy's arrays
    data = ds.NumpySlicesDataset(texts, "x", shuffle=False)
    assert order(data) == expected
    assert data.output_types() == [np.dtype("U")]
    assert [str(data[i][0]) for i in range(-len(texts), len(texts))] == 2 * expected
    assert [x for batch in order(data.batch(3)) for x in batch] == expected  # type: ignore[attr-defined]


@pytest.mark.parametrize("values", [[1, "a"], ["a", 1.5, True], ("a", b"b"), ["a", ["b"]]])
def test_numbers_among_strings_do_not_become_strings(values: Sequence[object]) -> None:
    with pytest.raises(TypeError, match="must have no strings among other values, but got"):
        ds.NumpySlicesDataset({"x": values})


class Counted:
    """An iterable of three rows, and what it says to be their number."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __iter__(self) -> Iterator[int]:
        return iter(range(3))

    def __len__(self) -> int:
        return self.length


@pytest.mark.parametrize("length", [0, 2, 3, 4])
def test_iterable_has_as_many_rows_as_its_length(length: int) -> None:
    data = ds.GeneratorDataset(Counted(length), "x")
    if length == 3:
        assert order(data) == [0, 1, 2]
        return
    with pytest.raises(RuntimeError, match=f"has the length {length}, but yielded 3 rows"):
        rows(data)
    if length:
        assert order(data.take(2)) == [0, 1]


def write_mnist(folder: Path) -> None:
    for prefix in ("train", "t10k"):
        labels = np.array([0, 1, 9], np.uint8)
        write_idx(folder / f"{prefix}-labels-idx1-ubyte", labels)
        write_idx(folder / f"{prefix}-images-idx3-ubyte", np.zeros((3, 28, 28), np.uint8))


def write_cifar(folder: Path, names: list[str], labels: int) -> None:
    table = np.zeros((2, labels + 3072), np.uint8)
    for name in names:
        (folder / name).write_bytes(table.tobytes())


# Sources with the files of one usage, with the bytes of a row where no header counts rows, and the
# positions of labels from the begin of a row or of a file of labels.
FILES: dict[str, tuple[Callable[[Path], object], Callable[[Path], ds.Dataset], int]] = {
    "MNIST": (write_mnist, lambda folder: ds.MnistDataset(folder, "train", shuffle=False), 0),
    "MNIST, all": (write_mnist, lambda folder: ds.MnistDataset(folder, shuffle=False), 0),
    "CIFAR-10": (
        lambda folder: write_cifar(folder, [f"data_batch_{i}.bin" for i in range(1, 6)], 1),
        lambda folder: ds.Cifar10Dataset(folder, shuffle=False),
        3073,
    ),
    "CIFAR-100": (
        lambda folder: write_cifar(folder, ["train.bin"], 2),
        lambda folder: ds.Cifar100Dataset(folder, "train", shuffle=False),
        3074,
    ),
}


@pytest.mark.parametrize("kind", FILES)
@given(
    number=st.integers(0, 9),
    damage=st.sampled_from(["removed", "shortened", "lengthened", "label"]),
    amount=st.integers(1, 3000),
)
@example(0, "removed", 1)
@example(3, "removed", 1)
def test_file_that_is_missing_or_damaged_is_an_error_that_names_it(
    kind: str, number: int, damage: str, amount: int
) -> None:
    write, read, row = FILES[kind]
    with TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        assert rows(read(folder))
        files = sorted(folder.glob("*" if kind != "MNIST" else "train*"))
        path = files[number % len(files)]
        content = path.read_bytes()
        match damage:
            case "removed":
                path.unlink()
            case "shortened":
                path.write_bytes(content[: -min(amount, len(content) - 1)])
            case "lengthened":
                path.write_bytes(content + bytes(amount))
            case _ if row or "labels" in path.name:
                start = amount % 2 * row if row else 8 + amount % 3
                path.write_bytes(content[:start] + b"\xff" + content[start + 1 :])
            case _:
                return
        named = path.name if row else path.name.split("-")[0]
        with pytest.raises(RuntimeError, match=named):
            rows(read(folder))


def three() -> Iterator[int]:
    yield from range(3)


@pytest.mark.parametrize("source", [three, three(), range(3), [0, 1, 2], {0: 0, 1: 0, 2: 0}.keys()])
def test_iterables_are_restarted_in_every_epoch(source: object) -> None:
    dataset = ds.GeneratorDataset(source, "x", shuffle=None if callable(source) else False)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert dataset.get_dataset_size() == 3
    assert order(dataset) == order(dataset) == [0, 1, 2]
    assert order(ds.GeneratorDataset(three, "x", num_samples=2)) == [0, 1]


class Once(Iterator[int]):
    """An iterator of a program; `__iter__` is that of `collections.abc`."""

    def __init__(self, values: list[int]) -> None:
        self.values = iter(values)

    def __next__(self) -> int:
        return next(self.values)


class Restarts(Once):
    def __init__(self, values: list[int]) -> None:
        self.list = values

    def __iter__(self) -> "Restarts":
        self.values = iter(self.list)
        return self


class Continues(Once):
    def __iter__(self) -> "Continues":
        return self


ITERATORS: list[Callable[[list[int]], Iterator[object]]] = [
    iter, zip, enumerate, reversed, partial(map, float), partial(filter, None), chain, Once,
    Restarts, lambda values: (value for value in values),
]  # fmt: skip


@given(
    make=st.sampled_from(ITERATORS),
    values=st.lists(st.integers(1, 99), min_size=1, max_size=9),
    passes=st.lists(st.integers(0, 9), max_size=4),
)
def test_one_shot_iterator_yields_equal_rows_each_epoch(
    make: Callable[[list[int]], Iterator[object]], values: list[int], passes: list[int]
) -> None:
    expected = list(make(values))
    names = ["x", "y"] if len(as_tuple(expected[0])) == 2 else ["x"]
    dataset = ds.GeneratorDataset(make(values), names)
    for count in passes:  # which need not go to the end
        for _ in zip(range(count), dataset.create_tuple_iterator(num_epochs=1), strict=False):
            pass
    assert dataset.get_dataset_size() == len(values)
    expected_rows = [list(as_tuple(row)) for row in expected]
    assert rows(dataset) == rows(dataset) == expected_rows
    assert rows(dataset.repeat(2)) == expected_rows * 2


@pytest.mark.parametrize(
    "make", [Continues, lambda values: partial(next, iter([iter(values)]), ())]
)
def test_exhausted_iterator_raises(make: Callable[[list[int]], object]) -> None:
    dataset = ds.GeneratorDataset(make([1, 2, 3]), "x")  # type: ignore[arg-type]
    assert order(dataset) == [1, 2, 3]
    for _ in range(2):
        with pytest.raises(RuntimeError, match="in an earlier epoch but none in this one"):
            rows(dataset)


def test_dictionaries_are_rows_by_column_name() -> None:
    """Rows of other libraries' data sets are dictionaries, which may have further columns."""
    source = [{"text": "a", "label": 1, "id": 7}, {"text": "bc", "label": 2, "id": 8}]
    dataset = ds.GeneratorDataset(source, ["label", "text"], shuffle=False)
    assert rows(dataset) == [[1, "a"], [2, "bc"]]
    with pytest.raises(RuntimeError, match="must give 2 values a row, .* but gave 1"):
        rows(ds.GeneratorDataset(source, ["label", "image"]))


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4)


class Column:
    """A column of a table, as pandas has them: of objects, unless all values are numbers."""

    def __init__(self, values: list[object]) -> None:
        array = np.array(values)
        self.values = array if array.dtype.kind in "bif" else np.array(values, np.object_)
        self.shape = self.values.shape

    def to_numpy(self) -> NDArray[np.generic]:
        return self.values

    def __repr__(self) -> str:
        return "0    0.0\n" * 99


class Table:
    """A table, as pandas has them."""

    def __init__(self, table: dict[str, list[object]]) -> None:
        self.table, self.columns = table, list(table)

    def to_numpy(self) -> NDArray[np.generic]:
        raise AssertionError

    def __getitem__(self, name: str, /) -> Column:
        return Column(self.table[name])


VALUES: list[st.SearchStrategy[object]] = [
    st.booleans(), st.integers(-9, 9), st.floats(-9, 9), TEXTS,
]  # fmt: skip
LISTS = st.one_of([st.lists(values, min_size=3, max_size=3) for values in VALUES])


@given(st.dictionaries(st.text(min_size=1), LISTS, min_size=1, max_size=4))
def test_table_has_the_rows_of_its_columns(columns: dict[str, list[object]]) -> None:
    table = Table(columns)
    expected = ds.NumpySlicesDataset(columns, shuffle=False)
    for data in (table, {name: table[name] for name in columns}):
        dataset = ds.NumpySlicesDataset(data, shuffle=False)
        assert dataset.get_col_names() == list(columns)
        assert rows(dataset) == rows(expected)
        assert dataset.output_types() == expected.output_types()
    pair = ds.NumpySlicesDataset((Column([1, 2]), [3, 4]), ["a", "b"], shuffle=False)
    assert rows(pair) == [[1, 3], [2, 4]]


@pytest.mark.parametrize("value", [None, float("nan"), object()])
@given(row=st.integers(0, 2))
def test_value_of_a_table_that_is_no_string_raises_with_column_and_row(
    value: object, row: int
) -> None:
    values: list[object] = ["x", "y", "z"]
    values[row] = value
    message = re.escape("the column 's' of the argument 'data' must have numbers or strings, but")
    with pytest.raises(TypeError, match=rf"{message} .* in row {row}: see 'fillna'"):
        ds.NumpySlicesDataset(Table({"x": [1, 2, 3], "s": values}))


@pytest.mark.parametrize("names", [["x", "x"], ["x", 0]])
def test_table_whose_names_are_not_different_strings_raises(names: list[str]) -> None:
    table = Table({"x": [1]})
    table.columns = names
    with pytest.raises(TypeError, match="must have different strings as names of columns, but got"):
        ds.NumpySlicesDataset(table)


def test_error_for_a_column_alone_has_no_lines() -> None:
    with pytest.raises(TypeError, match=r"but got a Column of shape \(99,\)\.$"):
        ds.NumpySlicesDataset(Column([1] * 99))  # type: ignore[arg-type]


@given(texts=st.lists(TEXTS, min_size=1, max_size=6), size=st.integers(1, 6))
def test_strings_pass_through_all_operations(texts: list[str], size: int) -> None:
    """Arrays of strings have room for the longest of them, as in MindSpore."""
    dataset = ds.GeneratorDataset(texts, "x", shuffle=False)
    assert order(dataset) == order(ds.NumpySlicesDataset(texts, shuffle=False)) == texts
    doubled = dataset.map(lambda x: str(x) * 2).filter(lambda x: x != "").batch(size)
    expected = [text * 2 for text in texts if text]
    batches = [expected[i : i + size] for i in range(0, len(expected), size)]
    assert order(doubled) == batches
    for (batch,), listed in zip(doubled, batches, strict=True):
        assert isinstance(batch, np.ndarray)
        assert batch.dtype == f"U{max(map(len, listed))}"
    assert dataset.output_types() == [np.dtype("U")]
    shuffled = dataset.shuffle(7).batch(1).concat(dataset.batch(1))
    assert sorted(map(str, order(shuffled))) == sorted(str([text]) for text in texts * 2)


def test_leaves_of_dictionaries_are_tensors_and_arrays() -> None:
    dataset = ds.GeneratorDataset([{"a": 1, "b": ["x", 2.5], "c": (3,)}], "x")
    (row,) = dataset.create_dict_iterator(num_epochs=1)
    value: Any = row["x"]
    assert isinstance(value["a"], Tensor)
    assert [type(leaf) for leaf in value["b"]] == [np.ndarray, Tensor]
    ((plain,),) = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    leaves = "'a': array(1), 'b': [array('x', dtype='<U1'), array(2.5)], 'c': (array(3),)"
    assert repr(plain) == f"{{{leaves}}}"


def test_batches_of_rows_may_be_indexed() -> None:
    class Batches:
        def __len__(self) -> int:
            return 2

        def __getitem__(self, number: int) -> list[int]:
            return [[0, 3], [1]][number]

    data = ds.GeneratorDataset([10, 20, 30, 40], "x", batch_sampler=Batches())
    for _ in range(2):
        assert [row["x"].tolist() for row in data.create_dict_iterator(1)] == [[10, 40], [20]]
