"""CheckpointConfig: what its arguments come to, as observed with MindSpore 2.10."""

import numpy as np
import pytest

from minispore.common import Tensor
from minispore.nn.cell import Cell
from minispore.train.callback._checkpoint_config import CheckpointConfig

DEFAULT = {"steps": 1, "seconds": None, "max": 5, "minutes": None}


def policy(config: CheckpointConfig) -> dict[str, object]:
    return {
        "steps": config.save_checkpoint_steps,
        "seconds": config.save_checkpoint_seconds,
        "max": config.keep_checkpoint_max,
        "minutes": config.keep_checkpoint_per_n_minutes,
    }


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, {}),
        ({"save_checkpoint_steps": 0}, {"steps": 0, "seconds": 0}),
        ({"save_checkpoint_steps": None}, {"steps": None, "seconds": 0}),
        ({"save_checkpoint_seconds": 30}, {}),
        (
            {"save_checkpoint_steps": None, "save_checkpoint_seconds": 30},
            {"steps": None, "seconds": 30},
        ),
        ({"save_checkpoint_steps": 0, "save_checkpoint_seconds": 30}, {"steps": 0, "seconds": 30}),
        ({"keep_checkpoint_max": 0}, {"max": 1, "minutes": 0}),
        ({"keep_checkpoint_max": None}, {"max": 1, "minutes": 0}),
        (
            {"keep_checkpoint_max": 0, "keep_checkpoint_per_n_minutes": 5},
            {"max": 0, "minutes": 5},
        ),
        ({"keep_checkpoint_max": 3, "keep_checkpoint_per_n_minutes": 5}, {"max": 3}),
        ({"keep_checkpoint_per_n_minutes": 5}, {}),
    ],
)
def test_policy(arguments: dict[str, int | None], expected: dict[str, object]) -> None:
    config = CheckpointConfig(**arguments)  # type: ignore[arg-type]
    assert policy(config) == DEFAULT | expected
    assert list(config.get_checkpoint_policy().values()) == [*policy(config).values(), None]


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        (None, None),
        ([], None),
        (["epoch_num"], {"epoch_num": 0}),
        (["epoch_num", "step_num"], {"epoch_num": 0, "step_num": 0}),
        (["epoch_num", "epoch_num"], {"epoch_num": 0}),
        ([{"a": 1}, "step_num"], {"a": 1, "step_num": 0}),
        ([{"epoch_num": 7}, "epoch_num"], {"epoch_num": 7}),
        ([{"a": "text"}], {"a": "text"}),
    ],
)
def test_append_dict(info: list[str | dict[str, object]] | None, expected: object) -> None:
    assert CheckpointConfig(append_info=info).append_dict == expected


def test_the_rest_is_as_given() -> None:
    cell = Cell()
    config = CheckpointConfig(
        saved_network=cell, exception_save=True, crc_check=True, integrated_save=False
    )
    assert config.saved_network is cell
    assert config.get_checkpoint_policy()["saved_network"] is cell
    assert config.exception_save
    assert config.crc_check
    assert not config.integrated_save
    assert (config.format, config.enc_key, config.enc_mode) == ("ckpt", None, "AES-GCM")
    assert config.async_save is False


@pytest.mark.parametrize(
    ("error", "argument", "changes"),
    [
        (ValueError, "save_checkpoint_steps", {"save_checkpoint_steps": -1}),
        (TypeError, "save_checkpoint_steps", {"save_checkpoint_steps": 1.5}),
        (TypeError, "save_checkpoint_steps", {"save_checkpoint_steps": True}),
        (ValueError, "save_checkpoint_seconds", {"save_checkpoint_seconds": -1}),
        (ValueError, "keep_checkpoint_max", {"keep_checkpoint_max": -1}),
        (ValueError, "n_minutes", {"keep_checkpoint_per_n_minutes": -5}),
        (TypeError, "n_minutes", {"keep_checkpoint_per_n_minutes": 1.5}),
        (
            ValueError,
            "must not all be",
            {"save_checkpoint_steps": None, "keep_checkpoint_max": None},
        ),
        (TypeError, "integrated_save", {"integrated_save": 3}),
        (TypeError, "async_save", {"async_save": 3}),
        (ValueError, "async_save", {"async_save": "later"}),
        (TypeError, "saved_network", {"saved_network": 3}),
        (TypeError, "append_info", {"append_info": 3}),
        (TypeError, "append_info", {"append_info": {"a": 1}}),
        (TypeError, "append_info", {"append_info": [3]}),
        (ValueError, "append_info.*'loss'", {"append_info": ["loss"]}),
        (TypeError, "one dict", {"append_info": [{"a": 1}, {"b": 2}]}),
        (TypeError, "'CheckpointConfig'.* name", {"append_info": [{3: 1}]}),
        (TypeError, "'CheckpointConfig'.*'a'", {"append_info": [{"a": [1]}]}),
        (TypeError, "enc_key", {"enc_key": "a"}),
        (NotImplementedError, "enc_key", {"enc_key": b"1" * 16}),
        (TypeError, "enc_mode", {"enc_mode": 3}),
        (TypeError, "exception_save", {"exception_save": 3}),
        (TypeError, "crc_check", {"crc_check": 3}),
        (TypeError, "remove_redundancy", {"remove_redundancy": 3}),
        (ValueError, "format", {"format": "pt"}),
        (TypeError, "'incremental'", {"incremental": True}),
    ],
)
def test_wrong_arguments(error: type[Exception], argument: str, changes: dict[str, object]) -> None:
    with pytest.raises(error, match=argument):
        CheckpointConfig(**changes)  # type: ignore[arg-type]


def test_tensors_can_be_appended() -> None:
    tensor = Tensor(np.ones(2, np.float32))
    config = CheckpointConfig(append_info=[{"t": tensor}])
    assert config.append_dict is not None
    assert config.append_dict["t"] is tensor
