"""WaitedDSCallback: what a dataset does between two steps of the training."""

from types import TracebackType

from minispore.dataset._ds_callback import DSCallback, DSRunContext
from minispore.train._protocol.callback import Callback
from minispore.train._protocol.run_context import RunContext


class WaitedDSCallback(Callback, DSCallback):
    """Base class of callbacks that a dataset calls between two steps or epochs of the training.

    The same object is given to `Dataset.map` and to `Model.train`. Before each step but the very
    first the dataset calls `sync_step_begin`, before each epoch but the first `sync_epoch_begin`,
    when the training has done the one before. So what the training has found can change how the
    next rows are mapped.

    Here the dataset computes a step's rows when the training asks for them, so nobody waits; where
    the two do not go hand in hand there is an error at once. A callback that remembers something
    defines `state_dict` and `load_state_dict`, as every other; then a run can be resumed anywhere.

    Source: mindspore.dataset.WaitedDSCallback.

    Args:
        step_size: How many rows of the `map` are a step of the training: the batch size, if the
            dataset is batched after the `map`.

    Raises:
        TypeError: If `step_size` is no int.
        ValueError: If `step_size` is not in [1, 2147483647].
        RuntimeError: On iteration, if a step or epoch begins before the training has done the one
            before, or without a training.

    Examples:
        >>> from minispore import nn
        >>> from minispore.dataset import NumpySlicesDataset
        >>> from minispore.train import Model
        >>> class Louder(WaitedDSCallback):
        ...     volume = 1.0
        ...     def sync_epoch_begin(
        ...         self, train_run_context: RunContext, ds_run_context: DSRunContext
        ...     ) -> None:
        ...         self.volume *= 2
        >>> louder = Louder(step_size=2)
        >>> data = NumpySlicesDataset({"x": [[1.0], [2.0]], "y": [[1.0], [2.0]]}, shuffle=False)
        >>> data = data.map(lambda x: x * louder.volume, "x", callbacks=louder).batch(2)
        >>> net = nn.Dense(1, 1)
        >>> optimizer = nn.SGD(net.trainable_params(), 0.01)
        >>> Model(net, nn.MSELoss(), optimizer).train(3, data, callbacks=louder)
        >>> louder.volume
        4.0
    """

    def __init__(self, step_size: int = 1) -> None:
        DSCallback.__init__(self, step_size)
        self._training: RunContext | None = None
        # Of this run: the epochs that the dataset has begun, and the training.
        self._epochs_begun = self._epochs_opened = 0
        # Of this epoch (its last rows may be mapped without making a step):
        self._steps_begun = self._steps_trained = 0
        self._running = False

    def sync_epoch_begin(self, train_run_context: RunContext, ds_run_context: DSRunContext) -> None:
        """Called before an epoch's first row, after the training's epoch before."""

    def sync_step_begin(self, train_run_context: RunContext, ds_run_context: DSRunContext) -> None:
        """Called before a step's rows are mapped, after the training's step before."""

    def on_train_begin(self, run_context: RunContext) -> None:
        """Go along with this training."""
        self._training, self._running = run_context, True
        self._epochs_begun = self._epochs_opened = 0
        self._steps_begun = self._steps_trained = 0

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """The dataset may go on to the next epoch; or, in a resumed run, with this one."""
        self._epochs_opened += 1
        self._steps_trained = self._steps_begun

    def on_train_step_end(self, run_context: RunContext) -> None:
        """The dataset may go on to the next step."""
        self._steps_trained += 1

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._running = False

    def ds_epoch_begin(self, ds_run_context: DSRunContext) -> None:
        """Call `sync_epoch_begin`, if it is time."""
        if ds_run_context.cur_epoch_num > 1 and _overrides(self, "sync_epoch_begin"):
            training = self._at_rest("epoch", self._epochs_begun < self._epochs_opened)
            if training is not None:
                self.sync_epoch_begin(training, ds_run_context)
        self._epochs_begun += 1
        self._steps_begun = self._steps_trained = 0

    def ds_step_begin(self, ds_run_context: DSRunContext) -> None:
        """Call `sync_step_begin`, if it is time."""
        if ds_run_context.cur_step_num > self.step_size and _overrides(self, "sync_step_begin"):
            training = self._at_rest("step", self._steps_begun <= self._steps_trained)
            if training is not None:
                self.sync_step_begin(training, ds_run_context)
        self._steps_begun += 1

    def _at_rest(self, what: str, in_time: bool) -> RunContext | None:
        """Return the training's context; None if it is over, or another one is being resumed."""
        name = type(self).__name__
        if self._training is None:
            raise RuntimeError(
                f"For '{name}', the dataset is at its second {what}, and no training has begun: "
                "give the callback to 'Model.train' too."
            )
        # To resume a run, the dataset goes once more through the rows that the training has had.
        if not self._running or not self._epochs_opened:
            return None
        if not in_time:
            raise RuntimeError(
                f"For '{name}', the dataset begins with another {what} before the training has "
                f"done the {what} before. Set 'step_size' to the number of rows that the training "
                "takes in a step; nothing after the 'map' may read ahead, as 'shuffle' does."
            )
        return self._training


def _overrides(callback: WaitedDSCallback, name: str) -> bool:
    method = getattr(callback, name)
    return getattr(method, "__func__", None) is not getattr(WaitedDSCallback, name)
