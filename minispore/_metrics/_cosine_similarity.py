"""Cosine similarity: how alike the rows of a matrix are in their directions."""

import numpy as np
import numpy.typing as npt

from minispore._checks import check_one_of, check_type
from minispore._metrics._metric import Metric, rearrange_inputs
from minispore._metrics._positives import share

Matrix = npt.NDArray[np.float64]


class CosineSimilarity(Metric):
    """The similarity of each row to each other row, of all batches together.

    It takes one input; in `Model`, `set_indexes` chooses it among the outputs.

    Args:
        similarity: "cosine": x·y / (|x| |y|), 0 for a row of zeros; "dot": x·y.
        reduction: "none": the matrix; "sum", "mean": of each of its rows.
        zero_diagonal: set the similarity of each row to itself to 0.

    Raises:
        TypeError: for an argument of another type.
        ValueError: for another `similarity` or `reduction`.

    Source: mindspore.train.CosineSimilarity.

    Examples:
        >>> CosineSimilarity()([[3.0, 4.0], [4.0, 3.0], [6.0, 8.0]])
        array([[0.  , 0.96, 1.  ],
               [0.96, 0.  , 0.96],
               [1.  , 0.96, 0.  ]])
    """

    def __init__(
        self, similarity: str = "cosine", reduction: str = "none", zero_diagonal: bool = True
    ) -> None:
        super().__init__()
        for name, value, choices in (
            ("similarity", similarity, ("dot", "cosine")),
            ("reduction", reduction, ("none", "sum", "mean")),
        ):
            check_type(value, str, name, "CosineSimilarity")
            check_one_of(value, choices, name, "CosineSimilarity")
        check_type(zero_diagonal, bool, "zero_diagonal", "CosineSimilarity")
        self.similarity = similarity
        self.reduction = reduction
        self.zero_diagonal = zero_diagonal
        self.clear()

    def clear(self) -> None:
        """Forget what has been seen."""
        self._rows: list[Matrix] = []

    @rearrange_inputs
    def update(self, *inputs: object) -> None:
        """Add rows.

        Args:
            *inputs: one Tensor, array or list of shape (N, D).

        Raises:
            ValueError: if there is not one, or it is no matrix as wide as those before.
        """
        self._check_count(inputs, 1, "rows")
        rows = self._convert_data(inputs[0])
        if rows.ndim != 2 or (self._rows and self._rows[0].shape[1] != rows.shape[1]):
            before = f", {self._rows[0].shape[1]} wide as the last one," if self._rows else ""
            raise ValueError(
                f"For 'CosineSimilarity.update', the input must be a matrix{before} "
                f"but got shape {rows.shape}."
            )
        self._rows.append(rows.astype(np.float64))

    def eval(self) -> Matrix:
        """Return the similarities, float64: (N, N), reduced (N,); RuntimeError if N is 0."""
        if not any(len(rows) for rows in self._rows):
            raise self._no_samples()
        rows = np.concatenate(self._rows)
        if self.similarity == "cosine":
            length = np.linalg.norm(rows, axis=1, keepdims=True)
            rows = share(rows, np.broadcast_to(length, rows.shape))
        result: Matrix = rows @ rows.T
        if self.zero_diagonal:
            np.fill_diagonal(result, 0)
        if self.reduction != "none":
            result = result.sum(axis=1) if self.reduction == "sum" else result.mean(axis=1)
        return result
