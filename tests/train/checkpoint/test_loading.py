"""Loading checkpoints, also in a thread and into a network."""

import os
import pickle
import threading
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore.train.checkpoint import checkpoint_file, loading, safetensors_file, storage
from minispore.train.checkpoint.protobuf import bytes_field, shortened, text_field
from minispore.train.serialization import load_checkpoint, load_checkpoint_async, save_checkpoint
from tests.train.checkpoint.test_saving import NAMES, Net, parameter

FIXTURES = Path(__file__).parents[1] / "fixtures"


def is_note(name: str) -> bool:
    return name == "note"


prefixes = st.sampled_from(["", "layer", "layer.w", "sc", "e", "note", "no"])
several = st.lists(prefixes.filter(bool), min_size=1, max_size=3)
choices = st.none() | prefixes.filter(bool) | several | several.map(tuple)


@given(choices, choices, st.none() | st.just(is_note))
@example(None, None, None)
@example(None, None, is_note)
@example("layer", "layer.w", None)
@example("sc", None, is_note)
@example(None, ["layer.w", "no"], None)
def test_prefixes_and_choice_func_select_loaded_values(
    specify: str | Sequence[str] | None,
    drop: str | Sequence[str] | None,
    choice: Callable[[str], bool] | None,
) -> None:
    """A function is ignored if there is a prefix."""

    def begins(name: str, prefixes: str | Sequence[str]) -> bool:
        return name.startswith(prefixes if isinstance(prefixes, str) else tuple(prefixes))

    names = [*NAMES, "epoch", "note"]
    if specify is not None:
        names = [name for name in names if begins(name, specify)]
    if drop is not None:
        names = [name for name in names if not begins(name, drop)]
    if specify is drop is None and choice is not None:
        names = ["note"]
    with TemporaryDirectory() as folder:
        path = f"{folder}/x.ckpt"
        save_checkpoint(Net(), path, append_dict={"epoch": 3, "note": "text"})
        options = {"specify_prefix": specify, "filter_prefix": drop, "choice_func": choice}
        if names:
            assert list(load_checkpoint(path, **options)) == names  # type: ignore[arg-type]
        else:
            with pytest.raises(ValueError, match="^For 'load_checkpoint', no value is loaded"):
                load_checkpoint(path, **options)  # type: ignore[arg-type]


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.integers(1, 5000))
@example("y", 5000)
def test_error_of_damaged_file_shows_its_beginning_and_end(text: str, times: int) -> None:
    value = bytes_field(1, text_field(1, text * times) + bytes_field(2, b""))
    with TemporaryDirectory() as folder:
        path = Path(folder, "x.ckpt")
        path.write_bytes(value)
        with pytest.raises(ValueError, match="^Failed to read") as caught:
            load_checkpoint(path)
    reason = shortened(f"{text * times!r} has no type or no content")
    assert str(caught.value) == f"Failed to read the checkpoint file '{path}': {reason}."


def torch_zip(file: BytesIO) -> None:
    with ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", b"")


def ckpt(file: BytesIO) -> None:
    checkpoint_file.write(file, [("x", np.ones(3))])


def safetensors(file: BytesIO) -> None:
    safetensors_file.write(file, [("x", np.ones(3))])


WRITERS: list[tuple[str, Callable[[BytesIO], object]]] = [
    (r"a zip archive, which torch\.save, Lightning, .* read it with that library", torch_zip),
    ("a zip archive", lambda file: np.savez(file, x=np.ones(3))),
    (r"an array of numpy\.save; read it", lambda file: np.save(file, np.ones(3))),
    (r"a pickle, which old versions of torch\.save write", lambda file: pickle.dump([1], file)),
    ("an HDF5 file, which Keras writes", lambda file: file.write(b"\x89HDF\r\n\x1a\n")),
    ("a text that begins with 'version 1", lambda file: file.write(b"version 1" * 9)),
    ("a text that begins with 'é+'", lambda file: file.write(("é" * 99).encode())),
    ("a file of the format 'ckpt'", ckpt),
    ("a file of the format 'safetensors'", safetensors),
]


@pytest.mark.parametrize("format_", ["ckpt", "safetensors"])
@pytest.mark.parametrize(("name", "write"), WRITERS, ids=[name for name, _ in WRITERS])
def test_error_of_a_file_of_another_format_names_the_format(
    name: str, write: Callable[[BytesIO], object], format_: str, tmp_path: Path
) -> None:
    buffer = BytesIO()
    write(buffer)
    path = tmp_path / f"x.{format_}"
    path.write_bytes(buffer.getvalue())
    if name.endswith(f"'{format_}'"):
        load_checkpoint(path, format=format_)
        # Damaged, it is still of this format.
        path.write_bytes(buffer.getvalue()[:-1])
        name = "(?!a file of)"
    with pytest.raises(ValueError, match=rf"^Failed to read .*x\.{format_}': (it is )?{name}"):
        load_checkpoint(path, format=format_)


def test_error_of_shrinking_file_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.ckpt"
    save_checkpoint([parameter(np.ones(100_000), "x")], path)
    path.chmod(0o600)  # a checkpoint is read-only
    fill = storage._fill

    def shrink_and_fill(*args: object) -> None:
        os.truncate(path, 1000)
        fill(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(storage, "_fill", shrink_and_fill)
    with pytest.raises(ValueError, match=r"x.ckpt': the file became shorter while it was read"):
        load_checkpoint(path)


def test_missing_checksum_warns(tmp_path: Path) -> None:
    path = tmp_path / "x.ckpt"
    save_checkpoint(Net(), path)
    reason = r"^For 'load_checkpoint', the checkpoint file '.*x\.ckpt' has no checksum\.$"
    with pytest.warns(UserWarning, match=reason):
        load_checkpoint(path, crc_check=True)


def test_load_checkpoint_sets_network(tmp_path: Path) -> None:
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


def loaded_in_background(*args: object, **options: object) -> object:
    return load_checkpoint_async(*args, **options).result()  # type: ignore[arg-type]


@pytest.mark.parametrize("load", [load_checkpoint, loaded_in_background])
def test_strict_load_rejects_conversion(tmp_path: Path, load: Callable[..., object]) -> None:
    path = tmp_path / "x.ckpt"
    save_checkpoint({"scale": np.array(2.0)}, path)
    net = Net()
    with pytest.warns(UserWarning, match="does not hold"):
        load(path, net, specify_prefix="sc")
    assert net.scale.item() == 2.0
    with pytest.raises(RuntimeError, match="the net's type is Float32, the checkpoint's") as caught:
        load(path, net, True, specify_prefix="sc")
    assert caught.value.__notes__ == [f"They are those of the checkpoint file '{path}'."]


def test_async_load_returns_values(tmp_path: Path) -> None:
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


def test_async_load_uses_daemon_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []
    monkeypatch.setattr(loading, "start_or_run", threads.append)
    load_checkpoint_async(tmp_path / "x.ckpt")
    assert [(thread.name, thread.daemon) for thread in threads] == [("loading", True)]
