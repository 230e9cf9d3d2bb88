"""A callback from functions."""

from collections.abc import Callable, Collection, Sequence

from minispore.tensorpack.adapter import Callback


class CallbackFactory(Callback):
    """A callback from functions, each of which gets the callback.

    Source: tensorpack.callbacks.CallbackFactory.

    Args:
        setup_graph: Called like the hook of that name.
        before_train: Likewise.
        trigger: Likewise.
        after_train: Likewise.
        produces: The names of the numbers that they put in the channel.
    """

    def __init__(
        self,
        setup_graph: Callable[[Callback], object] | None = None,
        before_train: Callable[[Callback], object] | None = None,
        trigger: Callable[[Callback], object] | None = None,
        after_train: Callable[[Callback], object] | None = None,
        produces: Sequence[str] = (),
    ) -> None:
        self._functions = (setup_graph, before_train, trigger, after_train)
        self._produces = tuple(produces)

    def produces(self) -> Collection[str]:
        """Return what it was told."""
        return self._produces

    def _call(self, place: int) -> None:
        function = self._functions[place]
        if function is not None:
            function(self)

    def _setup_graph(self) -> None:
        self._call(0)

    def _before_train(self) -> None:
        self._call(1)

    def _trigger(self) -> None:
        self._call(2)

    def _after_train(self) -> None:
        self._call(3)
