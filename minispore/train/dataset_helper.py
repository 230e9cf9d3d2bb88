"""DatasetHelper: iteration over the batches of a data set, for training loops of one's own."""

from collections.abc import Iterator

from minispore.dataset import Dataset
from minispore.dataset.iterators import DatasetIterator
from minispore.ops.tensors import Tensor
from minispore.utils.checks import check_arguments, check_int, value_error

__all__ = ["DatasetHelper"]


@check_arguments
class DatasetHelper:
    """The batches of a data set; each `for` loop over it lasts one epoch.

    Args:
        dataset: The data set.
        dataset_sink_mode: Must be False: batches are not sent to a device ahead of their step.
        sink_size: -1 or at least 1; without effect.
        epoch_num: The number of epochs; -1 for any number.

    Raises:
        RuntimeError: If `dataset_sink_mode` is True, as in MindSpore on a CPU; on iteration, if all
            epochs have ended.

    Examples:
        >>> from minispore.dataset import NumpySlicesDataset
        >>> data = NumpySlicesDataset([1, 2, 3], shuffle=False).batch(2)
        >>> [batch.tolist() for (batch,) in DatasetHelper(data, dataset_sink_mode=False)]
        [[1, 2], [3]]

    Source: MindSpore's `mindspore.DatasetHelper`.
    """

    def __init__(
        self,
        dataset: Dataset,
        dataset_sink_mode: bool = True,
        sink_size: int = -1,
        epoch_num: int = 1,
    ) -> None:
        for name, value in (("sink_size", sink_size), ("epoch_num", epoch_num)):
            if check_int(value, name, low=-1) == 0:
                raise value_error(value, name, "be -1 or above 0")
        if dataset_sink_mode:
            raise RuntimeError(
                "For 'DatasetHelper', the argument 'dataset_sink_mode' must be False, but got True."
            )
        batches = dataset.create_tuple_iterator(num_epochs=epoch_num)
        self.iter: DatasetIterator[list[Tensor]] = batches

    def __iter__(self) -> Iterator[list[Tensor]]:
        return iter(self.iter)
