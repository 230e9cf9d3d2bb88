"""Transfers of tensors, parameters, cells and gradients between devices."""

import numpy as np
import pytest

from minispore import (
    Parameter,
    Tensor,
    float16,
    float32,
    get_context,
    grad,
    int32,
    nn,
    ops,
    set_context,
)
from minispore.engine.array import is_host
from tests.helpers.refusals import Refusal, refusals
from tests.strict_device.strict_backend import TransferCounter


def test_tensor_round_trip_between_devices(gpu: TransferCounter) -> None:
    x = Tensor([1.0, 2.0])
    assert x.device == "GPU:0"
    home = x.to("CPU")
    assert (home.device, home.tolist()) == ("CPU", [1.0, 2.0])
    assert home.to("cpu") is home
    assert home.to(x).device == x.device
    assert home.to("GPU", float16).dtype == float16
    assert x.move_to("CPU").device == "CPU"
    assert home.move_to("GPU").device == "GPU:0"
    assert x.to(int32).device == "GPU:0"
    gpu.clear()
    x.to("GPU").to(float32).to(x)
    assert gpu.counts() == (0, 0)
    x.to("CPU").to("CPU")
    assert gpu.counts() == (0, 1)


def test_results_are_on_the_device_of_the_operand(gpu: TransferCounter) -> None:
    home = Tensor([1.0, 2.0]).to("CPU")
    parameter = Parameter(home, name="w")
    gpu.clear()
    made = [Tensor(home), home + 1, home[0:1], home * [1.0, 2.0], home + np.ones(2, np.float32)]
    made += [ops.zeros_like(home), ops.full_like(home, 3), ops.one_hot(home.to(int32), 4)]
    made += [home[[0, 1]], parameter, parameter.set_data(3.0), home.copy().fill_(3.0)]
    assert gpu.counts() == (0, 0)
    made.append(parameter.clone("zeros"))
    assert {tensor.device for tensor in made} == {"CPU"}
    assert parameter.set_data(Tensor([3.0])).device == "CPU"


def test_gradient_flows_through_a_transfer(gpu: TransferCounter) -> None:
    def f(x: Tensor) -> Tensor:
        return ((x * x * x).to("CPU") * 2.0).sum()

    x = Tensor([1.0, 2.0])
    slope = grad(f)(x)
    assert (slope.device, slope.tolist()) == ("GPU:0", [6.0, 24.0])
    curvature = grad(lambda x: grad(f)(x).sum())(x)
    assert (curvature.device, curvature.tolist()) == ("GPU:0", [12.0, 24.0])


def test_moved_cell_keeps_its_parameter_objects(gpu: TransferCounter) -> None:
    net = nn.Dense(2, 3)
    net.steps = Parameter(Tensor([0], int32), name="steps")
    parameters = list(net.get_parameters())
    assert net.to("CPU", float16) is net
    assert list(net.get_parameters()) == parameters
    assert [str(p.dtype) for p in parameters] == ["Float16", "Float16", "Int32"]
    assert {p.device for p in parameters} == {"CPU"}
    assert net.to(Tensor(1.0)).weight.device == "GPU:0"
    assert net.weight.dtype == float32


def test_moved_network_trains_on_its_device(gpu: TransferCounter) -> None:
    net = nn.Dense(2, 1).to("CPU")
    step = nn.TrainOneStepCell(
        nn.WithLossCell(net, nn.MSELoss()), nn.Adam(net.trainable_params(), 0.1)
    )
    batch = Tensor(np.ones((3, 2), np.float32)).to("CPU"), Tensor([[1.0]] * 3).to("CPU")
    gpu.clear()
    loss = step(*batch)
    assert gpu.counts() == (0, 0)
    assert is_host(loss._data)
    assert {p.device for p in step.get_parameters()} == {"CPU"}


def test_operands_on_two_devices_raise(gpu: TransferCounter) -> None:
    x = Tensor([1.0, 2.0])
    y = x.to("CPU")
    for operate in (ops.mul, ops.equal, ops.less, ops.matmul):
        with pytest.raises(TypeError, match="must be on one device.*on the GPU.*on the CPU"):
            operate(x, y)
    with pytest.raises(TypeError, match="must be on one device"):
        ops.where(x > 0, x, y)


def test_host_number_is_moved_to_the_device(gpu: TransferCounter) -> None:
    x, rate = Tensor([1.0, 2.0]), Tensor([0.5]).to("CPU")

    def scaled(x: Tensor) -> Tensor:
        return (x * rate * x).sum()

    gpu.clear()
    made = [x * rate, rate - x, ops.equal(x, rate), grad(scaled)(x), ops.where(x > 1.0, x, rate)]
    assert gpu.counts() == (0, 0)
    assert {y.device for y in made} == {"GPU:0"}
    assert [y.tolist() for y in made[:2]] == [[0.5, 1.0], [-0.5, -1.5]]
    assert [y.tolist() for y in made[3:]] == [[1.0, 2.0], [0.5, 2.0]]
    two, x = Tensor([2]).to("CPU"), Tensor([1, 2, 3])
    found = [f(two, x).tolist() for f in (ops.equal, ops.less, ops.floor_divide, ops.pow)]
    assert found == [[False, True, False], [False, False, True], [2, 1, 0], [2, 4, 8]]


def test_where_on_a_device_has_higher_derivatives(gpu: TransferCounter) -> None:
    places = Tensor([0, 0, 2], int32)

    def cubes(x: Tensor) -> Tensor:
        return (x[places] ** 3.0).sum()

    x, f = Tensor([1.0, 2.0, 3.0]), cubes
    for wanted in ([6.0, 0.0, 27.0], [12.0, 0.0, 18.0], [12.0, 0.0, 6.0]):
        f = grad(f)
        assert f(x).tolist() == wanted


@pytest.mark.parametrize("options", [{}, {"device_target": "GPU"}], ids=str)
def test_only_gpu_0_is_supported(gpu: TransferCounter, options: dict[str, object]) -> None:
    set_context(device_id=0, **options)
    with pytest.raises(ValueError, match="'device_id' must be 0 with a GPU"):
        set_context(device_id=1, **options)
    assert get_context("device_id") == 0


def test_assignment_accepts_values_of_another_device(gpu: TransferCounter) -> None:
    there, home = Tensor([1.0, 2.0]), Tensor([3.0, 4.0]).to("CPU")
    there[0:1] = home[1:]
    assert (there.device, there.tolist()) == ("GPU:0", [4.0, 2.0])
    home.copy_(there)
    assert (home.device, home.tolist()) == ("CPU", [4.0, 2.0])


INVALID = """
    x.to("TPU")  # ValueError: For 'to'
    x.to("CPU:0")  # ValueError: For 'to'
    x.to(3)  # TypeError: For 'to'
    x.to("CPU", True)  # TypeError: For 'to'
    x.to(float32, 1)  # TypeError: For 'to'
    x.to(float32, False, False, False)  # TypeError: For 'to'
    x.to(place="CPU")  # TypeError: For 'to'
    x.to("CPU", device="CPU")  # TypeError: For 'to'
    x.to(other=3)  # TypeError: For 'to'
    tensor.move_to("cpu")  # ValueError: For 'move_to'
    tensor.move_to("TPU")  # ValueError: For 'move_to'
    tensor.move_to("CPU", 1)  # ValueError: For 'move_to'
    cell.to(int32)  # TypeError: For 'to' | one of floats
"""


@pytest.mark.parametrize("refusal", refusals(INVALID))
def test_invalid_destination_raises(refusal: Refusal) -> None:
    """As in MindSpore."""
    values = {"tensor": Tensor([1.0]), "cell": nn.Dense(1, 1), "float32": float32, "int32": int32}
    for moved in (values["tensor"], values["cell"]):
        refusal.check(values | {"x": moved})


def test_no_destination_gives_the_tensor_and_copy_a_new_one() -> None:
    x = Tensor([1.0])
    assert x.to() is x
    assert x.to("CPU", copy=True) is not x


def test_write_to_a_part_while_a_gradient_is_computed_is_refused(gpu: TransferCounter) -> None:
    def of_part(x: Tensor) -> Tensor:
        y = x * 1.0
        y[0][1] = 3.0
        return y.sum()

    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert of_part(x).item() == 11
    with pytest.raises(RuntimeError, match="write to the larger one"):
        grad(of_part)(x)

    def of_argument(x: Tensor) -> Tensor:
        """The tensor in the function and the one outside of it have the same memory."""
        x[0, 1] = 3.0
        return (x * x).sum()

    assert grad(of_argument)(x).tolist() == [[2.0, 0.0], [6.0, 8.0]]
    assert x.tolist() == [[1.0, 3.0], [3.0, 4.0]]
