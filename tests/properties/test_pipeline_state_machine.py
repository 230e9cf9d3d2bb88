"""Random programs of the data API: a dataset gives the rows that plain Python lists would."""
# Functions of users carry no types; the lambdas here stand for them.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, multiple, rule

import minispore.dataset as ds
from minispore.utils.checks import as_items
from tests.helpers.list_model import (
    Modelled,
    Row,
    Running,
    changed,
    doubled,
    is_kept,
    padded,
    plain,
)

# Repeats of repeats would take long, as would what joins itself to itself.
MOST_ROWS = 50
MOST_LEAVES = 6
# What a rule makes that has nothing to make it of.
NOTHING = cast("object", multiple())
names = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True).map(tuple)
few, any_number = st.integers(1, 4), st.integers(0, 99)


def slices(columns: tuple[str, ...], first: list[int]) -> Modelled:
    rows: list[Row] = [tuple(x + i for i in range(len(columns))) for x in first]
    data = {name: [row[i] for row in rows] for i, name in enumerate(columns)}
    return Modelled(ds.NumpySlicesDataset(data, shuffle=False), columns, rows, stored=rows)


def axes(value: object) -> int:
    """How many axes nested lists have."""
    items = as_items(value)
    return 0 if items is None else 1 + (axes(items[0]) if items else 0)


class Pipelines(RuleBasedStateMachine):
    """A user who makes datasets of datasets, and reads from several iterators side by side."""

    sources = Bundle("sources")
    made = Bundle("made")
    running = Bundle("running")

    @initialize(target=sources, columns=names, first=st.lists(any_number, min_size=1, max_size=8))
    def numpy_slices(self, columns: tuple[str, ...], first: list[int]) -> Modelled:
        return slices(columns, first)

    @rule(of=sources, numbers=st.lists(any_number, min_size=1, max_size=5))
    def use_sampler(self, of: Modelled, numbers: list[int]) -> None:
        """It changes the source itself, but nothing that was made of it before."""
        assert isinstance(of.dataset, ds.NumpySlicesDataset)
        indices = [number % len(of.stored) for number in numbers]
        of.dataset.use_sampler(indices)
        of.rows = [of.stored[i] for i in indices]
        of.check()

    @rule(target=made, of=sources)
    def as_it_is(self, of: Modelled) -> Modelled:
        return replace(of, dataset=of.dataset.project(list(of.columns)))

    @initialize(target=made, columns=names, first=st.lists(any_number, min_size=1, max_size=8))
    def begin(self, columns: tuple[str, ...], first: list[int]) -> Modelled:
        return slices(columns, first)

    @rule(target=made, columns=names, first=st.lists(any_number, max_size=8))
    def generator(self, columns: tuple[str, ...], first: list[int]) -> Modelled:
        rows: list[Row] = [tuple(x * (i + 1) for i in range(len(columns))) for x in first]

        def give() -> Iterator[Row]:
            return iter(rows)

        return Modelled(ds.GeneratorDataset(give, list(columns)), columns, rows)

    @rule(target=made, of=made, n=few)
    def take(self, of: Modelled, n: int) -> object:
        if not of.ordered:
            return NOTHING
        return replace(of, dataset=of.dataset.take(n), rows=of.rows[:n])

    @rule(target=made, of=made, n=few)
    def skip(self, of: Modelled, n: int) -> object:
        if not of.ordered:
            return NOTHING
        return replace(of, dataset=of.dataset.skip(n), rows=of.rows[n:])

    @rule(target=made, of=made, n=few)
    def repeat(self, of: Modelled, n: int) -> object:
        if n * len(of.rows) > MOST_ROWS:
            return NOTHING
        return replace(of, dataset=of.dataset.repeat(n), rows=of.rows * n)

    @rule(target=made, of=made, n=st.integers(1, 20))
    def repeat_without_end_and_take(self, of: Modelled, n: int) -> object:
        if not of.ordered:
            return NOTHING
        return replace(of, dataset=of.dataset.repeat().take(n), rows=(of.rows * n)[:n])

    @rule(target=made, of=made, n=st.integers(2, 20))
    def shuffle(self, of: Modelled, n: int) -> Modelled:
        return replace(of, dataset=of.dataset.shuffle(n), ordered=False)

    @rule(target=made, of=made, n=few, drop=st.booleans())
    def batch(self, of: Modelled, n: int, drop: bool) -> object:
        if not (of.ordered and of.can_be_batched()):
            return NOTHING
        count = len(of.rows) // n if drop else -(-len(of.rows) // n)
        parts = [of.rows[i * n : (i + 1) * n] for i in range(count)]
        rows: list[Row] = [tuple(map(list, zip(*part, strict=True))) for part in parts]
        return replace(of, dataset=of.dataset.batch(n, drop), rows=rows)

    @rule(target=made, of=made, n=few, drop=st.booleans())
    def padded_batch(self, of: Modelled, n: int, drop: bool) -> object:
        if not of.ordered or len({tuple(map(axes, row)) for row in of.rows}) > 1:
            return NOTHING
        count = len(of.rows) // n if drop else -(-len(of.rows) // n)
        rows = [padded(of.rows[i * n : (i + 1) * n]) for i in range(count)]
        return replace(of, dataset=of.dataset.padded_batch(n, drop, pad_info={}), rows=rows)

    @rule(target=made, of=made, which=any_number, sizes=st.tuples(few, few), drop=st.booleans())
    def bucket_batch(self, of: Modelled, which: int, sizes: tuple[int, int], drop: bool) -> object:
        if not of.ordered or len({tuple(map(axes, row)) for row in of.rows}) > 1:
            return NOTHING
        name, place = of.column(which), which % len(of.columns)
        buckets: tuple[list[Row], list[Row]] = [], []
        rows: list[Row] = []
        for row in of.rows:
            number = is_kept(row[place])
            buckets[number].append(row)
            if len(buckets[number]) == sizes[number]:
                rows.append(padded(buckets[number]))
                buckets[number].clear()
        rows += [padded(bucket) for bucket in buckets if bucket and not drop]
        dataset = of.dataset.bucket_batch_by_length(
            [name], [1], sizes, is_kept, drop_remainder=drop
        )
        return replace(of, dataset=dataset, rows=rows)

    @rule(target=made, of=made, which=any_number)
    def map_one(self, of: Modelled, which: int) -> Modelled:
        name = of.column(which)
        place = of.columns.index(name)
        rows = [changed(row, place, doubled(row[place])) for row in of.rows]
        return replace(of, dataset=of.dataset.map(lambda x: 2 * x + 1, name), rows=rows)

    @rule(target=made, of=made, which=any_number)
    def map_one_to_two(self, of: Modelled, which: int) -> object:
        """As many outputs as inputs stay in their place; others go first."""
        name, place = of.column(which), which % len(of.columns)
        if {"e", "f"} & set(of.columns):
            return NOTHING
        dataset = of.dataset.map(lambda x: (x, 2 * x + 1), name, ["e", "f"])
        without = [row[:place] + row[place + 1 :] for row in of.rows]
        rows = [
            (row[place], doubled(row[place]), *others)
            for row, others in zip(of.rows, without, strict=True)
        ]
        columns = ("e", "f", *(other for other in of.columns if other != name))
        return replace(of, dataset=dataset, columns=columns, rows=rows)

    @rule(target=made, of=made, which=any_number)
    def filter(self, of: Modelled, which: int) -> Modelled:
        name, place = of.column(which), which % len(of.columns)
        rows = [row for row in of.rows if is_kept(row[place])]
        return replace(of, dataset=of.dataset.filter(is_kept, name), rows=rows)

    @rule(target=made, of=made, to=names)
    def rename(self, of: Modelled, to: tuple[str, ...]) -> object:
        given = list(zip(of.columns, to, strict=False))
        columns = (*(new for _, new in given), *of.columns[len(given) :])
        if len(set(columns)) < len(columns):
            return NOTHING
        dataset = of.dataset.rename([old for old, _ in given], [new for _, new in given])
        return replace(of, dataset=dataset, columns=columns)

    @rule(target=made, of=made, data=st.data())
    def project(self, of: Modelled, data: st.DataObject) -> Modelled:
        chosen = data.draw(st.lists(st.sampled_from(of.columns), min_size=1, unique=True))
        places = [of.columns.index(name) for name in chosen]
        rows = [tuple(row[i] for i in places) for row in of.rows]
        return replace(of, dataset=of.dataset.project(chosen), columns=tuple(chosen), rows=rows)

    @rule(target=made, one=made, other=made)
    def zip(self, one: Modelled, other: Modelled) -> object:
        leaves = one.leaves + other.leaves
        if not (one.ordered and other.ordered) or set(one.columns) & set(other.columns):
            return NOTHING
        rows = [(*a, *b) for a, b in zip(one.rows, other.rows, strict=False)]
        dataset, columns = one.dataset.zip(other.dataset), one.columns + other.columns
        return Modelled(dataset, columns, rows, leaves=leaves) if leaves <= MOST_LEAVES else NOTHING

    @rule(target=made, one=made, other=made)
    def concat(self, one: Modelled, other: Modelled) -> object:
        rows, leaves = one.rows + other.rows, one.leaves + other.leaves
        if one.columns != other.columns or len(rows) > MOST_ROWS or leaves > MOST_LEAVES:
            return NOTHING
        if len({tuple(map(axes, row)) for row in rows}) > 1:
            return NOTHING  # they are refused
        ordered = one.ordered and other.ordered
        dataset = one.dataset + other.dataset
        return Modelled(dataset, one.columns, rows, ordered, leaves=leaves)

    @rule(target=made, of=made | sources, first=any_number, randomize=st.booleans())
    def split(self, of: Modelled, first: int, randomize: bool) -> object:
        """Each part is looked at where rows keep their order, and all together where not."""
        count, leaves = len(of.rows), 2 * of.leaves
        if count < 2 or leaves > MOST_LEAVES:
            return NOTHING
        cut = 1 + first % (count - 1)
        one, other = of.dataset.split([cut, count - cut], randomize)
        if not of.ordered or randomize:
            return Modelled(one + other, of.columns, of.rows, ordered=False, leaves=leaves)
        first_rows, other_rows = of.rows[:cut], of.rows[cut:]
        return multiple(
            replace(of, dataset=one, rows=first_rows), replace(of, dataset=other, rows=other_rows)
        )

    @rule(target=running, of=made | sources, epochs=few)
    def open(self, of: Modelled, epochs: int) -> object:
        if not of.ordered:
            return NOTHING
        # A sampler that a source is given later is not for this iterator.
        of = replace(of, dataset=of.dataset.project(list(of.columns)))
        iterator = of.dataset.create_tuple_iterator(num_epochs=epochs, output_numpy=True)
        return Running(of, iterator, list(of.rows), epochs)

    @rule(run=running, n=st.integers(1, 6))
    def read(self, run: Running, n: int) -> None:
        for _ in range(n):
            if run.ended == run.epochs:
                with pytest.raises(RuntimeError, match=f"has yielded its {run.epochs} epochs"):
                    next(run.iterator)
                return
            row = next(run.iterator, None)
            if row is not None:
                assert plain(row) == run.unread.pop(0)
                continue
            assert not run.unread
            run.ended += 1
            run.unread = list(run.of.rows)
            return

    @rule(target=running, run=running, epochs=few)
    def go_on_in_another_iterator(self, run: Running, epochs: int) -> object:
        """Its `num_epochs` counts the epochs before, too."""
        iterator = run.of.dataset.create_tuple_iterator(num_epochs=epochs, output_numpy=True)
        state = run.iterator.state_dict()
        begun = run.ended + (len(run.unread) < len(run.of.rows))
        if epochs < begun:
            with pytest.raises(
                ValueError, match=f"has begun {begun} epochs, but .* 'num_epochs' {epochs}, "
            ):
                iterator.load_state_dict(state)
            return replace(run, iterator=iterator, unread=list(run.of.rows), epochs=epochs, ended=0)
        iterator.load_state_dict(state)
        return replace(run, iterator=iterator, unread=list(run.unread), epochs=epochs)


Pipelines.TestCase.settings = settings(
    stateful_step_count=30, max_examples=2 * settings().max_examples
)
TestPipelines = Pipelines.TestCase


@pytest.mark.parametrize("epochs", [1, 2, 3])
@pytest.mark.parametrize("reads", [2, 3, 4])
def test_completed_epochs_count_towards_num_epochs(reads: int, epochs: int) -> None:
    state = Pipelines()
    run = state.open(epochs=2, of=state.begin(columns=("a",), first=[0]))
    for _ in range(reads):  # a row, the end of its epoch, and again
        state.read(n=1, run=run)
    other = state.go_on_in_another_iterator(run=run, epochs=epochs)
    state.read(n=1, run=other)
