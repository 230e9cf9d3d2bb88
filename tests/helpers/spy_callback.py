"""A callback that records the parameters at each event."""

from collections.abc import Callable

from minispore.train import Callback, RunContext
from minispore.train.protocol.callback import EVENTS


class SpyCallback(Callback):
    """Records a copy of the parameters at each event."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, object]]] = []

    def at(self, event: str) -> list[dict[str, object]]:
        return [params for name, params in self.events if name == event]


def _record(event: str) -> Callable[[SpyCallback, RunContext], None]:
    def hook(self: SpyCallback, run_context: RunContext) -> None:
        self.events.append((event, dict(run_context.original_args())))

    return hook


for _event in EVENTS:
    setattr(SpyCallback, _event, _record(_event))
