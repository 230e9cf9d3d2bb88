"""The custom callbacks of MindSpore's callback pages, as a user writes them after reading these.

Their code carries no types, as the pages' code doesn't.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# pyright: basic

import re
import time
from pathlib import Path

import numpy as np
import pytest

from minispore import Tensor, nn
from minispore.train import Callback, LossMonitor, Model, load_checkpoint, save_checkpoint
from tests.helpers.stub_models import Batches

LABELS = np.arange(30, dtype=np.int32) % 3
INPUTS = np.eye(3, dtype=np.float32)[LABELS]


class Classes(Batches):
    """Three classes that a dense layer separates after a few steps."""

    def create_tuple_iterator(self, *, num_epochs):
        return [(INPUTS, LABELS)] * self.size


def trainer(metrics=None):
    # The initial weights misclassify everything, so that training needs several epochs.
    net = nn.Dense(3, 3, weight_init=Tensor(-np.eye(3, dtype=np.float32)), bias_init="zeros")
    optimizer = nn.SGD(net.trainable_params(), learning_rate=1.0)
    return Model(net, nn.CrossEntropyLoss(), optimizer, metrics=metrics)


def weight_in(file_name):
    weight = load_checkpoint(file_name)["weight"]
    assert isinstance(weight, Tensor)
    return np.asarray(weight.asnumpy(), np.float32)


def weight_of(model):
    (weight, _) = model.predict_network.trainable_params()
    return weight.asnumpy()


class StopAtTime(Callback):
    def __init__(self, run_time):
        super().__init__()
        self.run_time = run_time

    def on_train_begin(self, run_context):
        cb_params = run_context.original_args()
        cb_params.init_time = time.time()
        print(f"Begin training, time is: {cb_params.init_time}")

    def on_train_step_end(self, run_context):
        cb_params = run_context.original_args()
        epoch_num = cb_params.cur_epoch_num
        step_num = cb_params.cur_step_num
        loss = cb_params.net_outputs
        cur_time = time.time()
        if (cur_time - cb_params.init_time) > self.run_time:
            print(
                f"End training, time: {cur_time}, epoch: {epoch_num}, step: {step_num}, loss:{loss}"
            )
            run_context.request_stop()


def test_callback_stops_after_a_time(capsys, monkeypatch):
    class Clock(Callback):
        """A sixteenth of a second passes in each step."""

        now = 1000.0

        def on_train_step_begin(self, run_context):
            self.now += 0.0625

    clock = Clock()
    monkeypatch.setattr(time, "time", lambda: clock.now)
    trainer().train(1000, Classes(10), callbacks=[LossMonitor(10), clock, StopAtTime(1.0)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Begin training, time is: 1000.0"
    assert re.fullmatch(
        r"End training, time: 1001\.0625, epoch: 2, step: 17, loss:[\d.e-]+", lines[-1]
    )


class SaveBelowLoss(Callback):
    def __init__(self, loss, folder):
        super().__init__()
        self.loss = loss
        self.folder = folder

    def on_train_step_end(self, run_context):
        cb_params = run_context.original_args()
        cur_loss = cb_params.net_outputs.asnumpy()
        if cur_loss < self.loss:
            file_name = f"{self.folder}/{cb_params.cur_epoch_num}_{cb_params.cur_step_num}.ckpt"
            save_checkpoint(save_obj=cb_params.train_network, ckpt_file_name=file_name)
            print(f"Saved checkpoint, loss:{cur_loss:8.7f}, step:{cb_params.cur_step_num:4}.")


def test_callback_saves_below_a_loss(tmp_path, capsys):
    model = trainer()
    model.train(2, Classes(6), callbacks=[SaveBelowLoss(0.5, tmp_path), LossMonitor()])
    out = capsys.readouterr().out
    losses = [float(loss) for loss in re.findall(r"loss is (.*)", out)]
    expected = {f"{i // 6 + 1}_{i + 1}.ckpt" for i, loss in enumerate(losses) if loss < 0.5}
    assert expected
    assert {path.name for path in Path(tmp_path).iterdir()} == expected
    saved = weight_in(f"{tmp_path}/2_12.ckpt")
    np.testing.assert_array_equal(saved, weight_of(model))


class SaveMostAccurate(Callback):
    """Evaluate after each epoch and keep the model of the best one."""

    def __init__(self, model, eval_dataset, file_name):
        super().__init__()
        self.model = model
        self.eval_dataset = eval_dataset
        self.file_name = file_name
        self.accuracies = []

    def epoch_end(self, run_context):
        cb_params = run_context.original_args()
        result = self.model.eval(self.eval_dataset, dataset_sink_mode=False)
        if result["accuracy"] > max(self.accuracies, default=-1.0):
            save_checkpoint(cb_params.train_network, self.file_name)
        self.accuracies.append(result["accuracy"])


def test_callback_saves_most_accurate_model(tmp_path):
    model = trainer(metrics={"accuracy"})
    file_name = str(tmp_path / "best.ckpt")
    saver = SaveMostAccurate(model, Classes(1), file_name)
    model.train(6, Classes(1), callbacks=saver)
    assert saver.accuracies[0] < 1.0
    assert saver.accuracies[-1] == 1.0
    weight = weight_in(file_name)
    assert (INPUTS @ weight.T).argmax(axis=1).tolist() == LABELS.tolist()
    # The last epochs are not better than the first one with an accuracy of 1.
    assert not np.array_equal(weight, weight_of(model))


class PrintProgress(Callback):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def on_train_epoch_end(self, run_context):
        cb_params = run_context.original_args()
        print(
            f"{self.name}: epoch {cb_params.cur_epoch_num}/{cb_params.epoch_num}, "
            f"step {cb_params.cur_step_num}/{cb_params.epoch_num * cb_params.batch_num}, "
            f"loss {cb_params.net_outputs.asnumpy():.2f}"
        )


def test_callback_prints_progress(capsys):
    trainer().train(2, Classes(3), callbacks=PrintProgress("classes"))
    first, second = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"classes: epoch 1/2, step 3/6, loss \d\.\d\d", first)
    assert re.fullmatch(r"classes: epoch 2/2, step 6/6, loss \d\.\d\d", second)


class StopBelowLoss(Callback):
    def __init__(self, threshold):
        super().__init__()
        self.threshold = threshold

    def step_end(self, run_context):
        if run_context.original_args().net_outputs.asnumpy() < self.threshold:
            run_context.request_stop()


class StopAtAccuracy(Callback):
    def __init__(self, threshold):
        super().__init__()
        self.threshold = threshold

    def on_eval_end(self, run_context):
        if run_context.original_args().metrics["accuracy"] >= self.threshold:
            run_context.request_stop()


def test_callback_stops_at_a_loss(capsys):
    trainer().train(100, Classes(5), callbacks=[LossMonitor(), StopBelowLoss(0.3)])
    losses = [float(loss) for loss in re.findall(r"loss is (.*)", capsys.readouterr().out)]
    assert losses[-1] < 0.3 <= min(losses[:-1])
    assert len(losses) < 100


@pytest.mark.parametrize("metrics", [{"accuracy"}, {"accuracy", "loss"}])
def test_callback_stops_at_an_accuracy(metrics, capsys):
    model = trainer(metrics)
    model.fit(100, Classes(2), Classes(1), callbacks=[LossMonitor(0), StopAtAccuracy(1.0)])
    accuracies = re.findall(r"'accuracy': ([\d.]+)", capsys.readouterr().out)
    assert accuracies[-1] == "1.0"
    assert "1.0" not in accuracies[:-1]
    assert len(accuracies) < 100
