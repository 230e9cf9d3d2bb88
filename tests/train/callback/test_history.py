"""History: the values recorded in train, fit and eval."""

import copy
import math
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor
from minispore.train import Callback, CheckpointConfig, History, Model, ModelCheckpoint, RunContext
from tests.helpers.callback_driver import stopping_at
from tests.helpers.stub_models import Batches, ConstantLoss, Outputs


def model(loss: float = 0.1) -> Model:
    return Model(
        ConstantLoss(loss), metrics={"accuracy"}, eval_network=Outputs(), eval_indexes=[0, 1, 2]
    )


def test_resumed_epoch_replaces_interrupted_one(tmp_path: Path) -> None:
    history = History()
    config = CheckpointConfig(append_info=["training_state"])
    callbacks: list[Callback] = [history, ModelCheckpoint("net", tmp_path, config), stopping_at(4)]
    model().fit(3, Batches(3), Batches(1), callbacks=callbacks)
    # MindSpore too records an epoch that a stop has interrupted; it has no evaluation.
    assert history.epoch == {"epoch": [1, 2]}
    assert history.history == {"net_output": [0.1] * 2, "accuracy": [0.75]}
    resume = tmp_path / "net-2_1.ckpt"
    model().fit(3, Batches(3), Batches(1), callbacks=callbacks, resume=resume)
    assert history.epoch == {"epoch": [1, 2, 3]}
    assert history.history == {"net_output": [0.1] * 3, "accuracy": [0.75] * 3}


OUTPUTS: st.SearchStrategy[tuple[object, object]] = st.one_of(
    st.sampled_from([0.1, 3, math.inf]).map(lambda x: (x, x)),
    st.sampled_from(["as it is", ()]).map(lambda x: (x, x)),
    # The digits of float32; a Python float would have more.
    st.sampled_from([0.1, 0.3]).map(lambda x: (Tensor(np.float32(x)), x)),
    st.just((np.array([0.1, 0.3], np.float32), 0.2)),
    st.just((np.array([1, 2]), 1.5)),
    st.just(((Tensor([0.25, 0.5]), 7), 0.375)),
)
EPOCHS = st.lists(st.tuples(OUTPUTS, st.none() | st.floats(0, 1)), max_size=4)


@given(runs=st.lists(EPOCHS, max_size=3), first=st.integers(1, 9))
def test_history_extends_over_runs(
    runs: list[list[tuple[tuple[object, object], float | None]]], first: int
) -> None:
    """The state is a copy, and restores an equal history."""
    history = History()
    assert History().epoch is None
    assert history.state_dict() == {"epoch": [], "history": {}}
    outputs: list[object] = []
    results: list[object] = []
    number = first - 1
    for run in runs:
        history.on_train_begin(RunContext({}))
        epochs: list[int] = []
        for (output, recorded), result in run:
            number += 1
            epochs.append(number)
            params: dict[str, object] = {"cur_epoch_num": number, "net_outputs": output}
            outputs.append(recorded)
            if result is not None:
                params["metrics"] = {"accuracy": result}
                results.append(result)
            history.on_train_epoch_end(RunContext(params))
        expected: dict[str, list[object]] = {"net_output": outputs} if outputs else {}
        expected |= {"accuracy": results} if results else {}
        assert (history.epoch, history.history) == ({"epoch": epochs}, expected)
        state, restored = history.state_dict(), History()
        assert state == {"epoch": epochs, "history": expected}
        before = copy.deepcopy(state)
        for changed in (history, restored):
            changed.load_state_dict(state)
            changed.on_train_epoch_end(RunContext({"cur_epoch_num": 99, "net_outputs": 1.0}))
            changed.history.setdefault("accuracy", []).append(2.0)
            assert state == before
            changed.load_state_dict(state)
            assert (changed.epoch, changed.history) == ({"epoch": epochs}, expected)


@given(OUTPUTS)
def test_evaluation_and_custom_loop_count_one_epoch(output: tuple[object, object]) -> None:
    for hook in (History.on_train_epoch_end, History.on_eval_epoch_end):
        history = History()
        hook(history, RunContext({"net_outputs": output[0]}))
        assert history.epoch == {"epoch": [1]}
        assert history.history == {"net_output": [output[1]]}
        history.on_eval_begin(RunContext({}))
        assert history.epoch == {"epoch": []}
