"""What is put in as a picture: of which shapes, and what a monitor gets."""

import numpy as np
import pytest

from minispore.tensorpack import CallbackFactory, MonitorBase
from minispore.train import Callback, Model

from ..train.standins import Batches, ConstantLoss


def run(*callbacks: Callback) -> None:
    Model(ConstantLoss()).train(1, Batches(3), list(callbacks))


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 1), (2, 3, 3), (4, 2, 3, 3)])
def test_images(shape: tuple[int, ...]) -> None:
    class Shapes(MonitorBase):
        seen: tuple[int, ...] = ()

        def process_image(
            self, name: str, val: np.ndarray[tuple[int, ...], np.dtype[np.generic]]
        ) -> None:
            self.seen = val.shape

    shapes = Shapes()
    put = CallbackFactory(trigger=lambda cb: cb.trainer.monitors.put_image("x", np.zeros(shape)))
    run(put, shapes)
    assert len(shapes.seen) == 4


@pytest.mark.parametrize("shape", [(2,), (2, 3, 2), (0, 3), (1, 1, 1, 1, 1)])
def test_what_are_no_images(shape: tuple[int, ...]) -> None:
    put = CallbackFactory(trigger=lambda cb: cb.trainer.monitors.put_image("x", np.zeros(shape)))
    with pytest.raises(ValueError, match="put_image"):
        run(put)
