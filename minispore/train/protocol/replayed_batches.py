"""The position in an iterable of batches that has no state of its own."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import ClassVar, Final

from minispore.ops.seed import get_rng_state, set_rng_state
from minispore.train.protocol.dataset import DatasetLike, complete_epoch
from minispore.train.protocol.state_fields import read_field

_MAX_COUNT: Final = 2**63


class ReplayedBatches:
    """An iterable without a state, and its position, which is restored by iterating again."""

    _name_in_errors: ClassVar[str] = ""  # the class of the position is named

    def __init__(
        self, dataset: DatasetLike, batches: Iterable[Sequence[object]], num_epochs: int
    ) -> None:
        self._dataset = dataset
        self._batches = batches
        self._num_epochs = num_epochs
        self._epochs = 0  # that have ended
        self._taken = 0  # batches of the current epoch so far
        self._begin: Mapping[str, object] = {}  # the random state at its beginning
        self._iterator: Iterator[Sequence[object]] | None = None

    def __iter__(self) -> Iterator[Sequence[object]]:
        """Yield the next batches of the current epoch."""
        if self._iterator is None:
            self._begin, self._iterator = get_rng_state(), iter(self._batches)
        for batch in self._iterator:
            self._taken += 1
            yield batch
        self._epochs, self._taken, self._iterator = self._epochs + 1, 0, None

    def state_dict(self) -> dict[str, object]:
        """Return the position, and the random state at the beginning of its epoch."""
        begin: Mapping[str, object] = self._begin if self._taken else {}
        return {"epochs": self._epochs, "taken": self._taken, "begin": begin}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Move to a position by iterating over the batches before it.

        Raises:
            ValueError: The position is damaged, or there are fewer batches.
        """
        epochs, taken = (read_field(state, key, int) for key in ("epochs", "taken"))
        begin = read_field(state, "begin", dict[str, object])
        if not 0 <= epochs <= self._num_epochs or not 0 <= taken < _MAX_COUNT:
            raise ValueError(f"There is no batch {taken} of epoch {epochs + 1}.")
        for _ in range(epochs):
            complete_epoch(self._dataset, self)
        if taken:
            set_rng_state(begin)
        if sum(1 for _ in islice(self, taken)) < taken:
            raise ValueError(f"The dataset has come to its end before batch {taken}.")
