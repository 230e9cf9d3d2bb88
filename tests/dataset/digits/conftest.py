"""A sample of digits, which the tests of this folder share."""

import numpy as np
import numpy.typing as npt
import pytest

from minispore.dataset import digits


@pytest.fixture(scope="package")
def sample() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Eight blocks of training images and labels."""
    return digits.generate(2000, seed=7)
