"""The generated digits: what they are, that they are repeatable, and how MNIST shows digits."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minispore
from minispore import nn
from minispore.dataset import Dataset, MnistDataset, digits, transforms, vision
from minispore.dataset.digits._geometry import Glyphs
from minispore.dataset.digits._render import distance_to_ink
from minispore.dataset.digits._skeletons import SKELETONS
from minispore.dataset.digits._strokes import POINTS, read_drawings
from minispore.train import Model

few = st.integers(0, 600)
seeds = st.integers(0, 2**64)
usages = st.sampled_from(["train", "test"])
fewer_examples = settings(max_examples=8)


@pytest.fixture(scope="module")
def sample() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    return digits.generate(2000, seed=7)


# What `generate` promises.


@fewer_examples
@given(few, seeds, usages)
def test_shapes_types_and_range(count: int, seed: int, usage: str) -> None:
    images, labels = digits.generate(count, seed, usage)
    assert images.shape == (count, 28, 28)
    assert labels.shape == (count,)
    assert images.dtype == labels.dtype == np.uint8
    assert np.all(labels < 10)
    assert np.all(images.max(axis=(1, 2), initial=0) > 127)


@fewer_examples
@given(few, few, seeds, usages)
def test_an_image_depends_on_seed_usage_and_place_only(
    count: int, other: int, seed: int, usage: str
) -> None:
    images, labels = digits.generate(count, seed, usage)
    more_images, more_labels = digits.generate(other, seed, usage)
    common = min(count, other)
    np.testing.assert_array_equal(images[:common], more_images[:common])
    np.testing.assert_array_equal(labels[:common], more_labels[:common])


@fewer_examples
@given(seeds, seeds)
def test_seeds_and_usages_share_no_image(seed: int, other: int) -> None:
    streams = {(s, u) for s in (seed, other) for u in ("train", "test")}
    images = [image.tobytes() for s, u in streams for image in digits.generate(100, s, u)[0]]
    assert len(set(images)) == len(images)


@fewer_examples
@given(st.integers(1, 4), seeds)
def test_the_ten_digits_come_equally_often(blocks: int, seed: int) -> None:
    _, labels = digits.generate(250 * blocks, seed)
    assert np.bincount(labels).tolist() == [25 * blocks] * 10


def test_another_process_draws_the_same() -> None:
    program = (
        "import hashlib; from minispore.dataset.digits import generate;"
        "print(hashlib.sha256(generate(300, seed=5)[0].tobytes()).hexdigest())"
    )
    hashes = {
        subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout
        for _ in range(2)
    }
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((-1,), ValueError, r"'count' must be in \[0, 2147483647\], but got -1"),
        ((1.5,), TypeError, "'count'"),
        ((True,), TypeError, "'count'"),
        ((1, -1), ValueError, "'seed' must be at least 0, but got -1"),
        ((1, "x"), TypeError, "'seed'"),
        ((1, 0, "eval"), ValueError, "'usage' must be one of 'train', 'test', but got 'eval'"),
    ],
)
def test_bad_arguments(arguments: tuple[object, ...], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        digits.generate(*arguments)  # type: ignore[arg-type]


# As MNIST shows digits.


def test_the_glyph_fits_a_box_of_20_pixels(
    sample: tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]],
) -> None:
    inked = sample[0] > 127
    lengths = np.zeros((2, len(inked)), int)
    for axis in (1, 2):
        line = np.logical_or.reduce(inked, axis=axis)
        lengths[axis - 1] = 28 - np.argmax(line[:, ::-1], axis=1) - np.argmax(line, axis=1)
    longest = lengths.max(axis=0)
    assert np.all(longest <= 21)
    assert np.all(longest >= 18)
    assert np.mean((longest >= 19) & (longest <= 20)) > 0.95


def test_the_centre_of_mass_is_in_the_middle(
    sample: tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]],
) -> None:
    images = sample[0].astype(float)
    place = np.arange(28.0)
    mass = images.sum(axis=(1, 2))
    for axis in (1, 2):
        centre = images.sum(axis=axis) @ place / mass
        assert np.all(np.abs(centre - 14) < 1)
        assert abs(centre.mean() - 14) < 0.05


def test_paper_is_white_and_ink_is_black(
    sample: tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]],
) -> None:
    images = sample[0]
    assert np.mean(images == 0) > 0.7
    assert np.mean(images.max(axis=(1, 2)) > 240) > 0.99
    assert 0.11 < images.mean() / 255 < 0.15  # MNIST's mean is 0.1307


def test_mean_and_spread_are_those_of_mnist(
    sample: tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]],
) -> None:
    grey = sample[0] / 255
    assert abs(grey.mean() - 0.1307) < 0.01
    assert abs(grey.std() - 0.3081) < 0.02


@pytest.mark.mnist
def test_a_network_trained_on_them_reads_real_handwriting(tmp_path: Path, mnist: Path) -> None:
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


# The drawings.


def test_each_digit_has_several_drawings_used_as_often_as_said() -> None:
    drawings = read_drawings()
    for digit, variants in enumerate(SKELETONS):
        own = drawings.frequency[drawings.digit == digit]
        assert len(own) == len(variants) >= 3
        np.testing.assert_allclose(own.sum(), 1)
        weights = np.array([weight for weight, _ in variants])
        np.testing.assert_allclose(own, weights / weights.sum())


def test_a_path_goes_through_its_first_and_last_knot() -> None:
    drawings = read_drawings()
    assert drawings.basis.shape[:2] == (len(drawings.knots), POINTS)
    # Whatever the knots, a path is their weighted mean: moving all moves it as a whole.
    np.testing.assert_allclose(drawings.basis.sum(axis=2), 1, atol=1e-5)
    paths = drawings.basis @ drawings.knots
    np.testing.assert_allclose(paths[:, 0], drawings.knots[:, 0], atol=1e-6)
    for basis, path, knots in zip(drawings.basis, paths, drawings.knots, strict=True):
        last = np.flatnonzero(np.abs(basis).max(axis=0))[-1]
        np.testing.assert_allclose(path[-1], knots[last], atol=1e-6)


def test_the_pen_leaves_the_paper_once_for_each_semicolon() -> None:
    drawings = read_drawings()
    texts = [text for variants in SKELETONS for _, text in variants]
    lifted = (~drawings.inked).sum(axis=1)
    assert lifted.tolist() == [text.count(";") for text in texts]


# The rendering, against one that compares every pixel with many points of every segment.


@given(seeds)
def test_distances_to_ink(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform(5, 15, (3, 1, 2)) + np.cumsum(rng.uniform(-1.5, 1.5, (3, 6, 2)), axis=1)
    radius = rng.uniform(0.7, 2.5, (3, 1)) + rng.uniform(-0.1, 0.1, (3, 6))
    inked = rng.random((3, 5)) < 0.8
    glyphs = Glyphs(points.astype(np.float32), radius.astype(np.float32), inked)
    y, x = np.mgrid[:52, :52] - 16
    t = np.linspace(0, 1, 200)
    for found, way, pen, down in zip(distance_to_ink(glyphs), points, radius, inked, strict=True):
        expected = np.full(found.shape, np.inf)
        for i in np.flatnonzero(down):
            px, py = np.outer(1 - t, way[i]).T + np.outer(t, way[i + 1]).T
            distances = np.hypot(x[..., None] - px, y[..., None] - py)
            nearest = distances.argmin(axis=-1)
            r = pen[i] + t[nearest] * (pen[i + 1] - pen[i])
            expected = np.minimum(expected, distances.min(axis=-1) - r)
        near = expected < 0.5
        np.testing.assert_allclose(found[near], expected[near], atol=0.01)
        assert np.all(found[~near] > 0.49)
