"""WeightAveraging: evaluate, and end the training, with averages of the weights."""

from collections.abc import Generator
from contextlib import contextmanager, nullcontext

from minispore.common import Parameter, Tensor
from minispore.common import dtype as mstype
from minispore.engine.dtypes import FLOAT
from minispore.train.protocol.callback import Callback, RunContext
from minispore.train.protocol.state_fields import StateField, StatefulMixin
from minispore.utils.checks import caller, check_int, check_number
from minispore.utils.warn import warn_at_caller

__all__ = ["WeightAveraging"]


class WeightAveraging(Callback, StatefulMixin):
    """Evaluate with averages of the weights, and leave them in the network when training ends.

    The averages are those of the network's parameters over the steps of a run, also of those that
    are not trained: the moving mean and variance of a batch normalization are averaged like the
    weights, so that they belong to them. The training itself does not change: `Model.fit` evaluates
    with the averages, then continues with the weights.

    `BestCheckpoint` saves the averages, which are what was evaluated; other callbacks that save
    during the training save the weights, from which it can be resumed. After an exception the
    network has its weights. It cannot be used with another callback that sets the weights at the
    end, such as EarlyStopping with `restore_best_weights`.

    Args:
        decay: The decay of an exponential moving average (EMA): the weight of the average in an
            update, from 0 to 1; the new weights have ``1 - decay``. None for the mean of all
            updates, as in stochastic weight averaging (SWA).
        update_every_n_steps: The number of steps from one update to the next; the number of steps
            in an epoch to average the weights at the ends of epochs.
        update_starting_at_step: The first step that may be averaged. Until there is an average,
            evaluations use the weights.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: `decay` is not from 0 to 1, or a number of steps is below 1.

    Examples:
        >>> import numpy as np
        >>> from minispore import nn
        >>> from minispore.train import Model
        >>> net = nn.Dense(1, 1, "zeros", has_bias=False)
        >>> model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.25))
        >>> data = [(np.ones((1, 1), np.float32), np.ones((1, 1), np.float32))] * 2
        >>> model.train(1, data, WeightAveraging(decay=None))  # the mean of 0.5 and 0.75
        >>> net.weight.tolist()
        [[0.625]]

    Source: Lightning's `callbacks.WeightAveraging`, and Keras' `SwapEMAWeights`.
    """

    sets_final_weights = True
    _updates = StateField(int)
    _averages = StateField(dict[str, Tensor])

    def __init__(
        self,
        decay: float | None = 0.999,
        update_every_n_steps: int = 1,
        update_starting_at_step: int = 1,
    ) -> None:
        super().__init__()
        self._decay = None if decay is None else check_number(decay, "decay", low=0, high=1)
        self._every = check_int(update_every_n_steps, "update_every_n_steps", low=1)
        self._start = check_int(update_starting_at_step, "update_starting_at_step", low=1)
        self._weights: list[tuple[Parameter, Tensor]] = []  # to restore after an evaluation

    def __exit__(self, *exc_info: object) -> None:
        self._restore()

    def on_exception(self, run_context: RunContext, error: BaseException) -> None:
        """Restore the weights, so that callbacks that save then save these."""
        self._restore()

    def on_train_begin(self, run_context: RunContext) -> None:
        """Start new averages; warn if the run has no step to average."""
        self.reset_state()
        params = run_context.original_args()
        first = -(-self._start // self._every) * self._every
        if "train_dataset" in params:
            steps = params.epoch_num * params.train_dataset.get_dataset_size()
            if first > steps:
                warn_at_caller(
                    f"{caller()} can do nothing in this run of {steps} steps: by "
                    f"'update_every_n_steps' and 'update_starting_at_step', the first that it "
                    f"averages would be {first}."
                )

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Update the averages, if the step is due."""
        params = run_context.original_args()
        if params.cur_step_num < self._start or params.cur_step_num % self._every:
            return
        self._updates += 1
        share = 1 / self._updates if self._decay is None else 1 - self._decay
        for parameter in params.network.get_parameters():
            if parameter.dtype.category != FLOAT:
                continue
            # In float16, most updates of an average would be rounded to nothing.
            small = parameter.dtype == mstype.float16
            value = parameter.astype(mstype.float32) if small else parameter.copy()
            average = self._averages.get(parameter.name, value)
            self._averages[parameter.name] = average + (value - average) * share

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Set the averages, in an evaluation of `Model.fit`."""
        if "cur_epoch_num" in run_context.original_args():
            self._replace(run_context)

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        """Restore the weights, before other callbacks receive the results."""
        self._restore()

    def on_train_end(self, run_context: RunContext) -> None:
        """Set the averages."""
        self._replace(run_context)
        self._weights = []

    @contextmanager
    def averages_set(self, run_context: RunContext) -> Generator[None, None, None]:
        """Set the averages in a `with` block, and then the weights again."""
        self._replace(run_context)
        try:
            yield
        finally:
            self._restore()

    def _replace(self, run_context: RunContext) -> None:
        """Set the averages, and note the weights."""
        for parameter in run_context.original_args().network.get_parameters():
            average = self._averages.get(parameter.name)
            if average is not None:
                self._weights.append((parameter, parameter.copy()))
                parameter.set_data(average.astype(parameter.dtype))

    def _restore(self) -> None:
        for parameter, value in self._weights:
            parameter.set_data(value)
        self._weights = []


@contextmanager
def evaluated_weights(run_context: RunContext) -> Generator[None, None, None]:
    """Set the weights with which the run evaluates in a `with` block: averages if there are some.

    Args:
        run_context: The run context.

    Examples:
        >>> from minispore import nn
        >>> net, averaging = nn.Dense(1, 1, "zeros", has_bias=False), WeightAveraging(decay=None)
        >>> run = RunContext({"network": net, "cur_step_num": 1, "list_callback": [averaging]})
        >>> for weight in (0.0, 1.0):
        ...     _ = net.weight.set_data(Tensor([[weight]]))
        ...     averaging.on_train_step_end(run)
        >>> with evaluated_weights(run):
        ...     print(net.weight.item())
        0.5
        >>> net.weight.item()
        1.0
    """
    callbacks = run_context.original_args().get("list_callback", ())
    averaging = next((item for item in callbacks if isinstance(item, WeightAveraging)), None)
    with nullcontext() if averaging is None else averaging.averages_set(run_context):
        yield
