"""A callback that keeps what it finds, for tests of what callbacks are told."""

from collections.abc import Callable

from minispore.train import Callback, RunContext
from minispore.train._protocol.callback import EVENTS


class Look(Callback):
    """Keep a copy of the parameters at each event."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, object]]] = []

    def at(self, event: str) -> list[dict[str, object]]:
        return [params for name, params in self.seen if name == event]


def _look(event: str) -> Callable[[Look, RunContext], None]:
    def hook(self: Look, run_context: RunContext) -> None:
        self.seen.append((event, dict(run_context.original_args())))

    return hook


for _event in EVENTS:
    setattr(Look, _event, _look(_event))
