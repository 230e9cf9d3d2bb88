"""`minispore.train.serialization`: saved values are loaded; warnings; unsupported names."""

import warnings
from pathlib import Path

import pytest

from minispore.train import serialization
from tests.train.checkpoint.test_saving import Net, parameter


def test_warnings_point_to_calling_line(tmp_path: Path) -> None:
    path = tmp_path / "x.ckpt"
    serialization.save_checkpoint({"a.scale": parameter(1.0)}, path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded = serialization.load_checkpoint(path, Net(), crc_check=True)
        serialization.load_param_into_net(Net(), loaded)
        serialization.ckpt_to_safetensors(path, name_map={"x": "y"})
        serialization.safetensors_to_ckpt(tmp_path / "x.safetensors", name_map={"x": "y"})
    starts = [str(warning.message).split("'")[1] for warning in caught]
    load, into = "load_checkpoint", "load_param_into_net"
    assert starts == [load, into, load, into, "ckpt_to_safetensors", "safetensors_to_ckpt"]
    assert {warning.filename for warning in caught} == {__file__}


def test_unsupported_name_names_alternative() -> None:
    name = "load_distributed_checkpoint"
    with pytest.raises(NotImplementedError, match=f"{name}' is left out.*_checkpoint"):
        exec(f"from minispore.train.serialization import {name}; {name}()", {})
