"""The graph and the backward pass, by their effects on gradients."""

import gc
import sys
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Parameter, Tensor, grad, nn, ops, value_and_grad
from minispore.engine.array import Array
from minispore.engine.graph import Node, backward_pass, is_recording, record


def counted_chain(length: int) -> tuple[int, int]:
    """Count pullbacks and additions of the backward pass through a ladder of diamonds."""
    pulled = [0]
    added = [0]

    def pull(g: Array) -> Array:
        pulled[0] += 1
        return g

    def add(x: float, y: float) -> float:
        added[0] += 1
        return (x + y) / 2

    first = node = Node()
    for _ in range(length):
        node = Node((node, node), (pull, pull))
    gradients = backward_pass([(node, 1.0)], {first.number}, 0, lambda n: n.pullbacks, add)  # type: ignore[arg-type,return-value]
    assert gradients == {first.number: 1.0}
    return pulled[0], added[0]


@given(st.integers(0, 60))
def test_backward_pass_visits_each_edge_once(length: int) -> None:
    """A ladder of n diamonds has 2ⁿ paths, and 2n edges."""
    assert counted_chain(length) == (2 * length, length)


def test_nodes_are_visited_in_descending_order() -> None:
    visited: list[str] = []

    def note(name: str) -> Callable[[Array], Array]:
        def pull(g: Array) -> Array:
            visited.append(name)
            return g

        return pull

    x = Node()
    a = Node((x,), (note("a"),))
    b = Node((x,), (note("b"),))
    c = Node((a,), (note("c"),))
    d = Node((b, c), (note("d to b"), note("d to c")))
    backward_pass([(d, 1.0)], {x.number}, 0, lambda n: n.pullbacks, lambda p, q: p + q)  # type: ignore[arg-type,return-value]
    assert visited == ["d to b", "d to c", "c", "b", "a"]


@pytest.mark.parametrize(
    "depth",
    [
        5_000,
        pytest.param(200_000, marks=pytest.mark.full),
        pytest.param(1_000_000, marks=pytest.mark.slow),
    ],
)
def test_deep_graph_does_not_recurse(depth: int) -> None:
    """Neither in Python nor, when the nodes are freed, in C."""
    assert depth > 4 * sys.getrecursionlimit()
    step = Tensor(np.float64(1.0 + 1e-6))

    def chain(x: Tensor) -> Tensor:
        for _ in range(depth):
            x = x * step
        return x

    value, gradient = value_and_grad(chain)(Tensor(np.float64(1.0)))
    assert abs(float(value) / float(gradient) - 1) < 1e-9


def test_operations_outside_of_record_are_not_recorded() -> None:
    weight = Parameter(Tensor([1.0]))
    assert (weight * 2.0)._node is None
    assert not is_recording()
    grad(nn.Identity())(Tensor([1.0]))
    assert not is_recording()


def test_recording_ends_after_an_exception() -> None:
    weight = Tensor([1.0])

    def fails(x: Tensor) -> Tensor:
        raise KeyError(float((x * weight).item()))

    with pytest.raises(KeyError):
        grad(fails, 0, [weight])(Tensor([1.0]))
    assert not is_recording()
    assert weight._node is None


@given(st.lists(st.booleans(), max_size=5), st.booleans())
def test_innermost_call_of_record_decides(calls: list[bool], fails: bool) -> None:
    """Also after a call that raised an error; a thread without calls follows any."""

    def check(expected: bool, inner: list[bool], depth: int, pool: ThreadPoolExecutor) -> None:
        def stop() -> None:
            assert is_recording() != expected
            if fails:
                raise KeyError

        assert is_recording() == expected
        assert pool.submit(is_recording).result() == (depth > 0)
        with suppress(KeyError):
            record(stop, on=not expected)
        assert is_recording() == expected
        if inner:
            record(lambda: check(inner[0], inner[1:], depth + 1, pool), on=inner[0])
            assert is_recording() == expected

    with ThreadPoolExecutor(1) as pool:
        check(False, calls, 0, pool)


def test_operations_in_worker_threads_are_recorded() -> None:
    weight = Parameter(Tensor([2.0]))

    def fn(x: Tensor) -> Tensor:
        with ThreadPoolExecutor(2) as pool:
            of_inputs = list(pool.map(lambda k: x * x * float(k), range(1, 4)))
            of_weights = pool.submit(lambda: weight * weight * 3.0).result()
            inner = pool.submit(lambda: grad(lambda y: y * y * y)(x)).result()
        return of_inputs[0] + of_inputs[1] + of_inputs[2] + of_weights + inner

    # 6 x² + 3 w² + 3 x²
    assert grad(fn)(Tensor([3.0])).tolist() == [2 * 6 * 3.0 + 2 * 3 * 3.0]
    (by_weight,) = grad(fn, None, [weight])(Tensor([3.0]))
    assert by_weight.tolist() == [2 * 3 * 2.0]


def test_in_place_write_in_worker_thread_is_recorded() -> None:
    def fn(x: Tensor) -> Tensor:
        y = x * 1.0

        def write() -> None:
            y[0] = x[1] * 5.0

        worker = threading.Thread(target=write)
        worker.start()
        worker.join()
        return y.sum()

    assert grad(fn)(Tensor([1.0, 2.0])).tolist() == [0.0, 6.0]


def test_other_threads_write_in_place_during_recording() -> None:
    """A thread without `record` writes in place while another one records."""
    plain, values = Tensor([1.0, 2.0]), list[object]()

    def fn(x: Tensor) -> Tensor:
        def write() -> None:
            plain[0:1][0] = 5
            values.append(plain.tolist())

        worker = threading.Thread(target=write)
        worker.start()
        worker.join()
        return x

    grad(fn)(Tensor([1.0]))
    assert values == [[5.0, 2.0]]


def test_threads_differentiate_concurrently() -> None:
    results: dict[int, float] = {}

    def work(n: int) -> None:
        def power(x: Tensor) -> Tensor:
            y = x
            for _ in range(n):
                y = y * x
                time.sleep(0)
            return y

        results[n] = float(grad(power)(Tensor(np.float64(1.0))))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: n + 1.0 for n in range(1, 9)}


@given(st.lists(st.booleans(), min_size=3, max_size=3))
def test_constant_operands_have_no_pullback(differentiated: list[bool]) -> None:
    """What their pullbacks would keep alive is freed."""
    nodes: list[Node] = []

    def fn(x: Tensor) -> Tensor:
        a, b, c = (x if varies else Tensor(np.ones((1, 1))) for varies in differentiated)
        results = (a * b, ops.where(Tensor([[True]]), b, c), ops.dense(a, b, c[0]))
        nodes.extend(y._node for y in results if y._node is not None)
        return x

    grad(fn)(Tensor(np.ones((1, 1))))
    assert len(nodes) == sum(map(any, (differentiated[:2], differentiated[1:], differentiated)))
    for node in nodes:
        assert [p is None for p in node.pullbacks] == [n is None for n in node.parents]


def test_gradient_that_a_users_rule_keeps_is_not_returned() -> None:
    stored: list[Array] = []

    def rule(x: Array) -> tuple[Array, tuple[Callable[[Array], Array]]]:
        def pullback(g: Array) -> Array:
            stored.append(g)
            return g

        return x, (pullback,)

    gradient = grad(lambda x: ops.apply_rule(rule, x) * 2.0)(Tensor([1.0]))
    assert stored
    assert not any(np.shares_memory(gradient.asnumpy(), np.asarray(g)) for g in stored)


def test_outputs_do_not_keep_the_graph_alive() -> None:
    references: list[weakref.ref[Tensor]] = []

    def f(x: Tensor) -> tuple[Tensor, dict[str, list[Tensor]]]:
        y = ops.exp(x)
        references.append(weakref.ref(y))
        return ops.sum(y * y), {"more": [y + 1.0]}

    (value, aux), gradient = value_and_grad(f, has_aux=True)(Tensor([1.0, 2.0]))
    assert value._node is None
    assert aux["more"][0]._node is None
    assert gradient._node is None
    gc.collect()
    assert references[0]() is None


FUNCTIONS: list[Callable[[Tensor, Tensor], Tensor]] = [
    lambda x, y: x + y,
    lambda x, y: ops.sum(x + y),
    lambda x, y: ops.reshape(x, (-1,)) + ops.reshape(y, (-1,)),
    lambda x, y: ops.concat([x, y]),
    lambda x, y: ops.mean(x) + y,
    lambda x, y: x.T @ y,
    lambda x, y: x,
]


@pytest.mark.parametrize("function", FUNCTIONS)
@given(st.tuples(st.integers(1, 3), st.integers(1, 3)))
def test_gradients_are_writable_and_do_not_share_memory(
    function: Callable[[Tensor, Tensor], Tensor], shape: tuple[int, int]
) -> None:
    x, y = Tensor(np.ones(shape)), Tensor(np.ones(shape))
    arrays = [g.asnumpy() for g in grad(function, (0, 1))(x, y)]
    assert all(array.flags.writeable for array in arrays)
    for first, second in combinations([*arrays, x.asnumpy(), y.asnumpy()], 2):
        assert not np.shares_memory(first, second)


def test_seed_gradient_is_not_returned_as_gradient() -> None:
    sens = Tensor(np.full(3, 2.0))
    back = ops.GradOperation(sens_param=True)(nn.Identity())(Tensor(np.zeros(3)), sens)
    assert isinstance(back, Tensor)
    assert back.tolist() == sens.tolist()
    assert not np.shares_memory(back.asnumpy(), sens.asnumpy())
