"""`minispore.train.serialization`: saved values are loaded; warnings; unsupported names."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore.common import Parameter, Tensor
from minispore.train.serialization import (
    ckpt_to_safetensors,
    load_checkpoint,
    load_param_into_net,
    safetensors_to_ckpt,
    save_checkpoint,
)
from tests.train.checkpoint.test_saving import Net, parameter

FLOATS = hnp.arrays(np.float32, hnp.array_shapes(min_dims=0, max_dims=3))


@given(st.dictionaries(st.text("ab.é名", min_size=1), FLOATS, min_size=1), st.booleans())
def test_saved_parameters_are_loaded(
    tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, np.ndarray], crc: bool
) -> None:
    path = tmp_path_factory.mktemp("save") / "x.ckpt"
    items = [{"name": name, "data": Tensor(array)} for name, array in arrays.items()]
    save_checkpoint(items, str(path), crc_check=crc)
    loaded = load_checkpoint(str(path), crc_check=crc)
    assert list(loaded) == list(arrays)
    for name, array in arrays.items():
        restored = loaded[name]
        assert isinstance(restored, Parameter)
        assert (restored.name, restored.requires_grad) == (name, True)
        assert restored.asnumpy().dtype == np.float32
        np.testing.assert_array_equal(restored.asnumpy(), array)


def test_warnings_point_to_calling_line(tmp_path: Path) -> None:
    path = tmp_path / "x.ckpt"
    save_checkpoint({"a.scale": parameter(1.0)}, path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded = load_checkpoint(path, Net(), crc_check=True)
        load_param_into_net(Net(), loaded)
        ckpt_to_safetensors(path, name_map={"x": "y"})
        safetensors_to_ckpt(tmp_path / "x.safetensors", name_map={"x": "y"})
    starts = [str(warning.message).split("'")[1] for warning in caught]
    load, into = "load_checkpoint", "load_param_into_net"
    assert starts == [load, into, load, into, "ckpt_to_safetensors", "safetensors_to_ckpt"]
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("name", ["export", "load", "load_distributed_checkpoint"])
def test_unsupported_name_names_alternative(name: str) -> None:
    with pytest.raises(NotImplementedError, match=f"{name}' is left out.*_checkpoint"):
        exec(f"from minispore.train.serialization import {name}; {name}()", {})
