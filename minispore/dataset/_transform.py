"""What the package's own transforms have in common: they work on whole blocks of rows."""

from abc import ABC, abstractmethod

import numpy as np

from minispore.dataset._block import Array


class Transform(ABC):
    """A transform that gives for a block of rows what it gives for each row alone, bit for bit."""

    @abstractmethod
    def batched(self, block: Array) -> Array:
        """Transform the rows of a block (n, …), which may be overwritten.

        Raises:
            RuntimeError: If the rows' shape or type does not fit.
        """

    def __call__(self, value: object) -> Array:
        """Transform one row, an array or what numpy makes one of; it stays as it is."""
        return self.batched(np.array(value)[np.newaxis])[0, ...]
