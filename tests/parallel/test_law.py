"""The law: so many processes do what one does with the batches of all, whatever the sizes."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import cast

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import minispore as ms
from minispore.dataset import Dataset, NumpySlicesDataset
from minispore.dataset._dealt import dealt
from minispore.train import History
from tests.parallel.learning import EPOCHS, Case, Weights, model, network, weights
from tests.parallel.threads import play

COUNTS = st.sampled_from([1, 2, 3, 4])
ROWS = st.integers(1, 30)
CASES = st.builds(
    lambda rows, each, shuffle, drop: Case(rows, 4 * each, shuffle, drop),
    *(ROWS, st.integers(1, 2), st.booleans(), st.booleans()),
)


@given(ROWS, COUNTS, st.integers(1, 4), st.booleans(), st.booleans(), st.integers(0, 30))
def test_the_parts_of_a_step_are_the_batch_of_one_process(
    rows: int, count: int, each: int, shuffle: bool, drop: bool, before: int
) -> None:
    """Wherever one goes on."""
    ms.set_seed(3)
    numbers = np.arange(rows)

    def prepared(data: Dataset, size: int) -> Dataset:
        return data.map(lambda x: -x).batch(size, drop)

    whole = prepared(NumpySlicesDataset(numbers, shuffle=shuffle), count * each)
    shards = _dealt(
        [
            prepared(
                NumpySlicesDataset(numbers, shuffle=shuffle, num_shards=count, shard_id=i), each
            )
            for i in range(count)
        ]
    )
    expected = _batches(whole)
    steps = [_row_by_row(step) for step in zip(*map(_batches, shards), strict=True)]
    assert steps == expected
    rest = [_batches(shard, before) for shard in shards]
    assert [_row_by_row(step) for step in zip(*rest, strict=True)] == expected[before:]


@given(CASES, COUNTS.filter(lambda count: count != 3))
def test_so_many_processes_train_what_one_does(case: Case, count: int) -> None:
    assume(not case.drop or case.rows >= case.batch)
    alone, losses = model(), History()
    ms.set_seed(1)
    alone.train(EPOCHS, case.whole(), losses)
    # Each begins with other weights, and has those of the first.
    networks = [network(seed) for seed in range(count)]
    ms.set_seed(1)

    def program(rank: int) -> tuple[Weights, list[float]]:
        trained, told = model(net=networks[rank]), History()
        trained.train(EPOCHS, case.shard(rank, count), told)
        return weights(trained), _losses(told)

    for found, told in play(count, program):
        np.testing.assert_allclose(found, weights(alone), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(told, _losses(losses), rtol=1e-4)


def _losses(history: History) -> list[float]:
    return [float(cast("float", each)) for each in history.history["net_output"]]


def _batches(data: Dataset, start: int = 0) -> list[list[int]]:
    """Of two epochs, but for the first so many."""
    epoch, taken = divmod(start, max(1, len(data)))
    found = data.create_tuple_iterator(num_epochs=2, output_numpy=True)
    place = {"epoch": epoch, "taken": taken} if epoch < 2 else {"epoch": 2, "taken": 0}
    found.load_state_dict(found.state_dict() | place)
    return [batch.tolist() for _ in range(epoch, 2) for (batch,) in found]


def _dealt(shards: Sequence[Dataset]) -> list[Dataset]:
    """The shards as the processes of a training agree on them."""
    sizes: list[int] = []

    def note(size: int, drop_remainder: bool) -> int:
        del drop_remainder
        sizes.append(size)
        return size

    for shard in shards:
        dealt(shard, note)
    return [dealt(shard, lambda _, drop: min(sizes) if drop else max(sizes)) for shard in shards]


def _row_by_row(parts: Sequence[list[int]]) -> list[int]:
    return [row for rows in zip_longest(*parts) for row in rows if row is not None]
