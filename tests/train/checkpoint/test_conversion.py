"""Conversion between the formats keeps every byte of content, for every type."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore.common import Parameter, Tensor
from minispore.engine import dtypes
from minispore.train import serialization
from minispore.train.checkpoint import checkpoint_file, conversion, saving, storage

FIXTURES = Path(__file__).parents[1] / "fixtures"
NAMES = st.text("ab.é名", min_size=1, max_size=5)
ARRAYS = st.sampled_from([dtype.numpy_dtype for dtype in dtypes.DTYPES]).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))
)


def save(path: Path, *names: str, **options: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    items = [Parameter(Tensor([float(i)]), name=name) for i, name in enumerate(names)]
    serialization.save_checkpoint(items, path, **options)  # type: ignore[arg-type]


def names(path: Path) -> list[str]:
    return sorted(serialization.load_checkpoint(path, format=path.suffix[1:]))


def tree(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


@given(st.dictionaries(NAMES, ARRAYS, min_size=1, max_size=4), st.booleans(), st.integers(1, 99))
def test_conversion_round_trip_is_identical(
    tmp_path_factory: pytest.TempPathFactory,
    values: dict[str, np.ndarray],
    crc: bool,
    slice_bytes: int,
) -> None:
    folder = tmp_path_factory.mktemp("there")
    first = folder / "x.ckpt"
    with first.open("wb") as file:
        checkpoint_file.write(file, values.items(), crc_check=crc, slice_bytes=slice_bytes)
    serialization.ckpt_to_safetensors(first)
    serialization.safetensors_to_ckpt(folder / "x.safetensors", folder / "back")
    with (folder / "back" / "x.ckpt").open("rb") as file:
        entries, has_crc = checkpoint_file.scan(file)
        result = {name: storage.load(file, name, entry) for name, entry in entries.items()}
    assert has_crc == crc
    assert result.keys() == values.keys()
    for name, array in result.items():
        assert isinstance(array, np.ndarray)
        assert (array.dtype, array.shape) == (values[name].dtype, values[name].shape)
        assert array.tobytes() == values[name].tobytes()


def test_sliced_integer_has_one_checksum(tmp_path: Path) -> None:
    first, second = tmp_path / "x.ckpt", tmp_path / "y"
    with first.open("wb") as file:
        checkpoint_file.write(file, [("n", np.array(300))], crc_check=True, slice_bytes=1)
    serialization.ckpt_to_safetensors(first)
    serialization.save_checkpoint(
        {"n": np.array(300)}, second, crc_check=True, format="safetensors"
    )
    created = (tmp_path / "x.safetensors").read_bytes()
    assert created == (tmp_path / "y.safetensors").read_bytes()


def test_unloadable_types_can_be_converted(tmp_path: Path) -> None:
    path = tmp_path / "others.safetensors"
    path.write_bytes((FIXTURES / "others.safetensors").read_bytes())
    serialization.safetensors_to_ckpt(path)
    with (tmp_path / "others.ckpt").open("rb") as file:
        result = {n: (e.kind, e.dims) for n, e in checkpoint_file.scan(file)[0].items()}
    assert result == {
        "bfloat16": ("BFloat16", (2,)),
        "qint4x2": ("Int4", (2,)),
        "complex64": ("Complex64", (2,)),
    }
    serialization.ckpt_to_safetensors(tmp_path / "others.ckpt", tmp_path / "back")
    assert (tmp_path / "back" / "others.safetensors").read_bytes() == path.read_bytes()


def test_type_missing_in_target_format_raises(tmp_path: Path) -> None:
    path = FIXTURES / "others.ckpt"
    reason = (
        rf"^For 'ckpt_to_safetensors', '{re.escape(str(path))}' cannot be converted: "
        r"A '\.safetensors' file cannot hold 'complex128', of type Complex128\.$"
    )
    with pytest.raises(ValueError, match=reason):
        serialization.ckpt_to_safetensors(path, tmp_path)
    with (tmp_path / "x.safetensors").open("wb") as file:
        text = b'{"x":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}}'
        file.write(len(text).to_bytes(8, "little") + text + b"\0")
    reason = (
        r"^For 'safetensors_to_ckpt', '.*x\.safetensors' cannot be converted: "
        r"A '\.ckpt' file cannot hold 'x', whose type is safetensors' F4\.$"
    )
    with pytest.raises(ValueError, match=reason):
        serialization.safetensors_to_ckpt(tmp_path / "x.safetensors")
    assert tree(tmp_path) == {"x.safetensors"}


def test_text_cannot_be_converted(tmp_path: Path) -> None:
    save(tmp_path / "x.ckpt", "a", append_dict={"note": "text"})
    with pytest.raises(ValueError, match="text 'note'"):
        serialization.ckpt_to_safetensors(tmp_path / "x.ckpt")
    assert tree(tmp_path) == {"x.ckpt"}


# What MindSpore 2.10 makes of such folders.
@pytest.mark.parametrize(
    ("regex", "created"),
    [
        (None, {"rank1/a-3", "rank_0/a-1_2", "rank_0/b", "rankx/ba"}),
        ("a", {"rank1/a-3", "rank_0/a-1_2", "rankx/ba"}),
        ("a-1_2.ckpt", {"rank_0/a-1_2"}),
        (".*ckpt", {"rank1/a-3", "rank_0/a-1_2", "rank_0/b", "rankx/ba"}),
        ("^b", {"rank_0/b", "rankx/ba"}),
    ],
)
def test_rank_folders_are_converted(tmp_path: Path, regex: str | None, created: set[str]) -> None:
    source = tmp_path / "in"
    for name in ("rank_0/a-1_2", "rank_0/b", "rank1/a-3", "rankx/ba", "top", "other/a"):
        save(source / name, "x")
    (source / "rank_0" / "read.me").touch()
    serialization.ckpt_to_safetensors(source, tmp_path / "out", file_name_regex=regex)
    assert tree(tmp_path / "out") == {f"{name}.safetensors" for name in created}
    serialization.safetensors_to_ckpt(tmp_path / "out")
    assert {f"{name}.ckpt" for name in created} < tree(tmp_path / "out")


def test_single_folder_is_converted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(Path("a"), "x", "y")
    save(Path("b"), "z")
    Path("folder.ckpt").mkdir()
    serialization.ckpt_to_safetensors(".")
    Path("folder.ckpt").rmdir()
    assert tree(tmp_path) == {"a.ckpt", "b.ckpt", "a.safetensors", "b.safetensors"}
    (tmp_path / "a.safetensors").unlink()
    serialization.ckpt_to_safetensors("a.ckpt")
    serialization.ckpt_to_safetensors("a.ckpt", "out", name_map={"x": "renamed"})
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {"out"}
    assert tree(tmp_path) == {
        "a.ckpt", "b.ckpt", "a.safetensors", "b.safetensors", "out/a.safetensors",
    }  # fmt: skip
    assert names(tmp_path / "a.safetensors") == ["x", "y"]
    assert names(tmp_path / "out" / "a.safetensors") == ["renamed", "y"]


@given(st.dictionaries(st.sampled_from("abc"), st.sampled_from("abcz")))
@example({"a": "b", "b": "a"})
@example({"a": "b"})
def test_name_map_renames_values(
    tmp_path_factory: pytest.TempPathFactory, name_map: dict[str, str]
) -> None:
    path = tmp_path_factory.mktemp("map") / "x.ckpt"
    save(path, *"abc")
    renamed = [name_map.get(name, name) for name in "abc"]
    twice = [name for name in renamed if renamed.count(name) > 1]
    if twice:
        with pytest.raises(ValueError, match=f"two values of .*x.ckpt' the name '{twice[0]}'"):
            serialization.ckpt_to_safetensors(path, name_map=name_map)
        return
    serialization.ckpt_to_safetensors(path, name_map=name_map)
    loaded = serialization.load_checkpoint(path.with_suffix(".safetensors"), format="safetensors")
    values = {n: p.tolist() for n, p in loaded.items() if isinstance(p, Parameter)}
    assert values == {name: [float(i)] for i, name in enumerate(renamed)}


@pytest.mark.parametrize("back", [False, True])
def test_unused_name_map_entries_warn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, back: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    forms = ["safetensors", "ckpt"] if back else ["ckpt", "safetensors"]
    convert = serialization.safetensors_to_ckpt if back else serialization.ckpt_to_safetensors
    for name in "ab":
        save(Path(name), name, format=forms[0])
    reason = (
        rf"^For '{convert.__name__}', '\./b\.{forms[0]}' has no values of these names in "
        r"'name_map': y, z\.$"
    )
    with pytest.warns(UserWarning, match=reason):
        convert(".", "out", {"b": "new", "z": "c", "y": "d"}, "^b")
    assert tree(tmp_path / "out") == {f"b.{forms[1]}"}
    assert names(tmp_path / "out" / f"b.{forms[1]}") == ["new"]


def test_error_of_damaged_file_names_it(tmp_path: Path) -> None:
    (tmp_path / "x.ckpt").write_bytes(b"\x0a")
    with pytest.raises(ValueError, match=r"Failed to read the checkpoint file '.*x.ckpt'"):
        serialization.ckpt_to_safetensors(tmp_path / "x.ckpt")
    assert tree(tmp_path) == {"x.ckpt"}


def test_error_of_shrinking_source_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.ckpt"
    serialization.save_checkpoint([Parameter(Tensor(np.ones(100_000)), name="x")], path)
    path.chmod(0o600)  # a checkpoint is read-only
    write_file = saving.write_file

    def shrink_and_write(*args: object) -> None:
        os.truncate(path, 1000)
        write_file(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(conversion, "write_file", shrink_and_write)
    with pytest.raises(ValueError, match=r"x.ckpt': the file became shorter while it was read"):
        serialization.ckpt_to_safetensors(path)
    assert tree(tmp_path) == {"x.ckpt"}
