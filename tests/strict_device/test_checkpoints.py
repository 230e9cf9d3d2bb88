"""Files written on a device: the same bytes as on the CPU, readable on both."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minispore import (
    Tensor,
    load_checkpoint,
    load_param_into_net,
    nn,
    save_checkpoint,
    set_context,
    set_seed,
)
from minispore.train import CheckpointConfig, ModelCheckpoint
from minispore.train.serialization import wait_for_saves
from tests.strict_device.runs import data, small_model
from tests.strict_device.strict_backend import TransferCounter


def saved(target: str, path: Path, save: Callable[[nn.Cell, str], object]) -> bytes:
    set_context(device_target=target)
    set_seed(4)
    save(nn.Dense(3, 2), str(path))
    wait_for_saves()
    return path.read_bytes()


SAVES: dict[str, Callable[[nn.Cell, str], object]] = {
    "at once": lambda net, path: save_checkpoint(net, path, append_dict={"note": "a", "n": 1}),
    "behind": lambda net, path: save_checkpoint(net, path, async_save=True),
    "checked": lambda net, path: save_checkpoint(net, path, crc_check=True),
    "safetensors": lambda net, path: save_checkpoint(net, path, format="safetensors"),
}


@pytest.mark.parametrize("how", SAVES)
def test_checkpoint_bytes_equal_the_cpus(gpu: TransferCounter, tmp_path: Path, how: str) -> None:
    form = how if how == "safetensors" else "ckpt"
    here = saved("CPU", tmp_path / f"here.{form}", SAVES[how])
    assert saved("GPU", tmp_path / f"there.{form}", SAVES[how]) == here


def test_checkpoint_is_loaded_on_the_other_device(gpu: TransferCounter, tmp_path: Path) -> None:
    path = str(tmp_path / "net.ckpt")
    for source, target in (("CPU", "GPU"), ("GPU", "CPU")):
        set_context(device_target=source)
        net = nn.Dense(3, 2)
        save_checkpoint(net, path)
        set_context(device_target=target)
        other = nn.Dense(3, 2)
        device = other.weight.device
        gpu.clear()
        assert load_param_into_net(other, load_checkpoint(path)) == ([], [])
        # One copy for each parameter, none back.
        assert gpu.counts() == ((2, 0) if target == "GPU" else (0, 0))
        assert other.weight.device == device
        np.testing.assert_array_equal(other.weight.asnumpy(), net.weight.asnumpy())


def test_interrupted_training_resumes_on_the_other_device(
    gpu: TransferCounter, tmp_path: Path
) -> None:
    """Resuming a training state gives the weights of an uninterrupted run."""
    config = CheckpointConfig(
        save_checkpoint_steps=7, keep_checkpoint_max=5, append_info=["training_state"]
    )

    def parameters(first: str, second: str) -> list[bytes]:
        folder = tmp_path / f"{first}{second}"
        set_context(device_target=first)
        set_seed(2)
        small_model().train(1, data(), ModelCheckpoint("net", str(folder), config))
        set_context(device_target=second)
        set_seed(2)
        model = small_model()
        saver = ModelCheckpoint("net", str(folder), config)
        model.train(2, data(), saver, resume=str(folder / "net-1_7.ckpt"))
        return [p.asnumpy().tobytes() for p in model.train_network.get_parameters()]

    here = parameters("CPU", "CPU")
    assert parameters("CPU", "GPU") == here
    assert parameters("GPU", "CPU") == here


def test_prediction_equals_the_cpus(gpu: TransferCounter) -> None:
    found: list[bytes] = []
    for target in ("CPU", "GPU"):
        set_context(device_target=target)
        set_seed(3)
        answer = small_model().predict(Tensor(np.ones((2, 4), np.float32)))
        assert isinstance(answer, Tensor)
        found.append(answer.asnumpy().tobytes())
    assert found[0] == found[1]
