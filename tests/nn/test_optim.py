"""Optimisers: against MindSpore, PyTorch and plain formulas; in place; settings; errors."""

import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import minispore as ms
from minispore import Parameter, Tensor, float16, float32, float64, nn, ops
from minispore.nn.optim import _blocks

Parameters = list[Parameter]
Make = Callable[[Parameters], nn.Optimizer]

# Without types: what a type checker would refuse is what is tried.
wrong: Any = nn


def two() -> Parameters:
    return [
        Parameter(Tensor([[1.0, -2.0], [0.5, 3.0]]), name="weight"),
        Parameter(Tensor([0.25, -1.5]), name="beta"),
    ]


def gradients(i: int) -> tuple[Tensor, Tensor]:
    return (
        Tensor([[0.3 * (i + 1), -0.7 + 0.4 * i], [0.05, -1.0]]),
        Tensor([0.5 - 0.25 * i, 2.0]),
    )


# The parameters after four steps in MindSpore 2.10.
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda p: nn.SGD(p, 0.1), [0.7, -1.96, 0.48, 3.4, 0.2, -2.3]),
        (
            lambda p: nn.SGD(p, 0.1, 0.9),
            [0.443229973, -1.74696994, 0.454755008, 3.90489984, 0.0352999978, -3.30979991],
        ),
        (
            lambda p: nn.SGD(p, 0.1, 0.9, 0.5),
            [0.670029998, -1.75312006, 0.468780011, 3.6243999, 0.0566749945, -2.74880004],
        ),
        (
            lambda p: nn.SGD(p, 0.1, 0.9, nesterov=True),
            [0.198907048, -1.73227298, 0.439279497, 4.21440983, 0.00677000731, -3.92881989],
        ),
        # "beta" does not decay.
        (
            lambda p: nn.SGD(p, 0.1, 0.9, weight_decay=0.1),
            [0.359982193, -1.57606077, 0.410886317, 3.62379575, 0.0352999978, -3.30979991],
        ),
        (
            lambda p: nn.SGD(p, 0.1, 0.9, 0.5, 0.1),
            [0.610304415, -1.63279009, 0.438129961, 3.43309021, 0.0566749945, -2.74880004],
        ),
        (
            lambda p: nn.SGD(p, 0.1, 0.9, 0.0, 0.1, True),
            [0.0962846875, -1.51297486, 0.381954938, 3.82631516, 0.00677000731, -3.92881989],
        ),
        (lambda p: nn.SGD(p, 0.1, dampening=0.5), [0.7, -1.96, 0.48, 3.4, 0.2, -2.3]),
        (
            lambda p: nn.SGD(p, 0.1, 0.9, weight_decay=0.1, loss_scale=2.0),
            [0.63543427, -1.69891679, 0.433164746, 3.17822742, 0.142650008, -2.40489984],
        ),
        (lambda p: nn.SGD(p, [0.1, 0.2, 0.3, 0.4]), [0.1, -2.1, 0.45, 4.0, 0.25, -3.5]),
        (lambda p: nn.SGD(p, Tensor([0.1, 0.2, 0.3, 0.4])), [0.1, -2.1, 0.45, 4.0, 0.25, -3.5]),
        (
            lambda p: nn.SGD(p, nn.WarmUpLR(0.1, 3), 0.9),
            [0.587329984, -1.90353668, 0.470605016, 3.58789992, 0.152966663, -2.67580009],
        ),
        (
            lambda p: nn.SGD(p, nn.ExponentialDecayLR(0.1, 0.9, 2)),
            [0.729621232, -1.95323014, 0.481487513, 3.37024975, 0.197628304, -2.24049973],
        ),
        # In groups "beta" decays like any other.
        (
            lambda p: nn.SGD(
                [{"params": p[:1], "lr": 0.3, "weight_decay": 0.2}, {"params": p[1:]}],
                0.1,
                0.9,
                weight_decay=0.1,
            ),
            [-1.06136966, -0.379647583, 0.129060283, 3.98917246, 0.0184556395, -3.1486032],
        ),
        (
            lambda p: nn.SGD(
                [
                    {"params": p[1:], "lr": [0.4, 0.3, 0.2, 0.1]},
                    {"params": p[:1], "lr": nn.WarmUpLR(0.1, 3)},
                    {"order_params": p},
                ]
            ),
            [0.8, -2.04666662, 0.49, 3.2, 0.0, -3.5],
        ),
        (
            lambda p: nn.Momentum(p, 0.1, 0.9),
            [0.443229973, -1.74696994, 0.454755008, 3.90489984, 0.0352999978, -3.30979991],
        ),
        (
            lambda p: nn.Momentum(p, 0.1, 0.9, 0.1, 4.0),
            [0.773160279, -1.76034462, 0.44430393, 2.95544314, 0.196324989, -1.95244992],
        ),
        (
            lambda p: nn.Momentum(p, 0.1, 0.9, nn.WarmUpLR(0.1, 3)),
            [0.416297108, -1.68895972, 0.439498842, 3.80015922, 0.0352999978, -3.30979991],
        ),
        (
            lambda p: nn.Adam(p, 0.1),
            [0.611642122, -1.7373786, 0.100003079, 3.39999843, -0.0453923754, -1.89999866],
        ),
        (
            lambda p: nn.Adam(p, 0.1, use_nesterov=True),
            [0.390230715, -1.67437387, -0.0786057636, 3.57860851, -0.125392988, -2.07860827],
        ),
        (
            lambda p: nn.Adam(p, 0.1, use_amsgrad=True),
            [0.611642122, -1.7373786, 0.100003079, 3.39999843, -0.0453563556, -1.89999866],
        ),
        (
            lambda p: nn.Adam(p, 0.1, weight_decay=0.1),
            [0.607245922, -1.68471766, 0.103941277, 3.39964795, -0.0453923754, -1.89999866],
        ),
        (
            lambda p: nn.Adam(p, 0.1, 0.5, 0.7, 1e-3, loss_scale=8.0),
            [0.601697683, -1.83192492, 0.172904804, 3.39556575, 0.0404459834, -1.89777005],
        ),
    ],
)
def test_four_steps(make: Make, expected: list[float]) -> None:
    params = two()
    optimizer = make(params)
    for i in range(4):
        assert optimizer(gradients(i)) == (True, True)
    found = np.concatenate([p.asnumpy().ravel() for p in params])
    assert found == pytest.approx(expected, rel=2e-6, abs=2e-7)
    assert optimizer.global_step.tolist() == [4]


shapes = st.sampled_from([(), (1,), (7,), (5, 3), (2, 3, 4)])
size = st.floats(0.01, 1.0)


@given(shapes, st.integers(0, 100), size, size, st.booleans(), size, st.integers(3, 40))
def test_sgd_is_that_of_pytorch(
    shape: tuple[int, ...],
    seed: int,
    rate: float,
    momentum: float,
    nesterov: bool,
    decay: float,
    block: int,
) -> None:
    torch = pytest.importorskip("torch")
    theirs = lambda w: torch.optim.SGD(  # noqa: E731
        [w], rate, momentum, 0.0 if nesterov else 0.3, decay, nesterov
    )
    ours = lambda w: nn.SGD(  # noqa: E731
        [w], rate, momentum, 0.0 if nesterov else 0.3, decay, nesterov
    )
    follow(shape, seed, ours, theirs, block)


@given(shapes, st.integers(0, 100), size, size, st.floats(0.5, 0.99), st.integers(3, 40))
def test_momentum_looks_ahead_as_nesterov_says(
    shape: tuple[int, ...], seed: int, rate: float, decay: float, momentum: float, block: int
) -> None:
    """MindSpore documents this formula; on the CPU it leaves out the look ahead."""
    torch = pytest.importorskip("torch")
    follow(
        shape,
        seed,
        lambda w: nn.Momentum([w], rate, momentum, decay, use_nesterov=True),
        lambda w: torch.optim.SGD([w], rate, momentum, 0, decay, nesterov=True),
        block,
    )


@given(shapes, st.integers(0, 100), size, st.floats(0.5, 0.99), size, st.integers(3, 40))
def test_adam_is_that_of_pytorch_but_for_its_epsilon(
    shape: tuple[int, ...], seed: int, rate: float, beta: float, decay: float, block: int
) -> None:
    torch = pytest.importorskip("torch")
    follow(
        shape,
        seed,
        lambda w: nn.Adam([w], rate, beta, 0.99, 1e-12, weight_decay=decay),
        lambda w: torch.optim.Adam([w], rate, (beta, 0.99), 1e-12, decay),
        block,
    )


def follow(
    shape: tuple[int, ...],
    seed: int,
    make_ours: Callable[[Parameter], nn.Optimizer],
    make_theirs: Callable[[Any], Any],
    block: int,
) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    first = rng.standard_normal(shape)
    # In float64, so that what is compared is the formula; in small blocks, to have several.
    ours = Parameter(Tensor(first), name="w")
    theirs = torch.tensor(first, requires_grad=True)
    assert ours.dtype is float64
    before, _blocks.BLOCK = _blocks.BLOCK, block
    try:
        optimizer = make_ours(ours)
        reference = make_theirs(theirs)
        for _ in range(5):
            gradient = rng.standard_normal(shape)
            theirs.grad = torch.tensor(gradient)
            reference.step()
            optimizer((Tensor(gradient),))
    finally:
        _blocks.BLOCK = before
    assert np.allclose(ours.asnumpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-6)


def optimizers(params: Parameters) -> list[nn.Optimizer]:
    return [
        nn.SGD(params, 0.1),
        nn.SGD(params, 0.1, 0.9, 0.5, 0.1, loss_scale=2.0),
        nn.SGD(params, 0.1, 0.9, nesterov=True),
        nn.Momentum(params, 0.1, 0.9, 0.1, use_nesterov=True),
        nn.Adam(params, 0.1, use_nesterov=True, weight_decay=0.1),
        nn.Adam(params, 0.1, use_amsgrad=True),
    ]


@pytest.mark.parametrize("which", range(6))
def test_updates_are_in_place_and_allocate_nothing_large(which: int) -> None:
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


@pytest.mark.parametrize("which", range(6))
def test_blocks_do_not_change_a_bit(which: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    first = rng.standard_normal((50, 30)).astype(np.float32)
    grads = [Tensor(rng.standard_normal((50, 30)).astype(np.float32)) for _ in range(3)]
    found: list[NDArray[np.generic]] = []
    for block in (1 << 18, 100):
        monkeypatch.setattr(_blocks, "BLOCK", block)
        w = Parameter(Tensor(first), name="w")
        optimizer = optimizers([w])[which]
        for gradient in grads:
            optimizer((gradient,))
        found.append(w.asnumpy())
    assert np.array_equal(found[0], found[1])


def test_other_float_types() -> None:
    for dtype in (float16, float64):
        w = Parameter(ops.ones((3,), dtype), name="w")
        for optimizer in optimizers([w]):
            optimizer((ops.ones((3,), dtype),))
        assert w.dtype is dtype


def test_names_are_those_of_mindspores_checkpoints() -> None:
    net = nn.Cell()
    net.d = nn.Dense(1, 1)
    params = net.trainable_params()

    def names(optimizer: nn.Optimizer) -> list[str]:
        return [p.name for p in optimizer.get_parameters()]

    own = ["d.weight", "d.bias"]

    def state(*prefixes: str) -> list[str]:
        return [f"{prefix}.{name}" for prefix in prefixes for name in own]

    sgd = ["momentum", *state("accum", "stat")]
    fixed = ["global_step", "learning_rate"]
    assert names(nn.SGD(params)) == [*fixed, *own, *sgd]
    assert names(nn.SGD(params, [0.1])) == ["global_step", *own, *sgd, "learning_rate"]
    assert names(nn.SGD(params, nn.WarmUpLR(0.1, 3))) == ["global_step", *own, *sgd]
    groups: list[dict[str, object]] = [{"params": params[:1], "lr": 0.3}, {"params": params[1:]}]
    grouped = ["global_step", "learning_rate_group_0", "learning_rate"]
    assert names(nn.SGD(groups)) == [*grouped, *own, *sgd]
    listed: list[dict[str, object]] = [{"params": params[:1], "lr": [0.3]}, {"params": params[1:]}]
    rates = ["learning_rate_group_0", "learning_rate"]
    assert names(nn.SGD(listed, [0.1])) == ["global_step", *own, *sgd, *rates]
    assert names(nn.Momentum(params, 0.1, 0.9)) == [*fixed, *own, "momentum", *state("moments")]
    adam = ["beta1_power", "beta2_power", *state("moment1", "moment2")]
    assert names(nn.Adam(params)) == [*fixed, *own, *adam]
    assert names(nn.Adam(params, use_amsgrad=True)) == [*fixed, *own, *adam, *state("vhat")]


def test_state_after_two_steps_is_that_of_mindspore() -> None:
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


def test_the_rate_and_the_momentum_can_be_changed() -> None:
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


def test_parameters_may_get_other_shapes_and_memory() -> None:
    w = Parameter(Tensor([1.0, 2.0]), name="w")
    optimizer = nn.SGD([w], 0.5)
    optimizer((ops.ones(2),))
    w.set_data(ops.ones((3, 2)))
    optimizer((ops.ones((3, 2)),))
    assert (w == 0.5).all()


def test_what_can_be_asked() -> None:
    params = two()
    plain = nn.SGD(params, 0.5, weight_decay=0.25)
    assert plain.get_lr() is plain.learning_rate
    assert plain.get_weight_decay() == 0.25
    assert plain.get_lr_parameter(params[0]) is plain.learning_rate
    assert plain.decay_flags == (True, False)
    assert (plain.is_group, plain.is_group_lr, plain.dynamic_lr) == (False, False, False)
    groups = nn.SGD(
        [{"params": params[1:], "lr": [0.5, 0.25]}, {"params": params[:1], "weight_decay": 0.5}],
        [0.125, 1.0],
    )
    assert [p.name for p in groups.parameters] == ["beta", "weight"]
    rates = groups.get_lr()
    assert isinstance(rates, tuple)
    assert [float(rate) for rate in rates] == [0.5, 0.125]
    assert groups.get_weight_decay() == (0.0, 0.5)
    assert (groups.is_group, groups.is_group_lr, groups.dynamic_lr) == (True, True, True)
    found = groups.get_lr_parameter(params)
    assert isinstance(found, list)
    assert len(found) == 2
    with pytest.raises(ValueError, match="other"):
        plain.get_lr_parameter(Parameter(Tensor(1.0), name="other"))


def test_fixed_and_changing_rates_side_by_side() -> None:
    params = two()
    optimizer = nn.SGD([{"params": params[:1], "lr": [0.5, 0.25]}, {"params": params[1:]}], 1.0)
    optimizer((ops.ones((2, 2)), ops.ones(2)))
    optimizer((ops.ones((2, 2)), ops.ones(2)))
    assert params[0].tolist() == [[0.25, -2.75], [-0.25, 2.25]]
    assert params[1].tolist() == [-1.75, -3.5]


def test_a_list_of_rates_ends() -> None:
    params = two()
    optimizer = nn.SGD(params, [0.1])
    optimizer(gradients(0))
    before = [p.tolist() for p in params]
    with pytest.raises(RuntimeError, match="no learning rate for step 1"):
        optimizer(gradients(1))
    assert [p.tolist() for p in params] == before
    assert optimizer.global_step.tolist() == [1]


def test_a_schedule_of_ones_own() -> None:
    class Halved(nn.LearningRateSchedule):
        def construct(self, global_step: Tensor) -> Tensor:
            return 0.5 ** (global_step + 1.0)

    w = Parameter(Tensor([0.0]), name="w")
    optimizer = nn.SGD([w], Halved())
    for _ in range(3):
        optimizer((ops.ones(1),))
    assert w.tolist() == [-0.875]


def test_an_optimiser_of_ones_own() -> None:
    class Sign(nn.Optimizer):
        def construct(self, gradients: Sequence[Tensor]) -> tuple[bool, ...]:
            rate = self.get_lr()
            assert isinstance(rate, Tensor)
            for parameter, gradient in zip(self.parameters, gradients, strict=True):
                parameter.set_data(parameter - rate * ops.sign(gradient))
            return (True,)

    w = Parameter(Tensor([1.0, -1.0]), name="w")
    Sign(0.5, [w])((Tensor([3.0, -0.1]),))
    assert w.tolist() == [0.5, -0.5]
    with pytest.raises(NotImplementedError, match="_update"):
        nn.Optimizer(0.1, [w])((Tensor([1.0, 1.0]),))


@pytest.mark.parametrize(
    ("bad", "error", "words"),
    [
        ((Tensor([1.0, 1.0]),), ValueError, "each of the 2"),
        ((ops.ones((2, 2)), ops.ones(3)), ValueError, "'beta'"),
        ((ops.ones((2, 2)), ops.ones(2, float64)), TypeError, "'beta'"),
        ((ops.ones((2, 2)), 3.0), TypeError, "'beta'"),
        (ops.ones((2, 2)), TypeError, "tuple"),
    ],
)
def test_bad_gradients_change_nothing(bad: object, error: type[Exception], words: str) -> None:
    params = two()
    before = [p.tolist() for p in params]
    for optimizer in optimizers(params):
        with pytest.raises(error, match=words):
            optimizer(bad)  # type: ignore[arg-type]
        assert optimizer.global_step.tolist() == [0]
    assert [p.tolist() for p in params] == before


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda p: wrong.SGD([]), ValueError, "empty"),
        (lambda p: wrong.SGD(None), TypeError, "params"),
        (lambda p: wrong.SGD(p[0]), TypeError, "params"),
        (lambda p: wrong.SGD(3), TypeError, "params"),
        (lambda p: wrong.SGD([3]), TypeError, "int"),
        (lambda p: wrong.SGD([p[0], {"params": p[1:]}]), TypeError, "all be dicts"),
        (lambda p: wrong.SGD(p + p), ValueError, "'weight'"),
        (lambda p: wrong.SGD([{"params": p}, {"params": p}]), ValueError, "'weight'"),
        (lambda p: wrong.SGD([{"params": p, "foo": 2}]), KeyError, "foo"),
        (lambda p: wrong.SGD([{"lr": 2}]), KeyError, "params"),
        (lambda p: wrong.SGD([{"params": []}]), ValueError, "empty"),
        (lambda p: wrong.SGD([{"params": p[0]}]), TypeError, "params"),
        (lambda p: wrong.SGD([{"params": p, "lr": -1.0}]), ValueError, "learning_rate"),
        (lambda p: wrong.SGD([{"params": p, "weight_decay": -1.0}]), ValueError, "weight_decay"),
        (lambda p: wrong.SGD([{"params": p, "grad_centralization": 3}]), TypeError, "centrali"),
        (
            lambda p: wrong.SGD([{"params": p, "grad_centralization": True}]),
            ValueError,
            "supported",
        ),
        (lambda p: wrong.SGD([{"params": p}, {"order_params": p[:1]}]), ValueError, "order_params"),
        (lambda p: wrong.SGD([{"order_params": p}]), ValueError, "order_params"),
        (lambda p: wrong.SGD(p, "a"), TypeError, "learning_rate"),
        (lambda p: wrong.SGD(p, -0.1), ValueError, "learning_rate"),
        (lambda p: wrong.SGD(p, True), TypeError, "learning_rate"),
        (lambda p: wrong.SGD(p, lambda s: 0.1), TypeError, "learning_rate"),
        (lambda p: wrong.SGD(p, []), ValueError, "empty"),
        (lambda p: wrong.SGD(p, [0.1, "a"]), TypeError, r"learning_rate\[1\]"),
        (lambda p: wrong.SGD(p, [0.1, -1.0]), ValueError, r"learning_rate\[1\]"),
        (lambda p: wrong.SGD(p, Tensor([[0.1]])), ValueError, "axis"),
        (lambda p: wrong.SGD(p, momentum=-1.0), ValueError, "momentum"),
        (lambda p: wrong.SGD(p, momentum="a"), TypeError, "momentum"),
        (lambda p: wrong.SGD(p, dampening=-1.0), ValueError, "dampening"),
        (lambda p: wrong.SGD(p, nesterov=True), ValueError, "nesterov"),
        (lambda p: wrong.SGD(p, 0.1, 0.9, 0.1, nesterov=True), ValueError, "nesterov"),
        (lambda p: wrong.SGD(p, 0.1, 0.9, nesterov=3), TypeError, "nesterov"),
        (lambda p: wrong.SGD(p, weight_decay=-1.0), ValueError, "weight_decay"),
        (lambda p: wrong.SGD(p, weight_decay="a"), TypeError, "weight_decay"),
        (lambda p: wrong.SGD(p, weight_decay=wrong.WarmUpLR(0.1, 3)), TypeError, "weight_decay"),
        (lambda p: wrong.SGD(p, loss_scale=0.0), ValueError, "loss_scale"),
        (lambda p: wrong.Momentum(p), TypeError, "learning_rate"),
        (lambda p: wrong.Momentum(p, 0.1, 1), TypeError, "momentum"),
        (lambda p: wrong.Momentum(p, 0.1, -1.0), ValueError, "momentum"),
        (lambda p: wrong.Momentum(p, 0.1, 0.9, use_nesterov=3), TypeError, "use_nesterov"),
        (lambda p: wrong.Adam(p, beta1=1.0), ValueError, "beta1"),
        (lambda p: wrong.Adam(p, beta2=0.0), ValueError, "beta2"),
        (lambda p: wrong.Adam(p, beta1=1), TypeError, "beta1"),
        (lambda p: wrong.Adam(p, eps=0.0), ValueError, "eps"),
        (lambda p: wrong.Adam(p, use_locking=3), TypeError, "use_locking"),
        (lambda p: wrong.Adam(p, use_offload=True), ValueError, "use_offload"),
    ],
)
def test_errors(make: Make, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make(two())


def test_iterables_of_parameters() -> None:
    params = two()
    assert nn.SGD(iter(params)).parameters == tuple(params)
    assert nn.SGD(tuple(params)).parameters == tuple(params)
    assert nn.Adam(params, use_locking=True, use_lazy=True).parameters == tuple(params)
    assert nn.SGD([{"params": iter(params)}]).parameters == tuple(params)
    assert float(nn.SGD(params, 1).learning_rate) == 1  # type: ignore[arg-type]
    assert float(nn.SGD(params, Tensor(0.5)).learning_rate) == 0.5  # type: ignore[arg-type]
    assert ms.float32 is float32
