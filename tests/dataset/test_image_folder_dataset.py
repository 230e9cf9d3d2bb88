"""ImageFolderDataset: labels, the choice of files, decoding, and errors."""

import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore.dataset import ImageFolderDataset, PKSampler, vision
from tests.helpers.dataset_rows import rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, files in {"dog": ["b.png", "a.jpg"], "cat": ["c.png"], "dog/more": []}.items():
        (tmp_path / name).mkdir()
        for file in files:
            (tmp_path / name / file).write_bytes(f"{name}/{file}".encode())
    (tmp_path / "notes.txt").write_text("no image", "utf-8")
    return tmp_path


def contents(dataset: ImageFolderDataset) -> list[tuple[str, int]]:
    """Return the files' contents and labels."""
    iterator = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    return [(image.tobytes().decode(), int(label)) for image, label in iterator]


def test_files_are_ordered_and_labelled_by_folder(folder: Path) -> None:
    dataset = ImageFolderDataset(str(folder), shuffle=False)
    assert contents(dataset) == [("cat/c.png", 0), ("dog/a.jpg", 1), ("dog/b.png", 1)]
    assert dataset.output_types() == [np.uint8, np.int32]
    assert dataset.get_class_indexing() == {"cat": 0, "dog": 1}
    assert dataset.num_classes() == 2
    assert sorted(contents(ImageFolderDataset(folder))) == contents(dataset)


def test_endings_classes_and_samplers_choose_files(folder: Path) -> None:
    some = ImageFolderDataset(folder, shuffle=False, extensions=[".jpg"])
    assert contents(some) == [("dog/a.jpg", 1)]
    some = ImageFolderDataset(folder, shuffle=False, class_indexing={"dog": 7})
    assert contents(some) == [("dog/a.jpg", 7), ("dog/b.png", 7)]
    assert some.get_class_indexing() == {"dog": 7}
    drawn = contents(ImageFolderDataset(folder, sampler=PKSampler(2)))
    assert [label for _, label in drawn] == [0, 0, 1, 1]


def test_images_of_files_are_decoded(folder: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(1).integers(0, 256, (5, 4, 3), "u1")
    image.fromarray(pixels).save(folder / "cat" / "c.png")
    image.fromarray(pixels[..., 0]).save(folder / "dog" / "b.png")
    gray = np.repeat(pixels[..., :1], 3, -1)
    make = partial(ImageFolderDataset, folder, shuffle=False, extensions=[".png"])
    for dataset in (make(decode=True), make().map(vision.Decode(), "image")):
        assert rows(dataset) == [[pixels.tolist(), 0], [gray.tolist(), 1]]
    crop = vision.RandomCropDecodeResize((5, 4), (1, 1), (4 / 5, 4 / 5))
    assert rows(make().map(crop, "image")) == [[pixels.tolist(), 0], [gray.tolist(), 1]]
    with pytest.raises(RuntimeError, match="a.jpg' cannot be decoded as an image"):
        rows(ImageFolderDataset(folder, decode=True))


def test_missing_pillow_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(ImportError, match="needs the package 'pillow': pip install"):
        rows(ImageFolderDataset(folder, decode=True))
    assert len(contents(ImageFolderDataset(folder))) == 3


names = st.sampled_from(["a", "b", "c", ".d", ".e", "a/b", "a/.c", "b/c/d", ".d/a"])


@given(
    folders=st.lists(names, min_size=1, unique=True),
    files=st.lists(st.tuples(names, st.sampled_from(["1.png", "2.png", "3.txt"])), unique=True),
    endings=st.sampled_from([None, [".png"], [".gif"]]),
    indexing=st.none() | st.dictionaries(names, st.integers(0, 9), min_size=1, max_size=2),
)
@example(["a", "b", ".d"], [("a", "1.png"), ("b", "1.png")], None, None)
@example(["a"], [("a", "1.png"), ("a/b", "1.png")], [".png"], None)
@example(["a"], [("a", "1.png")], None, {"a": 1, "b": 2})
def test_no_file_is_lost_without_an_error(
    folders: list[str],
    files: list[tuple[str, str]],
    endings: list[str] | None,
    indexing: dict[str, int] | None,
) -> None:
    """Each file in a class's folder is a row, and each folder is a class."""
    with TemporaryDirectory() as name:
        root = Path(name)
        for folder in [*folders, *(folder for folder, _ in files)]:
            (root / folder).mkdir(parents=True, exist_ok=True)
        for folder, file in files:
            (root / folder / file).write_bytes(f"{folder}/{file}".encode())
        top = {folder.partition("/")[0] for folder in [*folders, *(folder for folder, _ in files)]}
        read = sorted(
            (folder, file) for folder, file in files if file.endswith(tuple(endings or [""]))
        )
        classes = {c for c in top if c[0] != "." or any(f.split("/")[0] == c for f, _ in read)}
        labels = indexing or {folder: i for i, folder in enumerate(sorted(classes))}
        chosen = [(f, file) for f, file in read if f.partition("/")[0] in labels]
        make = partial(ImageFolderDataset, root, extensions=endings, class_indexing=indexing)
        nested = any("/" in folder for folder, _ in (chosen if indexing else read))
        if nested or not chosen or not top.issuperset(labels):
            with pytest.raises(RuntimeError, match="in a folder in it|no files|names '"):
                make()
            return
        rows = contents(make(shuffle=False))
        assert rows == [(f"{folder}/{file}", labels[folder]) for folder, file in chosen]
        assert make().get_class_indexing() == labels


def test_bad_arguments_and_missing_files_are_named(folder: Path) -> None:
    with pytest.raises(RuntimeError, match=r"no files in the folders \['cat', 'dog'\] .*'.gif'"):
        ImageFolderDataset(folder, extensions=[".gif"])
    with pytest.raises(ValueError, match="'dataset_dir' must be a folder"):
        ImageFolderDataset(folder / "notes.txt")
