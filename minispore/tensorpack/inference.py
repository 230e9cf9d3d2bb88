"""Evaluation of the network on a dataset during a training."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from minispore.common import Tensor
from minispore.common.seed import get_rng_state, set_rng_state
from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback
from minispore.tensorpack.protocol import (
    Array,
    Number,
    as_float,
    evaluation_summaries,
    name_list,
    suggest,
)
from minispore.train.metrics import Metric
from minispore.train.protocol import (
    DatasetLike,
    EpochIterator,
    as_array,
    check_dataset,
    first_output,
)
from minispore.utils.checks import check_arguments, describe_value

_WRONG: Final = re.compile(r"wrong-top(\d+)")


class Inferencer:
    """Base class of measurements; a subclass overrides the methods with an underscore.

    Examples:
        >>> from minispore.tensorpack.example_training import infer
        >>> class Maximum(Inferencer):
        ...     def _get_fetches(self):
        ...         return ["label"]
        ...     def _on_fetches(self, results):
        ...         self.maximum = results[0].max()
        ...     def _after_inference(self):
        ...         return {"maximum": self.maximum}
        >>> infer(Maximum())
        maximum: 2

    Source: tensorpack's `callbacks.Inferencer`.
    """

    def _before_inference(self) -> None:
        """Called before the first batch."""

    def _get_fetches(self) -> Sequence[str]:
        """Return the names of the arrays to receive for each batch; see `InferenceRunner`."""
        return ()

    def _on_fetches(self, results: Sequence[Array]) -> None:
        """Called for each batch with these arrays."""

    def _after_inference(self) -> Mapping[str, Number] | None:
        """Return the numbers to log to the monitors, by name."""

    def produces(self) -> Collection[str]:
        """Return the names of these numbers."""
        return ()


class _Ratios(Inferencer):
    """Base class of measurements that are ratios of two sums over all batches.

    Args:
        fetches: The names of the arrays.
        names: The names of the ratios.
    """

    def __init__(self, fetches: Sequence[str], names: Sequence[str]) -> None:
        self._fetches, self._names = fetches, names

    def produces(self) -> Collection[str]:
        """Return the names of the ratios."""
        return self._names

    def _before_inference(self) -> None:
        self._sums = np.zeros((2, len(self._names)))

    def _get_fetches(self) -> Sequence[str]:
        return self._fetches

    def _after_inference(self) -> Mapping[str, Number]:
        numerators, denominators = self._sums
        zeros = np.zeros_like(numerators)
        ratios = np.divide(numerators, denominators, out=zeros, where=denominators != 0)
        return dict(zip(self._names, ratios, strict=True))


@check_arguments
class ScalarStats(_Ratios):
    """The mean of scalars over the batches; each batch has the same weight.

    Args:
        names: The names of the scalars, or one name.
        prefix: The prefix of the logged names, `{prefix}_{name}`.

    Examples:
        >>> from minispore.tensorpack.example_training import infer
        >>> infer(ScalarStats("loss"))
        validation_loss: ...

    Source: tensorpack's `callbacks.ScalarStats`.
    """

    def __init__(self, names: str | Sequence[str], prefix: str = "validation") -> None:
        fetches = name_list(names)
        super().__init__(fetches, [f"{prefix}_{name}" for name in fetches])

    def _on_fetches(self, results: Sequence[Array]) -> None:
        means = np.array([result.astype(np.float64).mean() for result in results])
        self._sums += [means, np.ones_like(means)]


@check_arguments
class ClassificationError(_Ratios):
    """The fraction of wrong samples, which is also exact if the last batch is smaller.

    Args:
        wrong_tensor_name: The name of the array of shape (n,) that is 1 for a wrong sample, else 0.
        summary_name: The logged name.

    Examples:
        >>> from minispore.tensorpack.example_training import infer
        >>> infer([ClassificationError(), ClassificationError("wrong-top2", "top2")])
        top2: 0
        validation_error: 0

    Source: tensorpack's `callbacks.ClassificationError`.
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
        self._sums += np.array([[wrong.astype(np.float64).sum()], [wrong.size]])


@check_arguments
class BinaryClassificationStats(_Ratios):
    """Precision and recall of a binary classification; 0 if there are no positive samples.

    Args:
        pred_tensor_name: The name of the predictions, of shape (n,).
        label_tensor_name: The name of the labels, of shape (n,).
        prefix: The prefix of the logged names, `{prefix}_precision` and `{prefix}_recall`.

    Examples:
        >>> from minispore.tensorpack.example_training import infer
        >>> infer(BinaryClassificationStats("label", "label"))
        val_precision: 1
        val_recall: 1

    Source: tensorpack's `callbacks.BinaryClassificationStats`.
    """

    def __init__(self, pred_tensor_name: str, label_tensor_name: str, prefix: str = "val") -> None:
        names = [f"{prefix}_precision", f"{prefix}_recall"]
        super().__init__([pred_tensor_name, label_tensor_name], names)

    def _on_fetches(self, results: Sequence[Array]) -> None:
        predicted, positive = (result.astype(np.bool_) for result in results)
        if predicted.shape != positive.shape:
            raise ValueError(
                "For 'BinaryClassificationStats', predictions and labels must have the same shape, "
                f"but got {predicted.shape} and {positive.shape}."
            )
        true_positives = (predicted & positive).sum()
        self._sums += [[true_positives, true_positives], [predicted.sum(), positive.sum()]]


@check_arguments
@dataclass(eq=False)
class MetricInferencer(Inferencer):
    """A metric of `minispore.train` as a measurement.

    Args:
        metric: The metric.
        summary_name: The logged name.
        fetches: The names of the arrays with which the metric is updated.

    Examples:
        >>> from minispore.tensorpack.example_training import infer
        >>> from minispore.train import Accuracy
        >>> infer(MetricInferencer(Accuracy(), "accuracy"))
        accuracy: 1
    """

    metric: Metric
    summary_name: str
    fetches: Sequence[str] = ("output", "label")

    def produces(self) -> Collection[str]:
        """Return the logged name."""
        return (self.summary_name,)

    def _before_inference(self) -> None:
        self.metric.clear()

    def _get_fetches(self) -> Sequence[str]:
        return self.fetches

    def _on_fetches(self, results: Sequence[Array]) -> None:
        self.metric.update(*[Tensor.from_numpy(result) for result in results])

    def _after_inference(self) -> Mapping[str, Number]:
        return {self.summary_name: cast("Number", self.metric.eval())}


Measures: TypeAlias = Inferencer | Metric
Tower: TypeAlias = Callable[..., Mapping[str, Tensor | Array]]


@check_arguments
class InferenceRunner(Callback):
    """Evaluate the network on a dataset after each epoch, and log the results to the monitors.

    Without `tower_func` the arrays of a batch are "input"; "label", the batch's last column;
    "output"; "loss" if the model has a loss function; "wrong-top1", "wrong-top5" and so on, which
    are 1 for a sample whose label is not among its k greatest outputs; "incorrect_vector", which is
    "wrong-top1"; and the summaries that `ops` emits in the network.

    No `on_eval_…` events are emitted: MindSpore's callbacks expect these before the end of the
    epoch, which some of them have already handled, and together with the results of `fit`.

    Args:
        input: The dataset.
        infs: The measurements: an `Inferencer`, a metric, which is logged as `validation_` followed
            by the name of its class, or a list of these.
        tower_name: Has no effect.
        tower_func: A function of the columns of a batch that returns the arrays by name.
        device: Has no effect.

    Raises:
        TypeError: `input` is no dataset, or `infs` contains something else.
        ValueError: `input` is empty; before the first step, if an array does not exist.

    Examples:
        >>> from minispore.dataset import NumpySlicesDataset
        >>> from minispore.tensorpack import ScalarPrinter
        >>> from minispore.tensorpack.example_training import train
        >>> data = NumpySlicesDataset({"x": np.eye(3, dtype=np.float32), "label": [0, 1, 1]})
        >>> runner = InferenceRunner(data.batch(2), ClassificationError())
        >>> train(runner, ScalarPrinter(whitelist=["error"]), epochs=1)
        validation_error: 0.33333

    Source: tensorpack's `callbacks.InferenceRunner`.
    """

    def __init__(
        self,
        input: DatasetLike,
        infs: Measures | Iterable[Measures],
        tower_name: str = "InferenceTower",
        tower_func: Tower | None = None,
        device: int = 0,
    ) -> None:
        self._input = check_dataset(input, "input")
        measures = [infs] if isinstance(infs, Inferencer | Metric) else infs
        self.infs: list[Inferencer] = [_as_inferencer(measure) for measure in measures]
        self._tower_func = tower_func or self._tower

    def produces(self) -> Collection[str]:
        """Return the names of all results."""
        return [name for inferencer in self.infs for name in inferencer.produces()]

    def _before_train(self) -> None:
        """Raise an error if an array does not exist, by a batch if the names alone do not tell."""
        names = [name for inferencer in self.infs for name in inferencer._get_fetches()]
        known = {"input", "label", "output", "loss", "incorrect_vector"}
        default = self._tower_func == self._tower
        if not default or any(name not in known and not _WRONG.fullmatch(name) for name in names):
            state = get_rng_state()
            ((_, batches),) = EpochIterator(self._input, 1)
            arrays = self._arrays(next(batches))
            set_rng_state(state)
            for name in names:
                _find_array(arrays, name)

    def _trigger(self) -> None:
        for inferencer in self.infs:
            inferencer._before_inference()
        ((_, batches),) = EpochIterator(self._input, 1)
        count = sum(1 for _ in map(self._measure, batches))
        size = self._input.get_dataset_size()
        if count < size:
            raise ValueError(
                f"For 'InferenceRunner', 'input' has {count} batches instead of {size}."
            )
        for inferencer in self.infs:
            for name, value in (inferencer._after_inference() or {}).items():
                if as_float(value) is None:
                    logger.warn(f"The result '{name}' is no number: {value!r}.")
                else:
                    self.trainer.monitors.put_scalar(name, value)

    def _arrays(self, batch: list[Tensor]) -> Mapping[str, object]:
        with evaluation_summaries(self.trainer.params.train_network) as summaries:
            tower: Mapping[str, object] = self._tower_func(*batch)
        return {"input": batch[0], **tower, **summaries}

    def _measure(self, batch: list[Tensor]) -> None:
        arrays = self._arrays(batch)
        for inferencer in self.infs:
            inferencer._on_fetches([_find_array(arrays, n) for n in inferencer._get_fetches()])

    def _tower(self, *batch: Tensor) -> Mapping[str, Tensor | Array]:
        params = self.trainer.params
        label = batch[-1]
        if params.loss_fn is None:
            outputs = params.network(*batch)
            return {"label": label, "output": outputs, "loss": outputs}
        output = params.network(*batch[:-1])
        return {
            "label": label,
            "output": output,
            "loss": params.loss_fn(output, label),
        }


def _as_inferencer(measure: object) -> Inferencer:
    if isinstance(measure, Metric):
        return MetricInferencer(measure, f"validation_{type(measure).__name__.lower()}")
    if not isinstance(measure, Inferencer):
        raise TypeError(
            "For 'InferenceRunner', 'infs' must be an Inferencer or a Metric, or several, "
            f"but got {describe_value(measure)}."
        )
    return measure


def _find_array(arrays: Mapping[str, object], name: str) -> Array:
    """Return a named array of a batch; the "wrong-top…" arrays are computed here."""
    array = as_array(first_output(arrays.get(name)))
    if array is not None:
        return array
    wrong = _WRONG.fullmatch("wrong-top1" if name == "incorrect_vector" else name)
    output, label = as_array(first_output(arrays.get("output"))), as_array(arrays.get("label"))
    if wrong is None or output is None or label is None or output.ndim != 2:
        raise ValueError(
            f"An inference has no array {name!r}{suggest(name, [*arrays, 'incorrect_vector'])}"
        )
    # Of equal outputs, the one with the smaller index comes first.
    order = np.argsort(-output.astype(np.float64), axis=1, kind="stable")
    top = order[:, : int(wrong[1])]
    is_wrong: NDArray[np.bool_] = np.all(top != label.reshape(-1, 1), axis=1)
    return is_wrong.astype(np.float32)
