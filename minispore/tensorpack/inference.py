"""InferenceRunner: go through a dataset in the middle of a training, and measure."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minispore.common import Tensor
from minispore.ops._summary import listeners
from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback
from minispore.tensorpack.channel import Array, as_float, suggest
from minispore.tensorpack.inferencers import Inferencer, MetricInferencer
from minispore.train._dataset import DatasetLike, Epochs, check_dataset
from minispore.train.callback._monitored import as_array, first_output
from minispore.train.metrics import Metric

Measures: TypeAlias = Inferencer | Metric
Tower: TypeAlias = Callable[..., Mapping[str, Tensor | Array]]

_WRONG: Final = re.compile(r"wrong-top(\d+)")


class InferenceRunner(Callback):
    """Measure the network on a dataset, after each epoch, and put the results in the channel.

    Without `tower_func` the arrays of a batch are "input", "label" (the batch's last column),
    "output", "loss" if the model has a loss function, "wrong-top1", "wrong-top5" and so on, in
    which a sample is 1 if its label is not among the greatest of its outputs, "incorrect_vector",
    which is "wrong-top1", and whatever `ops`' summaries hand out in the network.

    Source: tensorpack.callbacks.InferenceRunner.

    Args:
        input: The dataset.
        infs: What to measure: an `Inferencer`, a metric, whose name in the channel is
            `validation_` and its class's, or a list of these.
        tower_name: Accepted and without effect.
        tower_func: Gets the columns of a batch, returns the arrays by name.
        device: Accepted and without effect.

    Raises:
        TypeError: `input` is no dataset, or `infs` holds something else.
        ValueError: `input` is empty; in training, if an array is not there.
    """

    def __init__(
        self,
        input: DatasetLike,
        infs: Measures | Iterable[Measures],
        tower_name: str = "InferenceTower",
        tower_func: Tower | None = None,
        device: int = 0,
    ) -> None:
        self._input = check_dataset(input, "input", "InferenceRunner")
        given = [infs] if isinstance(infs, Inferencer | Metric) else infs
        self.infs: list[Inferencer] = [_inferencer(each) for each in given]
        self._tower_func = tower_func

    def produces(self) -> Collection[str]:
        """Return the names of all results."""
        return [name for inferencer in self.infs for name in inferencer.produces()]

    def _trigger(self) -> None:
        for inferencer in self.infs:
            inferencer._before_inference()
        network = self.trainer.params.network
        was_training = network.training
        network.set_train(mode=False)
        try:
            seen = sum(1 for _ in map(self._measure, self._batches()))
        finally:
            network.set_train(mode=was_training)
        size = self._input.get_dataset_size()
        if seen < size:
            raise ValueError(f"For 'InferenceRunner', there are {seen} batches instead of {size}.")
        for inferencer in self.infs:
            for name, value in (inferencer._after_inference() or {}).items():
                if as_float(value) is None:
                    logger.warn(f"The result '{name}' is no number: {value!r}.")
                else:
                    self.trainer.monitors.put_scalar(name, value)

    def _batches(self) -> Iterable[list[Tensor]]:
        ((_, batches),) = Epochs(self._input, 1)
        return batches

    def _measure(self, batch: list[Tensor]) -> None:
        heard: dict[str, Array] = {}

        def hear(kind: str, name: str, array: Array) -> None:
            heard[name] = array

        hearing = listeners()
        others, hearing[:] = list(hearing), [hear]  # these values are not the training's
        try:
            tower: Mapping[str, object]
            tower = (self._tower_func or self._tower)(*batch)
        finally:
            hearing[:] = others
        known = {"input": batch[0], **tower, **heard}
        for inferencer in self.infs:
            inferencer._on_fetches([_array(name, known) for name in inferencer._get_fetches()])

    def _tower(self, *batch: Tensor) -> Mapping[str, Tensor | Array]:
        params = self.trainer.params
        label = batch[-1]
        if params.loss_fn is None:
            outputs = params.network(*batch)
            return {"label": label, "output": outputs, "loss": outputs}
        output = params.network(*batch[:-1])
        return {"label": label, "output": output, "loss": params.loss_fn(output, label)}


def _inferencer(given: object) -> Inferencer:
    if isinstance(given, Metric):
        return MetricInferencer(given, f"validation_{type(given).__name__.lower()}")
    if not isinstance(given, Inferencer):
        raise TypeError(f"For 'InferenceRunner', {given!r} is neither Inferencer nor Metric.")
    return given


def _array(name: str, known: Mapping[str, object]) -> Array:
    array = as_array(first_output(known.get(name)))
    if array is not None:
        return array
    wrong = _WRONG.fullmatch("wrong-top1" if name == "incorrect_vector" else name)
    output, label = as_array(first_output(known.get("output"))), as_array(known.get("label"))
    if wrong is None or output is None or label is None or output.ndim != 2:
        raise ValueError(
            f"An inference has no array {name!r}{suggest(name, [*known, 'incorrect_vector'])}"
        )
    # Of equal outputs the one with the smaller number comes first.
    order = np.argsort(-output.astype(np.float64), axis=1, kind="stable")
    top = order[:, : int(wrong[1])]
    wrong_ones: NDArray[np.bool_] = np.all(top != label.reshape(-1, 1), axis=1)
    return wrong_ones.astype(np.float32)
