"""A warning of data that were not batched: each of their rows is a step."""

from collections.abc import Sequence

from minispore.ops.tensors import Tensor
from minispore.utils.warn import warn_at_caller


def warn_of_rows(batch: Sequence[Tensor], count: int) -> None:
    """Warn if a batch of (input, label) is certainly a single row.

    The columns of a batch have a first axis, for its rows. If both have no other axis, they are of
    one number for each row, and have the same length.

    Args:
        batch: The input and the label of the first step.
        count: The number of steps in an epoch.

    Examples:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     warn_of_rows([Tensor([1.0, 2.0]), Tensor([0.5])], 200)
        ...     warn_of_rows([Tensor([[1.0, 2.0]]), Tensor([0.5])], 200)
        >>> [str(warning.message)[:45] for warning in caught]
        ['Each of the 200 steps of an epoch is a single']
    """
    x, label = batch
    vectors = x.ndim == label.ndim == 1
    if 0 in (x.ndim, label.ndim) or (vectors and x.shape != label.shape):
        warn_at_caller(
            f"Each of the {count} steps of an epoch is a single row: the input has the shape "
            f"{x.shape} and the label {label.shape}, without an axis for the rows of a batch. "
            "'batch(32)' of the data set makes batches of rows, with which training is faster."
        )
