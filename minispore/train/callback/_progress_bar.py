"""ProgressBar: show the progress of an epoch, and print its loss and metrics."""

from collections.abc import Mapping
from time import perf_counter
from typing import TYPE_CHECKING, NoReturn

from minispore.train.protocol.callback import Callback, RunContext
from minispore.train.protocol.monitor import distinct_names
from minispore.train.protocol.outputs import as_array, first_output
from minispore.train.protocol.state_fields import StateField, StatefulMixin
from minispore.utils.progress import format_number, progress_bar

if TYPE_CHECKING:
    from tqdm import tqdm

__all__ = ["ProgressBar"]


class ProgressBar(Callback, StatefulMixin):
    """Show a bar with the current loss, and print a line with loss and metrics of each epoch.

    The bar is shown on a terminal and in a notebook. The loss of the line is the mean over the
    steps of the epoch; metrics are those of the validation of `Model.fit`.

    Examples:
        >>> import numpy as np
        >>> from minispore import nn
        >>> from minispore.train import Model
        >>> net = nn.Dense(2, 1, "zeros", "zeros")
        >>> model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
        >>> x = np.zeros((1, 2), np.float32)
        >>> model.train(2, [(x, x[:, :1])] * 3, callbacks=ProgressBar())
        epoch 1/2: loss 0.0000 (... s)
        epoch 2/2: loss 0.0000 (... s)
    """

    chief_only = True
    _bar: "tqdm[NoReturn] | None" = None
    _total_loss = StateField(float)
    _steps = StateField(int)
    _started = 0.0

    def __exit__(self, *_: object) -> None:
        self._close()

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Start a bar."""
        params = run_context.original_args()
        self._started = perf_counter()
        self._total_loss, self._steps = 0.0, 0
        self._close()
        self._bar = progress_bar(
            total=params.batch_num, desc=_epoch_of(run_context), unit="step", leave=False
        )

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Update the bar."""
        loss = as_array(first_output(run_context.original_args().net_outputs))
        value = float("nan") if loss is None else float(loss.mean())
        self._total_loss += value
        self._steps += 1
        if self._bar is not None:
            self._bar.set_postfix_str(f"loss {format_number(value, 3)}", refresh=False)
            self._bar.update()

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Continue within an epoch.

        Raises:
            ValueError: An entry is missing or has the wrong type.
        """
        super().load_state_dict(state)
        if self._bar is not None:
            self._bar.update(self._steps)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Replace the bar by a line."""
        self._close()
        params = run_context.original_args()
        parts = [f"loss {format_number(self._total_loss / self._steps)}"] if self._steps else []
        metrics = params.metrics if "metrics" in params else {}
        for name, value in distinct_names(metrics, ["loss"]).items():
            text = format_number(value) if isinstance(value, float) else value
            parts.append(f"{name} {text}")
        if run_context.is_epoch_unfinished():
            parts.append(f"stopped after {self._steps} step{'' if self._steps == 1 else 's'}")
        seconds = perf_counter() - self._started
        print(f"{_epoch_of(run_context)}: {', '.join(parts)} ({seconds:.1f} s)", flush=True)

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _epoch_of(run_context: RunContext) -> str:
    params = run_context.original_args()
    return f"epoch {params.cur_epoch_num}/{params.initial_epoch + params.epoch_num}"
