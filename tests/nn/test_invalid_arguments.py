"""Invalid arguments of constructors and functions in `common` and `nn` raise clear errors."""

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minispore as ms
from minispore import Parameter, ParameterTuple, Tensor, communication, nn
from minispore.common import initializer as initializers

# The names of possible callers.
NAMES = {
    *dir(ms),
    *dir(nn),
    *dir(initializers),
    *dir(Parameter),
    *dir(ParameterTuple),
    *dir(nn.Cell),
    *dir(communication),
}
ERRORS = (TypeError, ValueError, RuntimeError, KeyError)
HUGE = 10**30
BAD: list[object] = [
    None, "a", 3, -7, 2.5, True, float("nan"), 1e400, HUGE, 1j, object(), [], (), {}, ["a"],
    [[1], [1, 2]], np.ones(3), np.array(["a"]), np.int64(9), slice(1), Tensor([1.0, 2.0]),
    Tensor(3), ms.float32,
]  # fmt: skip
# For arguments without a default.
NETWORK = nn.Dense(2, 2)
GOOD: dict[str, object] = {
    "backbone": nn.Dense(2, 2), "network": NETWORK, "loss_fn": nn.MSELoss(),
    "optimizer": nn.SGD(NETWORK.trainable_params()), "in_channels": 2, "out_channels": 2,
    "momentum": 0.9, "learning_rate": 0.1, "decay_rate": 0.9, "min_lr": 0.01, "max_lr": 0.1,
    "end_learning_rate": 0.01, "power": 0.5, "decay_steps": 4, "warmup_steps": 4,
    "total_step": 4, "step_per_epoch": 2, "decay_epoch": 2, "warmup_epoch": 2,
    "loss_scale_value": 16, "scale_factor": 2, "scale_window": 2, "scale_sense": Tensor(2.0),
    "milestone": [1, 2], "learning_rates": [0.1, 0.2], "value": 1.0, "kernel_size": 2,
    "parameters": nn.Dense(2, 2).trainable_params(),
    "num_features": 2, "num_groups": 1, "num_channels": 2, "output_size": 2,
    "normalized_shape": (2,), "vocab_size": 4, "embedding_size": 2,
    "padding": 1, "paddings": ((1, 1),), "axis": 1, "unflattened_size": (1, -1),
}  # fmt: skip


def weight() -> Parameter:
    return Parameter(Tensor(np.ones((2, 3), np.float32)), name="w")


def valid_arguments(make: Callable[..., object]) -> dict[str, object]:
    """Return a valid value for each argument."""
    parameters = inspect.signature(make).parameters.values()
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    good = {"params": [weight()], **GOOD}
    missing = [p.name for p in named if p.default is p.empty and p.name not in good]
    assert not missing, f"Add to GOOD in {__file__} a valid value for {missing} of {make}."
    return {p.name: good[p.name] if p.default is p.empty else p.default for p in named}


def makers() -> Iterator[tuple[str, Callable[..., object], dict[str, object]]]:
    for name in dir(nn):
        make: Any = getattr(nn, name)
        cell = isinstance(make, type) and issubclass(make, nn.Cell)
        if name in (
            "Cell",
            "LearningRateSchedule",
            "LossBase",
            "Optimizer",
            "piecewise_constant_lr",
        ):
            continue
        if cell or name.endswith("_lr"):
            yield name, make, valid_arguments(make)
        if cell and issubclass(make, nn.LearningRateSchedule):
            yield f"{name}()", made(make), {"global_step": Tensor(2)}
    for name in dir(initializers):
        make = getattr(initializers, name)
        kind = isinstance(make, type) and issubclass(make, initializers.Initializer)
        if kind and name != "Initializer" and not name.startswith("_"):
            yield name, filled_by(make), valid_arguments(make)
    yield "initializer", initializers.initializer, {"init": "one", "shape": 2, "dtype": ms.float32}
    yield "Tensor", Tensor, {"input_data": [1], "dtype": ms.float32}
    yield "Tensor of a shape", Tensor, {"dtype": ms.float32, "shape": 2, "init": None}
    yield "from_numpy", ms.from_numpy, {"array": np.ones(2)}
    yield "Parameter", Parameter, {"default_input": 1.0, "name": "a", "requires_grad": True}
    yield "clone", weight().clone, {"init": "same"}
    yield "set_data", weight().set_data, {"data": Tensor([1.0])}
    yield "ParameterTuple", ParameterTuple, {"iterable": [weight()]}
    yield "ParameterTuple.clone", ParameterTuple([weight()]).clone, {"prefix": "a", "init": "same"}
    yield "get_activation", nn.get_activation, {"name": "relu"}
    yield "set_train", nn.Dense(1, 1).set_train, {"mode": True}
    yield "set_grad", nn.Dense(1, 1).set_grad, {"requires_grad": True}
    yield "apply", nn.Dense(1, 1).apply, {"fn": print}


def made(make: Callable[..., Any]) -> Callable[..., object]:
    schedule: Callable[..., object] = make(**valid_arguments(make))
    return schedule


def filled_by(make: Callable[..., Any]) -> Callable[..., object]:
    def fill(**arguments: object) -> object:
        return initializers.initializer(make(**arguments), (2, 3))

    return fill


CASES = [
    pytest.param(make, good, argument, id=f"{name}-{argument}")
    for name, make, good in makers()
    for argument in good
]


@pytest.mark.parametrize(("make", "good", "argument"), CASES)
def test_invalid_arguments_raise_named_errors(
    make: Callable[..., object], good: dict[str, object], argument: str
) -> None:
    make(**good)
    for bad in BAD:
        if bad is HUGE and argument == "total_step":
            continue  # it would be a list of that length
        said: list[Exception] = []
        try:
            make(**(good | {argument: bad}))
        except ERRORS as error:
            said.append(error)
        for answer in said:
            message = str(answer.args[0])
            caller = re.match(r"For '(\w+)", message)
            assert caller
            assert caller[1] in NAMES, message
            named = re.search(r"the (?:argument|type of) '(\w+)", message)
            assert named is None or named[1] in (argument, "init", "input_data"), message
            assert "\n" not in message
