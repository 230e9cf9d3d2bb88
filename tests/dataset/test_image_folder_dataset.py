"""ImageFolderDataset: labels, the choice of files, decoding, and errors."""

import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from minispore.dataset import ImageFolderDataset, PKSampler, vision
from tests.helpers.dataset_rows import rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, files in {"dog": ["b.png", "a.jpg"], "cat": ["c.png"], "dog/more": ["d.png"]}.items():
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
    some = ImageFolderDataset(folder, shuffle=False, class_indexing={"dog": 7, "cow": 2})
    assert contents(some) == [("dog/a.jpg", 7), ("dog/b.png", 7)]
    assert some.get_class_indexing() == {"dog": 7, "cow": 2}
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


def test_bad_arguments_and_missing_files_are_named(folder: Path) -> None:
    with pytest.raises(RuntimeError, match=r"no files in the folders \['cat', 'dog'\] .*'.gif'"):
        ImageFolderDataset(folder, extensions=[".gif"])
    with pytest.raises(ValueError, match="'dataset_dir' must be a folder"):
        ImageFolderDataset(folder / "notes.txt")
