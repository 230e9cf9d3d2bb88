"""DSCallback: what is to happen while a `map` goes through its rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from minispore._checks import check_int
from minispore.dataset._block import Block, cut, length
from minispore.dataset._sources import user_code_failed


@dataclass(frozen=True)
class DSRunContext:
    """Where a `map` stands: what the hooks of a `DSCallback` are told.

    Attributes:
        cur_epoch_num: The number of the epoch, from 1; 0 before the first.
        cur_step_num_in_epoch: The number of the row in its epoch, from 1, with which the current
            step begins; at the end of the epoch, of its last row.
        cur_step_num: The same over all epochs.
    """

    cur_epoch_num: int
    cur_step_num_in_epoch: int
    cur_step_num: int


class DSCallback:
    """Base class of what is called by `Dataset.map(…, callbacks=…)` as its rows go by.

    A subclass overrides the hooks it needs. `ds_begin` comes once for each iterator, before its
    first row. A step is `step_size` rows of the `map`: rows of the dataset before a `batch`,
    batches after it. Everything happens in the thread that iterates, a step not before its first
    row is wanted.

    Source: mindspore.dataset.DSCallback.

    Args:
        step_size: How many rows a step has.

    Raises:
        TypeError: If `step_size` is no int; when a subclass is defined with a method `ds_…` that is
            no event.
        ValueError: If `step_size` is not in [1, 2147483647].

    Examples:
        >>> from minispore.dataset import NumpySlicesDataset
        >>> class Show(DSCallback):
        ...     def ds_epoch_begin(self, ds_run_context: DSRunContext) -> None:
        ...         print("epoch", ds_run_context.cur_epoch_num)
        ...     def ds_step_end(self, ds_run_context: DSRunContext) -> None:
        ...         print("step that began with row", ds_run_context.cur_step_num_in_epoch)
        >>> data = NumpySlicesDataset([1, 2, 3], shuffle=False)
        >>> data = data.map(lambda x: x + 1, callbacks=Show(step_size=2))
        >>> rows = list(data.create_tuple_iterator(num_epochs=1))
        epoch 1
        step that began with row 1
        step that began with row 3
    """

    def __init__(self, step_size: int = 1) -> None:
        owner = type(self).__name__
        self.step_size: int = check_int(step_size, "step_size", owner, low=1, high=2**31 - 1)

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        events = [name for name in vars(DSCallback) if name.startswith("ds_")]
        for name in vars(cls):
            if name.startswith("ds_") and name not in events:
                from difflib import get_close_matches  # only needed for the message

                nearest = get_close_matches(name, events, n=1, cutoff=0.0)[0]
                raise TypeError(
                    f"DSCallback '{cls.__name__}' defines '{name}', which is no event; "
                    f"did you mean '{nearest}'?"
                )

    def ds_begin(self, ds_run_context: DSRunContext) -> None:
        """Called before the first row of an iterator."""

    def ds_epoch_begin(self, ds_run_context: DSRunContext) -> None:
        """Called before the first row of an epoch."""

    def ds_epoch_end(self, ds_run_context: DSRunContext) -> None:
        """Called after the last row of an epoch; not if the iterator is left before."""

    def ds_step_begin(self, ds_run_context: DSRunContext) -> None:
        """Called before a step's rows are mapped."""

    def ds_step_end(self, ds_run_context: DSRunContext) -> None:
        """Called after a step's rows have been mapped, before they are handed on."""


class Watch:
    """The callbacks of one `map` on the way of one iterator.

    Attributes:
        before: The rows that were mapped in the epochs before the current one.
    """

    def __init__(self, callbacks: Sequence[DSCallback]) -> None:
        self.before = 0
        self._callbacks = callbacks
        self._epoch = 0
        self._rows = 0  # that were mapped in this epoch
        self._open: dict[int, int] = {}  # by callback: the row with which its open step began

    def begin_epoch(self, number: int) -> None:
        """The iterator begins with an epoch, numbered from 1."""
        if not self._epoch:
            self._tell(DSCallback.ds_begin, 0)
        self._epoch, self._rows, self._open = number, 0, {}
        self._tell(DSCallback.ds_epoch_begin, 0)

    def end_epoch(self) -> None:
        """The iterator has come to the end of an epoch."""
        for place in range(len(self._callbacks)):
            self._end_step(place)
        self._tell(DSCallback.ds_epoch_end, self._rows)
        self.before += self._rows
        self._rows = 0

    def around(
        self, blocks: Iterator[Block], mapped: Callable[[Block], Iterator[Block]], start: int
    ) -> Iterator[Block]:
        """Yield what `mapped` makes of the blocks, with the callbacks called at their steps."""
        self._rows += start
        for block in blocks:
            rest = block
            while length(rest):
                rows = min(length(rest), *[self._rows_left(each) for each in self._callbacks])
                self._begin_steps()
                made = list(mapped(cut(rest, 0, rows)))
                rest = cut(rest, rows)
                self._rows += rows
                for place, callback in enumerate(self._callbacks):
                    if self._rows % callback.step_size == 0:
                        self._end_step(place)
                yield from made

    def _rows_left(self, callback: DSCallback) -> int:
        """How many rows are left of a callback's step."""
        return callback.step_size - self._rows % callback.step_size

    def _begin_steps(self) -> None:
        for place, callback in enumerate(self._callbacks):
            if self._rows % callback.step_size == 0:
                self._open[place] = self._rows + 1
                self._call(callback, DSCallback.ds_step_begin, self._rows + 1)

    def _end_step(self, place: int) -> None:
        first = self._open.pop(place, None)
        if first is not None:
            self._call(self._callbacks[place], DSCallback.ds_step_end, first)

    def _tell(self, event: Callable[[DSCallback, DSRunContext], None], row: int) -> None:
        for callback in self._callbacks:
            self._call(callback, event, row)

    def _call(
        self, callback: DSCallback, event: Callable[[DSCallback, DSRunContext], None], row: int
    ) -> None:
        hook = cast("Callable[[DSRunContext], None]", getattr(callback, event.__name__))
        try:
            hook(DSRunContext(self._epoch, row, self.before + row))
        except Exception as error:
            raise user_code_failed(hook, error) from error
