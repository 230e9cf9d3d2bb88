"""Training on a GPU, compared with the CPU: steps, callbacks, files, the tutorial."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from minispore import Tensor, load_checkpoint, load_param_into_net, nn, save_checkpoint, set_context
from minispore.engine.array import Array, ArrayBackend, DeviceTarget, device
from minispore.tensorpack import DEFAULT_CALLBACKS
from minispore.train import Callback, CheckpointConfig, LossMonitor, ModelCheckpoint
from tests.helpers.processes import run_python
from tests.strict_device.runs import BATCHES, run
from tests.strict_device.steps import (
    LOSSES,
    NETWORKS,
    OPTIMIZERS,
    Losses,
    Optimizers,
    network,
    steps,
)

pytestmark = pytest.mark.gpu
ROOT = Path(__file__).parents[2]


def near(
    make: Callable[[], nn.Cell], optimizer: Optimizers, loss: Losses, classes: bool = True
) -> None:
    here, there = (steps(target, make, optimizer, loss, classes) for target in ("CPU", "GPU"))
    for mine, theirs in zip(there, here, strict=True):
        np.testing.assert_allclose(
            mine.astype(np.float64), theirs.astype(np.float64), rtol=2e-3, atol=2e-5
        )


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_each_optimizer(card: str, optimizer: Optimizers) -> None:
    near(network, optimizer, nn.CrossEntropyLoss)


@pytest.mark.parametrize(("loss", "classes"), LOSSES.values(), ids=LOSSES)
def test_each_loss(card: str, loss: Losses, classes: bool) -> None:
    near(network, OPTIMIZERS["SGD"], loss, classes)


@pytest.mark.parametrize("make", NETWORKS.values(), ids=NETWORKS)
def test_each_network(card: str, make: Callable[[], nn.Cell]) -> None:
    near(make, OPTIMIZERS["SGD"], nn.CrossEntropyLoss)


def test_invalid_label_gives_a_nan_loss(card: str) -> None:
    loss = nn.CrossEntropyLoss()
    assert np.isnan(loss(Tensor(np.zeros((2, 3), np.float32)), Tensor([0, 3])).asnumpy())


def test_step_does_not_synchronize(card: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count the calls that transfer arrays to the host."""
    library = cast("ArrayBackend[Array]", device._backends["GPU"])
    real, looks = library.to_host, 0

    def counted(x: Array) -> NDArray[np.generic]:
        nonlocal looks
        looks += 1
        return real(x)

    monkeypatch.setattr(library, "to_host", counted)
    net = network()
    step = nn.TrainOneStepCell(
        nn.WithLossCell(net, nn.CrossEntropyLoss()), nn.Adam(net.trainable_params())
    )
    batch = Tensor(np.ones((5, 36), np.float32)), Tensor(np.zeros(5, np.int32))
    for _ in range(3):
        step(*batch)
    assert looks == 0


CALLBACKS: dict[str, Callable[[str], list[Callback]]] = {
    "LossMonitor": lambda folder: [LossMonitor(5)],
    "ModelCheckpoint": lambda folder: [
        ModelCheckpoint(
            "net", folder, CheckpointConfig(append_info=["training_state"], async_save=True)
        )
    ],
    "tensorpack": lambda folder: list(DEFAULT_CALLBACKS()),
}


@pytest.mark.parametrize("make", CALLBACKS.values(), ids=CALLBACKS)
def test_callbacks(
    card: str,
    make: Callable[[str], list[Callback]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "run"

    def files_and_losses(target: DeviceTarget) -> tuple[list[str], list[float]]:
        found = run(target, folder, lambda: make(str(folder)), lambda: capsys.readouterr().out)
        losses = re.findall(r"loss is (\S+)", found.lines)
        return sorted(found.files), [float(loss) for loss in losses]

    (here, losses), (there, their_losses) = files_and_losses("CPU"), files_and_losses("GPU")
    assert there == here
    np.testing.assert_allclose(their_losses, losses, rtol=2e-3)
    assert len(losses) in {0, 2 * BATCHES // 5}


def test_checkpoint_is_loaded_on_the_other_device(card: str, tmp_path: Path) -> None:
    path = str(tmp_path / "net.ckpt")
    net = nn.Dense(3, 2)
    save_checkpoint(net, path)
    set_context(device_target="CPU")
    other = nn.Dense(3, 2)
    load_param_into_net(other, load_checkpoint(path))
    assert (net.weight.device, other.weight.device) == ("GPU:0", "CPU")
    np.testing.assert_array_equal(other.weight.asnumpy(), net.weight.asnumpy())
    assert net.to("CPU").weight.device == "CPU"


@pytest.mark.slow
def test_the_tutorial(card: str, tmp_path: Path) -> None:
    program = (
        "import runpy, sys\n"
        "import minispore\n"
        "minispore.set_context(device_target='GPU')\n"
        f"sys.argv = ['tutorial.py', {str(tmp_path / 'tutorial')!r}]\n"
        f"runpy.run_path({str(ROOT / 'examples' / 'tutorial.py')!r}, run_name='__main__')\n"
    )
    done = run_python("-c", program, folder=tmp_path)
    best = re.search(r"the best network reads (\d+\.\d)%", done.stdout)
    assert best
    assert float(best[1]) > 80


@pytest.mark.slow
@pytest.mark.mnist
def test_the_command_line_on_the_real_mnist(card: str, mnist: Path, tmp_path: Path) -> None:
    command = ("-m", "minispore", "train", "--device", "gpu", "--data", mnist)
    run_python(*command, folder=tmp_path)
