"""InferenceRunner: go through a dataset in the middle of a training, and measure."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from minispore._checks import described
from minispore.common import Tensor
from minispore.ops._summary import listeners
from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback
from minispore.tensorpack.channel import Array, Number, as_float, name_list, suggest
from minispore.tensorpack.checked import checked
from minispore.train._dataset import DatasetLike, Epochs, check_dataset
from minispore.train.callback._monitored import as_array, first_output
from minispore.train.metrics import Metric

_WRONG: Final = re.compile(r"wrong-top(\d+)")


class Inferencer:
    """Base class of what is measured: a subclass overrides the methods with an underscore.

    Source: tensorpack.callbacks.Inferencer.

    Examples:
        >>> from minispore.tensorpack._examples import infer
        >>> class Most(Inferencer):
        ...     def _get_fetches(self):
        ...         return ["label"]
        ...     def _on_fetches(self, results):
        ...         self.most = results[0].max()
        ...     def _after_inference(self):
        ...         return {"most": self.most}
        >>> infer(Most())
        most: 2
    """

    def _before_inference(self) -> None:
        """Called before the first batch."""

    def _get_fetches(self) -> Sequence[str]:
        """Return the names of the arrays that it wants of each batch; see `InferenceRunner`."""
        return ()

    def _on_fetches(self, results: Sequence[Array]) -> None:
        """Called with these arrays for each batch."""

    def _after_inference(self) -> Mapping[str, Number] | None:
        """Return the numbers to put in the channel, by name."""

    def produces(self) -> Collection[str]:
        """Return the names of these numbers."""
        return ()


class _Ratios(Inferencer):
    """Base class of what is a ratio of two sums over all batches.

    Args:
        fetches: The arrays.
        names: The names of the ratios.
    """

    def __init__(self, fetches: Sequence[str], names: Sequence[str]) -> None:
        self._fetches, self._names = fetches, names

    def produces(self) -> Collection[str]:
        """Return the names in the channel."""
        return self._names

    def _before_inference(self) -> None:
        self._sums = np.zeros((2, len(self._names)))

    def _get_fetches(self) -> Sequence[str]:
        return self._fetches

    def _after_inference(self) -> Mapping[str, Number]:
        above, below = self._sums
        ratios = np.divide(above, below, out=np.zeros_like(above), where=below != 0)
        return dict(zip(self._names, ratios, strict=True))


@checked
class ScalarStats(_Ratios):
    """The mean of scalars over the batches, each batch counting the same.

    Source: tensorpack.callbacks.ScalarStats.

    Args:
        names: The scalars' names, or one name.
        prefix: What the names in the channel begin with: `{prefix}_{name}`.

    Examples:
        >>> from minispore.tensorpack._examples import infer
        >>> infer(ScalarStats("loss"))
        validation_loss: ...
    """

    def __init__(self, names: str | Sequence[str], prefix: str = "validation") -> None:
        fetches = name_list(names)
        super().__init__(fetches, [f"{prefix}_{name}" for name in fetches])

    def _on_fetches(self, results: Sequence[Array]) -> None:
        means = np.array([each.astype(np.float64).mean() for each in results])
        self._sums += [means, np.ones_like(means)]


@checked
class ClassificationError(_Ratios):
    """The share of wrong samples, exact whatever the size of the last batch.

    Source: tensorpack.callbacks.ClassificationError.

    Args:
        wrong_tensor_name: The array that says which samples are wrong, of shape (n,).
        summary_name: Its name in the channel.

    Examples:
        >>> from minispore.tensorpack._examples import infer
        >>> infer([ClassificationError(), ClassificationError("wrong-top2", "top2")])
        top2: 0
        validation_error: 0
    """

    def __init__(
        self, wrong_tensor_name: str = "incorrect_vector", summary_name: str = "validation_error"
    ) -> None:
        super().__init__([wrong_tensor_name], [summary_name])

    def _on_fetches(self, results: Sequence[Array]) -> None:
        (wrong,) = results
        if wrong.ndim != 1:
            raise ValueError(
                f"For 'ClassificationError', '{self._fetches[0]}' must be of shape (n,), "
                f"but got {wrong.shape}."
            )
        self._sums += [[wrong.astype(np.float64).sum()], [wrong.size]]


@checked
class BinaryClassificationStats(_Ratios):
    """Precision and recall of a classification in 0 and 1; 0 where nothing is positive.

    Source: tensorpack.callbacks.BinaryClassificationStats.

    Args:
        pred_tensor_name: The predictions, of shape (n,).
        label_tensor_name: The labels, of shape (n,).
        prefix: The names in the channel are `{prefix}_precision` and `{prefix}_recall`.

    Examples:
        >>> from minispore.tensorpack._examples import infer
        >>> infer(BinaryClassificationStats("label", "label"))
        val_precision: 1
        val_recall: 1
    """

    def __init__(self, pred_tensor_name: str, label_tensor_name: str, prefix: str = "val") -> None:
        names = [f"{prefix}_precision", f"{prefix}_recall"]
        super().__init__([pred_tensor_name, label_tensor_name], names)

    def _on_fetches(self, results: Sequence[Array]) -> None:
        predicted, positive = (each.astype(np.bool_) for each in results)
        if predicted.shape != positive.shape:
            raise ValueError(
                f"For 'BinaryClassificationStats', predictions of shape {predicted.shape} and "
                f"labels of shape {positive.shape} do not fit."
            )
        both = (predicted & positive).sum()
        self._sums += [[both, both], [predicted.sum(), positive.sum()]]


@checked
@dataclass(eq=False)
class MetricInferencer(Inferencer):
    """Any metric of `minispore.train`.

    Args:
        metric: The metric.
        summary_name: Its name in the channel.
        fetches: The arrays that it is updated with.

    Examples:
        >>> from minispore.tensorpack._examples import infer
        >>> from minispore.train import Accuracy
        >>> infer(MetricInferencer(Accuracy(), "accuracy"))
        accuracy: 1
    """

    metric: Metric
    summary_name: str
    fetches: Sequence[str] = ("output", "label")

    def produces(self) -> Collection[str]:
        """Return the name in the channel."""
        return (self.summary_name,)

    def _before_inference(self) -> None:
        self.metric.clear()

    def _get_fetches(self) -> Sequence[str]:
        return self.fetches

    def _on_fetches(self, results: Sequence[Array]) -> None:
        self.metric.update(*[Tensor.from_numpy(each) for each in results])

    def _after_inference(self) -> Mapping[str, Number]:
        return {self.summary_name: cast("Number", self.metric.eval())}


Measures: TypeAlias = Inferencer | Metric
Tower: TypeAlias = Callable[..., Mapping[str, Tensor | Array]]


@checked
class InferenceRunner(Callback):
    """Measure the network on a dataset, after each epoch, and put the results in the channel.

    Without `tower_func` the arrays of a batch are "input", "label" (the batch's last column),
    "output", "loss" if the model has a loss function, "wrong-top1", "wrong-top5" and so on, in
    which a sample is 1 if its label is not among the greatest of its outputs, "incorrect_vector",
    which is "wrong-top1", and whatever `ops`' summaries hand out in the network.

    There are no `on_eval_…` events: MindSpore's callbacks expect these before the end of the epoch,
    which some have already seen here, and with `fit`'s own results.

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

    Examples:
        >>> from minispore.dataset import NumpySlicesDataset
        >>> from minispore.tensorpack import ScalarPrinter
        >>> from minispore.tensorpack._examples import train
        >>> data = NumpySlicesDataset({"x": np.eye(3, dtype=np.float32), "label": [0, 1, 1]})
        >>> runner = InferenceRunner(data.batch(2), ClassificationError())
        >>> train(runner, ScalarPrinter(whitelist=["error"]), epochs=1)
        validation_error: 0.33333
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
        self._tower_func = tower_func or self._tower

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
            ((_, batches),) = Epochs(self._input, 1)
            seen = sum(1 for _ in map(self._measure, batches))
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

    def _measure(self, batch: list[Tensor]) -> None:
        heard: dict[str, Array] = {}

        def hear(kind: str, name: str, array: Array) -> None:
            heard[name] = array

        hearing = listeners()
        others, hearing[:] = list(hearing), [hear]  # these values are not the training's
        try:
            tower: Mapping[str, object] = self._tower_func(*batch)
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
        raise TypeError(
            "For 'InferenceRunner', 'infs' must be an Inferencer or a Metric, or several, "
            f"but got {described(given)}."
        )
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
