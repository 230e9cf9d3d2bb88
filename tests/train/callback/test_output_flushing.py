"""Callbacks flush each line that they print."""

import io
from contextlib import redirect_stdout

import pytest

from minispore.train import Callback, RunContext
from minispore.train import callback as cb
from minispore.train.protocol.callback import EVENTS
from tests.helpers.stub_models import Rows, make


class Screen(io.StringIO):
    """A stream that records whether its buffer is empty."""

    waiting = ""
    lines = 0

    def write(self, text: str) -> int:
        self.waiting += text
        self.lines += text.count("\n")
        return super().write(text)

    def flush(self) -> None:
        self.waiting = ""


class Watcher(Callback):
    """Check after every event that the earlier callbacks have flushed their lines."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen

    def look(self, run_context: RunContext) -> None:
        assert self.screen.waiting == ""


for event in EVENTS:
    setattr(Watcher, event, Watcher.look)


@pytest.mark.parametrize(
    "callback",
    [
        cb.LossMonitor(),
        cb.TimeMonitor(data_time=True),
        cb.FlopsUtilizationCollector(2, 1e9),
        cb.EarlyStopping("loss", 100.0, verbose=True, restore_best_weights=True),
        cb.EarlyStopping("loss", patience=9, verbose=True, restore_best_weights=True),
        cb.ReduceLROnPlateau("loss", min_delta=100.0, patience=0, verbose=True),
    ],
    ids=lambda callback: type(callback).__name__,
)
def test_printed_lines_are_flushed(callback: Callback) -> None:
    screen = Screen()
    with redirect_stdout(screen):
        make({"accuracy"}).fit(3, Rows(), Rows(), callbacks=[callback, Watcher(screen)])
    assert screen.lines
    assert screen.waiting == ""
