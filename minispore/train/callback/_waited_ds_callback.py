"""WaitedDSCallback: hooks that a dataset calls between two steps of the training."""

from minispore.dataset import DSCallback, DSRunContext
from minispore.train.protocol.callback import Callback, RunContext


class WaitedDSCallback(Callback, DSCallback):
    """Base class of callbacks that a dataset calls between two steps or epochs of the training.

    Pass the same object to `Dataset.map` and to `Model.train`. When the training has finished a
    step, the dataset calls `sync_step_begin` before the next one; when it has finished an epoch,
    `sync_epoch_begin`. So the results of the training can change how the next rows are mapped.

    The dataset computes the rows of a step when the training requests them, so it never waits in
    another thread; if dataset and training are out of step, an error is raised. As in any callback,
    `state_dict` and `load_state_dict` make a subclass with attributes resumable.

    Args:
        step_size: The number of rows of the `map` in a step of the training: the batch size, if the
            dataset is batched after the `map`.

    Raises:
        TypeError: `step_size` is not an int.
        ValueError: `step_size` is not in [1, 2147483647].
        RuntimeError: On iteration, if a step or epoch begins before the training has finished the
            previous one, or if no training has begun.

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

    Source: MindSpore's `mindspore.dataset.WaitedDSCallback`.
    """

    def __init__(self, step_size: int = 1) -> None:
        DSCallback.__init__(self, step_size)
        self._training: RunContext | None = None
        # In this run: the epochs that the dataset has begun, and that it may begin.
        self._epochs_begun = self._epochs_allowed = 0
        # In this epoch (its last rows may be mapped without becoming a step):
        self._steps_begun = self._steps_trained = 0
        self._running = False

    def sync_epoch_begin(self, train_run_context: RunContext, ds_run_context: DSRunContext) -> None:
        """Called before the first row of an epoch, after the previous epoch of the training."""

    def sync_step_begin(self, train_run_context: RunContext, ds_run_context: DSRunContext) -> None:
        """Called before the rows of a step are mapped, after the previous step of the training."""

    def on_train_begin(self, run_context: RunContext) -> None:
        """Synchronize with this training from now on."""
        self._training, self._running = run_context, True
        self._epochs_begun = self._epochs_allowed = 0
        self._steps_begun = self._steps_trained = 0

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Let the dataset begin an epoch or, in a resumed run, continue it."""
        self._epochs_allowed += 1
        self._steps_trained = self._steps_begun

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Let the dataset begin the next step."""
        self._steps_trained += 1

    def __exit__(self, *exc_info: object) -> None:
        self._running = False

    def ds_epoch_begin(self, ds_run_context: DSRunContext) -> None:
        """Call `sync_epoch_begin`, except before the first epoch."""
        if ds_run_context.cur_epoch_num > 1:
            self._synchronize("epoch", self._epochs_begun < self._epochs_allowed, ds_run_context)
        self._epochs_begun += 1
        self._steps_begun = self._steps_trained = 0

    def ds_step_begin(self, ds_run_context: DSRunContext) -> None:
        """Call `sync_step_begin`, except before the first step."""
        if ds_run_context.cur_step_num > self.step_size:
            self._synchronize("step", self._steps_begun <= self._steps_trained, ds_run_context)
        self._steps_begun += 1

    def _synchronize(self, unit: str, in_time: bool, context: DSRunContext) -> None:
        """Call an overridden hook, unless the run is over or is being resumed."""
        hook = self.sync_epoch_begin if unit == "epoch" else self.sync_step_begin
        if getattr(hook, "__func__", None) is getattr(WaitedDSCallback, f"sync_{unit}_begin"):
            return
        name = type(self).__name__
        if self._training is None:
            raise RuntimeError(
                f"For '{name}', the dataset is at its second {unit}, and no training has begun: "
                "give the callback to 'Model.train' too."
            )
        # A resumed run first skips the rows that were already trained on.
        if not self._running or not self._epochs_allowed:
            return
        if not in_time:
            raise RuntimeError(
                f"For '{name}', the dataset begins with another {unit} before the training has "
                f"done the {unit} before. Set 'step_size' to the number of rows that the training "
                "takes in a step; nothing after the 'map' may read ahead, as 'shuffle' does."
            )
        hook(self._training, context)
