"""The graph and the walk back through it, by what is seen of them from outside."""

import gc
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from minispore import Parameter, Tensor, grad, nn, ops, value_and_grad
from minispore._array import Array
from minispore._autograd import Node, is_recording, record, walk


def counted_chain(length: int) -> tuple[int, int]:
    """How often pullbacks and additions ran on the way back through a ladder of diamonds."""
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
    found = walk([(node, 1.0)], {first.number}, 0, lambda n: n.pullbacks, add)  # type: ignore[arg-type,return-value]
    assert found == {first.number: 1.0}
    return pulled[0], added[0]


@pytest.mark.parametrize("length", [0, 1, 10, 1000])
def test_each_edge_is_walked_once(length: int) -> None:
    """A ladder of n diamonds has 2ⁿ paths, and 2n edges."""
    assert counted_chain(length) == (2 * length, length)


def test_nodes_are_visited_from_the_latest_to_the_earliest() -> None:
    seen: list[str] = []

    def note(name: str) -> Callable[[Array], Array]:
        def pull(g: Array) -> Array:
            seen.append(name)
            return g

        return pull

    x = Node()
    a = Node((x,), (note("a"),))
    b = Node((x,), (note("b"),))
    c = Node((a,), (note("c"),))
    d = Node((b, c), (note("d to b"), note("d to c")))
    walk([(d, 1.0)], {x.number}, 0, lambda n: n.pullbacks, lambda p, q: p + q)  # type: ignore[arg-type,return-value]
    assert seen == ["d to b", "d to c", "c", "b", "a"]


def test_nodes_from_before_are_constants_unless_wanted() -> None:
    old = Node()
    since = Node().number
    y = Node((old,), (lambda g: g,))
    assert walk([(y, 1.0)], set(), since, lambda n: n.pullbacks, min) == {}  # type: ignore[arg-type,return-value]
    wanted = {old.number}
    found = walk([(y, 1.0)], wanted, since, lambda n: n.pullbacks, min)  # type: ignore[arg-type,return-value]
    assert found == {old.number: 1.0}


@pytest.mark.parametrize("depth", [200_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_deep_chain_needs_no_stack(depth: int) -> None:
    step = Tensor(np.float64(1.0 + 1e-6))

    def chain(x: Tensor) -> Tensor:
        for _ in range(depth):
            x = x * step
        return x

    value, slope = value_and_grad(chain)(Tensor(np.float64(1.0)))
    assert abs(float(value) / float(slope) - 1) < 1e-9


def test_nothing_is_recorded_outside_of_a_differentiation() -> None:
    weight = Parameter(Tensor([1.0]))
    assert (weight * 2.0)._node is None
    assert not is_recording()
    grad(nn.Identity())(Tensor([1.0]))
    assert not is_recording()


def test_recording_ends_with_an_exception() -> None:
    weight = Tensor([1.0])

    def fails(x: Tensor) -> Tensor:
        raise KeyError(float((x * weight).item()))

    with pytest.raises(KeyError):
        grad(fails, 0, [weight])(Tensor([1.0]))
    assert not is_recording()
    assert weight._node is None


def test_recording_can_be_turned_off_within() -> None:
    with record():
        assert is_recording()
        with record(on=False):
            assert not is_recording()
        assert is_recording()


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


def test_a_write_in_a_worker_thread_is_recorded() -> None:
    def fn(x: Tensor) -> Tensor:
        y = x * 1.0

        def write() -> None:
            y[0] = x[1] * 5.0

        worker = threading.Thread(target=write)
        worker.start()
        worker.join()
        return y.sum()

    assert grad(fn)(Tensor([1.0, 2.0])).tolist() == [0.0, 6.0]


def test_other_threads_keep_their_memory_during_a_differentiation() -> None:
    """A thread with nothing to differentiate writes in place, whatever another one does."""
    plain, seen = Tensor([1.0, 2.0]), list[object]()

    def fn(x: Tensor) -> Tensor:
        def write() -> None:
            plain[0:1][0] = 5
            seen.append(plain.tolist())

        worker = threading.Thread(target=write)
        worker.start()
        worker.join()
        return x

    grad(fn)(Tensor([1.0]))
    assert seen == [[5.0, 2.0]]


def test_threads_differentiate_beside_one_another() -> None:
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


def test_outputs_do_not_keep_the_graph_alive() -> None:
    kept: list[weakref.ref[Tensor]] = []

    def f(x: Tensor) -> tuple[Tensor, dict[str, list[Tensor]]]:
        y = ops.exp(x)
        kept.append(weakref.ref(y))
        return ops.sum(y * y), {"more": [y + 1.0]}

    (value, aux), slope = value_and_grad(f, has_aux=True)(Tensor([1.0, 2.0]))
    assert value._node is None
    assert aux["more"][0]._node is None
    assert slope._node is None
    gc.collect()
    assert kept[0]() is None


def test_gradients_are_writable_and_share_no_memory() -> None:
    x, y = Tensor(np.ones((2, 3))), Tensor(np.ones((2, 3)))
    by = (0, 1)
    functions: list[Callable[[Tensor, Tensor], Tensor]] = [
        lambda x, y: x + y,
        lambda x, y: ops.sum(x + y),
        lambda x, y: ops.reshape(x, (6,)) + ops.reshape(y, (6,)),
        lambda x, y: ops.concat([x, y]),
        lambda x, y: ops.mean(x) + y,
        lambda x, y: x.T @ y,
        lambda x, y: x,
    ]
    for f in functions:
        first, second = (g.asnumpy() for g in grad(f, by)(x, y))
        assert first.flags.writeable
        assert second.flags.writeable
        assert not np.shares_memory(first, second)
        assert not np.shares_memory(first, x.asnumpy())
        assert not np.shares_memory(second, y.asnumpy())


def test_a_gradient_to_start_from_is_not_handed_back() -> None:
    sens = Tensor(np.ones(3))
    back = ops.GradOperation(sens_param=True)(nn.Identity())(Tensor(np.zeros(3)), sens)
    assert isinstance(back, Tensor)
    assert not np.shares_memory(back.asnumpy(), sens.asnumpy())
