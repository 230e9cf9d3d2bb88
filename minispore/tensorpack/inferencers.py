"""What an inference measures, batch by batch."""

from collections.abc import Collection, Mapping, Sequence
from typing import cast

import numpy as np

from minispore.common import Tensor
from minispore.tensorpack.channel import Array, Number, name_list
from minispore.train.metrics import Metric


class Inferencer:
    """Base class of what is measured: a subclass overrides the methods with an underscore.

    Source: tensorpack.callbacks.Inferencer.
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


class ScalarStats(Inferencer):
    """The mean of scalars over the batches, each batch counting the same.

    Source: tensorpack.callbacks.ScalarStats.

    Args:
        names: The scalars' names, or one name.
        prefix: What the names in the channel begin with: `{prefix}_{name}`.
    """

    def __init__(self, names: str | Sequence[str], prefix: str = "validation") -> None:
        self._names = name_list(names)
        self._prefix = prefix

    def produces(self) -> Collection[str]:
        """Return the names in the channel."""
        return [f"{self._prefix}_{name}" for name in self._names]

    def _before_inference(self) -> None:
        self._rows: list[list[float]] = []

    def _get_fetches(self) -> Sequence[str]:
        return self._names

    def _on_fetches(self, results: Sequence[Array]) -> None:
        self._rows.append([float(each.astype(np.float64).mean()) for each in results])

    def _after_inference(self) -> Mapping[str, Number]:
        means = np.mean(self._rows, axis=0) if self._rows else ()
        return dict(zip(self.produces(), means, strict=False))


class ClassificationError(Inferencer):
    """The share of wrong samples, exact whatever the size of the last batch.

    Source: tensorpack.callbacks.ClassificationError.

    Args:
        wrong_tensor_name: The array that says which samples are wrong, of shape (n,).
        summary_name: Its name in the channel.
    """

    def __init__(
        self, wrong_tensor_name: str = "incorrect_vector", summary_name: str = "validation_error"
    ) -> None:
        self._wrong, self._name = wrong_tensor_name, summary_name

    def produces(self) -> Collection[str]:
        """Return the name in the channel."""
        return (self._name,)

    def _before_inference(self) -> None:
        self._sum, self._count = 0.0, 0

    def _get_fetches(self) -> Sequence[str]:
        return (self._wrong,)

    def _on_fetches(self, results: Sequence[Array]) -> None:
        (wrong,) = results
        if wrong.ndim != 1:
            raise ValueError(
                f"For 'ClassificationError', '{self._wrong}' must be of shape (n,), "
                f"but got {wrong.shape}."
            )
        self._sum += float(wrong.astype(np.float64).sum())
        self._count += wrong.size

    def _after_inference(self) -> Mapping[str, Number]:
        return {self._name: self._sum / self._count} if self._count else {}


class BinaryClassificationStats(Inferencer):
    """Precision and recall of a classification in 0 and 1; 0 where nothing is positive.

    Source: tensorpack.callbacks.BinaryClassificationStats.

    Args:
        pred_tensor_name: The predictions, of shape (n,).
        label_tensor_name: The labels, of shape (n,).
        prefix: The names in the channel are `{prefix}_precision` and `{prefix}_recall`.
    """

    def __init__(self, pred_tensor_name: str, label_tensor_name: str, prefix: str = "val") -> None:
        self._names = (pred_tensor_name, label_tensor_name)
        self._prefix = prefix

    def produces(self) -> Collection[str]:
        """Return the names in the channel."""
        return (f"{self._prefix}_precision", f"{self._prefix}_recall")

    def _before_inference(self) -> None:
        self._both = self._predicted = self._positive = 0

    def _get_fetches(self) -> Sequence[str]:
        return self._names

    def _on_fetches(self, results: Sequence[Array]) -> None:
        predicted, positive = (each.astype(np.bool_) for each in results)
        if predicted.shape != positive.shape:
            raise ValueError(
                f"For 'BinaryClassificationStats', predictions of shape {predicted.shape} and "
                f"labels of shape {positive.shape} do not fit."
            )
        self._both += int(np.sum(predicted & positive))
        self._predicted += int(np.sum(predicted))
        self._positive += int(np.sum(positive))

    def _after_inference(self) -> Mapping[str, Number]:
        counts = (self._predicted, self._positive)
        shares = [self._both / count if count else 0.0 for count in counts]
        return dict(zip(self.produces(), shares, strict=True))


class MetricInferencer(Inferencer):
    """Any metric of `minispore.train`.

    Args:
        metric: The metric.
        summary_name: Its name in the channel.
        fetches: The arrays that it is updated with.
    """

    def __init__(
        self, metric: Metric, summary_name: str, fetches: Sequence[str] = ("output", "label")
    ) -> None:
        self._metric, self._name, self._fetches = metric, summary_name, tuple(fetches)

    def produces(self) -> Collection[str]:
        """Return the name in the channel."""
        return (self._name,)

    def _before_inference(self) -> None:
        self._metric.clear()

    def _get_fetches(self) -> Sequence[str]:
        return self._fetches

    def _on_fetches(self, results: Sequence[Array]) -> None:
        self._metric.update(*[Tensor.from_numpy(each) for each in results])

    def _after_inference(self) -> Mapping[str, Number]:
        return {self._name: cast("Number", self._metric.eval())}
