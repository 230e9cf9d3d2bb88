"""LambdaCallback: a callback from functions."""

from collections.abc import Callable

from minispore.train._protocol.callback import Callback
from minispore.train._protocol.run_context import RunContext

_Hook = Callable[[RunContext], object] | None


class LambdaCallback(Callback):
    """Call a function at each event that one is given for.

    Source: mindspore.train.LambdaCallback.

    Args:
        on_train_epoch_begin: Called with the `RunContext`, like the hook of that name; so are all.
        on_train_epoch_end: Likewise.
        on_train_step_begin: Likewise.
        on_train_step_end: Likewise.
        on_train_begin: Likewise.
        on_train_end: Likewise.
        on_eval_epoch_begin: Likewise.
        on_eval_epoch_end: Likewise.
        on_eval_step_begin: Likewise.
        on_eval_step_end: Likewise.
        on_eval_begin: Likewise.
        on_eval_end: Likewise.

    Raises:
        TypeError: An argument is neither None nor can be called.

    Examples:
        >>> hello = LambdaCallback(on_train_begin=lambda run_context: print("hello"))
        >>> hello.on_train_begin(RunContext({}))
        hello
    """

    def __init__(
        self,
        on_train_epoch_begin: _Hook = None,
        on_train_epoch_end: _Hook = None,
        on_train_step_begin: _Hook = None,
        on_train_step_end: _Hook = None,
        on_train_begin: _Hook = None,
        on_train_end: _Hook = None,
        on_eval_epoch_begin: _Hook = None,
        on_eval_epoch_end: _Hook = None,
        on_eval_step_begin: _Hook = None,
        on_eval_step_end: _Hook = None,
        on_eval_begin: _Hook = None,
        on_eval_end: _Hook = None,
    ) -> None:
        super().__init__()
        hooks = {
            "on_train_epoch_begin": on_train_epoch_begin,
            "on_train_epoch_end": on_train_epoch_end,
            "on_train_step_begin": on_train_step_begin,
            "on_train_step_end": on_train_step_end,
            "on_train_begin": on_train_begin,
            "on_train_end": on_train_end,
            "on_eval_epoch_begin": on_eval_epoch_begin,
            "on_eval_epoch_end": on_eval_epoch_end,
            "on_eval_step_begin": on_eval_step_begin,
            "on_eval_step_end": on_eval_step_end,
            "on_eval_begin": on_eval_begin,
            "on_eval_end": on_eval_end,
        }
        for name, hook in hooks.items():
            if hook is None:
                continue
            if not callable(hook):
                raise TypeError(
                    f"For 'LambdaCallback', the argument '{name}' must be a function or None, "
                    f"but got {hook!r}."
                )
            setattr(self, name, hook)
