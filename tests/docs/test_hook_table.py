"""The table of hooks in docs/howto/callbacks.md, compared with real runs."""

import re
from pathlib import Path

import numpy as np
import pytest

from minispore import nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import LambdaCallback, Model, RunContext
from minispore.train.protocol.callback import EVENTS

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "callbacks.md"
# By hook: the entries and the effect of a stop, the last two of five columns.
ROWS = {
    hook: (set(re.findall(r"\w+", names)), stop)
    for line in PAGE.read_text("utf-8").splitlines()
    if line.startswith("| `on_") and line.count("|") == 6
    for _, hook, _, _, names, stop, _ in [[cell.strip(" `") for cell in line.split("|")]]
}
# Steps of training, and of evaluation, of two epochs of two steps in each.
DONE = {
    "ends the run after the first step": (1, 0),
    "ends the run after the next step": (1, 0),
    "ends the run after this step": (1, 0),
    "ends the run after the first evaluation step": (2, 1),
    "ends the run after this evaluation step": (2, 1),
    "ends the run after this epoch": (2, 2),
    "has no effect": (4, 4),
}


def fit(stop_at: str = "") -> tuple[list[tuple[str, set[str]]], tuple[int, int]]:
    """Return the events with the entries of their parameters, and the numbers of steps."""
    calls = list[tuple[str, set[str]]]()

    def hook(event: str, run_context: RunContext) -> None:
        calls.append((event, set(run_context.original_args())))
        if event == stop_at:
            run_context.request_stop()

    hooks = LambdaCallback()
    for event in EVENTS:
        setattr(hooks, event, lambda run_context, event=event: hook(event, run_context))
    x = np.ones((4, 1), np.float32)
    data = NumpySlicesDataset({"x": x, "y": x}).batch(2)
    network = nn.Dense(1, 1)
    optimizer = nn.SGD(network.trainable_params(), 0.1)
    model = Model(network, nn.MSELoss(), optimizer, metrics={"mae"})
    model.fit(2, data, data, callbacks=[hooks])
    names = [event for event, _ in calls]
    return calls, (names.count("on_train_step_end"), names.count("on_eval_step_end"))


def test_table_has_all_hooks_in_their_order_with_the_entries_that_they_find() -> None:
    calls, _ = fit()
    assert list(ROWS) == list(dict.fromkeys(event for event, _ in calls))
    assert set(ROWS) == set(EVENTS)
    always = set(calls[0][1]).intersection(*(names for _, names in calls))
    for hook, (names, _) in ROWS.items():
        entries = [names for event, names in calls if event == hook]
        found = entries[0].intersection(*entries) - always
        # What an evaluation leaves is not mentioned in the hooks of the training.
        if hook.startswith("on_train"):
            found = {name for name in found if "eval" not in name}
            found -= {"valid_dataset", "metrics"}
        assert names == found, hook


@pytest.mark.parametrize("hook", EVENTS)
def test_table_says_when_a_stop_ends_the_run(hook: str) -> None:
    assert fit(stop_at=hook)[1] == DONE[ROWS[hook][1]]
