"""Saving checkpoints, with MindSpore's rules for names and files."""

import errno
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore.common import Parameter, Tensor
from minispore.nn.cell import Cell
from minispore.train.checkpoint import checkpoint_file
from minispore.train.checkpoint.storage import Content
from minispore.train.serialization import load_checkpoint, save_checkpoint, wait_for_saves
from tests.helpers.processes import run_python

IS_FOLDER = rf"^\[Errno {errno.EISDIR}\] The checkpoint file's name is that of a folder: '\.'$"
FORMATS = st.sampled_from(["ckpt", "safetensors"])
NAMES = ["scale", "layer.weight", "layer.bias"]


class Net(Cell):
    """A network with three parameters, one of them in a child."""

    def __init__(self, fill: float = 1.0) -> None:
        super().__init__()
        self.scale = Parameter(Tensor(np.float32(fill)))
        self.layer = Layer(fill)


class Layer(Cell):
    def __init__(self, fill: float) -> None:
        super().__init__()
        self.weight = Parameter(Tensor(np.full((2, 3), fill, np.float32)))
        self.bias = Parameter(Tensor(np.full(2, fill, np.float32)), requires_grad=False)


def parameter(values: object, name: str = "p") -> Parameter:
    return Parameter(Tensor(values), name=name)


def numbers(loaded: Mapping[str, Parameter | str]) -> dict[str, object]:
    return {n: v if isinstance(v, str) else v.asnumpy().tolist() for n, v in loaded.items()}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


appended = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.booleans(),
    st.text(st.characters(exclude_characters="\0")),
    st.lists(st.integers(-9, 9), min_size=1).map(Tensor),
)


@given(
    st.dictionaries(st.just("layer.weight") | st.text(min_size=1), appended),
    st.sets(st.sampled_from(NAMES)),
)
@example({"a": 2**63 - 1, "b": 1e300, "c": -(2**63), "layer.weight": True}, set())
@example({"layer.weight": 7}, {"scale"})
def test_appended_values_replace_parameters(
    values: dict[str, int | float | bool | str | Tensor], dropped: set[str]
) -> None:
    """Numbers are Int64 and Float32; what `choice_func` refuses is not saved, of either."""
    with TemporaryDirectory() as folder:
        path = f"{folder}/x.ckpt"
        save_checkpoint(
            Net(), path, append_dict=values, choice_func=lambda name: name not in dropped
        )
        loaded = load_checkpoint(path) if {*NAMES, *values} - dropped else {}
    expected = [name for name in {**dict.fromkeys(NAMES), **values} if name not in dropped]
    assert list(loaded) == expected
    for name in values.keys() - dropped:
        value, actual = values[name], loaded[name]
        if isinstance(value, str):
            assert actual == value
            continue
        assert isinstance(actual, Parameter)
        kinds = {bool: "Bool", int: "Int64", float: "Float32", Tensor: "Int64"}
        assert str(actual.dtype) == kinds[type(value)]
        with np.errstate(over="ignore"):
            stored = value.asnumpy() if isinstance(value, Tensor) else np.array(value)
            np.testing.assert_array_equal(actual.asnumpy(), stored.astype(actual.asnumpy().dtype))


def test_all_forms_of_save_obj_are_saved(tmp_path: Path) -> None:
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
def test_numpy_arrays_are_saved(
    tmp_path_factory: pytest.TempPathFactory, array: np.ndarray
) -> None:
    path = tmp_path_factory.mktemp("arrays") / "x.ckpt"
    save_checkpoint({"a": array}, path)
    restored = load_checkpoint(path)["a"]
    assert isinstance(restored, Parameter)
    assert (restored.name, restored.requires_grad) == ("a", True)
    np.testing.assert_array_equal(restored.asnumpy(), array)
    assert restored.asnumpy().dtype == array.dtype.newbyteorder("=")


# The names of MindSpore 2.10.
@given(
    st.sampled_from(["a", "a.bin", "a.CKPT", ".ckpt", "ckpt"]),
    st.lists(FORMATS, max_size=3),
    FORMATS,
)
@example("a", [], "ckpt")
@example("a", ["safetensors"], "ckpt")
@example("a", ["ckpt"], "ckpt")
def test_missing_ending_is_added(name: str, endings: list[str], format_: str) -> None:
    name = ".".join([name, *endings])
    with TemporaryDirectory() as folder:
        save_checkpoint(Net(), f"{folder}/{name}", format=format_)
        created = name if name.endswith(f".{format_}") else f"{name}.{format_}"
        assert names(Path(folder)) == {created}


@pytest.mark.parametrize("format_", ["ckpt", "safetensors"])
def test_saving_replaces_read_only_file(tmp_path: Path, format_: str) -> None:
    path = tmp_path / f"x.{format_}"
    for fill in (1.0, 2.0):
        save_checkpoint(Net(fill), path, format=format_)
    assert numbers(load_checkpoint(path, format=format_))["scale"] == 2.0
    if os.name != "nt":
        assert path.stat().st_mode & 0o777 == 0o400


@pytest.mark.parametrize(
    ("error", "reason", "changes"),
    [
        (
            TypeError,
            "^For 'save_checkpoint'.* complex128",
            {"save_obj": {"x": np.zeros(2, complex)}},
        ),
        (TypeError, " complex64", {"save_obj": {"a": parameter(1), "b": np.zeros(2, "c8")}}),
        (IsADirectoryError, IS_FOLDER, {"ckpt_file_name": ""}),
        (IsADirectoryError, IS_FOLDER, {"ckpt_file_name": "."}),
        (FileNotFoundError, "No such file or directory: '.*no/x.ckpt'", {"ckpt_file_name": "no/x"}),
        (TypeError, "'choice_func' must be a function or None", {"choice_func": 3}),
    ],
)
@pytest.mark.parametrize("background", [False, True])
def test_failed_save_raises_and_leaves_the_previous_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: type[Exception],
    reason: str,
    changes: dict[str, object],
    background: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    save_checkpoint(Net(), "x")
    before = Path("x.ckpt").read_bytes()
    arguments = {"save_obj": Net(2.0), "ckpt_file_name": "x", "async_save": background} | changes
    with pytest.raises(error, match=reason):
        save_checkpoint(**arguments)  # type: ignore[arg-type]
        wait_for_saves()
    assert names(tmp_path) == {"x.ckpt"}
    assert Path("x.ckpt").read_bytes() == before


@pytest.mark.parametrize("format_", ["ckpt", "safetensors"])
def test_non_contiguous_arrays_are_copied_one_by_one(tmp_path: Path, format_: str) -> None:
    size = 2**21
    array = np.zeros((512, size // 2048), np.float32).T
    items = [{"name": str(i), "data": Tensor.from_numpy(array)} for i in range(8)]
    tracemalloc.start()
    save_checkpoint(items, tmp_path / "x", crc_check=True, format=format_)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * size


@pytest.mark.parametrize("format_", ["ckpt", "safetensors"])
def test_saving_and_loading_make_no_second_copy(tmp_path: Path, format_: str) -> None:
    path = tmp_path / f"x.{format_}"
    size = 2**24
    weight = parameter(np.zeros(size // 4, np.float32), "w")
    tracemalloc.start()
    save_checkpoint([weight], path, crc_check=True, format=format_)
    saving = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    loaded = load_checkpoint(path, format=format_)
    loading = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert saving < size / 8
    assert loading < size * 9 / 8
    assert len(loaded) == 1


def test_bfloat16_conversion_needs_no_extra_array(tmp_path: Path) -> None:
    size = 2**22
    content = Content("BFloat16", (size // 4,), size // 2, lambda *_: [bytes(size // 2)])
    with (tmp_path / "x.ckpt").open("wb") as file:
        checkpoint_file.write(file, [("x", content)])
    tracemalloc.start()
    loaded = load_checkpoint(tmp_path / "x.ckpt")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < size * 7 / 4
    assert len(loaded) == 1


# Saves one network of ones and one of twos in turns, and says when it begins; every other
# process does so in the background.
WRITER = """
import sys
import numpy as np
from minispore.common.tensor import Tensor
from minispore.train.checkpoint import checkpoint_file
from minispore.train.checkpoint.storage import Content
from minispore.train.serialization import save_checkpoint
print("ready", flush=True)
while True:
    for fill in (1, 2):
        items = [{"name": str(n), "data": Tensor(np.full(9999, fill))} for n in range(20)]
        save_checkpoint(items, sys.argv[1], crc_check=True, async_save=sys.argv[2] == "1")
"""


@pytest.mark.full
@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_kill_during_save_leaves_complete_file(tmp_path: Path, kills: int) -> None:
    path = tmp_path / "x.ckpt"
    save_checkpoint([parameter(np.full(1, 1), str(n)) for n in range(20)], path)
    for index in range(kills):
        command = [sys.executable, "-c", WRITER, str(path), str(index % 2)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.0037 * (index % 11))
            process.kill()
        loaded = load_checkpoint(path)
        assert len(loaded) == 20
        assert len({v.asnumpy()[0] for v in loaded.values() if isinstance(v, Parameter)}) == 1


# The size of a file is limited to 100 kB.
FULL = """
import resource, sys
import numpy as np
from minispore.common.tensor import Tensor
from minispore.train.checkpoint import checkpoint_file
from minispore.train.checkpoint.storage import Content
from minispore.train.serialization import save_checkpoint, wait_for_saves
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
items = [{"name": "p", "data": Tensor(np.full(99_999, 2))}]
try:
    save_checkpoint(items, sys.argv[1], async_save=sys.argv[2] == "1")
    print("continues")
    wait_for_saves()
except OSError as error:
    print(error)
# For the coverage measurement of this process.
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
@pytest.mark.parametrize("background", [False, True])
def test_full_disk_raises_and_leaves_previous_file(tmp_path: Path, background: bool) -> None:
    path = tmp_path / "x.ckpt"
    save_checkpoint([parameter(np.full(1, 1))], path)
    done = run_python("-c", FULL, path, int(background))
    printed = done.stdout.splitlines()
    assert printed[:-1] == ["continues"] * background
    assert "nothing was changed" in printed[-1]
    assert "x.ckpt" in printed[-1]
    assert not done.stderr
    loaded = load_checkpoint(path)["p"]
    assert isinstance(loaded, Parameter)
    assert loaded.tolist() == [1]
    assert [file.name for file in tmp_path.iterdir()] == ["x.ckpt"]
