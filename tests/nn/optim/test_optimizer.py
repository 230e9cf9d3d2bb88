"""Optimizers: in-place updates, names and state, learning rates, weight decay."""

import tracemalloc
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from minispore import Parameter, Tensor, float16, float32, float64, nn, ops
from minispore.common.dtype import DType
from minispore.nn.optim import optimizer as optimizer_module
from minispore.nn.optim.optimizer import Tiles
from tests.helpers.optimizer_cases import each_optimizer, gradients, optimizers, two


@each_optimizer
def test_updates_are_in_place_without_large_allocations(which: int) -> None:
    w = Parameter(ops.ones((1000, 1000)), name="w")
    optimizer = optimizers([w])[which]
    memory = w.asnumpy()
    gradient = ops.ones((1000, 1000))
    optimizer((gradient,))
    tracemalloc.start()
    optimizer((gradient,))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert np.shares_memory(w.asnumpy(), memory)
    assert peak < memory.nbytes / 20
    assert (gradient == 1).all()


@each_optimizer
def test_updates_do_not_depend_on_tile_size(which: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    first = rng.standard_normal((50, 30)).astype(np.float32)
    grads = [Tensor(rng.standard_normal((50, 30)).astype(np.float32)) for _ in range(3)]
    results: list[NDArray[np.generic]] = []
    for tile in (1 << 18, 100):
        monkeypatch.setattr(optimizer_module, "TILE", tile)
        w = Parameter(Tensor(first), name="w")
        optimizer = optimizers([w])[which]
        for gradient in grads:
            optimizer((gradient,))
        results.append(w.asnumpy())
    assert np.array_equal(results[0], results[1])


@each_optimizer
@pytest.mark.parametrize("dtype", [float16, float64])
def test_updates_keep_the_dtype(which: int, dtype: DType) -> None:
    w = Parameter(ops.ones((3,), dtype), name="w")
    optimizers([w])[which]((ops.ones((3,), dtype),))
    assert w.dtype is dtype


def test_state_names_match_mindspore_checkpoints() -> None:
    net = nn.Cell()
    net.d = nn.Dense(1, 1)
    params = net.trainable_params()

    def names(optimizer: nn.Optimizer) -> list[str]:
        return [p.name for p in optimizer.get_parameters()]

    trained = ["d.weight", "d.bias"]

    def state(*prefixes: str) -> list[str]:
        return [f"{prefix}.{name}" for prefix in prefixes for name in trained]

    sgd = ["momentum", *state("accum", "stat")]
    fixed = ["global_step", "learning_rate"]
    assert names(nn.SGD(params)) == [*fixed, *trained, *sgd]
    assert names(nn.SGD(params, [0.1])) == ["global_step", *trained, *sgd, "learning_rate"]
    assert names(nn.SGD(params, nn.WarmUpLR(0.1, 3))) == ["global_step", *trained, *sgd]
    groups: list[dict[str, object]] = [{"params": params[:1], "lr": 0.3}, {"params": params[1:]}]
    grouped = ["global_step", "learning_rate_group_0", "learning_rate"]
    assert names(nn.SGD(groups)) == [*grouped, *trained, *sgd]
    first, second = {"params": params[:1]}, {"params": params[1:], "lr": 0.3}
    rates = ["learning_rate", "learning_rate_group_1"]
    assert names(nn.SGD([first, second])) == ["global_step", *rates, *trained, *sgd]
    order = {"order_params": params}
    rates[1] = "learning_rate_group_2"
    assert names(nn.SGD([first, order, second])) == ["global_step", *rates, *trained, *sgd]
    listed: list[dict[str, object]] = [{"params": params[:1], "lr": [0.3]}, {"params": params[1:]}]
    rates = ["learning_rate_group_0", "learning_rate"]
    assert names(nn.SGD(listed, [0.1])) == ["global_step", *trained, *sgd, *rates]
    listed[0]["lr"] = Tensor([0.3])
    assert names(nn.SGD(listed, Tensor([0.1]))) == ["global_step", *trained, *sgd, *rates]
    assert names(nn.Momentum(params, 0.1, 0.9)) == [*fixed, *trained, "momentum", *state("moments")]
    adam = ["beta1_power", "beta2_power", *state("moment1", "moment2")]
    assert names(nn.Adam(params)) == [*fixed, *trained, *adam]
    assert names(nn.Adam(params, use_amsgrad=True)) == [*fixed, *trained, *adam, *state("vhat")]


def test_state_after_two_steps_matches_mindspore() -> None:
    params = two()
    sgd, adam = nn.SGD(params, 0.1, 0.9), nn.Adam(params)
    assert [p.tolist() for p in sgd.stat] == [[[1, 1], [1, 1]], [1, 1]]
    for i in range(2):
        sgd(gradients(i))
        adam(gradients(i))
    assert [p.tolist() for p in sgd.stat] == [[[0, 0], [0, 0]], [0, 0]]
    assert float(adam.beta1_power) == pytest.approx(0.809999942779541, rel=1e-9)
    assert float(adam.beta2_power) == pytest.approx(0.9980010390281677, rel=1e-7)
    plain = nn.SGD(params, 0.1)
    plain(gradients(0))
    assert plain.stat[1].tolist() == [1, 1]


def test_learning_rate_and_momentum_can_be_set() -> None:
    w = Parameter(Tensor([1.0]), name="w")
    optimizer = nn.SGD([w], 0.1)
    assert isinstance(optimizer.learning_rate, Parameter)
    optimizer.learning_rate.set_data(Tensor(0.5))
    optimizer((Tensor([1.0]),))
    assert w.tolist() == [0.5]
    optimizer.momentum.set_data(Tensor(0.5))
    for _ in range(2):
        optimizer((Tensor([1.0]),))
    assert w.tolist() == [0.5 - 0.5 - 0.75]


def test_parameters_may_change_shape_and_memory() -> None:
    w = Parameter(Tensor([1.0, 2.0]), name="w")
    optimizer = nn.SGD([w], 0.5)
    optimizer((ops.ones(2),))
    w.set_data(ops.ones((3, 2)))
    optimizer((ops.ones((3, 2)),))
    assert (w == 0.5).all()


@given(st.lists(st.sampled_from([(0.25, 0.25), (0.5, 0.125), None]), min_size=1, max_size=4))
def test_get_lr_parameter_returns_the_group_rate(lrs: list[tuple[float, float] | None]) -> None:
    """And the step uses it: for groups with constant, listed and scheduled learning rates."""
    groups: list[dict[str, object]] = []
    for i, rates in enumerate(lrs):
        group: dict[str, object] = {"params": [Parameter(Tensor([1.0]), name=f"w{i}")]}
        if rates is not None:
            group["lr"] = rates[0] if rates[0] == rates[1] else rates
        groups.append(group)
    optimizer = nn.SGD(groups, nn.ExponentialDecayLR(1.0, 0.5, 1))
    for step in range(2):
        expected = [0.5**step if rates is None else rates[step] for rates in lrs]
        actual = optimizer.get_lr()
        if isinstance(actual, tuple):
            assert [float(rate) for rate in actual] == expected
            assert all(rate.dtype is float32 for rate in actual)
        else:
            assert not any(lrs)
            assert [float(actual)] == expected[:1]
            assert actual.dtype is float32
        if isinstance(actual, tuple) and optimizer.dynamic_lr:
            cells = cast("Sequence[nn.Cell]", optimizer.learning_rate)
            computed = [cell(optimizer.global_step) for cell in cells]
            assert [float(rate) for rate in computed] == expected
        before = [parameter.item() for parameter in optimizer.parameters]
        optimizer(tuple(Tensor([1.0]) for _ in groups))
        after = [parameter.item() for parameter in optimizer.parameters]
        assert after == [weight - rate for weight, rate in zip(before, expected, strict=True)]


def test_get_lr_and_get_weight_decay() -> None:
    params = two()
    plain = nn.SGD(params, 0.5, weight_decay=0.25)
    assert plain.get_lr() is plain.get_lr_parameter(params[0]) is plain.learning_rate
    assert (plain.is_group, plain.is_group_lr, plain.dynamic_lr) == (False, False, False)
    assert (plain.weight_decay, plain.loss_scale) == (0.25, 1.0)
    groups = nn.SGD(
        [{"params": params[1:], "lr": [0.5, 0.25]}, {"params": params[:1], "weight_decay": 0.5}],
        [0.125, 1.0],
    )
    assert [p.name for p in groups.parameters] == ["beta", "weight"]
    assert groups.weight_decay == groups.get_weight_decay() == (0.0, 0.5)
    assert (groups.is_group, groups.is_group_lr, groups.dynamic_lr) == (True, True, True)
    assert plain.is_group_params_ordered is groups.is_group_params_ordered is False
    by_list = groups.get_lr_parameter(params)
    assert isinstance(by_list, list)
    assert all(a is groups.get_lr_parameter(p) for a, p in zip(by_list, params, strict=True))
    assert by_list[0] is not by_list[1]
    with pytest.raises(ValueError, match="^For 'get_lr_parameter', 'other' is not updated by this"):
        plain.get_lr_parameter(Parameter(Tensor(1.0), name="other"))


PARTS = st.sampled_from(["beta", "gamma", "Beta", "GAMMA", "bet", "a", "weight", "."])
PATHS = st.lists(PARTS, min_size=1, max_size=4).map("".join)


@given(st.lists(PATHS, min_size=1, max_size=4, unique=True))
def test_beta_and_gamma_decay_only_in_groups(names: list[str]) -> None:
    params = [Parameter(Tensor([1.0]), name=name) for name in names]
    flags = tuple("beta" not in name and "gamma" not in name for name in names)
    plain, grouped = (
        nn.SGD(params, weight_decay=0.5),
        nn.SGD([{"params": params}], weight_decay=0.5),
    )
    assert plain.decay_flags == flags
    assert plain.get_weight_decay() == (0.5 if any(flags) else 0.0)
    assert grouped.decay_flags == (True,) * len(names)
    assert grouped.get_weight_decay() == (0.5,) * len(names)


@given(st.permutations(range(3)), st.integers(0, 2))
def test_order_params_sets_the_gradient_order(order: list[int], where: int) -> None:
    params = [Parameter(Tensor([0.0]), name=f"w{i}") for i in range(3)]
    groups: list[dict[str, object]] = [
        {"params": params[:1], "lr": 0.5},
        {"params": params[1:], "weight_decay": 0.25},
    ]
    groups.insert(where, {"order_params": [params[i] for i in order]})
    optimizer = nn.SGD(groups, 0.125)
    assert optimizer.parameters == tuple(params[i] for i in order)
    assert (optimizer.is_group, optimizer.is_group_params_ordered) == (True, True)
    optimizer(tuple(Tensor([float(i)]) for i in order))
    assert [p.item() for p in params] == [0.0, -0.125, -0.25]
    assert optimizer.get_weight_decay() == tuple([0.0, 0.25, 0.25][i] for i in order)


class Halving(nn.LearningRateSchedule):
    """The schedule 1/2, 1/4, 1/8, …"""

    def construct(self, global_step: Tensor) -> Tensor:
        return 0.5 ** (global_step + 1.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda params, decay: nn.Momentum(params, 0.5, 0.5, weight_decay=decay),
        lambda params, decay: nn.Adam(params, weight_decay=decay),
    ],
)
def test_weight_decay_may_be_a_cell(
    make: Callable[[list[Parameter], float | nn.Cell], nn.Optimizer],
) -> None:
    ours, theirs = two(), two()
    optimizer = make(ours, Halving())
    fixed = make(theirs, 0.5)
    assert optimizer.decay_flags == (True, False)
    for step in range(3):
        assert optimizer.get_weight_decay() == 0.5 ** (step + 1)
        fixed._decays = [0.5 ** (step + 1), 0.0]
        optimizer(gradients(step))
        fixed(gradients(step))
        for one, other in zip(ours, theirs, strict=True):
            assert one.tolist() == other.tolist()


def test_step_beyond_the_learning_rate_list_raises() -> None:
    params = two()
    optimizer = nn.SGD(params, [0.1])
    optimizer(gradients(0))
    before = [p.tolist() for p in params]
    with pytest.raises(RuntimeError) as raised:
        optimizer(gradients(1))
    assert raised.value.args == ("There is no learning rate for step 1: 'learning_rate' lists 1.",)
    assert [p.tolist() for p in params] == before
    assert optimizer.global_step.tolist() == [1]


def test_schedule_is_called_once_per_step() -> None:
    calls: list[int] = []

    class Recording(nn.LearningRateSchedule):
        def construct(self, global_step: Tensor) -> Tensor:
            calls.append(int(global_step.item()))
            return global_step * 0.5

    optimizer = nn.SGD(two(), Recording())
    optimizer(gradients(0))
    optimizer(gradients(1))
    assert calls == [0, 1]


def test_custom_optimizer() -> None:
    class Sign(nn.Optimizer):
        def construct(self, gradients: Sequence[Tensor]) -> tuple[bool, ...]:
            rate = self.get_lr()
            assert isinstance(rate, Tensor)
            for parameter, gradient in zip(self.parameters, gradients, strict=True):
                parameter.set_data(parameter - rate * ops.sign(gradient))
            return (True,)

    w = Parameter(Tensor([1.0, -1.0]), name="w")
    optimizer = Sign(0.5, [w])
    optimizer((Tensor([3.0, -0.1]),))
    assert w.tolist() == [0.5, -0.5]
    assert (optimizer.weight_decay, optimizer.loss_scale) == (0.0, 1.0)
    base = nn.Optimizer(0.1, [w])
    for arguments in ((), ((Tensor([1.0, 1.0]),),)):
        for call in (base, base.construct):
            with pytest.raises(NotImplementedError, match="must define 'construct'"):
                call(*arguments)


# Tiles of rows, and their scratch memory.


@given(
    shape=st.lists(st.integers(0, 6), min_size=1, max_size=3).map(tuple),
    limit=st.integers(1, 30),
    on_host=st.booleans(),
)
def test_tiles_are_as_large_as_allowed(shape: tuple[int, ...], limit: int, on_host: bool) -> None:
    """On the host at most `limit` elements or one row; on a device all rows."""
    x: Any = np.arange(prod(shape)).reshape(shape)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimizer_module, "TILE", limit)
        patch.setattr(optimizer_module, "is_host", lambda array: array is x and on_host)
        tiles = Tiles().tiles_for(x)
    parts = [x if tile.rows is None else x[tile.rows] for tile in tiles]
    assert np.array_equal(np.concatenate([x[:0], *parts]), x)
    assert [tile.rows is None for tile in tiles] == [part.shape == shape for part in parts]
    row = prod(shape[1:])
    if not on_host and row:
        assert len(parts) <= 1
    if on_host:
        assert all(len(part) == 1 or part.size <= limit for part in parts)
    if on_host and len(parts) > 1:
        rows = len(parts[0])
        assert all(len(part) == rows for part in parts[:-1])
        assert (rows + 1) * max(1, row) > limit
    for tile, part in zip(tiles, parts, strict=True):
        assert tile.step.shape == tile.scratch.shape == part.shape
        assert tile.step.dtype == tile.scratch.dtype == x.dtype
        assert not np.shares_memory(tile.step, tile.scratch)


def test_scratch_is_shared_by_all_parameters_of_a_dtype(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimizer_module, "TILE", 8)
    tiles = Tiles()

    def scratch(*shape: int, dtype: type[np.generic] = np.float32) -> NDArray[np.generic]:
        x: Any = np.ones(shape, dtype)
        tile = tiles.tiles_for(x)[0]
        assert tiles.tiles_for(x + 1)[0] is tile
        base = np.asarray(tile.step).base
        assert base is not None
        return base

    first = scratch(8)
    assert first.size == 2 * 8
    assert first is scratch(2, 4)
    assert first is scratch(5)
    other = scratch(8, dtype=np.float64)
    assert other is not first
    # Longer rows need a larger scratch, which then serves the other parameters too.
    longer = scratch(2, 20)
    assert longer is not first
    assert longer is scratch(3)
    assert longer is scratch(2, 20, 1)
    assert other is scratch(3, dtype=np.float64)
