"""Optimisers: what they refuse, and in which words."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minispore as ms
from minispore import Tensor, float32, float64, nn, ops

from .optim_cases import Parameters, optimizers, two

Make = Callable[[Parameters], nn.Optimizer]


# Without types: what a type checker would refuse is what is tried.
wrong: Any = nn
nan = float("nan")

NO_LIST = (
    "the argument '{}' must be a list of Parameters, such as network.trainable_params() gives, or "
    "of dicts, but got {}."
)
TWICE = (
    "each parameter must be given once and have a name of its own, but there are two with the name "
    "'weight'."
)
NO_RATE = (
    "the argument 'learning_rate' must be a number, a Tensor, a list or a LearningRateSchedule, "
    "but got {}."
)
NEGATIVE = "the argument '{}' must be at least 0.0, but got {}."
NO_NUMBER = "the type of '{}' must be one of int, float, but got {}."
NO_BOOL = "the type of '{}' must be one of bool, but got 3 of type int."
NO_FLOAT = "the type of '{}' must be one of float, but got 1 of type int."
NO_PARAMETER = "the type of '{}' must be one of Parameter, but got 3 of type int."
EMPTY = "the argument '{}' must not be empty."
MIXED = "the elements of 'params' must all be Parameters or all be dicts, but got {}."
ORDER = "'order_params' must be the parameters of all groups, each once: {}, but got {}."
TYPE = "the gradient of 'beta' must be of its type {!r}, but got {!r}."
KEYS = (
    "the keys of a group must be among ('params', 'lr', 'weight_decay', 'grad_centralization', "
    "'order_params'), but got {}."
)
NESTEROV = "'nesterov' wants a 'momentum' above 0 and a 'dampening' of 0, but got {} and {}."


@pytest.mark.parametrize(
    ("bad", "error", "words"),
    [
        (
            (Tensor([1.0, 1.0]),),
            ValueError,
            "there must be a gradient for each of the 2 parameters, but got 1.",
        ),
        (
            (ops.ones((2, 2)), ops.ones(3)),
            ValueError,
            "the gradient of 'beta' must be of its shape (2,), but got (3,).",
        ),
        (
            (ops.ones((2, 2)), ops.ones(2, float64)),
            TypeError,
            TYPE.format(float32, float64),
        ),
        (
            (ops.ones((2, 2)), 3.0),
            TypeError,
            "the gradient of 'beta' must be a Tensor, but got float.",
        ),
        (ops.ones((2, 2)), TypeError, "the gradients must be a tuple of Tensors, but got Tensor."),
    ],
)
def test_bad_gradients_change_nothing(bad: object, error: type[Exception], words: str) -> None:
    params = two()
    before = [p.tolist() for p in params]
    for optimizer in optimizers(params):
        with pytest.raises(error) as raised:
            optimizer(bad)  # type: ignore[arg-type]
        assert raised.value.args == (f"For '{type(optimizer).__name__}', {words}",)
        assert optimizer.global_step.tolist() == [0]
    assert [p.tolist() for p in params] == before


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        # The parameters.
        (lambda p: wrong.SGD([]), ValueError, EMPTY.format("params")),
        (lambda p: wrong.SGD(None), TypeError, NO_LIST.format("params", "None of type NoneType")),
        (
            lambda p: wrong.SGD(Tensor(True)),
            TypeError,
            NO_LIST.format("params", "Tensor(shape=..., value= True) of type Tensor"),
        ),
        (lambda p: wrong.SGD("ab"), TypeError, NO_LIST.format("params", "'ab' of type str")),
        (lambda p: wrong.SGD(3), TypeError, NO_LIST.format("params", "3 of type int")),
        (lambda p: wrong.SGD([3]), TypeError, MIXED.format("int")),
        (lambda p: wrong.SGD([p[0], {"params": p}]), TypeError, MIXED.format("Parameter, dict")),
        (lambda p: wrong.SGD(p + p), ValueError, TWICE),
        # Groups of them.
        (lambda p: wrong.SGD([{"params": p}, {"params": p}]), ValueError, TWICE),
        (
            lambda p: wrong.SGD([{"params": p, "foo": 2}]),
            KeyError,
            KEYS.format(["foo"]),
        ),
        (
            lambda p: wrong.SGD([{"lr": 2}]),
            KeyError,
            "a group must have the key 'params', but got {'lr': 2}.",
        ),
        (lambda p: wrong.SGD([{"params": []}]), ValueError, EMPTY.format("params")),
        (
            lambda p: wrong.SGD([{"params": 3}]),
            TypeError,
            NO_LIST.format("params", "3 of type int"),
        ),
        (lambda p: wrong.SGD([{"params": [3]}]), TypeError, NO_PARAMETER.format("params")),
        (
            lambda p: wrong.SGD([{"params": p, "lr": -1.0}]),
            ValueError,
            NEGATIVE.format("learning_rate", -1.0),
        ),
        (
            lambda p: wrong.SGD([{"params": p, "weight_decay": -1.0}]),
            ValueError,
            NEGATIVE.format("weight_decay", -1.0),
        ),
        (
            lambda p: wrong.SGD([{"params": p, "grad_centralization": 3}]),
            TypeError,
            NO_BOOL.format("grad_centralization"),
        ),
        (
            lambda p: wrong.SGD([{"params": p, "grad_centralization": True}]),
            ValueError,
            "'grad_centralization' is not supported.",
        ),
        (
            lambda p: wrong.SGD([{"params": p}, {"order_params": p[:1]}]),
            ValueError,
            ORDER.format(["beta", "weight"], ["weight"]),
        ),
        (
            lambda p: wrong.SGD([{"params": p}, {"order_params": 3}]),
            TypeError,
            NO_LIST.format("order_params", "3 of type int"),
        ),
        (
            lambda p: wrong.SGD([{"params": p}, {"order_params": [3]}]),
            TypeError,
            NO_PARAMETER.format("order_params"),
        ),
        (
            lambda p: wrong.SGD([{"order_params": p}]),
            ValueError,
            ORDER.format([], ["beta", "weight"]),
        ),
        # The learning rate.
        (lambda p: wrong.SGD(p, "a"), TypeError, NO_RATE.format("'a' of type str")),
        (
            lambda p: wrong.SGD(p, len),
            TypeError,
            NO_RATE.format("<built-in function len> of type builtin_function_or_method"),
        ),
        (lambda p: wrong.SGD(p, -0.1), ValueError, NEGATIVE.format("learning_rate", -0.1)),
        (lambda p: wrong.SGD(p, Tensor(-1.0)), ValueError, NEGATIVE.format("learning_rate", -1.0)),
        (lambda p: wrong.SGD(p, nan), ValueError, NEGATIVE.format("learning_rate", nan)),
        (
            lambda p: wrong.SGD(p, True),
            TypeError,
            NO_NUMBER.format("learning_rate", "True of type bool"),
        ),
        (lambda p: wrong.SGD(p, []), ValueError, "the list 'learning_rate' must not be empty."),
        (
            lambda p: wrong.SGD(p, [0.1, "a"]),
            TypeError,
            NO_NUMBER.format("learning_rate[1]", "'a' of type str"),
        ),
        (
            lambda p: wrong.SGD(p, [0.1, -1.0]),
            ValueError,
            NEGATIVE.format("learning_rate[1]", -1.0),
        ),
        (
            lambda p: wrong.SGD(p, np.array([0.5, -1.0])),
            ValueError,
            NEGATIVE.format("learning_rate[1]", -1.0),
        ),
        (
            lambda p: wrong.SGD(p, Tensor([0.5, -1.0])),
            ValueError,
            NEGATIVE.format("learning_rate[1]", -1.0),
        ),
        (
            lambda p: wrong.SGD(p, Tensor([[0.1]])),
            ValueError,
            "a Tensor as 'learning_rate' must have at most 1 axis, but got the shape (1, 1).",
        ),
        # SGD's other settings.
        (lambda p: wrong.SGD(p, momentum=-1.0), ValueError, NEGATIVE.format("momentum", -1.0)),
        (
            lambda p: wrong.SGD(p, momentum="a"),
            TypeError,
            NO_NUMBER.format("momentum", "'a' of type str"),
        ),
        (lambda p: wrong.SGD(p, dampening=-1.0), ValueError, NEGATIVE.format("dampening", -1.0)),
        (lambda p: wrong.SGD(p, nesterov=True), ValueError, NESTEROV.format(0.0, 0.0)),
        (
            lambda p: wrong.SGD(p, 0.1, 0.9, 0.1, nesterov=True),
            ValueError,
            NESTEROV.format(0.9, 0.1),
        ),
        (lambda p: wrong.SGD(p, 0.1, 0.9, nesterov=3), TypeError, NO_BOOL.format("nesterov")),
        (
            lambda p: wrong.SGD(p, weight_decay=-1.0),
            ValueError,
            NEGATIVE.format("weight_decay", -1.0),
        ),
        (
            lambda p: wrong.SGD(p, weight_decay="a"),
            TypeError,
            NO_NUMBER.format("weight_decay", "'a' of type str"),
        ),
        (
            lambda p: wrong.SGD(p, weight_decay=wrong.WarmUpLR(0.1, 3)),
            TypeError,
            "the argument 'weight_decay' must be a number, but is a Cell.",
        ),
        (lambda p: wrong.SGD(p, loss_scale=-1.0), ValueError, NEGATIVE.format("loss_scale", -1.0)),
        (
            lambda p: wrong.SGD(p, loss_scale=0.0),
            ValueError,
            "the argument 'loss_scale' must be above 0, got 0.",
        ),
        # Momentum's.
        (lambda p: wrong.Momentum(p, 0.1, 1), TypeError, NO_FLOAT.format("momentum")),
        (lambda p: wrong.Momentum(p, 0.1, -1.0), ValueError, NEGATIVE.format("momentum", -1.0)),
        (
            lambda p: wrong.Momentum(p, 0.1, 0.9, use_nesterov=3),
            TypeError,
            NO_BOOL.format("use_nesterov"),
        ),
        (
            lambda p: wrong.Momentum(p, 0.1, 0.9, -1),
            ValueError,
            NEGATIVE.format("weight_decay", -1),
        ),
        # Adam's.
        *(
            (
                lambda p, name=name, value=value: wrong.Adam(p, **{name: value}),
                ValueError,
                f"the argument '{name}' must be in (0, 1), got {value}.",
            )
            for name in ("beta1", "beta2")
            for value in (0.0, 1.0, 1.5, nan)
        ),
        *(
            (
                lambda p, value=value: wrong.Adam(p, eps=value),
                ValueError,
                f"the argument 'eps' must be finite and above 0, got {value}.",
            )
            for value in (0.0, -1.0, float("inf"), nan)
        ),
        *(
            (
                lambda p, name=name: wrong.Adam(p, **{name: 1}),
                TypeError,
                NO_FLOAT.format(name),
            )
            for name in ("beta1", "beta2", "eps")
        ),
        *(
            (lambda p, name=name: wrong.Adam(p, **{name: 3}), TypeError, NO_BOOL.format(name))
            for name in ("use_locking", "use_nesterov", "use_amsgrad", "use_lazy", "use_offload")
        ),
        (
            lambda p: wrong.Adam(p, use_offload=True),
            ValueError,
            "'use_offload' is not supported and must be False.",
        ),
    ],
)
def test_errors(make: Make, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as raised:
        make(two())
    owner, _, said = raised.value.args[0].removeprefix("For '").partition("', ")
    assert said == words
    assert owner in make.__code__.co_names


def test_a_learning_rate_and_a_momentum_must_be_given_to_momentum() -> None:
    with pytest.raises(TypeError, match="'learning_rate' and 'momentum'"):
        wrong.Momentum(two())


def test_iterables_of_parameters() -> None:
    params = two()
    assert nn.SGD(iter(params)).parameters == tuple(params)
    assert nn.SGD(tuple(params)).parameters == tuple(params)
    assert nn.Adam(params, use_locking=True, use_lazy=True).parameters == tuple(params)
    assert nn.SGD([{"params": iter(params)}]).parameters == tuple(params)
    assert float(nn.SGD(params, 1).learning_rate) == 1  # type: ignore[arg-type]
    assert float(nn.SGD(params, Tensor(0.5)).learning_rate) == 0.5  # type: ignore[arg-type]
    listed = nn.SGD(params, np.array([0.5, 0.25], np.float32))
    assert float(listed.get_lr()) == 0.5  # type: ignore[arg-type]
    assert ms.float32 is float32
