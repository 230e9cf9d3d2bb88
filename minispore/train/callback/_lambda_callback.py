"""LambdaCallback: a callback made of functions."""

from collections.abc import Callable

from minispore.train.protocol.callback import EVENTS, Callback, RunContext
from minispore.utils.checks import check_function

__all__ = ["LambdaCallback"]

_Hook = Callable[[RunContext], object] | None


class LambdaCallback(Callback):
    """Call a function at each event for which one is given.

    Args:
        on_train_epoch_begin: The hook of that name: a function that takes the `RunContext`.
        on_train_epoch_end: The hook of that name.
        on_train_step_begin: The hook of that name.
        on_train_step_end: The hook of that name.
        on_train_begin: The hook of that name.
        on_train_end: The hook of that name.
        on_eval_epoch_begin: The hook of that name.
        on_eval_epoch_end: The hook of that name.
        on_eval_step_begin: The hook of that name.
        on_eval_step_end: The hook of that name.
        on_eval_begin: The hook of that name.
        on_eval_end: The hook of that name.

    Raises:
        TypeError: An argument is neither None nor callable.

    Examples:
        >>> hello = LambdaCallback(on_train_begin=lambda run_context: print("hello"))
        >>> hello.on_train_begin(RunContext({}))
        hello

    Source: MindSpore's `mindspore.train.LambdaCallback`.
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
        hooks: dict[str, object] = {n: hook for n, hook in locals().items() if n in EVENTS}
        super().__init__()
        for name, hook in hooks.items():
            check_function(hook, name, optional=True)
            if hook is not None:
                setattr(self, name, hook)
