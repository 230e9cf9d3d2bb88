"""Optimisers: the values they lead to, against MindSpore, PyTorch and plain formulas."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Parameter, Tensor, float64, nn
from minispore.nn.optim import _blocks

from .optim_cases import Parameters, gradients, two

Make = Callable[[Parameters], nn.Optimizer]


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
    dampening = 0.0 if nesterov else 0.3
    follow(
        shape,
        seed,
        lambda w: nn.SGD([w], rate, momentum, dampening, decay, nesterov),
        lambda w: torch.optim.SGD([w], rate, momentum, dampening, decay, nesterov),
        block,
    )


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
    # Adam keeps the powers of its betas as float32, of which 1 - power loses two digits.
    assert np.allclose(ours.asnumpy(), theirs.detach().numpy(), rtol=1e-4, atol=1e-5)
