"""WeightAveraging: evaluate, and end the training, with averages of the weights."""

from minispore.common import Parameter, Tensor
from minispore.common import dtype as mstype
from minispore.train.protocol.callback import Callback, RunContext
from minispore.train.protocol.state_fields import StateField, StatefulMixin
from minispore.utils.checks import caller, check_int, check_number
from minispore.utils.warn import warn_at_caller

__all__ = ["WeightAveraging"]


class WeightAveraging(Callback, StatefulMixin):
    """Evaluate with averages of the weights, and leave them in the network when training ends.

    The averages are those of the trainable parameters over the steps of a run. The training itself
    does not change: `Model.fit` evaluates with the averages, then continues with the weights, which
    are what other callbacks save. After an exception the network has its weights. It cannot be used
    with another callback that sets the weights at the end, such as EarlyStopping with
    `restore_best_weights`.

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
        for parameter in params.network.trainable_params():
            # In float16, most updates of an average would be rounded to nothing.
            small = parameter.dtype == mstype.float16
            value = parameter.astype(mstype.float32) if small else parameter.copy()
            average = self._averages.get(parameter.name, value)
            self._averages[parameter.name] = average + (value - average) * share

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Set the averages, in an evaluation of `Model.fit`."""
        params = run_context.original_args()
        if "cur_epoch_num" in params:
            parameters = self._averaged(run_context)
            self._weights = [(parameter, parameter.copy()) for parameter in parameters]
            self._set_averages(parameters)

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        """Restore the weights, before other callbacks receive the results."""
        self._restore()

    def on_train_end(self, run_context: RunContext) -> None:
        """Set the averages."""
        self._set_averages(self._averaged(run_context))

    def _averaged(self, run_context: RunContext) -> list[Parameter]:
        parameters = run_context.original_args().network.trainable_params()
        return [parameter for parameter in parameters if parameter.name in self._averages]

    def _set_averages(self, parameters: list[Parameter]) -> None:
        for parameter in parameters:
            parameter.set_data(self._averages[parameter.name].astype(parameter.dtype))

    def _restore(self) -> None:
        for parameter, value in self._weights:
            parameter.set_data(value)
        self._weights = []
