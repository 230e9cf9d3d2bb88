"""Invalid inputs of layers and losses raise errors, with a note that names the cell."""

import re
from collections.abc import Callable
from inspect import signature
from itertools import product
from typing import Any

import numpy as np
import pytest

import minispore as ms
from minispore import Tensor, nn, ops
from tests.helpers.public_calls import make_call

ERRORS = (TypeError, ValueError, IndexError, RuntimeError)
NO_TENSORS: list[object] = [None, 3, "a", [1.0], np.ones((2, 3)), object()]
TENSORS = [
    *[Tensor(np.ones(shape)) for shape in [(), (3,), (2, 3), (2, 5), (0, 3), (2, 0), (2, 3, 4)]],
    Tensor([0, 1]),
    Tensor([9, 9]),
    Tensor([[True, False, True]]),
]
# Cells that do not take one or two tensors: bases, containers, wrappers.
OTHERS = {
    "Cell", "CellDict", "CellList", "CosineEmbeddingLoss", "DistributedGradReducer",
    "Identity", "LearningRateSchedule", "LossBase", "MarginRankingLoss", "Optimizer",
    "SequentialCell", "TrainOneStepCell", "WithEvalCell", "WithLossCell",
    "DynamicLossScaleUpdateCell", "FixedLossScaleUpdateCell", "TrainOneStepWithLossScaleCell",
    "GRUCell", "LSTMCell", "RNNCell",
}  # fmt: skip


def classes(are_losses: bool) -> dict[str, type[nn.Cell]]:
    """Return the public losses, or the public layers, by name."""
    public = {name: getattr(nn, name) for name in dir(nn) if name not in OTHERS}
    cells = {k: v for k, v in public.items() if isinstance(v, type) and issubclass(v, nn.Cell)}
    others = nn.Optimizer | nn.LearningRateSchedule
    return {
        name: cell
        for name, cell in cells.items()
        if issubclass(cell, nn.LossBase) == are_losses and not issubclass(cell, others)
    }


def with_valid_arguments(made: dict[str, nn.Cell], are_losses: bool) -> dict[str, nn.Cell]:
    """Add a cell of each class that has none, made with its valid arguments."""
    makers: dict[str, Callable[..., nn.Cell]] = {**classes(are_losses)}
    rest = {name: make for name, make in makers.items() if name not in made}
    return made | {name: make(**make_call(name, make).arguments) for name, make in rest.items()}


# With other arguments than valid_arguments.py has.
LAYERS = with_valid_arguments(
    {
        "AdaptiveAvgPool1d": nn.AdaptiveAvgPool1d(2),
        "AdaptiveAvgPool2d": nn.AdaptiveAvgPool2d(2),
        "AdaptiveMaxPool1d": nn.AdaptiveMaxPool1d(2),
        "AdaptiveMaxPool2d": nn.AdaptiveMaxPool2d(2),
        "AvgPool1d": nn.AvgPool1d(2),
        "AvgPool2d": nn.AvgPool2d(2),
        "BatchNorm1d": nn.BatchNorm1d(3),
        "BatchNorm2d": nn.BatchNorm2d(3),
        "ConstantPad1d": nn.ConstantPad1d((1, 0), 0.5),
        "ConstantPad2d": nn.ConstantPad2d(1, 0.5),
        "Conv1d": nn.Conv1d(3, 2, 2),
        "Conv2d": nn.Conv2d(3, 2, 2),
        "Conv2dTranspose": nn.Conv2dTranspose(3, 2, 2),
        "Dense": nn.Dense(3, 2),
        "Dropout": nn.Dropout(p=0.5),
        "Dropout2d": nn.Dropout2d(0.5),
        "Embedding": nn.Embedding(4, 2),
        "GRU": nn.GRU(4, 2, bidirectional=True),
        "GroupNorm": nn.GroupNorm(3, 3),
        "LSTM": nn.LSTM(4, 2, batch_first=True),
        "LayerNorm": nn.LayerNorm((3,)),
        "MaxPool1d": nn.MaxPool1d(2),
        "MaxPool2d": nn.MaxPool2d(2),
        "Pad": nn.Pad(((1, 0), (0, 1))),
        "RNN": nn.RNN(4, 2, 2, dropout=0.5, nonlinearity="relu"),
        "ReflectionPad1d": nn.ReflectionPad1d(1),
        "ReflectionPad2d": nn.ReflectionPad2d(1),
        "ReplicationPad1d": nn.ReplicationPad1d(1),
        "ReplicationPad2d": nn.ReplicationPad2d(1),
        "Unflatten": nn.Unflatten(1, (-1, 1)),
        "Upsample": nn.Upsample(2),
        "ZeroPad2d": nn.ZeroPad2d(1),
    },
    are_losses=False,
)
LOSSES = with_valid_arguments(
    {
        "BCELoss": nn.BCELoss(Tensor([1.0, 2.0])),
        "BCEWithLogitsLoss": nn.BCEWithLogitsLoss(pos_weight=Tensor([1.0, 2.0])),
        "CrossEntropyLoss": nn.CrossEntropyLoss(Tensor([1.0, 2.0, 3.0])),
        "KLDivLoss": nn.KLDivLoss("batchmean"),
        "NLLLoss": nn.NLLLoss(Tensor([1.0, 2.0, 3.0])),
        "SoftmaxCrossEntropyWithLogits": nn.SoftmaxCrossEntropyWithLogits(sparse=True),
    },
    are_losses=True,
)


def named_in(error: TypeError) -> tuple[str, str]:
    """Return the function or cell, and the argument, that an error names."""
    found = re.match(r"For '(\w+)', .*'(\w+)' must be a Tensor, but got ", str(error))
    assert found
    return found[1], found[2]


def test_cases_cover_every_layer_and_loss() -> None:
    assert {name: type(cell) for name, cell in LAYERS.items()} == classes(are_losses=False)
    assert {name: type(cell) for name, cell in LOSSES.items()} == classes(are_losses=True)


def test_reprs_are_the_same_in_each_process() -> None:
    """They contain no address: files such as `-graph.meta` of equal runs are equal."""
    for cell in (*LAYERS.values(), *LOSSES.values()):
        assert " at 0x" not in repr(cell)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_reject_non_tensors(name: str, training: bool) -> None:
    layer = LAYERS[name].set_train(training)
    for bad in NO_TENSORS:
        with pytest.raises(TypeError) as caught:
            layer(bad)
        function, argument = named_in(caught.value)
        called = layer.construct if function == name else getattr(ops, function)
        assert argument in signature(called).parameters
        assert "\n" not in str(caught.value)
        convertible = isinstance(bad, list | np.ndarray)
        assert str(caught.value).endswith(" Convert it: Tensor(…).") == convertible
        assert caught.value.__notes__ == [f"This happened in the cell of class {name}."]


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_compute_or_raise_for_any_tensor(name: str, training: bool) -> None:
    layer = LAYERS[name].set_train(training)
    images = [Tensor(np.ones(shape)) for shape in [(0, 3, 4, 4), (2, 3, 1, 1), (2, 3, 0, 4)]]
    for x in [*TENSORS, *images]:
        errors: list[Exception] = []
        try:
            with np.errstate(all="ignore"):
                layer(x)
        except ERRORS as error:
            errors.append(error)
        for answer in errors:
            assert str(answer).startswith("For '")
            assert "\n" not in str(answer)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_reject_non_tensors(name: str) -> None:
    loss = LOSSES[name]
    names = list(signature(loss.construct).parameters)
    for outputs, labels in [*product(NO_TENSORS, TENSORS), *product(TENSORS, NO_TENSORS)]:
        with pytest.raises(TypeError) as caught:
            loss(outputs, labels)
        function, argument = named_in(caught.value)
        assert function == name
        # MAELoss and RMSELoss call their `label` as the other losses do.
        assert argument.rstrip("s") == names[isinstance(outputs, Tensor)].rstrip("s")


@pytest.mark.filterwarnings("ignore:.* They are broadcast")
@pytest.mark.parametrize("name", LOSSES)
def test_losses_compute_or_raise_for_any_tensors(name: str) -> None:
    for outputs, labels in product(TENSORS, TENSORS):
        errors: list[Exception] = []
        try:
            with np.errstate(all="ignore"):
                LOSSES[name](outputs, labels)
        except ERRORS as error:
            errors.append(error)
        for answer in errors:
            assert str(answer).startswith("For '")
            assert answer.__notes__ == [f"This happened in the cell of class {name}."]


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Dense(3, 4)
        self.body = nn.SequentialCell(nn.ReLU(), nn.Dense(5, 2))

    def construct(self, x: Tensor) -> Tensor:
        return self.body(self.first(x))


def test_error_notes_name_the_innermost_cell_once() -> None:
    net = Net()
    step = nn.TrainOneStepCell(
        nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1)
    )
    before = net.first.weight.asnumpy().copy()
    with pytest.raises(ValueError, match=r"shapes are \(2, 4\) and \(2, 5\)") as caught:
        step(Tensor(np.ones((2, 3), np.float32)), Tensor(np.ones((2, 2), np.float32)))
    assert caught.value.__notes__ == ["This happened in the cell 'body.1' of class Dense."]
    assert np.array_equal(net.first.weight.asnumpy(), before)


def test_other_exceptions_get_no_note() -> None:
    class Stops(nn.Cell):
        def construct(self) -> Tensor:
            raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        Stops()()
    assert not hasattr(caught.value, "__notes__")


X: Any = Tensor(np.ones((2, 3), np.float32))
DENSE: Any = nn.Dense(3, 2)


def test_sizes_and_axes_accept_numpy_integers() -> None:
    assert X.reshape(-1, np.prod((3, 1))).shape == (2, 3)
    assert X.sum(np.int64(1)).shape == (2,)
    with pytest.raises(TypeError, match="True"):
        X.sum(True)
    with pytest.raises(TypeError, match="True"):
        X.reshape(True, 6)


@pytest.mark.parametrize(("module", "mistake"), [(ms, "Tenser"), (nn, "Dens")])
def test_attribute_errors_allow_suggestions(module: object, mistake: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(module, mistake)
    # Python uses these for "Did you mean: 'Tensor'?".
    assert (caught.value.obj, caught.value.name) == (module, mistake)


def test_learning_rates_accept_numpy_floats() -> None:
    rates = np.array([0.25, 0.5], np.float32)
    for values in (rates, list(rates)):
        assert nn.SGD(DENSE.trainable_params(), values).get_lr() == 0.25
