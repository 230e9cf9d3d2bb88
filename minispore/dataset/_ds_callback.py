"""Callbacks of data pipelines, which run while a `map` processes its rows."""

from dataclasses import dataclass

from minispore.utils.checks import check_int


@dataclass(frozen=True)
class DSRunContext:
    """The position of a `map` in its rows, passed to the hooks of a `DSCallback`.

    Args:
        cur_epoch_num: The number of the epoch, from 1; 0 before the first.
        cur_step_num_in_epoch: The number of the current step's first row in its epoch, from 1; at
            the end of the epoch, the number of its last row.
        cur_step_num: The same number, counted over all epochs.

    Examples:
        >>> DSRunContext(cur_epoch_num=2, cur_step_num_in_epoch=1, cur_step_num=5).cur_step_num
        5

    Source: MindSpore's `mindspore.dataset.DSRunContext`.
    """

    cur_epoch_num: int
    cur_step_num_in_epoch: int
    cur_step_num: int


class DSCallback:
    """Base class of callbacks that `Dataset.map(..., callbacks=...)` calls as its rows are mapped.

    A subclass overrides the hooks that it needs. `ds_begin` is called once for each iterator,
    before its first row. A step is `step_size` rows of the `map`: rows of the dataset before a
    `batch`, batches after it. Hooks run in the thread that iterates, and a step begins only when
    its first row is requested.

    Args:
        step_size: The number of rows of a step, from 1 to 2147483647.

    Raises:
        TypeError: If a subclass defines a method `ds_...` that is not an event.

    Examples:
        >>> from minispore.dataset import NumpySlicesDataset
        >>> class Print(DSCallback):
        ...     def ds_epoch_begin(self, ds_run_context: DSRunContext) -> None:
        ...         print("epoch", ds_run_context.cur_epoch_num)
        ...     def ds_step_end(self, ds_run_context: DSRunContext) -> None:
        ...         print("step from row", ds_run_context.cur_step_num_in_epoch)
        >>> data = NumpySlicesDataset([1, 2, 3], shuffle=False)
        >>> data = data.map(lambda x: x + 1, callbacks=Print(step_size=2))
        >>> rows = list(data.create_tuple_iterator(num_epochs=1))
        epoch 1
        step from row 1
        step from row 3

    Source: MindSpore's `mindspore.dataset.DSCallback`.
    """

    def __init__(self, step_size: int = 1) -> None:
        self.step_size: int = check_int(step_size, "step_size", low=1, high=2**31 - 1)

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        events = [name for name in vars(DSCallback) if name.startswith("ds_")]
        for name in vars(cls):
            if name.startswith("ds_") and name not in events:
                from difflib import get_close_matches  # only needed for the message

                nearest = get_close_matches(name, events, n=1, cutoff=0.0)[0]
                raise TypeError(
                    f"DSCallback '{cls.__name__}' defines '{name}', which is not an event; "
                    f"did you mean '{nearest}'?"
                )

    def ds_begin(self, ds_run_context: DSRunContext) -> None:
        """Called before the first row of an iterator."""

    def ds_epoch_begin(self, ds_run_context: DSRunContext) -> None:
        """Called before the first row of an epoch."""

    def ds_epoch_end(self, ds_run_context: DSRunContext) -> None:
        """Called after the last row of an epoch; not if the iterator is abandoned earlier."""

    def ds_step_begin(self, ds_run_context: DSRunContext) -> None:
        """Called before a step's rows are mapped."""

    def ds_step_end(self, ds_run_context: DSRunContext) -> None:
        """Called after a step's rows have been mapped, before they are passed on."""
