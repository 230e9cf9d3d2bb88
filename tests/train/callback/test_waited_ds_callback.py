"""WaitedDSCallback: synchronization of dataset and training, and its errors."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from minispore import Tensor, nn
from minispore.dataset import Dataset, DSRunContext, NumpySlicesDataset, WaitedDSCallback
from minispore.train import Callback, CheckpointConfig, Model, ModelCheckpoint, RunContext


class Waited(WaitedDSCallback):
    """Record each synchronization of the dataset with the position of the training."""

    def __init__(self, step_size: int, log: list[str]) -> None:
        super().__init__(step_size)
        self.log = log

    def sync_epoch_begin(self, train_run_context: RunContext, ds_run_context: DSRunContext) -> None:
        assert train_run_context.original_args().cur_epoch_num == ds_run_context.cur_epoch_num
        self.log.append(f"EB{ds_run_context.cur_epoch_num},{ds_run_context.cur_step_num}")

    def sync_step_begin(self, train_run_context: RunContext, ds_run_context: DSRunContext) -> None:
        assert isinstance(train_run_context, RunContext)
        at = ds_run_context
        self.log.append(f"SB{at.cur_epoch_num},{at.cur_step_num_in_epoch},{at.cur_step_num}")


class Steps(Callback):
    """Record the steps of the training, and stop it after one of them."""

    def __init__(self, log: list[str], last: int = 0) -> None:
        self.log, self.last = log, last

    def on_train_step_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        self.log.append(f"ms{params.cur_epoch_num},{params.cur_step_num}")
        if params.cur_step_num == self.last:
            run_context.request_stop()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        self.log.append(f"me{params.cur_epoch_num},{params.cur_step_num}")


class Net(nn.Cell):
    def construct(self, x: Tensor, y: Tensor) -> Tensor:
        return x.sum()


def mapped(waited: Waited, count: int = 4) -> Dataset:
    numbers = np.arange(count, dtype=np.float32)
    data = NumpySlicesDataset({"x": numbers, "y": numbers}, shuffle=False)
    return data.map(lambda x: x, callbacks=waited)


# The synchronizations of MindSpore 2.10.
PLAIN = (
    "ms1,1 SB1,2,2 ms1,2 SB1,3,3 ms1,3 SB1,4,4 ms1,4 me1,4 "
    "EB2,4 SB2,1,5 ms2,5 SB2,2,6 ms2,6 SB2,3,7 ms2,7 SB2,4,8 ms2,8 me2,8"
)
BATCHED = "ms1,1 SB1,3,3 ms1,2 me1,2 EB2,4 SB2,1,5 ms2,3 SB2,3,7 ms2,4 me2,4"


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(("size", "expected"), [(1, PLAIN), (2, BATCHED)])
def test_hooks_run_after_previous_step_and_epoch(size: int, expected: str, first: bool) -> None:
    log: list[str] = []
    waited, steps = Waited(size, log), Steps(log)
    data = mapped(waited) if size == 1 else mapped(waited).batch(size)
    callbacks: list[Callback] = [waited, steps] if first else [steps, waited]
    for _ in range(2):
        Model(Net()).train(2, data, callbacks)
        assert log == expected.split()
        log.clear()


def batched(data: Dataset) -> Dataset:
    return data.batch(2)


def shuffled(data: Dataset) -> Dataset:
    return data.shuffle(3)


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        (batched, "For 'Waited', .* another step before .*step_size"),
        (shuffled, "as 'shuffle' does"),
    ],
)
def test_dataset_that_is_ahead_of_the_training_raises(
    pipeline: Callable[[Dataset], Dataset], message: str
) -> None:
    waited = Waited(1, [])
    with pytest.raises(RuntimeError, match=message):
        Model(Net()).train(1, pipeline(mapped(waited)), waited)


def test_dataset_without_training_raises() -> None:
    waited = Waited(1, [])
    with pytest.raises(
        RuntimeError, match="For 'Waited', .* give the callback to 'Model.train' too"
    ):
        Model(Net()).train(1, mapped(waited), Steps([]))
    Model(Net()).train(1, mapped(waited), waited)
    waited.log.clear()
    assert len(list(mapped(waited).create_tuple_iterator(num_epochs=1))) == 4  # the run has ended
    assert waited.log == []


def test_hook_set_on_instance_is_called() -> None:
    waited, log = WaitedDSCallback(2), []
    waited.sync_step_begin = lambda *contexts: log.append(contexts)  # type: ignore[method-assign]
    Model(Net()).train(1, mapped(waited).batch(2), waited)  # type: ignore[arg-type]
    assert len(log) == 1


def test_only_overridden_hooks_synchronize() -> None:
    class Epochs(WaitedDSCallback):
        seen = 0

        def sync_epoch_begin(
            self, train_run_context: RunContext, ds_run_context: DSRunContext
        ) -> None:
            self.seen += 1

    epochs = Epochs(1)
    numbers = NumpySlicesDataset({"x": [1.0, 2.0], "y": [1.0, 2.0]})
    data = numbers.map(lambda x: x, callbacks=epochs).batch(2)
    Model(Net()).train(4, data, epochs)
    assert epochs.seen == 3


class Sum(nn.Cell):
    def __init__(self, net: nn.Cell) -> None:
        super().__init__(auto_prefix=False)
        self.net = net

    def construct(self, x: Tensor, y: Tensor) -> Tensor:
        return self.net(x.reshape((1, 2))).sum()


class Stop(Callback):
    """Stop the run at an event of its first epoch, if one is given."""

    def __init__(self, event: str) -> None:
        self.event = event

    def stop(self, event: str, run_context: RunContext) -> None:
        if event == self.event and run_context.original_args().cur_epoch_num == 1:
            run_context.request_stop()

    def on_train_step_end(self, run_context: RunContext) -> None:
        self.stop("step", run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        self.stop("epoch", run_context)


def train(folder: Path, log: list[str], stop: str = "", resume: str | None = None) -> str:
    """Train for three epochs, or until an event, with checkpoints; return the last one's path."""
    config = CheckpointConfig(1, append_info=["training_state"])
    waited, saver = Waited(2, log), ModelCheckpoint("net", folder, config)
    net = nn.Dense(2, 1)
    model = Model(nn.TrainOneStepCell(Sum(net), nn.SGD(net.trainable_params(), 0.1)))
    callbacks = [waited, saver, Steps(log), Stop(stop)]
    model.train(3, mapped(waited).batch(2), callbacks, resume=resume)
    return saver.latest_ckpt_file_name


@pytest.mark.parametrize("stop", ["step", "epoch"])
def test_resumed_run_is_synchronized(tmp_path: Path, stop: str) -> None:
    straight: list[str] = []
    train(tmp_path / "a", straight)
    resumed: list[str] = []
    path = train(tmp_path / "b", resumed, stop)
    # A stop ends the current epoch; a resumed run ends it again.
    resumed = [entry for entry in resumed if not entry.startswith("me")]
    train(tmp_path / "b", resumed, resume=path)
    assert resumed == straight


@given(trained=st.integers(0, 4), steps=st.integers(1, 3))
def test_dataset_is_at_most_one_step_and_epoch_ahead(trained: int, steps: int) -> None:
    """That is the step and the epoch for which the training waits."""
    waited, context = Counts(2), RunContext({})

    def begun(begin: Callable[[DSRunContext], None]) -> int:
        for number in range(9):
            try:
                begin(DSRunContext(number + 2, 2 * number, 2 * number + 3))
            except RuntimeError:
                return number
        raise AssertionError

    waited.on_train_begin(context)
    for _ in range(trained + 1):
        waited.on_train_epoch_begin(context)
        for _ in range(steps):
            waited.on_train_step_end(context)
    assert begun(waited.ds_epoch_begin) == trained + 1
    for _ in range(trained):
        waited.on_train_step_end(context)
    assert begun(waited.ds_step_begin) == trained + 1
    assert waited.calls == 2 * (trained + 1)


class Counts(WaitedDSCallback):
    """Count the synchronizations."""

    calls = 0

    def sync_epoch_begin(self, train_run_context: RunContext, ds_run_context: DSRunContext) -> None:
        self.calls += 1

    def sync_step_begin(self, train_run_context: RunContext, ds_run_context: DSRunContext) -> None:
        self.calls += 1


class Synchronization(RuleBasedStateMachine):
    """The dataset begins an epoch or step after the training has done the one before.

    Before the training begins its first epoch, the dataset may skip to the resumed position; and
    after a run has ended, it is no longer synchronized.
    """

    def __init__(self) -> None:
        super().__init__()
        self.context = RunContext({})
        self.calls = 0
        self.epoch = 0  # of the dataset
        self.row = 0

    @initialize(size=st.integers(1, 3))
    def make(self, size: int) -> None:
        self.size, self.waited = size, Counts(size)
        self.begin_run()

    def begin_run(self) -> None:
        self.waited.on_train_begin(self.context)
        self.running, self.epochs, self.begun = True, 0, 0
        self.steps = self.trained = 0

    @rule()
    def train_again(self) -> None:
        self.begin_run()
        self.epoch = self.row = 0

    @rule()
    def end_run(self) -> None:
        self.waited.__exit__(None, None, None)
        self.running = False

    @rule()
    def train_epoch(self) -> None:
        self.waited.on_train_epoch_begin(self.context)
        self.epochs += 1
        self.trained = self.steps

    @precondition(lambda self: self.epochs)
    @rule()
    def train_step(self) -> None:
        self.waited.on_train_step_end(self.context)
        self.trained += 1

    @rule()
    def map_epoch(self) -> None:
        at = DSRunContext(cur_epoch_num=self.epoch + 1, cur_step_num_in_epoch=0, cur_step_num=0)
        synchronized = self.epoch > 0 and self.running and self.epochs > 0
        if synchronized and self.begun >= self.epochs:
            with pytest.raises(RuntimeError, match="another epoch before the training has done"):
                self.waited.ds_epoch_begin(at)
            return
        self.waited.ds_epoch_begin(at)
        self.calls += synchronized
        self.epoch += 1
        self.begun += 1
        self.steps = self.trained = 0

    @precondition(lambda self: self.epoch)
    @rule()
    def map_step(self) -> None:
        row = self.row + 1
        at = DSRunContext(cur_epoch_num=self.epoch, cur_step_num_in_epoch=row, cur_step_num=row)
        synchronized = self.row > 0 and self.running and self.epochs > 0
        if synchronized and self.steps > self.trained:
            with pytest.raises(RuntimeError, match="another step before the training has done the"):
                self.waited.ds_step_begin(at)
            return
        self.waited.ds_step_begin(at)
        self.calls += synchronized
        self.row += self.size
        self.steps += 1

    @invariant()
    def each_synchronization_calls_a_hook(self) -> None:
        if hasattr(self, "waited"):
            assert self.waited.calls == self.calls


TestSynchronization = Synchronization.TestCase
