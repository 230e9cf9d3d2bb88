"""From one format to the other and back: every byte of content arrives, of every type."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore import _dtype as dtypes
from minispore.common import Parameter, Tensor
from minispore.train._files import checkpoint_file, converting, saving, stored
from minispore.train.serialization import (
    ckpt_to_safetensors,
    load_checkpoint,
    safetensors_to_ckpt,
    save_checkpoint,
)

FIXTURES = Path(__file__).parent / "fixtures"
NAMES = st.text("ab.é名", min_size=1, max_size=5)
ARRAYS = st.sampled_from([dtype.numpy_dtype for dtype in dtypes.ALL]).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))
)


def save(path: Path, *names: str, **options: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    items = [Parameter(Tensor([float(i)]), name=name) for i, name in enumerate(names)]
    save_checkpoint(items, path, **options)  # type: ignore[arg-type]


def names(path: Path) -> list[str]:
    return sorted(load_checkpoint(path, format=path.suffix[1:]))


def tree(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


@given(st.dictionaries(NAMES, ARRAYS, min_size=1, max_size=4), st.booleans(), st.integers(1, 99))
def test_there_and_back(
    tmp_path_factory: pytest.TempPathFactory,
    values: dict[str, np.ndarray],
    crc: bool,
    slice_bytes: int,
) -> None:
    folder = tmp_path_factory.mktemp("there")
    first = folder / "x.ckpt"
    with first.open("wb") as file:
        checkpoint_file.write(file, values.items(), crc_check=crc, slice_bytes=slice_bytes)
    ckpt_to_safetensors(first)
    safetensors_to_ckpt(folder / "x.safetensors", folder / "back")
    with (folder / "back" / "x.ckpt").open("rb") as file:
        entries, has_crc = checkpoint_file.scan(file)
        found = {name: stored.load(file, name, entry) for name, entry in entries.items()}
    assert has_crc == crc
    assert found.keys() == values.keys()
    for name, array in found.items():
        assert isinstance(array, np.ndarray)
        assert (array.dtype, array.shape) == (values[name].dtype, values[name].shape)
        assert array.tobytes() == values[name].tobytes()


def test_an_integer_in_slices_counts_in_the_check_sum_as_a_whole(tmp_path: Path) -> None:
    first, second = tmp_path / "x.ckpt", tmp_path / "y"
    with first.open("wb") as file:
        checkpoint_file.write(file, [("n", np.array(300))], crc_check=True, slice_bytes=1)
    ckpt_to_safetensors(first)
    save_checkpoint({"n": np.array(300)}, second, crc_check=True, format="safetensors")
    made = (tmp_path / "x.safetensors").read_bytes()
    assert made == (tmp_path / "y.safetensors").read_bytes()


def test_types_that_cannot_be_loaded_can_be_converted(tmp_path: Path) -> None:
    path = tmp_path / "others.safetensors"
    path.write_bytes((FIXTURES / "others.safetensors").read_bytes())
    safetensors_to_ckpt(path)
    with (tmp_path / "others.ckpt").open("rb") as file:
        found = {n: (e.kind, e.dims) for n, e in checkpoint_file.scan(file)[0].items()}
    assert found == {
        "bfloat16": ("BFloat16", (2,)),
        "qint4x2": ("Int4", (2,)),
        "complex64": ("Complex64", (2,)),
    }
    ckpt_to_safetensors(tmp_path / "others.ckpt", tmp_path / "back")
    assert (tmp_path / "back" / "others.safetensors").read_bytes() == path.read_bytes()


def test_a_type_that_the_other_format_has_not(tmp_path: Path) -> None:
    path = FIXTURES / "others.ckpt"
    reason = (
        rf"^For 'ckpt_to_safetensors', '{re.escape(str(path))}' cannot be converted: "
        r"A '\.safetensors' file cannot hold 'complex128', of type Complex128\.$"
    )
    with pytest.raises(ValueError, match=reason):
        ckpt_to_safetensors(path, tmp_path)
    with (tmp_path / "x.safetensors").open("wb") as file:
        text = b'{"x":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}}'
        file.write(len(text).to_bytes(8, "little") + text + b"\0")
    reason = (
        r"^For 'safetensors_to_ckpt', '.*x\.safetensors' cannot be converted: "
        r"A '\.ckpt' file cannot hold 'x', whose type is safetensors' F4\.$"
    )
    with pytest.raises(ValueError, match=reason):
        safetensors_to_ckpt(tmp_path / "x.safetensors")
    assert tree(tmp_path) == {"x.safetensors"}


def test_a_text_cannot_be_converted(tmp_path: Path) -> None:
    save(tmp_path / "x.ckpt", "a", append_dict={"note": "text"})
    with pytest.raises(ValueError, match="text 'note'"):
        ckpt_to_safetensors(tmp_path / "x.ckpt")
    assert tree(tmp_path) == {"x.ckpt"}


# What MindSpore 2.10 makes of such folders.
@pytest.mark.parametrize(
    ("regex", "made"),
    [
        (None, {"rank1/a-3", "rank_0/a-1_2", "rank_0/b", "rankx/ba"}),
        ("a", {"rank1/a-3", "rank_0/a-1_2", "rankx/ba"}),
        ("a-1_2.ckpt", {"rank_0/a-1_2"}),
        (".*ckpt", {"rank1/a-3", "rank_0/a-1_2", "rank_0/b", "rankx/ba"}),
        ("^b", {"rank_0/b", "rankx/ba"}),
    ],
)
def test_folders_of_several_processes(tmp_path: Path, regex: str | None, made: set[str]) -> None:
    source = tmp_path / "in"
    for name in ("rank_0/a-1_2", "rank_0/b", "rank1/a-3", "rankx/ba", "top", "other/a"):
        save(source / name, "x")
    (source / "rank_0" / "read.me").touch()
    ckpt_to_safetensors(source, tmp_path / "out", file_name_regex=regex)
    assert tree(tmp_path / "out") == {f"{name}.safetensors" for name in made}
    safetensors_to_ckpt(tmp_path / "out")
    assert {f"{name}.ckpt" for name in made} < tree(tmp_path / "out")


def test_a_folder_of_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(Path("a"), "x", "y")
    save(Path("b"), "z")
    Path("folder.ckpt").mkdir()
    ckpt_to_safetensors(".")
    Path("folder.ckpt").rmdir()
    assert tree(tmp_path) == {"a.ckpt", "b.ckpt", "a.safetensors", "b.safetensors"}
    (tmp_path / "a.safetensors").unlink()
    ckpt_to_safetensors("a.ckpt")
    ckpt_to_safetensors("a.ckpt", "out", name_map={"x": "renamed"})
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {"out"}
    assert tree(tmp_path) == {
        "a.ckpt", "b.ckpt", "a.safetensors", "b.safetensors", "out/a.safetensors",
    }  # fmt: skip
    assert names(tmp_path / "a.safetensors") == ["x", "y"]
    assert names(tmp_path / "out" / "a.safetensors") == ["renamed", "y"]


def test_new_names(tmp_path: Path) -> None:
    save(tmp_path / "x.ckpt", "a", "b")
    with pytest.raises(ValueError, match="gives two values of .*x.ckpt' the name 'b'"):
        ckpt_to_safetensors(tmp_path / "x.ckpt", name_map={"a": "b"})
    ckpt_to_safetensors(tmp_path / "x.ckpt", name_map={"a": "b", "b": "a"})
    swapped = load_checkpoint(tmp_path / "x.safetensors", format="safetensors")
    assert {n: p.tolist() for n, p in swapped.items() if isinstance(p, Parameter)} == {
        "a": [1.0],
        "b": [0.0],
    }


@pytest.mark.parametrize("back", [False, True])
def test_new_names_for_what_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, back: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    forms = ["safetensors", "ckpt"] if back else ["ckpt", "safetensors"]
    convert = safetensors_to_ckpt if back else ckpt_to_safetensors
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


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.ckpt").write_bytes(b"\x0a")
    with pytest.raises(ValueError, match=r"Failed to read the checkpoint file '.*x.ckpt'"):
        ckpt_to_safetensors(tmp_path / "x.ckpt")
    assert tree(tmp_path) == {"x.ckpt"}


def test_a_file_that_shrinks_while_it_is_converted_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.ckpt"
    save_checkpoint([Parameter(Tensor(np.ones(100_000)), name="x")], path)
    path.chmod(0o600)  # a checkpoint is read-only
    write_file = saving.write_file

    def shrink_and_write(*given: object) -> None:
        os.truncate(path, 1000)
        write_file(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(converting, "write_file", shrink_and_write)
    with pytest.raises(ValueError, match=r"x.ckpt': the file became shorter while it was read"):
        ckpt_to_safetensors(path)
    assert tree(tmp_path) == {"x.ckpt"}
