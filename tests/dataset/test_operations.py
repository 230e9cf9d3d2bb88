"""Operations: the rows that they yield, beyond those of tests/properties."""
# Functions of users carry no types; the lambdas here stand for them.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import minispore
import minispore.dataset as ds
from minispore.dataset._node import EpochKey
from minispore.dataset.samplers import BuiltinSampler
from tests.helpers.dataset_rows import numbers, rows
from tests.helpers.memory import peak_of

NAMES = st.lists(st.sampled_from("abcxy"), min_size=1, max_size=3, unique=True)
INPUTS = st.permutations("abc").flatmap(
    lambda names: st.integers(1, 3).map(lambda count: list(names)[:count])
)
Lengths = list[int | None] | None
Values = tuple[int | None, str | None]
SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=4)


@given(inputs=INPUTS, outputs=NAMES)
@example(inputs=["b", "a"], outputs=["a", "b"])
@example(inputs=["b"], outputs=["x"])
@example(inputs=["a", "b"], outputs=["c"])
def test_outputs_of_map_replace_inputs_or_come_first(inputs: list[str], outputs: list[str]) -> None:
    """They take the places of the inputs if they are equally many."""
    row = {"a": 0, "b": 1, "c": 2}
    data = ds.NumpySlicesDataset({name: [value] for name, value in row.items()})
    others = [name for name in row if name not in inputs]
    results = {name: 10 + i for i, name in enumerate(outputs)}

    def function(*values: object) -> object:
        assert all(isinstance(value, np.ndarray) and value.shape == () for value in values)
        assert [int(value) for value in values] == [row[name] for name in inputs]  # type: ignore[call-overload]
        return tuple(results.values())

    if {*others} & {*outputs}:
        with pytest.raises(RuntimeError, match="would occur twice"):
            data.map(function, inputs, outputs)
        return
    if len(inputs) == len(outputs):
        renamed = dict(zip(inputs, outputs, strict=True))
        columns = [renamed.get(name, name) for name in row]
    else:
        columns = [*outputs, *others]
    mapped = data.map(function, inputs, outputs)
    assert mapped.get_col_names() == columns
    assert rows(mapped) == [[(row | results)[name] for name in columns]]


@given(lengths=st.lists(st.integers(0, 2), min_size=1, max_size=8))
@example(lengths=[2, 2, 1, 0, 0])
def test_results_of_different_shapes_keep_the_other_columns(lengths: list[int]) -> None:
    data = ds.NumpySlicesDataset({"length": lengths, "row": [*range(len(lengths))]}, shuffle=False)
    expected = [[[*range(length)], row] for row, length in enumerate(lengths)]
    assert rows(data.map(np.arange, "length")) == expected


def test_map_combines_transforms_and_shape_changing_functions() -> None:
    """By default, of the first column."""
    grown = numbers(4).map(
        [
            ds.transforms.TypeCast(minispore.int32),
            lambda a: np.arange(a // 2),
            ds.transforms.Compose([lambda a: a + 1, ds.transforms.TypeCast(minispore.int16)]),
        ]
    )
    assert rows(grown) == [[[]], [[]], [[1]], [[1]]]


@given(count=st.integers(0, 20), sizes=SIZES, drop=st.booleans())
@example(count=5, sizes=[2], drop=True)
@example(count=5, sizes=[1, 2, 4], drop=False)
def test_functions_determine_size_and_content_of_batches(
    count: int, sizes: list[int], drop: bool
) -> None:
    """They get the numbers of the epoch and of the batch."""
    data = ds.NumpySlicesDataset(([*range(20)], [*range(100, 120)]), ["a", "b"], shuffle=False)
    calls: list[tuple[int, int]] = []

    def size(info: ds.BatchInfo) -> int:
        return sizes[(info.get_epoch_num() + info.get_batch_num()) % len(sizes)]

    def number(a: list[np.int64], info: ds.BatchInfo) -> tuple[list[np.int64], list[int]]:
        assert isinstance(a, list)
        calls.append((info.get_epoch_num(), info.get_batch_num()))
        return a, [info.get_batch_num()] * len(a)

    batched = data.skip(20 - count).batch(
        size, drop, per_batch_map=number, input_columns="a", output_columns=["a", "number"]
    )
    assert batched.get_col_names() == ["a", "number", "b"]
    iterator = batched.create_tuple_iterator(num_epochs=2, output_numpy=True)
    for epoch in range(2):
        calls.clear()
        expected: list[list[list[int]]] = []
        first = 20 - count
        while first < 20:
            i = len(expected)
            batch = range(first, min(20, first + sizes[(epoch + i) % len(sizes)]))
            first += sizes[(epoch + i) % len(sizes)]
            if first <= 20 or not drop:
                expected.append([[*batch], [i] * len(batch), [100 + x for x in batch]])
        assert [[value.tolist() for value in row] for row in iterator] == expected
        assert calls == [(epoch, i) for i in range(len(expected))]


@pytest.mark.parametrize("bound", [False, True])
@given(
    lengths=st.lists(st.integers(1, 3), min_size=1, max_size=6),
    size=st.integers(1, 3),
    shape=st.sampled_from([None, [None], [2], [5]]),
    values=st.sampled_from([(None, None), (7, "long")]),
    drop=st.booleans(),
)
@example(lengths=[1, 2, 1], size=2, shape=[None], values=(7, "long"), drop=False)
@example(lengths=[1, 3, 2], size=2, shape=[2], values=(None, None), drop=True)
def test_rows_are_padded_to_the_shape_the_boundary_or_the_longest(
    lengths: list[int], size: int, shape: Lengths, values: Values, bound: bool, drop: bool
) -> None:
    """The boundary is for None in a shape; a column that `pad_info` does not name is kept."""
    source = [(np.arange(n), np.array(["t"] * n), n) for n in lengths]
    data = ds.GeneratorDataset(source, ["x", "y", "n"], shuffle=False)
    info = {"x": (shape, values[0]), "y": (None, values[1])}
    buckets = data.bucket_batch_by_length(["x"], [4], [size, 1], None, info, bound, drop)
    padded = data.padded_batch(lambda _: size, drop, None, info)
    for batched, most in ((padded, 0), (buckets, 3 * bound)):
        expected: list[object] = []
        for batch in [lengths[i : i + size] for i in range(0, len(lengths), size)]:
            width = (shape[0] or most or max(batch)) if shape else max(batch)
            x = [[*range(n), *[values[0] or 0] * 5][:width] for n in batch]
            y = [["t"] * n + [values[1] or ""] * (max(batch) - n) for n in batch]
            expected += [[x, y, batch]] * (len(batch) == size or not drop)
        assert rows(batched) == expected


@pytest.mark.parametrize(
    ("true", "false"), [(3, 0), (0.5, 0.0), (True, False), (np.array([1]), np.array([0]))]
)
def test_filter_keeps_rows_for_any_true_number(true: object, false: object) -> None:
    assert rows(numbers(2).filter(lambda a: true, "a")) == [[0], [1]]
    assert rows(numbers(2).filter(lambda a: false, "a")) == []


@given(st.integers(1, 9))
def test_only_the_rows_that_are_needed_are_read(taken: int) -> None:
    read: list[int] = []

    def count() -> Iterator[int]:
        for i in range(1000):
            read.append(i)
            yield i

    assert len(rows(ds.GeneratorDataset(count, "x").take(taken))) == taken
    assert len(read) <= taken + 1
    read.clear()
    batches = ds.GeneratorDataset(count, "x").batch(taken).create_tuple_iterator()
    for number in range(1, 4):
        next(batches)
        assert len(read) <= number * taken + 1
    read.clear()
    counted = ds.GeneratorDataset(count, "x")
    assert counted.get_dataset_size() == counted.get_dataset_size() == len(read) == 1000


@pytest.mark.parametrize("randomize", [True, False])
@pytest.mark.parametrize("shuffled", [True, False])
@pytest.mark.parametrize("indexed", [True, False])
def test_split_parts_are_disjoint_in_every_epoch(
    randomize: bool, shuffled: bool, indexed: bool
) -> None:
    source = ds.NumpySlicesDataset(list(range(10)), "a", shuffle=shuffled)
    parts = (source if indexed else source.map(lambda a: a)).split([0.7, 0.3], randomize)
    epochs: list[list[set[int]]] = []
    for part in parts:
        iterator = part.create_tuple_iterator(num_epochs=3, output_numpy=True)
        epochs.append([{int(a) for (a,) in iterator} for _ in range(3)])
    first, second = epochs
    assert first == [first[0]] * 3
    assert second == [second[0]] * 3
    assert (len(first[0]), len(second[0])) == (7, 3)
    assert first[0] | second[0] == set(range(10))
    if not randomize and not shuffled:
        assert first[0] == set(range(7))


@given(rows=st.integers(10, 60), weights=st.lists(st.integers(3, 9), min_size=1, max_size=5))
@example(rows=11, weights=[2, 1, 1])
@example(rows=10, weights=[1, 1, 1])
def test_fractions_of_a_split_are_rounded(rows: int, weights: list[int]) -> None:
    """The rounding error is distributed over the first parts."""
    fractions = [weight / sum(weights) for weight in weights]
    sizes = [len(part) for part in numbers(rows).split(fractions)]
    rounded = [int(fraction * rows + 0.5) for fraction in fractions]
    error = rows - sum(rounded)
    corrections = [int(np.sign(error)) * (i < abs(error)) for i in range(len(weights))]
    assert np.subtract(sizes, rounded).tolist() == corrections


class Failed(Exception):
    """The error of a function of the user."""


def fails_at_40(x: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    if x == 40:
        raise Failed("here")
    return x


class Numbers:
    """A source whose rows are ten times their indices, until it fails."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.fails_at = fails_at

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> tuple[int]:
        if index == self.fails_at:
            raise Failed("here")
        return (10 * index,)

    def __call__(self) -> Iterator[tuple[int]]:
        return map(self.__getitem__, range(6))


STEPS: dict[str, Callable[[ds.Dataset], ds.Dataset]] = {
    "shuffle": lambda data: data.shuffle(3),
    "repeat": lambda data: data.repeat(2),
    "skip": lambda data: data.skip(1),
    "take": lambda data: data.take(4),
    "rename": lambda data: data.rename("x", "y").rename("y", "x"),
    "project": lambda data: data.project("x"),
    "map": lambda data: data.map(lambda x: x + 0, "x"),
}


def failure(data: ds.Dataset) -> RuntimeError | None:
    """Return the error of an iteration."""
    try:
        rows(data)
    except RuntimeError as error:
        return error
    return None


@given(
    st.sampled_from(["array", "object", "generator"]),
    st.booleans(),
    st.lists(st.sampled_from(sorted(STEPS)), max_size=4),
    st.integers(0, 12),
)
@example("array", True, ["shuffle", "repeat", "skip"], 7)
@example("generator", False, ["take", "shuffle", "map"], 3)
def test_error_of_a_function_names_the_row_of_the_source(
    source: str, shuffled: bool, steps: list[str], calls: int
) -> None:
    made: dict[str, ds.Dataset] = {
        "array": ds.NumpySlicesDataset({"x": [10 * i for i in range(6)]}, shuffle=shuffled),
        "object": ds.GeneratorDataset(Numbers(), ["x"], shuffle=shuffled),
        "generator": ds.GeneratorDataset(Numbers().__call__, ["x"]),
    }
    data = made[source]
    for step in steps:
        data = STEPS[step](data)
    seen: list[int] = []

    def fails_later(x: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        seen.append(x.item())
        if len(seen) > calls:
            raise Failed("here")
        return x

    error = failure(data.map(fails_later, "x"))
    assume(error is not None)
    assert f"failed at row {seen[-1] // 10} of the source: Failed: here" in str(error)
    assert isinstance(error, RuntimeError)
    assert isinstance(error.__cause__, Failed)


@pytest.mark.parametrize("workers", [None, 2])
def test_errors_name_the_row_in_worker_processes_as_well(workers: int | None) -> None:
    plain = ds.NumpySlicesDataset({"x": [10 * i for i in range(6)]}, shuffle=False)
    filtered = plain.filter(lambda x: x > 10, "x")
    parallel = bool(workers)
    source = ds.GeneratorDataset(
        Numbers(4), ["x"], shuffle=False, num_parallel_workers=workers,
        python_multiprocessing=parallel,
    )  # fmt: skip
    for data, row, of in (
        (
            plain.map(fails_at_40, "x", None, workers, python_multiprocessing=parallel),
            4,
            "the source",
        ),
        (source, 4, "the source"),
        (
            filtered.map(fails_at_40, "x", None, workers, python_multiprocessing=parallel),
            2,
            "its input",
        ),
    ):
        error = failure(data)
        assert f"failed at row {row} of {of}: Failed: here" in str(error)
        notes = getattr(error, "__notes__", [])
        assert all(note.startswith("In a worker process:\n  File") for note in notes)
        assert all(note.count("\n  File ") == 1 for note in notes)
        assert bool(notes) == parallel


DTYPES = ["?", "i1", "u1", "i2", "i4", "i8", "f2", "f4", "f8"]


@given(
    dtype=st.sampled_from(DTYPES),
    value=st.integers(-(2**33), 2**33) | st.integers(-300, 300) | st.floats(),
)
@example("i1", 200)
@example("u1", -1)
@example("i4", 2.5)
@example("f2", 1e5)
def test_padding_value_that_the_type_cannot_hold_is_refused(dtype: str, value: float) -> None:
    """Fractions are cut in an integer type."""
    data = ds.NumpySlicesDataset({"x": np.zeros((1, 1), dtype)}, shuffle=False)
    padded = data.padded_batch(1, pad_info={"x": ([2], value)})
    with np.errstate(all="ignore"):
        held = np.array(value).astype(dtype)
    rounds = dtype[0] == "f" and np.isfinite(held) == np.isfinite(value)
    if rounds or held.item() == np.trunc(value):
        np.testing.assert_array_equal(rows(padded), [[[[0, held.item()]]]])
    else:
        with pytest.raises(RuntimeError, match="value of the column 'x' must be one that"):
            rows(padded)


MOST = 2**31 - 1


def chosen(sampler: BuiltinSampler) -> ds.Dataset:
    return ds.NumpySlicesDataset([0, 1, 2], "a", sampler=sampler)


# Valid arguments of extreme size, and the rows that they give; a set if their order is random.
EXTREMES: dict[str, tuple[Callable[[], ds.Dataset], object]] = {
    "shuffle": (lambda: numbers(3).shuffle(MOST), {0, 1, 2}),
    "batch": (lambda: numbers(3).batch(2**62), [[0, 1, 2]]),
    "batch of a map": (lambda: numbers(3).map(lambda x: x).batch(2**62), [[0, 1, 2]]),
    "padded_batch": (lambda: numbers(3).padded_batch(2**62, pad_info={}), [[0, 1, 2]]),
    "buckets": (
        lambda: numbers(3).bucket_batch_by_length(["a"], [2**62], [2**62] * 2, lambda x: int(x)),
        [[0, 1, 2]],
    ),
    "repeat": (lambda: numbers(3).repeat(MOST).repeat(MOST).take(4), [0, 1, 2, 0]),
    "skip in a repeat": (lambda: numbers(3).repeat(MOST).skip(3 * MOST - 1), [2]),
    "skip in an endless repeat": (lambda: numbers(3).repeat().skip(2**62).take(2), [1, 2]),
    "take": (lambda: numbers(3).take(MOST), [0, 1, 2]),
    "skip": (lambda: numbers(3).skip(2**62), []),
    "num_samples": (
        lambda: ds.NumpySlicesDataset([0, 1, 2], "a", 2**62, shuffle=False), [0, 1, 2]
    ),
    "num_samples of an iterable": (
        lambda: ds.GeneratorDataset(lambda: iter(range(3)), "a", num_samples=2**62), [0, 1, 2]
    ),
    "shards": (lambda: chosen(ds.DistributedSampler(2**62, 1, shuffle=False)), [1]),
    "offset": (
        lambda: chosen(ds.DistributedSampler(2**62, 1, shuffle=False, offset=2**62 - 1)), [2]
    ),
    "SequentialSampler": (lambda: chosen(ds.SequentialSampler(2, 2**62)), [2]),
    "SubsetSampler": (lambda: chosen(ds.SubsetSampler([2], 2**62)), [2]),
    "large weights": (
        lambda: chosen(ds.WeightedRandomSampler([1.7e308] * 3, 2**62, replacement=False)), {0, 1, 2}
    ),
    "small weights": (
        lambda: chosen(ds.WeightedRandomSampler([0, 5e-324, 5e-324], replacement=False)), {1, 2}
    ),
    "weights of integers": (
        lambda: chosen(ds.WeightedRandomSampler([2**1023, 0, 2**1023], replacement=False)), {0, 2}
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", EXTREMES)
def test_extreme_arguments_are_valid_and_take_little_memory(kind: str) -> None:
    make, expected = EXTREMES[kind]

    def read() -> None:
        data = make()
        values = [row[0] for row in rows(data)]
        assert len(values) == data.get_dataset_size()
        assert (set(values) if isinstance(expected, set) else values) == expected

    assert peak_of(read) < 2**21


def test_rows_per_class_beyond_num_samples_are_not_drawn() -> None:
    labels = np.array([3, 1, 3])
    key = EpochKey(1, seeded=True)
    few = ds.PKSampler(4).indices_by_label(labels, key)
    assert few[:3].tolist() == ds.PKSampler(4, num_samples=3).indices_by_label(labels, key).tolist()
    most = ds.PKSampler(MOST, num_samples=3)
    assert peak_of(lambda: most.indices_by_label(labels, key)) < 2**20
