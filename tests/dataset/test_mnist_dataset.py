"""MnistDataset: the files it reads, errors for damaged ones, and the real data."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore
from minispore import dataset as ds
from minispore.dataset import _mnist_dataset
from minispore.dataset.idx import write_idx


def write_pair(folder: Path, prefix: str, count: int, first: int, suffix: str = "") -> None:
    images = np.full((count, 28, 28), 7, np.uint8)
    images[:, 0, 0] = first + np.arange(count)
    write_idx(folder / f"{prefix}-images-idx3-ubyte{suffix}", images)
    labels = (first + np.arange(count, dtype=np.uint8)) % 10
    write_idx(folder / f"{prefix}-labels-idx1-ubyte{suffix}", labels.astype(np.uint8))


def write_both(folder: Path) -> Path:
    write_pair(folder, "train", 6, 10)
    write_pair(folder, "t10k", 3, 20, ".gz")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_both(tmp_path)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_both(tmp_path_factory.mktemp("mnist"))


def first_pixels(dataset: minispore.dataset.Dataset) -> list[int]:
    rows = dataset.create_dict_iterator(num_epochs=1, output_numpy=True)
    return [int(row["image"].reshape(-1)[0]) for row in rows]


def test_mnist_columns_types_and_shapes_equal_mindspores(folder: Path) -> None:
    dataset = ds.MnistDataset(str(folder))
    assert dataset.get_col_names() == ["image", "label"]
    assert dataset.output_shapes() == [[28, 28, 1], []]
    assert dataset.output_types() == [np.uint8, np.uint32]
    assert dataset.get_dataset_size() == len(dataset) == 9


@given(
    kind=st.sampled_from([ds.MnistDataset, ds.FashionMnistDataset]),
    usage=st.sampled_from([None, "all", "train", "test"]),
    samples=st.integers(1, 9),
    shards=st.integers(1, 4),
)
def test_usage_samples_and_shards_select_rows_with_those_of_test_first(
    both: Path, kind: type[ds.MnistDataset], usage: str | None, samples: int, shards: int
) -> None:
    train, test = [10, 11, 12, 13, 14, 15], [20, 21, 22]
    expected = {"train": train, "test": test}.get(str(usage), test + train)
    assert first_pixels(kind(both, usage, samples, shuffle=False)) == expected[:samples]
    parts = [kind(both, usage, shuffle=False, num_shards=shards, shard_id=i) for i in range(shards)]
    padded = expected + expected[: -len(expected) % shards]
    assert [first_pixels(part) for part in parts] == [padded[i::shards] for i in range(shards)]
    assert parts[0][0][0][0, 0, 0] == expected[0]


@pytest.mark.parametrize("usage", ["train", "test", None])
def test_names_may_have_a_dot(folder: Path, usage: str | None) -> None:
    """As unpacked by some programs: train-images.idx3-ubyte."""
    expected = first_pixels(ds.MnistDataset(folder, usage, shuffle=False))
    for path in [*folder.iterdir()]:
        path.rename(folder / path.name.replace("-idx", ".idx"))
    assert first_pixels(ds.MnistDataset(folder, usage, shuffle=False)) == expected != []


def test_errors_name_the_subclass(folder: Path) -> None:
    (folder / "train-labels-idx1-ubyte").unlink()
    with pytest.raises(RuntimeError, match="^For 'FashionMnistDataset', .* but not their labels"):
        ds.FashionMnistDataset(folder, "train")


def test_pk_sampler_draws_rows_of_each_class(folder: Path) -> None:
    dataset = ds.MnistDataset(folder, "train", sampler=ds.PKSampler(2))
    rows = list(dataset.project("label").create_tuple_iterator(num_epochs=1, output_numpy=True))
    assert [int(label) for (label,) in rows] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert [len(part) for part in dataset.split([9, 3])] == [9, 3]
    dataset.use_sampler(ds.PKSampler(2, num_samples=3))
    assert dataset.get_dataset_size() == 3
    with pytest.raises(ValueError, match="'class_column' must be a column of labels"):
        ds.MnistDataset(folder, sampler=ds.PKSampler(2, class_column="class"))
    with pytest.raises(NotImplementedError, match="'num_class' must be None, but got 3"):
        ds.PKSampler(2, 3)


def test_missing_folder_or_files_raise(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="absent"):
        ds.MnistDataset(tmp_path / "absent")
    with pytest.raises(RuntimeError, match="there is no 'train-images-idx3-ubyte'"):
        ds.MnistDataset(tmp_path, "train")
    for missing, file in (("labels", "train-labels-idx1"), ("images", "train-images-idx3")):
        write_pair(tmp_path, "train", 2, 0)
        (tmp_path / f"{file}-ubyte").unlink()
        with pytest.raises(RuntimeError, match=f"but not their {missing}"):
            ds.MnistDataset(tmp_path, "train")


def test_mismatched_files_are_named(folder: Path) -> None:
    labels = folder / "train-labels-idx1-ubyte"
    write_idx(labels, np.zeros(5, np.uint8))
    with pytest.raises(RuntimeError, match=r"holds 6 images, but '.*labels.*' holds 5 labels"):
        ds.MnistDataset(folder, "train")
    write_idx(labels, np.array([0, 1, 2, 3, 10, 5], np.uint8))
    with pytest.raises(RuntimeError, match=r"train-labels.* label number 4 is 10"):
        list(ds.MnistDataset(folder, "train"))
    write_idx(labels, np.zeros((6, 1), np.uint8))
    with pytest.raises(RuntimeError, match="one label an image"):
        ds.MnistDataset(folder, "train")
    write_idx(folder / "train-images-idx3-ubyte", np.zeros((6, 27, 28), np.uint8))
    with pytest.raises(RuntimeError, match="must hold images of 28 x 28"):
        ds.MnistDataset(folder, "train")


def test_truncated_file_raises_before_first_row(folder: Path) -> None:
    images = folder / "train-images-idx3-ubyte"
    images.write_bytes(images.read_bytes()[:-1])
    dataset = ds.MnistDataset(folder, "train")
    with pytest.raises(RuntimeError, match="train-images-idx3-ubyte"):
        next(iter(dataset))


def test_files_changed_during_reading_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = _mnist_dataset._count_images

    def count_and_change(images: Path, labels: Path) -> int:
        counted = count(images, labels)
        write_pair(folder, "train", counted - 1, 10)
        return counted

    dataset = ds.MnistDataset(folder, "train")
    monkeypatch.setattr(_mnist_dataset, "_count_images", count_and_change)
    with pytest.raises(RuntimeError, match="train-images.* or .*train-labels.* changed while"):
        first_pixels(dataset)


@pytest.mark.mnist
def test_tutorial_pipeline_equals_mindspore_bitwise(mnist: Path) -> None:
    dataset = (
        ds.MnistDataset(mnist, "test", shuffle=False)
        .map(
            [
                ds.vision.Rescale(1.0 / 255.0, 0),
                ds.vision.Normalize(mean=(0.1307,), std=(0.3081,)),
                ds.vision.HWC2CHW(),
            ],
            "image",
        )
        .map(ds.transforms.TypeCast(minispore.int32), "label")
        .batch(64)
    )
    assert dataset.get_dataset_size() == 157
    digest = hashlib.sha256()
    for image, label in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True):
        assert [image.dtype, label.dtype] == [np.float32, np.int32]
        digest.update(image.tobytes() + label.tobytes())
    # Of the same pipeline run by MindSpore 2.10.0.
    assert digest.hexdigest() == "e10ff7ab096c9b85a6eb2d2b50557d2a2cb1b7f2e0620501015a6486902b205b"
