"""Mixed precision: what computes in float16, and training with it."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minispore as ms
from minispore import Model, Parameter, Tensor, amp, float16, float32, nn, ops
from minispore.common.dtype import DType
from minispore.dataset import NumpySlicesDataset
from minispore.testing import strategies as mst
from minispore.train import (
    Callback,
    DynamicLossScaleManager,
    FixedLossScaleManager,
    LossScaleManager,
    Metric,
    RunContext,
)
from minispore.train.protocol.dataset import DatasetLike
from tests.nn.layer.test_conv import of


class Net(nn.Cell):
    """A network that notes the types of what its layers return."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.norm = nn.BatchNorm2d(2)
        self.dense = nn.Dense(32, 3)
        self.factor = Parameter(ops.ones(3), name="factor")
        self.types: tuple[DType, ...] = ()

    def construct(self, x: Tensor) -> Tensor:
        images = self.conv(x)
        normal = self.norm(images)
        rows = self.dense(normal.flatten(start_dim=1))
        result = rows * self.factor
        self.types = (images.dtype, normal.dtype, rows.dtype, result.dtype)
        return result


IMAGES = Tensor(of(0, 2, 1, 4, 4).astype(np.float32))
HALF = (float16,) * 4


@pytest.mark.parametrize(
    ("level", "types"),
    [("O0", (float32,) * 4), ("O2", HALF), ("O3", HALF), ("O1", (float32,) * 4)],
)
def test_levels_choose_the_types_of_layers(level: str, types: tuple[object, ...]) -> None:
    net = Net()
    parameters = list(net.get_parameters())
    assert amp.auto_mixed_precision(net, level) is net
    assert net(IMAGES).dtype is float32
    assert net.types == types
    assert [id(p) for p in net.get_parameters()] == [id(p) for p in parameters]
    assert {parameter.dtype for parameter in parameters} == {float32}
    gradients = ms.grad(net, None, net.trainable_params())(IMAGES)
    assert {gradient.dtype for gradient in gradients} == {float32}


@given(mst.dtypes(), st.lists(mst.dtypes(), max_size=2), mst.dtypes())
@example(float32, [float32, ms.int64], ms.float64)
def test_float_tensors_in_tuples_and_lists_are_cast(
    first: DType, others: list[DType], keyword: DType
) -> None:
    class Types(nn.Cell):
        def construct(self, pair: tuple[Tensor, list[Tensor]], *, z: Tensor) -> Tensor:
            self.types = [x.dtype for x in (pair[0], *pair[1], z)]
            return pair[0]

    net = Types().to_float(float16)
    one = {dtype: ops.ones((1,), dtype) for dtype in (first, *others, keyword)}
    net((one[first], [one[dtype] for dtype in others]), z=one[keyword])
    floats = (float16, float32, ms.float64)
    expected = [float16 if dtype in floats else dtype for dtype in (first, *others, keyword)]
    assert net.types == expected


def test_parameters_are_restored_after_an_error() -> None:
    net = nn.Dense(2, 1).to_float(float16)
    with pytest.raises(ValueError, match="dense"):
        net(ops.ones((1, 3)))
    assert isinstance(net.weight, Parameter)


@given(st.sampled_from(["O0", "O1", "O2", "O3", "auto"]), st.integers(0, 99))
def test_result_is_that_of_float32_up_to_rounding(level: str, seed: int) -> None:
    x = Tensor(of(seed, 3, 4).astype(np.float32))
    net = nn.SequentialCell(nn.Dense(4, 8), nn.ReLU(), nn.Dense(8, 2))
    expected = net(x).asnumpy()
    actual = amp.auto_mixed_precision(net, level)(x).asnumpy()
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=2e-2)
    assert (level == "O0") == np.array_equal(actual, expected)


@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3", "auto"])
@pytest.mark.parametrize("optimized", [False, True])
def test_predictions_and_evaluated_outputs_are_float32(level: str, optimized: bool) -> None:
    class Types(Metric):
        def clear(self) -> None:
            self.types: list[object] = []

        def update(self, *inputs: object) -> None:
            self.types += [x.dtype for x in inputs if isinstance(x, Tensor)]

        def eval(self) -> object:
            return self.types

    net = nn.Dense(2, 1)
    optimizer = nn.SGD(net.trainable_params()) if optimized else None
    model = Model(net, nn.MSELoss(), optimizer, {"types": Types()}, amp_level=level)
    assert model.predict(ops.ones((1, 2))).dtype is float32
    assert {*model.eval(data())["types"]} == {float32}


def data() -> DatasetLike:
    x = of(0, 32, 2).astype(np.float32)
    return NumpySlicesDataset({"x": x, "y": x.sum(1, keepdims=True)}, shuffle=False).batch(8)


@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3", "auto"])
@pytest.mark.parametrize(
    "manager", [None, FixedLossScaleManager(256.0), DynamicLossScaleManager(2.0**16, 2, 4)]
)
def test_model_learns_in_mixed_precision(level: str, manager: LossScaleManager | None) -> None:
    net = nn.Dense(2, 1, weight_init="zeros", bias_init="zeros")
    optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
    model = Model(
        net, nn.MSELoss(), optimizer, {"loss"}, amp_level=level, loss_scale_manager=manager
    )
    model.train(30, data())
    assert model.eval(data())["loss"] < 1e-3
    assert net.weight.dtype is float32
    np.testing.assert_allclose(net.weight.asnumpy(), 1.0, atol=0.05)


@pytest.mark.parametrize(
    ("level", "options", "kind"),
    [
        ("O0", {}, nn.TrainOneStepCell),
        ("O3", {}, nn.TrainOneStepCell),
        ("O2", {}, nn.TrainOneStepWithLossScaleCell),
        ("O2", {"loss_scale_manager": None}, nn.TrainOneStepCell),
        (
            "O2",
            {"loss_scale_manager": FixedLossScaleManager(8.0, drop_overflow_update=False)},
            nn.TrainOneStepCell,
        ),
        ("O0", {"loss_scale_manager": FixedLossScaleManager()}, nn.TrainOneStepWithLossScaleCell),
    ],
)
def test_loss_scale_manager_chooses_the_training_step(
    level: str, options: dict[str, Any], kind: type[nn.Cell]
) -> None:
    net = nn.Dense(2, 1)
    scale = 8.0 if options.get("loss_scale_manager") and kind is nn.TrainOneStepCell else 1.0
    optimizer = nn.SGD(net.trainable_params(), loss_scale=scale)
    assert type(amp.build_train_network(net, optimizer, nn.MSELoss(), level, **options)) is kind


def test_other_types_than_float16_are_refused() -> None:
    with pytest.raises(ValueError, match="'dtype' must be one of"):
        amp.auto_mixed_precision(nn.ReLU(), "O2", ms.float64)
    with pytest.raises(ValueError, match="'dst_type' must be one of"):
        nn.ReLU().to_float(ms.float64)


def not_dropping(scale: float) -> LossScaleManager:
    return FixedLossScaleManager(scale, drop_overflow_update=False)


@given(
    st.sampled_from([None, not_dropping, FixedLossScaleManager, DynamicLossScaleManager]),
    st.sampled_from([1.0, 16.0, 1024.0]),
    st.sampled_from([1.0, 16.0, 1024.0]),
)
def test_loss_scale_that_the_optimizer_does_not_undo_warns(
    manager: Callable[[float], LossScaleManager] | None, loss_scale: float, undone: float
) -> None:
    """Or undoes although the step does."""
    net = nn.Dense(1, 1, "ones", "zeros")
    optimizer = nn.SGD(net.trainable_params(), 0.25, loss_scale=undone)
    made = manager and manager(loss_scale)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = Model(net, nn.MSELoss(), optimizer, loss_scale_manager=made)
    model.train_network(ops.ones((2, 1)), ops.full((2, 1), 2.0))
    texts = [str(warning.message) for warning in caught]
    expected = loss_scale if manager is not_dropping else 1.0
    is_right = net.weight.item() == 1.5
    assert len(texts) == (expected != undone) == (not is_right)
    assert all("loss_scale" in text and f"{expected:g}." in text for text in texts)
    assert all(warning.filename == __file__ for warning in caught)


class BreakWeights(Callback):
    """Makes the weights infinite, so that the gradients of all later steps overflow."""

    def __init__(self, net: nn.Dense, step: int) -> None:
        super().__init__()
        self.net = net
        self.step = step

    def on_train_step_begin(self, run_context: RunContext) -> None:
        if run_context.original_args().cur_step_num == self.step:
            self.net.weight.set_data(ops.full((1, 1), np.inf))


@given(
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 13),
    st.sampled_from([FixedLossScaleManager, DynamicLossScaleManager]),
)
def test_run_warns_of_overflows_at_its_end(
    batches: int, epochs: int, first: int, manager: Callable[[float], LossScaleManager]
) -> None:
    """If each step has overflowed, or more steps at the end than an epoch has."""
    net = nn.Dense(1, 1, "ones", has_bias=False)
    data = NumpySlicesDataset((np.ones((batches, 1), np.float32),) * 2).batch(1)
    optimizer = nn.SGD(net.trainable_params(), 0.25)
    model = Model(net, nn.MSELoss(), optimizer, loss_scale_manager=manager(2.0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.train(epochs, data, BreakWeights(net, first))
    overflows = max(0, batches * epochs - first + 1)
    texts = [str(warning.message) for warning in caught if "overflow" in str(warning.message)]
    assert len(texts) == (overflows == batches * epochs or overflows > batches)
    assert all(f"the last {overflows} step" in text for text in texts)
    assert all(warning.filename == __file__ for warning in caught)
