"""Data-parallel processes train like one process with the joined batches, for all sizes."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import cast

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import minispore as ms
from minispore.dataset import Dataset, NumpySlicesDataset
from minispore.dataset.sharding import shard_evenly
from minispore.train import History
from tests.distributed.small_training import EPOCHS, Case, Weights, model, network, weights
from tests.distributed.threaded_communicator import run_in_threads

COUNTS = st.sampled_from([1, 2, 3, 4])
ROWS = st.integers(1, 30)
CASES = st.builds(
    lambda rows, local, shuffle, drop: Case(rows, 4 * local, shuffle, drop),
    *(ROWS, st.integers(1, 2), st.booleans(), st.booleans()),
)


@given(ROWS, COUNTS, st.integers(1, 4), st.booleans(), st.booleans(), st.integers(0, 30))
def test_shards_of_step_form_single_process_batch(
    rows: int, count: int, local: int, shuffle: bool, drop: bool, before: int
) -> None:
    """From any position, the joined batches of all shards equal those of one process."""
    ms.set_seed(3)
    numbers = np.arange(rows)

    def prepared(data: Dataset, size: int) -> Dataset:
        return data.map(lambda x: -x).batch(size, drop)

    whole = prepared(NumpySlicesDataset(numbers, shuffle=shuffle), count * local)
    shards = _dealt(
        [
            prepared(
                NumpySlicesDataset(numbers, shuffle=shuffle, num_shards=count, shard_id=i), local
            )
            for i in range(count)
        ]
    )
    expected = _batches(whole)
    steps = [_row_by_row(step) for step in zip(*map(_batches, shards), strict=True)]
    assert steps == expected
    remaining = [_batches(shard, before) for shard in shards]
    assert [_row_by_row(step) for step in zip(*remaining, strict=True)] == expected[before:]


@given(CASES, COUNTS.filter(lambda count: count != 3))
def test_processes_train_like_one_process(case: Case, count: int) -> None:
    assume(not case.drop or case.rows >= case.batch)
    single, losses = model(), History()
    ms.set_seed(1)
    single.train(EPOCHS, case.whole(), losses)
    # Each begins with other weights, and has those of the first.
    networks = [network(seed) for seed in range(count)]
    ms.set_seed(1)

    def program(rank: int) -> tuple[Weights, list[float]]:
        trained, history = model(net=networks[rank]), History()
        trained.train(EPOCHS, case.shard(rank, count), history)
        return weights(trained), _losses(history)

    for result, history in run_in_threads(count, program):
        np.testing.assert_allclose(result, weights(single), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(history, _losses(losses), rtol=1e-4)


def _losses(history: History) -> list[float]:
    return [float(cast("float", output)) for output in history.history["net_output"]]


def _batches(data: Dataset, start: int = 0) -> list[list[int]]:
    """Return the batches of two epochs without the first ones."""
    epoch, taken = divmod(start, max(1, len(data)))
    result = data.create_tuple_iterator(num_epochs=2, output_numpy=True)
    position = {"epoch": epoch, "taken": taken} if epoch < 2 else {"epoch": 2, "taken": 0}
    result.load_state_dict(result.state_dict() | position)
    return [batch.tolist() for _ in range(epoch, 2) for (batch,) in result]


def _dealt(shards: Sequence[Dataset]) -> list[Dataset]:
    """Return the shards that the processes of a training use."""
    sizes: list[int] = []

    def note(size: int, drop_remainder: bool) -> int:
        del drop_remainder
        sizes.append(size)
        return size

    for shard in shards:
        shard_evenly(shard, note)
    return [
        shard_evenly(shard, lambda _, drop: min(sizes) if drop else max(sizes)) for shard in shards
    ]


def _row_by_row(parts: Sequence[list[int]]) -> list[int]:
    return [row for rows in zip_longest(*parts) for row in rows if row is not None]
