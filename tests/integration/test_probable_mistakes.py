"""Mistakes that give wrong numbers without an error cause a warning at the user's line."""

import warnings
from collections.abc import Callable
from linecache import getline

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from minispore import Parameter, ParameterTuple, Tensor, grad, nn, ops, value_and_grad
from minispore import dataset as ds
from minispore.train import Model, load_param_into_net

LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "MSELoss": nn.MSELoss(),
    "L1Loss": nn.L1Loss(),
    "mse_loss": ops.mse_loss,
    "l1_loss": ops.l1_loss,
}


def warnings_of(call: Callable[[], object]) -> list[str]:
    """Return the warnings of `call`, each with its source line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    for warning in caught:
        assert warning.filename == __file__
    return [f"{w.message} AT {getline(w.filename, w.lineno).strip()}" for w in caught]


def flattened(y: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return y.reshape(-1)


def data() -> ds.Dataset:
    x = np.ones((4, 1), np.float32)
    return ds.NumpySlicesDataset({"x": x, "y": x}, shuffle=False).batch(2)


# Losses of shapes that broadcast.


@given(
    name=st.sampled_from(sorted(LOSSES)),
    shapes=npst.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3),
)
def test_loss_warns_of_different_shapes(name: str, shapes: npst.BroadcastableShapes) -> None:
    first, second = shapes.input_shapes
    caught = warnings_of(lambda: LOSSES[name](ops.ones(first), ops.ones(second)))
    differ = first != second and first and second
    assert len(caught) == bool(differ)
    for text in caught:
        assert text.startswith(f"For '{name}', the predictions are of shape {first} and")


def test_loss_warning_in_training_appears_once_at_caller() -> None:
    flat = data().map(flattened, "y")
    network = nn.Dense(1, 1)
    model = Model(network, nn.MSELoss(), nn.SGD(network.trainable_params()))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        model.train(2, flat)
    [warning] = caught
    assert getline(warning.filename, warning.lineno).strip() == "model.train(2, flat)"


# An optimizer of other parameters.


@given(st.integers(0, 2), st.booleans())
def test_optimizer_with_parameters_of_another_network_warns(matching: int, model: bool) -> None:
    network, other = nn.Dense(1, 1), nn.Dense(1, 1, has_bias=False)
    other.weight.name = "other"
    optimizer = nn.SGD([*network.trainable_params()[:matching], other.weight])
    make: Callable[[], object] = (
        (lambda: Model(network, nn.MSELoss(), optimizer))
        if model
        else (lambda: nn.TrainOneStepCell(network, optimizer))
    )
    [text] = warnings_of(make)
    assert (
        f"{matching + 1} parameters, of which 1 are not parameters of the network, such as 'other'"
        in text
    )


def test_optimizer_of_part_of_network_is_accepted() -> None:
    class WithFactor(nn.LossBase):
        def __init__(self) -> None:
            super().__init__()
            self.factor = Parameter(Tensor(1.0))

        def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
            return self.get_loss(ops.square(logits - labels) * self.factor)

    network, loss = nn.Dense(1, 1), WithFactor()
    optimizer = nn.SGD([network.weight, loss.factor])
    assert warnings_of(lambda: Model(network, loss, optimizer).train(1, data())) == []


# Cells in plain lists and dicts.


class Holder(nn.Cell):
    def __init__(self, **attributes: object) -> None:
        super().__init__()
        for name, value in attributes.items():
            setattr(self, name, value)


def dense() -> nn.Dense:
    return nn.Dense(1, 1)


HIDDEN: dict[str, object] = {
    "list": [dense()],
    "tuple": (dense(),),
    "dict": {"a": dense()},
    "list of lists": [[], [nn.ReLU(), dense()]],
    "list of parameters": [Parameter(Tensor(1.0), name="weight")],
}


@pytest.mark.parametrize("kind", HIDDEN)
def test_parameters_in_plain_containers_warn_when_missed(kind: str) -> None:
    network = Holder(inner=Holder(layers=HIDDEN[kind]))
    [text] = warnings_of(lambda: network.trainable_params())
    assert text.startswith(
        f"The attribute 'inner.layers' of the cell is a {kind.partition(' ')[0]}, in which "
        "parameters are not found, such as 'weight'."
    )


def test_recursive_list_is_searched_once() -> None:
    layers: list[object] = [dense()]
    layers.append(layers)
    assert len(warnings_of(lambda: Holder(layers=layers).trainable_params())) == 1


def test_lists_of_registered_or_frozen_parameters_are_accepted() -> None:
    first, second, frozen = dense(), dense(), dense()
    for parameter in frozen.get_parameters():
        parameter.requires_grad = False
    network = Holder(
        layers=[first, second], body=nn.SequentialCell(first), by_name={"second": second},
        second=second, teacher=[frozen], activations=[nn.ReLU()], sizes=[1, 2],
        weights=ParameterTuple(dense().trainable_params()),
    )  # fmt: skip
    parameters: list[Parameter] = []
    assert warnings_of(lambda: parameters.extend(network.trainable_params())) == []
    assert len(parameters) == 6
    assert warnings_of(lambda: Holder(layers=[dense()]).trainable_params(recurse=False)) == []


# A checkpoint of another network.


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["kernel"], "no name in it, such as 'kernel', is one of 'net', such as 'weight'"),
        ([], "nothing was loaded from 'parameter_dict': it has no parameters"),
        (["first.weight"], "first."),  # another warning names the prefix
        (["weight", "other"], None),
    ],
)
def test_loading_no_parameter_warns(names: list[str], message: str | None) -> None:
    values = {name: Parameter(Tensor([[2.0]])) for name in names}
    texts = warnings_of(lambda: load_param_into_net(dense(), values))
    assert len(texts) == (message is not None)
    assert all(message in text for text in texts if message)
    assert warnings_of(lambda: load_param_into_net(nn.ReLU(), values)) == []


# Gradients of results that do not depend on the input.

ONE = Tensor(1.0)
CONSTANTS: dict[str, Callable[[Tensor], object]] = {
    "a constant": lambda x: ONE,
    "a number": lambda x: 1.0,
    "through numpy": lambda x: Tensor((x * 2).asnumpy()),
    "through item": lambda x: ONE * (x * 2).item(),
    "a comparison": lambda x: x > 0,
    "several": lambda x: (ONE, ops.stop_gradient(x)),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_gradient_without_path_warns(name: str) -> None:
    [text] = warnings_of(lambda: grad(CONSTANTS[name])(ONE))
    assert text.startswith("The gradients are all zero: ")
    assert text.endswith("warnings_of(lambda: grad(CONSTANTS[name])(ONE))")


def test_gradient_of_uncalled_network_warns() -> None:
    called, other = dense(), dense()
    step = value_and_grad(called, None, other.trainable_params())
    [text] = warnings_of(lambda: step(ops.ones((1, 1))))
    assert text.startswith("The gradients are all zero: ")


def test_zero_gradients_and_unused_inputs_are_accepted() -> None:
    used, unused = dense(), dense()
    weights = [*used.trainable_params(), *unused.trainable_params()]

    def linear(x: Tensor) -> Tensor:
        return 3 * x

    def all_of_them() -> None:
        value_and_grad(used, None, weights)(ops.ones((1, 1)))
        value_and_grad(lambda x, y: x, (0, 1))(ONE, ONE)
        grad(lambda x: x * 0)(ONE)
        grad(lambda x: ops.sign(x))(ONE)
        assert grad(grad(linear))(ONE) == 0
        assert grad(grad(grad(lambda x: x * x)))(ONE) == 0
        assert grad(lambda x: grad(linear)(x) * 2 + 1)(ONE) == 0

    assert warnings_of(all_of_them) == []


# The probability to keep elements, for that to drop them.


@given(st.floats(0, 0.99, exclude_min=True))
@example(0.5)
@example(np.nextafter(0.5, 0))
def test_dropout_that_keeps_less_than_half_warns(value: float) -> None:
    texts = warnings_of(lambda: nn.Dropout(value))
    assert len(texts) == (value < 0.5)
    assert all(f"write p={value};" in text and "nn.Dropout(value)" in text for text in texts)
    assert warnings_of(lambda: nn.Dropout(p=value)) == []


# A trained parameter of a cell with a `bprop`.


class OwnGradient(nn.Cell):
    """A product with a `bprop`, of a parameter of its own or a given one."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = Parameter(Tensor(2.0), name="factor")

    def construct(self, x: Tensor, factor: Tensor | None = None) -> Tensor:
        return x * (self.factor if factor is None else factor)

    def bprop(self, x: Tensor, *given: Tensor) -> tuple[Tensor, ...]:
        *factor, _, dout = given
        return (dout, *map(ops.zeros_like, factor))


BPROPS: dict[str, Callable[[OwnGradient, Tensor], Tensor]] = {
    "its own": lambda cell, x: cell(x),
    "given": lambda cell, x: cell(x, cell.factor),
}


@pytest.mark.parametrize("name", BPROPS)
@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("wanted", ["input", "weights", "Model.train"])
def test_trained_parameter_without_gradient_warns(name: str, trained: bool, wanted: str) -> None:
    class Net(Holder):
        def construct(self, x: Tensor) -> Tensor:
            return BPROPS[name](inner, dense(x))

    inner, dense = OwnGradient(), nn.Dense(1, 1)
    inner.factor.requires_grad = trained
    net = Net(inner=inner, dense=dense)
    weights = net.trainable_params()
    optimizer = nn.SGD(weights)
    calls: dict[str, Callable[[], object]] = {
        "input": lambda: grad(net)(ops.ones((1, 1))),
        "weights": lambda: value_and_grad(net, None, weights)(ops.ones((1, 1))),
        "Model.train": lambda: Model(net, nn.MSELoss(), optimizer).train(1, data()),
    }
    texts = warnings_of(calls[wanted])
    expected = name == "its own" and trained and wanted != "input"
    assert len(texts) == expected * (2 if wanted == "Model.train" else 1)
    message = "The gradient of the parameter 'inner.factor' is 0 in the cell of class OwnGradient"
    assert all(text.startswith(message) for text in texts)
