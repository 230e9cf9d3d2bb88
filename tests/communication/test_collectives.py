"""Collective operations with a simulated communicator."""

from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minispore as ms
from minispore import nn
from minispore.communication import _collectives, _group, _world
from minispore.engine import array as array_namespace
from minispore.train import Model
from tests.communication.echo_communicator import Array, EchoCommunicator, echo_world

ARRAYS = st.lists(
    st.sampled_from([np.float32, np.float64, np.float16, np.int32]).flatmap(
        lambda kind: hnp.arrays(
            kind, hnp.array_shapes(min_dims=0, max_dims=3), elements=st.integers(-9, 9)
        )
    ),
    max_size=7,
)


@given(st.lists(st.sampled_from(["f2", "f4"]), min_size=2), st.sampled_from([4, 8]), st.data())
def test_messages_are_as_large_as_the_buffer_allows(
    kinds: list[str], buffer: int, data: st.DataObject
) -> None:
    dtypes = [np.dtype(kind) for kind in kinds]
    sizes = [data.draw(st.integers(0, 3)) for _ in kinds]
    messages = list(_collectives._buckets(dtypes, sizes, buffer))
    assert sorted(i for _, indices in messages for i in indices) == list(range(len(kinds)))
    lengths = [sum(sizes[i] for i in indices) * dtype.itemsize for dtype, indices in messages]
    for (dtype, indices), length in zip(messages, lengths, strict=True):
        assert {dtypes[i] for i in indices} == {dtype}
        assert length <= buffer or len(indices) == 1
    for (dtype, _), (other, following), length in zip(
        messages, messages[1:], lengths, strict=False
    ):
        assert dtype != other or length + sizes[following[0]] * dtype.itemsize > buffer


@given(st.lists(st.sampled_from("abc"), max_size=9))
def test_shortened_lists_have_the_first_five_texts(texts: list[str]) -> None:
    shown, _, omitted = _collectives.shortened(texts, ", ").partition(" and ")
    assert shown == ", ".join(texts[:5])
    assert omitted == (f"{len(texts) - 5} more" if len(texts) > 5 else "")


@given(ARRAYS, st.integers(1, 200))
def test_collectives_keep_shapes_types_and_operands(arrays: list[Array], buffer: int) -> None:
    echo = EchoCommunicator()
    _world._world.append(echo_world(echo))
    _group.members.append(_world._world[0])
    try:
        copies = [array.copy() for array in arrays]
        sums, received = (
            cast("list[Array]", result)
            for result in (
                _collectives.all_reduce_sum(
                    cast("list[array_namespace.Array]", arrays), bucket_bytes=buffer
                ),
                _collectives.broadcast(cast("list[array_namespace.Array]", arrays)),
            )
        )
    finally:
        _world._world.clear()
        _group.members.clear()
    for array, before, total, same in zip(arrays, copies, sums, received, strict=True):
        np.testing.assert_array_equal(array, before)
        halves = array.dtype == np.float16
        assert total.dtype == (np.float32 if halves else array.dtype)
        assert total.shape == array.shape
        np.testing.assert_array_equal(total, np.asarray(array, np.float64) * 3)
        np.testing.assert_array_equal(same, array, strict=True)
        assert not np.shares_memory(total, array)
    # Arrays of one type that fit into one message are not sent in two.
    assert len(echo.messages) <= len(arrays)
    kinds = {a.dtype for a in arrays}
    if buffer == 200 and len(kinds) == 1 and sum(a.nbytes for a in arrays) < 50:
        assert len(echo.messages) == 1


def test_data_parallel_without_init_raises() -> None:
    ms.set_auto_parallel_context(parallel_mode="data_parallel")
    net = nn.Dense(2, 1)
    try:
        with pytest.raises(RuntimeError, match=r"minispore\.communication\.init\(\)"):
            Model(net, nn.MSELoss(), nn.SGD(net.trainable_params()))
    finally:
        ms.reset_auto_parallel_context()
