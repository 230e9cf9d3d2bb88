"""The generated digits: repeatable images with the statistics of MNIST."""

import hashlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore
from minispore import nn
from minispore.dataset import Dataset, MnistDataset, digits, transforms, vision
from minispore.dataset.digits import _generate
from minispore.dataset.digits._skeletons import SKELETONS
from minispore.dataset.digits._strokes import read_drawings
from minispore.train import Model
from tests.helpers.processes import run_python
from tests.helpers.randomness import assert_frequencies, uniform

Sample = tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]
BLOCK = 10
counts = st.integers(0, 3 * BLOCK)
seeds = st.integers(0, 2**64)
usages = st.sampled_from(["train", "test"])


def generate(count: int, seed: int, usage: str = "train") -> Sample:
    """Draw blocks of 10 images instead of 250: the laws are the same, in less time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_generate, "_BLOCK", BLOCK)
        return digits.generate(count, seed, usage)


@given(counts, counts, seeds, usages)
def test_image_depends_on_seed_usage_and_index_only(
    count: int, other: int, seed: int, usage: str
) -> None:
    images, labels = generate(count, seed, usage)
    assert images.shape == (count, 28, 28)
    assert labels.shape == (count,)
    assert images.dtype == labels.dtype == np.uint8
    assert np.all(images.max(axis=(1, 2), initial=0) > 127)
    more_images, more_labels = generate(other, seed, usage)
    common = min(count, other)
    np.testing.assert_array_equal(images[:common], more_images[:common])
    np.testing.assert_array_equal(labels[:common], more_labels[:common])


@given(seeds, seeds)
def test_seeds_usages_and_blocks_share_no_image(seed: int, other: int) -> None:
    streams = {(s, u) for s in (seed, other) for u in ("train", "test")}
    images = [image for s, u in streams for image in generate(2 * BLOCK, s, u)[0]]
    assert len({image.tobytes() for image in images}) == len(images)


@given(st.integers(1, 4), seeds)
def test_digits_of_a_block_are_equally_frequent(blocks: int, seed: int) -> None:
    _, labels = generate(BLOCK * blocks, seed)
    assert np.bincount(labels).tolist() == [blocks] * 10


def test_digits_are_in_random_order(sample: Sample) -> None:
    """Each pair of successive digits is as frequent as any other."""
    _, labels = sample
    assert np.bincount(labels).tolist() == [200] * 10
    differences = np.diff(labels.astype(int)) % 10
    assert_frequencies(differences.tolist(), uniform(range(10)))
    first = labels.reshape(8, 250)
    assert len({tuple(block) for block in first}) == 8


def test_drawings_of_a_digit_have_their_frequencies() -> None:
    drawings = read_drawings()
    for digit, variants in enumerate(SKELETONS):
        (indices,) = np.nonzero(drawings.digit == digit)
        weights = np.array([weight for weight, _ in variants])
        assert len(indices) == len(weights) >= 3
        chosen = _generate._choose_drawings(
            drawings, np.full(1000, digit), np.random.default_rng(digit)
        )
        expected = dict(zip(indices.tolist(), (weights / weights.sum()).tolist(), strict=True))
        assert_frequencies(chosen.tolist(), expected)


@pytest.mark.full
def test_another_process_generates_equal_images() -> None:
    program = (
        "import hashlib; from minispore.dataset.digits import generate;"
        "print(hashlib.sha256(generate(20, seed=5)[0].tobytes()).hexdigest())"
    )
    done = run_python("-c", program)
    images, _ = digits.generate(20, seed=5)
    assert done.stdout.strip() == hashlib.sha256(images.tobytes()).hexdigest()


def test_mean_and_deviation_are_close_to_mnist(sample: Sample) -> None:
    grey = sample[0] / 255
    assert abs(grey.mean() - 0.1307) < 0.01
    assert abs(grey.std() - 0.3081) < 0.02


@pytest.mark.full
@pytest.mark.mnist
def test_network_trained_on_digits_classifies_mnist(tmp_path: Path, mnist: Path) -> None:
    def pipeline(folder: Path, usage: str) -> Dataset:
        steps = [vision.Rescale(1 / 255, 0), vision.Normalize((0.1307,), (0.3081,))]
        data = MnistDataset(str(folder), usage).map([*steps, vision.HWC2CHW()], "image")
        return data.map(transforms.TypeCast(minispore.int32), "label").batch(64)

    minispore.set_seed(1)
    network = nn.SequentialCell(
        nn.Flatten(),
        nn.Dense(784, 512),
        nn.ReLU(),
        nn.Dense(512, 512),
        nn.ReLU(),
        nn.Dense(512, 10),
    )
    optimizer = nn.SGD(network.trainable_params(), 0.1)
    model = Model(network, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})
    model.train(2, pipeline(digits.write(tmp_path, train=15_000, test=10), "train"))
    assert model.eval(pipeline(mnist, "test"))["accuracy"] > 0.8  # about 0.87


@pytest.mark.parametrize("count", [0, 1, 249, 250, 251, 600])
def test_progress_counts_all_images(count: int) -> None:
    drawn: list[int] = []
    digits.generate(count, progress=drawn.append)
    assert sum(drawn) == count
    assert all(0 < part <= 250 for part in drawn)
