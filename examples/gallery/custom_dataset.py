"""A dataset of one's own: a class with `__getitem__`, and the operations of the pipeline."""

import numpy as np
import numpy.typing as npt

import minispore as ms
from minispore.dataset import Dataset, GeneratorDataset, transforms

Row = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]


class Waves:
    """Sine waves of different frequencies, which are the labels.

    Args:
        count: The number of waves.
        length: The number of points of each.
    """

    def __init__(self, count: int, length: int) -> None:
        self.count = count
        self.times = np.linspace(0, 2 * np.pi, length)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Row:
        frequency = index % 3 + 1
        return np.sin(frequency * self.times).astype(np.float32), np.array(frequency)


def spectrum(wave: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the lowest amplitudes of a wave."""
    return np.abs(np.fft.rfft(wave)[:5]).astype(np.float32)


def is_odd(frequency: npt.NDArray[np.int32]) -> bool:
    """Return whether a row is kept."""
    return bool(frequency % 2)


data: Dataset = GeneratorDataset(Waves(10, 24), ["wave", "frequency"], shuffle=False)
print(f"{data.get_dataset_size()} rows with the columns {data.get_col_names()}")

data = data.map(spectrum, "wave").map(transforms.TypeCast(ms.int32), "frequency")
data = data.filter(is_odd, "frequency").skip(1).batch(3)
for epoch in range(2):
    for batch in data.create_dict_iterator(num_epochs=1, output_numpy=True):
        highest = batch["wave"].argmax(axis=1)
        shape, total = batch["wave"].shape, batch["wave"].sum()
        print(f"epoch {epoch}: {batch['frequency']} at {highest}, {shape}, sum {total:.3f}")
