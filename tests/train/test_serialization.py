"""Saving and loading: what is saved comes back, under MindSpore's rules for names and files."""

import errno
import os
import threading
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore.common import Parameter, Tensor
from minispore.nn.cell import Cell
from minispore.train._files import loading, stored
from minispore.train._files.protobuf import bytes_field, text_field
from minispore.train.serialization import (
    ckpt_to_safetensors,
    load_checkpoint,
    load_checkpoint_async,
    load_param_into_net,
    safetensors_to_ckpt,
    save_checkpoint,
    wait_for_saves,
)

FIXTURES = Path(__file__).parent / "fixtures"
FLOATS = hnp.arrays(np.float32, hnp.array_shapes(min_dims=0, max_dims=3))
PLAIN = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(width=32) | st.text("aé𝄞\n")


class Net(Cell):
    """A network of three parameters, one of them in a child."""

    def __init__(self, fill: float = 1.0) -> None:
        super().__init__()
        self.scale = Parameter(Tensor(np.float32(fill)))
        self.layer = Layer(fill)


class Layer(Cell):
    def __init__(self, fill: float) -> None:
        super().__init__()
        self.weight = Parameter(Tensor(np.full((2, 3), fill, np.float32)))
        self.bias = Parameter(Tensor(np.full(2, fill, np.float32)), requires_grad=False)


IS_FOLDER = rf"^\[Errno {errno.EISDIR}\] The checkpoint file's name is that of a folder: '\.'$"
NAMES = ["scale", "layer.weight", "layer.bias"]


def parameter(values: object, name: str = "p") -> Parameter:
    return Parameter(Tensor(values), name=name)


def numbers(loaded: Mapping[str, Parameter | str]) -> dict[str, object]:
    return {n: v if isinstance(v, str) else v.asnumpy().tolist() for n, v in loaded.items()}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@given(st.dictionaries(st.text("ab.é名", min_size=1), FLOATS, min_size=1), st.booleans())
def test_what_is_saved_is_loaded(
    tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, np.ndarray], crc: bool
) -> None:
    path = tmp_path_factory.mktemp("save") / "x.ckpt"
    items = [{"name": name, "data": Tensor(array)} for name, array in arrays.items()]
    save_checkpoint(items, str(path), crc_check=crc)
    loaded = load_checkpoint(str(path), crc_check=crc)
    assert list(loaded) == list(arrays)
    for name, array in arrays.items():
        found = loaded[name]
        assert isinstance(found, Parameter)
        assert (found.name, found.requires_grad) == (name, True)
        assert found.asnumpy().dtype == np.float32
        np.testing.assert_array_equal(found.asnumpy(), array)


@given(st.dictionaries(st.text(min_size=1), PLAIN, min_size=1))
def test_appended_values_come_back(
    tmp_path_factory: pytest.TempPathFactory, extra: dict[str, bool | int | float | str]
) -> None:
    path = tmp_path_factory.mktemp("append") / "x.ckpt"
    save_checkpoint([], str(path), append_dict=extra)
    for name, value in load_checkpoint(str(path)).items():
        expected = extra[name]
        if isinstance(value, str):
            assert value == expected
        else:
            np.testing.assert_equal(value.item(), expected)
            assert type(value.item()) is type(expected)


def test_appended_values_have_mindspores_types(tmp_path: Path) -> None:
    path = str(tmp_path / "x.ckpt")
    extra = {"i": 3, "f": 0.1, "b": True, "t": Tensor([1, 2]), "big": 1e300}
    save_checkpoint(Net(), path, append_dict=extra)
    loaded = load_checkpoint(path)
    kinds = {n: str(v.dtype) for n, v in loaded.items() if isinstance(v, Parameter)}
    assert list(loaded) == NAMES + list(extra)
    assert [kinds[n] for n in extra] == ["Int64", "Float32", "Bool", "Int64", "Float32"]
    assert numbers(loaded)["big"] == float("inf")


def test_all_forms_of_what_is_saved(tmp_path: Path) -> None:
    path = str(tmp_path / "x.ckpt")
    net = Net(2.0)
    pairs: list[dict[str, object]] = [{"name": p.name, "data": p} for p in net.get_parameters()]
    by_name = {p.name: p for p in net.get_parameters()}
    forms = (net, list(net.get_parameters()), tuple(net.get_parameters()), pairs, by_name)
    for form in forms:
        save_checkpoint(form, path)
        assert numbers(load_checkpoint(path)) == {
            "scale": 2.0,
            "layer.weight": [[2.0] * 3] * 2,
            "layer.bias": [2.0] * 2,
        }
    save_checkpoint(load_checkpoint(path) | {"note": "text"}, path)
    assert numbers(load_checkpoint(path))["note"] == "text"


@given(
    st.sampled_from(["?", "i1", "u8", "f2", "f8", ">f4", ">i2"])
    .map(np.dtype)
    .flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(max_dims=2, max_side=3)))
)
def test_arrays_of_numpys_are_values_too(
    tmp_path_factory: pytest.TempPathFactory, array: np.ndarray
) -> None:
    path = tmp_path_factory.mktemp("arrays") / "x.ckpt"
    save_checkpoint({"a": array}, path)
    found = load_checkpoint(path)["a"]
    assert isinstance(found, Parameter)
    np.testing.assert_array_equal(found.asnumpy(), array)
    assert found.asnumpy().dtype == array.dtype.newbyteorder("=")


def test_an_appended_value_takes_a_parameters_place(tmp_path: Path) -> None:
    path = str(tmp_path / "x.ckpt")
    save_checkpoint(Net(), path, append_dict={"layer.weight": 7})
    assert numbers(load_checkpoint(path)) == {"scale": 1.0, "layer.weight": 7, "layer.bias": [1, 1]}


def test_only_what_is_chosen_is_saved(tmp_path: Path) -> None:
    path = str(tmp_path / "x.ckpt")
    save_checkpoint(Net(), path, choice_func=lambda n: n in {"scale", "k"}, append_dict={"k": 1})
    assert list(load_checkpoint(path)) == ["scale", "k"]


# What MindSpore 2.10 makes of these names.
@pytest.mark.parametrize(
    ("given", "format_", "made"),
    [
        ("a", "ckpt", "a.ckpt"),
        ("a.ckpt", "ckpt", "a.ckpt"),
        ("a.bin", "ckpt", "a.bin.ckpt"),
        ("a.CKPT", "ckpt", "a.CKPT.ckpt"),
        ("a.safetensors", "ckpt", "a.safetensors.ckpt"),
        ("a", "safetensors", "a.safetensors"),
        ("a.ckpt", "safetensors", "a.ckpt.safetensors"),
    ],
)
def test_the_ending(tmp_path: Path, given: str, format_: str, made: str) -> None:
    if format_ == "safetensors":
        pytest.importorskip("safetensors")
    save_checkpoint(Net(), str(tmp_path / given), format=format_)
    assert names(tmp_path) == {made}


def test_the_file_is_replaced_and_not_to_be_written(tmp_path: Path) -> None:
    path = tmp_path / "x.ckpt"
    for fill in (1.0, 2.0):
        save_checkpoint(Net(fill), path)
    assert numbers(load_checkpoint(path))["scale"] == 2.0
    if os.name != "nt":
        assert path.stat().st_mode & 0o777 == 0o400


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.ckpt"
    save_checkpoint(Net(), path)
    before = path.read_bytes()
    with pytest.raises(TypeError):
        save_checkpoint({"a": parameter(1), "b": np.zeros(2, np.complex64)}, path)
    assert path.read_bytes() == before
    assert names(tmp_path) == {"x.ckpt"}


@pytest.mark.parametrize(
    ("error", "reason", "changes"),
    [
        (TypeError, "^For 'Tensor'.* complex128", {"save_obj": {"x": np.zeros(2, complex)}}),
        (IsADirectoryError, IS_FOLDER, {"ckpt_file_name": ""}),
        (IsADirectoryError, IS_FOLDER, {"ckpt_file_name": "."}),
        (FileNotFoundError, "No such file or directory: '.*no/x.ckpt'", {"ckpt_file_name": "no/x"}),
        (TypeError, "'int' object is not callable", {"choice_func": 3}),
    ],
)
@pytest.mark.parametrize("background", [False, True])
def test_what_cannot_be_saved(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: type[Exception],
    reason: str,
    changes: dict[str, object],
    background: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    given = {"save_obj": Net(), "ckpt_file_name": "x", "async_save": background} | changes
    with pytest.raises(error, match=reason):
        save_checkpoint(**given)  # type: ignore[arg-type]
        wait_for_saves()
    assert names(tmp_path) == set()


def is_note(name: str) -> bool:
    return name == "note"


@pytest.mark.parametrize(
    ("choose", "loaded"),
    [
        ({}, [*NAMES, "epoch", "note"]),
        ({"filter_prefix": "layer"}, ["scale", "epoch", "note"]),
        ({"filter_prefix": ["layer.w", "no"]}, ["scale", "layer.bias", "epoch"]),
        ({"specify_prefix": "layer"}, NAMES[1:]),
        ({"specify_prefix": ("layer", "e"), "filter_prefix": "layer.b"}, ["layer.weight", "epoch"]),
        ({"choice_func": is_note}, ["note"]),
        ({"choice_func": is_note, "specify_prefix": "sc"}, ["scale"]),
    ],
)
def test_only_what_is_chosen_is_loaded(
    tmp_path: Path, choose: dict[str, object], loaded: list[str]
) -> None:
    path = str(tmp_path / "x.ckpt")
    save_checkpoint(Net(), path, append_dict={"epoch": 3, "note": "text"})
    assert list(load_checkpoint(path, **choose)) == loaded  # type: ignore[arg-type]


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.ckpt"
    crc = (FIXTURES / "crc.ckpt").read_bytes()
    long = "y" * 5000
    for data, why in (
        # A letter of a text.
        (
            crc.replace(b"h\0\0\0", b"H\0\0\0"),
            "its check sum does not fit: the file has been damaged",
        ),
        (
            (FIXTURES / "encrypted_aes_gcm.ckpt").read_bytes(),
            "it is encrypted, and minispore cannot decrypt",
        ),
        (b"\x0a\x06\x0a\x00\x12\x02\x12\x00", "'' has no type or no content"),
        (
            b"\x0a\x0d\x0a\x00\x12\x09\x12\x04Int8\x1a\x01\x00",
            "it has a value without a name",
        ),
        (
            bytes_field(1, text_field(1, long) + bytes_field(2, b"")),
            f"'{long[:499]} … {long[:473]}' has no type or no content",
        ),
    ):
        path.write_bytes(data)
        with pytest.raises(ValueError) as caught:  # noqa: PT011 (the whole message is compared)
            load_checkpoint(str(path))
        assert str(caught.value) == f"Failed to read the checkpoint file '{path}': {why}."


def test_a_file_that_shrinks_while_it_is_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.ckpt"
    save_checkpoint([parameter(np.ones(100_000), "x")], path)
    path.chmod(0o600)  # a checkpoint is read-only
    fill = stored._fill

    def shrink_and_fill(*given: object) -> None:
        os.truncate(path, 1000)
        fill(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(stored, "_fill", shrink_and_fill)
    with pytest.raises(ValueError, match=r"x.ckpt': the file became shorter while it was read"):
        load_checkpoint(path)


def test_a_check_sum_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "x.ckpt"
    save_checkpoint(Net(), path)
    reason = r"^For 'load_checkpoint', the checkpoint file '.*x\.ckpt' has no check sum\.$"
    with pytest.warns(UserWarning, match=reason):
        load_checkpoint(path, crc_check=True)


def test_loading_into_a_net(tmp_path: Path) -> None:
    path = tmp_path / "x.ckpt"
    save_checkpoint(Net(3.0), path)
    net = Net()
    load_checkpoint(path, net)
    assert all((p.asnumpy() == 3).all() for p in net.get_parameters())
    reason = (
        r"^For 'load_checkpoint', '.*x\.ckpt' does not hold these parameters of the net: "
        r"layer\.weight, layer\.bias\.$"
    )
    with pytest.warns(UserWarning, match=reason):
        load_checkpoint(path, net, specify_prefix="scale")


def test_each_warning_names_the_line_that_called(tmp_path: Path) -> None:
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


def loaded_in_background(*given: object, **options: object) -> object:
    return load_checkpoint_async(*given, **options).result()  # type: ignore[arg-type]


@pytest.mark.parametrize("load", [load_checkpoint, loaded_in_background])
def test_types_are_only_converted_where_that_is_not_forbidden(
    tmp_path: Path, load: Callable[..., object]
) -> None:
    path = tmp_path / "x.ckpt"
    save_checkpoint({"scale": np.array(2.0)}, path)
    net = Net()
    with pytest.warns(UserWarning, match="does not hold"):
        load(path, net, specify_prefix="sc")
    assert net.scale.item() == 2.0
    with pytest.raises(RuntimeError, match="the net's type is Float32, the checkpoint's") as caught:
        load(path, net, True, specify_prefix="sc")
    assert caught.value.__notes__ == [f"They are those of the checkpoint file '{path}'."]


def test_loading_in_the_background(tmp_path: Path) -> None:
    path = tmp_path / "x.ckpt"
    save_checkpoint(Net(3.0), path, append_dict={"note": "text"})
    net = Net()
    with pytest.warns(UserWarning, match="does not hold these.*: layer.bias"):
        loaded = (future := load_checkpoint_async(path, net, filter_prefix="layer.b")).result()
    assert list(loaded) == ["scale", "layer.weight", "note"]
    assert future.result() is loaded
    assert net.scale.item() == 3.0
    only = load_checkpoint_async(path, choice_func=is_note)
    assert only.result() == {"note": "text"}


def test_the_thread_that_loads_does_not_delay_the_programs_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []
    monkeypatch.setattr(loading, "start", threads.append)
    load_checkpoint_async(tmp_path / "x.ckpt")
    assert [(thread.name, thread.daemon) for thread in threads] == [("loading", True)]


def test_what_goes_wrong_in_the_background_comes_out_with_the_result(tmp_path: Path) -> None:
    future = load_checkpoint_async(tmp_path / "nothere.ckpt")
    for _ in range(2):
        with pytest.raises(ValueError, match=r"nothere.ckpt' does not exist"):
            future.result()
    save_checkpoint([parameter([1.0, 2.0], "scale")], tmp_path / "x.ckpt")
    net = Net()
    misfit = load_checkpoint_async(tmp_path / "x.ckpt", net)
    with pytest.raises(
        RuntimeError, match=r"scale: the net's shape is \(\), the checkpoint's \(2,\)"
    ):
        misfit.result()
    assert net.scale.item() == 1.0
    with pytest.raises(TypeError, match="ckpt_file_name"):
        load_checkpoint_async(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["export", "load", "load_distributed_checkpoint"])
def test_what_is_left_out_says_what_to_use_instead(name: str) -> None:
    with pytest.raises(ImportError, match=f"serialization.{name}' is left out.*_checkpoint"):
        exec(f"from minispore.train.serialization import {name}")
