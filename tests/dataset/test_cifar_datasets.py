"""CIFAR-10 and CIFAR-100: columns, the order of files, and errors for damaged ones."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from minispore.dataset import Cifar10Dataset, Cifar100Dataset, Dataset, _cifar_datasets

TRAIN, TEST = [0, 1, 2, 3, 4], [8, 9]


def write_rows(path: Path, labels: list[int], count: int) -> npt.NDArray[np.uint8]:
    """Write images whose first red, green and blue pixels are the label, 100 and 200."""
    table = np.random.default_rng(len(labels)).integers(0, 256, (len(labels), count + 3072), "u1")
    table[:, :count] = np.array(labels)[:, np.newaxis]
    table[:, [count, count + 1024, count + 2048]] = [[label, 100, 200] for label in labels]
    path.write_bytes(table.tobytes())
    return table


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for i in range(1, 6):
        write_rows(tmp_path / f"data_batch_{i}.bin", TRAIN[i - 1 : i], 1)
    for name, labels, count in (("test_batch", TEST, 1), ("train", TRAIN, 2), ("test", TEST, 2)):
        write_rows(tmp_path / f"{name}.bin", labels, count)
    return tmp_path


def labels(dataset: Dataset) -> list[int]:
    rows = dataset.create_dict_iterator(num_epochs=1, output_numpy=True)
    found: list[int] = []
    for row in rows:
        image, *numbers = row.values()
        assert [number.dtype for number in numbers] == [np.uint32] * len(numbers)
        assert image[0, 0].tolist() == [int(numbers[0]), 100, 200]
        found.append(int(numbers[-1]))
    return found


def test_columns_types_and_shapes_equal_mindspores(folder: Path) -> None:
    ten, hundred = Cifar10Dataset(str(folder)), Cifar100Dataset(folder)
    assert ten.get_col_names() == ["image", "label"]
    assert hundred.get_col_names() == ["image", "coarse_label", "fine_label"]
    assert ten.output_shapes() == [[32, 32, 3], []]
    assert hundred.output_types() == [np.uint8, np.uint32, np.uint32]
    assert len(ten) == len(hundred) == 7


def test_images_have_their_channels_last(folder: Path) -> None:
    table = write_rows(folder / "test_batch.bin", [5], 1)
    image = Cifar10Dataset(folder, "test")[0][0]
    np.testing.assert_array_equal(image, table[0, 1:].reshape(3, 32, 32).transpose(1, 2, 0))


def test_usage_selects_files_in_the_order_of_their_names(folder: Path) -> None:
    for dataset, both in ((Cifar10Dataset, TRAIN + TEST), (Cifar100Dataset, TEST + TRAIN)):
        assert labels(dataset(folder, "train", shuffle=False)) == TRAIN
        assert labels(dataset(folder, "test", shuffle=False)) == TEST
        assert labels(dataset(folder, shuffle=False)) == both
        assert labels(dataset(folder, "all", shuffle=False, num_samples=3)) == both[:3]
        assert sorted(labels(dataset(folder))) == sorted(both)


def test_missing_and_damaged_files_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    test = folder / "test_batch.bin"
    test.write_bytes(test.read_bytes()[:-1])
    with pytest.raises(RuntimeError, match="test_batch.bin' must have 3073 bytes for each row"):
        Cifar10Dataset(folder, "test")
    write_rows(test, [1, 10], 1)
    with pytest.raises(RuntimeError, match="from 0 to 9, but label number 1 is 10"):
        labels(Cifar10Dataset(folder, "test"))
    write_rows(folder / "test.bin", [1, 19, 21], 2)
    with pytest.raises(RuntimeError, match="from 0 to 19, but label number 2 is 21"):
        labels(Cifar100Dataset(folder, "test"))
    dataset = Cifar10Dataset(folder, "train")
    write_rows(folder / "data_batch_2.bin", [1, 1], 1)
    with pytest.raises(RuntimeError, match="data_batch_2.bin' changed while it was read"):
        labels(dataset)
    test.unlink()
    with pytest.raises(RuntimeError, match="no 'test_batch.bin' in .* binary version"):
        Cifar10Dataset(folder, "test")
    assert _cifar_datasets.__doc__
