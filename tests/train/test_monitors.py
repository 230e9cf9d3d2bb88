"""LossMonitor and TimeMonitor: the lines MindSpore 2.10 prints, to the letter."""

import re
import time
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from minispore import Tensor
from minispore.train import Callback, LossMonitor, Model, RunContext, TimeMonitor
from minispore.train.callback import _InternalCallbackParam

from .standins import Batches, ConstantLoss, Outputs

LOSS = 1.2375532388687134  # a float32 number with all its digits


def context(outputs: object, step: int = 1) -> RunContext:
    return RunContext(
        _InternalCallbackParam(net_outputs=outputs, cur_epoch_num=1, cur_step_num=step, batch_num=5)
    )


def tensor(value: object, dtype: type[np.generic] = np.float32) -> Tensor:
    return Tensor(np.array(value, dtype))


# Observed from MindSpore 2.10.
@pytest.mark.parametrize(
    ("outputs", "printed"),
    [
        (1.5, "1.5"),
        (2, "2"),
        (tensor(LOSS), "1.2375532388687134"),
        (tensor([LOSS]), "1.2375532388687134"),
        (tensor([1.5, 2.5]), "2.0"),
        (tensor([[1.5, 2.5], [0.0, 1.0]]), "1.25"),
        (tensor(1.2373046875, np.float16), "1.2373046875"),
        (tensor(3, np.int32), "3.0"),
        ((tensor(LOSS), 1), "1.2375532"),
        ([tensor(LOSS)], "1.2375532"),
        ((tensor([LOSS, LOSS]), 1), "[1.2375532 1.2375532]"),
        (np.array(LOSS, np.float32), "1.2375532"),
        (np.array([1.0, 2.0], np.float32), "[1. 2.]"),
        ((1.5, 2), "(1.5, 2)"),
        (None, "None"),
    ],
)
def test_the_line_for_each_kind_of_loss(
    outputs: object, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    LossMonitor().on_train_step_end(context(outputs))
    assert capsys.readouterr().out == f"epoch: 1 step: 1, loss is {printed}\n"


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("per_print_times", [0, 1, 1000])
def test_a_loss_that_is_no_number_ends_training(bad: float, per_print_times: int) -> None:
    line = (
        "In epoch: 1 step: 2, loss is NAN or INF, training process cannot continue, "
        "terminating training."
    )
    outputs = [bad, tensor(bad), tensor([1.0, bad]), (tensor(bad), 1), np.array([bad, 1.0])]
    for output in outputs:
        with pytest.raises(ValueError, match=re.escape(line)):
            LossMonitor(per_print_times).on_train_step_end(context(output, step=7))


def test_training_with_a_nan_stops_at_that_step() -> None:
    ends: list[str] = []

    class Ends(Callback):
        def on_train_end(self, run_context: RunContext) -> None:
            ends.append("train")

    with pytest.raises(ValueError, match="In epoch: 1 step: 1, loss is NAN or INF"):
        Model(ConstantLoss(float("nan"))).train(2, Batches(3), [LossMonitor(10), Ends()])
    assert ends == []


def test_lines_are_counted_over_the_borders_of_epochs(capsys: pytest.CaptureFixture[str]) -> None:
    monitor = LossMonitor(3)
    for step in range(1, 12):
        monitor.on_train_step_end(context(1.5, step))
    steps = re.findall(r"step: (\d)", capsys.readouterr().out)
    assert steps == ["3", "1", "4"]  # steps 3, 6 and 9


def test_a_monitor_can_be_used_for_another_run(capsys: pytest.CaptureFixture[str]) -> None:
    monitor = LossMonitor(2)
    model = Model(ConstantLoss())
    expected = "epoch: 1 step: 2, loss is 0.5\nepoch: 1 step: 4, loss is 0.5\n"
    for _ in range(2):
        model.train(1, Batches(5), monitor)
        assert capsys.readouterr().out == expected
    often = LossMonitor(1)
    for _ in range(2):
        model.train(1, Batches(1), often)
        assert capsys.readouterr().out == "epoch: 1 step: 1, loss is 0.5\n"


def test_zero_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Model(ConstantLoss()).train(2, Batches(3), LossMonitor(0))
    assert capsys.readouterr().out == ""


def model_with_metrics(loss: float = 0.5) -> Model:
    return Model(
        ConstantLoss(),
        metrics={"accuracy", "loss"},
        eval_network=Outputs(loss),
        eval_indexes=[0, 1, 2],
    )


def test_fit_prints_each_evaluation(capsys: pytest.CaptureFixture[str]) -> None:
    model_with_metrics(0.25).fit(2, Batches(2), Batches(1), callbacks=LossMonitor(2))
    results = "metrics: {'accuracy': 0.75, 'loss': 0.25}"
    assert capsys.readouterr().out.splitlines() == [
        "epoch: 1 step: 2, loss is 0.5",
        f"Eval result: epoch 1, {results}",
        "epoch: 2 step: 2, loss is 0.5",
        f"Eval result: epoch 2, {results}",
    ]


def test_epochs_without_an_evaluation_have_no_result(capsys: pytest.CaptureFixture[str]) -> None:
    model_with_metrics().fit(3, Batches(1), Batches(1), [2], LossMonitor(0))
    assert re.findall("epoch .", capsys.readouterr().out) == ["epoch 2"]


def test_an_evaluation_of_its_own_prints_its_losses(capsys: pytest.CaptureFixture[str]) -> None:
    model_with_metrics(LOSS).eval(Batches(2), LossMonitor())
    assert capsys.readouterr().out.splitlines() == [
        "epoch: 1 step: 1, loss is 1.2375532",
        "epoch: 1 step: 2, loss is 1.2375532",
    ]


def test_arguments_of_loss_monitor() -> None:
    with pytest.raises(ValueError, match="per_print_times"):
        LossMonitor(-1)
    wrong: Sequence[object] = (1.5, True, "a", None)
    for value in wrong:
        with pytest.raises(TypeError, match="per_print_times"):
            LossMonitor(value)  # type: ignore[arg-type]


class Slow(Batches):
    """Batches that take their time."""

    def __init__(self, size: int, seconds: float) -> None:
        super().__init__(size)
        self.seconds = seconds

    def create_tuple_iterator(self, *, num_epochs: int) -> list[Sequence[object]]:
        rows = super().create_tuple_iterator(num_epochs=num_epochs)
        seconds = self.seconds

        class Rows(list[Sequence[object]]):
            def __iter__(self) -> Iterator[Sequence[object]]:
                for row in super().__iter__():
                    time.sleep(seconds)
                    yield row

        return Rows(rows)


NUMBER = r"(\d+\.\d{3})"
LINE = rf"(Train|Eval) epoch time: {NUMBER} ms, per step time: {NUMBER} ms"


def times(text: str, pattern: str = LINE) -> list[tuple[str, ...]]:
    found = [re.fullmatch(pattern, line) for line in text.splitlines()]
    return [match.groups() for match in found if match is not None]


def test_the_line_of_a_training_epoch(capsys: pytest.CaptureFixture[str]) -> None:
    Model(ConstantLoss()).train(2, Slow(3, 0.01), TimeMonitor())
    lines = times(capsys.readouterr().out)
    assert [kind for kind, *_ in lines] == ["Train", "Train"]
    for _, epoch, step in lines:
        assert float(epoch) >= 30
        assert float(step) == pytest.approx(float(epoch) / 3, abs=1e-3)


def test_the_lines_of_fit_keep_their_clocks_apart(capsys: pytest.CaptureFixture[str]) -> None:
    model_with_metrics().fit(1, Slow(2, 0.1), Slow(1, 0.3), callbacks=TimeMonitor())
    (_, evaluation, per_step), (_, training, _) = times(capsys.readouterr().out)
    assert evaluation == per_step
    assert float(evaluation) >= 300
    assert 200 <= float(training) < 300  # all of the epoch, and nothing of the evaluation


def test_the_time_spent_waiting_for_data(capsys: pytest.CaptureFixture[str]) -> None:
    class SlowStep(Callback):
        def on_train_step_end(self, run_context: RunContext) -> None:
            time.sleep(0.02)

    model = model_with_metrics()
    monitor = TimeMonitor(data_time=True)
    model.fit(1, Slow(3, 0.01), Slow(2, 0.01), callbacks=[monitor, SlowStep()])
    pattern = LINE + rf" \(data time: {NUMBER} ms\)"
    evaluation, training = times(capsys.readouterr().out, pattern)
    assert (evaluation[0], training[0]) == ("Eval", "Train")
    assert 10 <= float(evaluation[3]) <= float(evaluation[2])
    # What a later callback does after a step is waiting as well, as far as this one can know.
    assert 10 <= float(training[3]) <= float(training[2])


def test_steps_known_only_from_data_size(capsys: pytest.CaptureFixture[str]) -> None:
    monitor = TimeMonitor(data_size=1000)
    monitor.on_train_epoch_begin(RunContext({}))
    time.sleep(0.02)
    monitor.on_train_epoch_end(RunContext({}))
    ((_, epoch, step),) = times(capsys.readouterr().out)
    assert float(step) == pytest.approx(float(epoch) / 1000, abs=1e-3)


def test_arguments_of_time_monitor() -> None:
    for wrong in (0, 1, "a", None):
        with pytest.raises(TypeError, match="data_time"):
            TimeMonitor(data_time=wrong)  # type: ignore[arg-type]
    for size in (0, -1):
        with pytest.raises(ValueError, match="data_size"):
            TimeMonitor(size)
    with pytest.raises(TypeError, match="data_size"):
        TimeMonitor(1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="data_size"):
        TimeMonitor().on_train_epoch_end(RunContext({}))
