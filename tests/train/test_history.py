"""History and LambdaCallback: what is recorded of train, fit and eval, and who is called."""

import math

import numpy as np
import pytest

from minispore.train import Callback, History, LambdaCallback, Model, RunContext

from .standins import Batches, ConstantLoss, Outputs, Rows, make


def model(loss: float = 0.1) -> Model:
    return Model(
        ConstantLoss(loss), metrics={"accuracy"}, eval_network=Outputs(), eval_indexes=[0, 1, 2]
    )


def test_train() -> None:
    history = History()
    assert history.epoch is None
    model().train(2, Batches(3), history)
    assert history.epoch == {"epoch": [1, 2]}
    # The digits of a float32, of which Python's float would show more.
    assert history.history == {"net_output": [0.1, 0.1]}


def test_fit_adds_the_metrics_of_each_evaluation() -> None:
    history = History()
    model().fit(5, Batches(2), Batches(1), 2, callbacks=history)
    assert history.epoch == {"epoch": [1, 2, 3, 4, 5]}
    assert history.history == {"net_output": [0.1] * 5, "accuracy": [0.75, 0.75]}


def test_eval_records_its_last_output() -> None:
    history = History()
    model().eval(Batches(2), history)
    assert history.epoch == {"epoch": [1]}
    assert history.history == {"net_output": [0.25]}


def test_before_the_first_run_there_is_nothing_to_save() -> None:
    assert History().state_dict() == {"epoch": [], "history": {}}


def test_a_run_that_has_come_to_nothing_has_an_empty_list_of_epochs() -> None:
    for begin in (History.on_train_begin, History.on_eval_begin):
        history = History()
        begin(history, RunContext({}))
        assert history.epoch == {"epoch": []}


def test_a_second_run_adds_to_the_history() -> None:
    history = History()
    model().train(2, Batches(1), history)
    model().train(3, Batches(1), history, initial_epoch=2)
    assert history.epoch == {"epoch": [3]}
    assert history.history == {"net_output": [0.1] * 3}


def test_of_several_numbers_the_mean() -> None:
    history = History()
    for outputs, recorded in (
        (np.array([0.1, 0.3], np.float32), 0.2),
        (np.array([1, 2]), 1.5),
        ("as it is", "as it is"),
        ((), ()),
    ):
        history.on_train_epoch_end(RunContext({"net_outputs": outputs}))
        assert history.history["net_output"][-1] == recorded


def test_the_history_can_be_saved() -> None:
    history, other = History(), History()
    model(math.nan).fit(3, Batches(2), Batches(1), 2, callbacks=history)
    state = history.state_dict()
    other.load_state_dict(state)
    assert str((other.epoch, other.history)) == str((history.epoch, history.history))
    other.history["accuracy"].append(1.0)
    assert len(history.history["accuracy"]) == 1
    told = str(state)
    model().fit(1, Batches(2), Batches(1), callbacks=history)
    assert str(state) == told
    history.load_state_dict(state)
    bads: list[dict[str, object]] = [
        {"epoch": ["1"]},
        {"epoch": 3},
        {"history": []},
        {"history": {"accuracy": 1.0}},
    ]
    for bad in bads:
        with pytest.raises(ValueError, match="For 'History"):
            history.load_state_dict({**state, **bad})
    assert history.epoch == {"epoch": [1, 2, 3]}


EVENTS = [
    f"on_{kind}_{event}"
    for kind in ("train", "eval")
    for event in ("begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end")
]


def test_each_function_is_called_at_its_event() -> None:
    seen: list[str] = []

    def note(event: str) -> Callback:
        def function(run_context: RunContext) -> None:
            assert run_context.original_args().list_callback
            seen.append(event)

        return LambdaCallback(**{event: function})

    make({"accuracy"}).fit(1, Rows(4), Rows(4), callbacks=[note(event) for event in EVENTS])
    train, evaluation = EVENTS[:6], EVENTS[6:]
    assert seen == [*train[:4], *evaluation, *train[4:]]


@pytest.mark.parametrize("event", EVENTS)
def test_what_cannot_be_called_is_refused(event: str) -> None:
    with pytest.raises(TypeError, match=f"'{event}' must be a function or None, but got 3"):
        LambdaCallback(**{event: 3})  # type: ignore[arg-type]
