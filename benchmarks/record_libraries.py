"""Record which hooks the same training calls in six libraries, for docs/libraries-compared.md.

The training has two epochs of three steps and validates on one batch after each of them. It is
recorded undisturbed, with a callback that stops it after its second step, and with a network that
raises an exception in its second step. A Python that has a library writes the library's part of
docs/assets/libraries.json:

    python -m benchmarks.record_libraries Keras
"""

import argparse
import json
import os
import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

FILE = Path(__file__).parents[1] / "docs" / "assets" / "libraries.json"
SCENARIOS = ("undisturbed", "stop", "exception")
EPOCHS, STEPS, STEP = 2, 3, 2
Array = NDArray[np.float32]
# An object of a library, whose types are unknown where it is not installed.
Foreign: TypeAlias = Any
T = TypeVar("T")
TENSORPACK_HOOKS = "_(setup_graph|before_.*|after_.*|trigger_.*)"
X, Y = np.ones((STEPS, 2), np.float32), np.ones((STEPS, 1), np.float32)


class Recording:
    """The events of a run, in the order in which they occur.

    An event is the name of a hook; "train" or "evaluate" when the network computes a batch; "stop"
    when the callback stops the training; and "raises …" when what precedes has raised an exception.
    The last one, "returns" or "raises …", is the end of the call.

    Args:
        scenario: "undisturbed", "stop" or "exception".
    """

    def __init__(self, scenario: str) -> None:
        self.scenario = scenario
        self.events = list[str]()

    def compute(self, training: bool) -> None:
        """Note that the network computes a batch; in the second step it may raise an exception."""
        self.events.append("train" if training else "evaluate")
        if self.scenario == "exception" and training and self._is_in_step():
            self._fail(RuntimeError("An exception in the network."))

    def callback(
        self, base: type[T], hooks: str, after_step: str, stop: Callable[..., None] | Exception
    ) -> T:
        """Return a callback that notes the calls of its hooks.

        Args:
            base: The class of callbacks.
            hooks: A pattern for the names of its hooks.
            after_step: The hook in which it stops the training, if that is the scenario.
            stop: What stops the training: a function of the callback and the hook's arguments, or
                an exception to raise.
        """

        def note(name: str) -> Callable[..., object]:
            def hook(callback: object, *arguments: object, **_: object) -> object:
                self.events.append(name)
                if self.scenario == "stop" and name == after_step and self._is_in_step():
                    self.events.append("stop")
                    if isinstance(stop, Exception):
                        self._fail(stop)
                    stop(callback, *arguments)
                return callback if name == "__enter__" else None

            return hook

        names = [name for name in dir(base) if re.fullmatch(hooks, name)]
        callback: T = subclass(base, **{name: note(name) for name in names})()
        return callback

    def _fail(self, error: Exception) -> NoReturn:
        self.events.append(f"raises {type(error).__name__}")
        raise error

    def _is_in_step(self) -> bool:
        return self.events.count("train") == STEP


def of_mindspore(recording: Recording, package: str = "mindspore") -> None:
    """Train with MindSpore, or with minispore, which has the same names."""
    nn, train = import_module(f"{package}.nn"), import_module(f"{package}.train")
    arrays = import_module(f"{package}.dataset").NumpySlicesDataset

    def construct(loss: Foreign, logits: object, labels: object) -> object:
        recording.compute(loss.training)
        return nn.MSELoss.construct(loss, logits, labels)

    def stop(_: Foreign, run_context: Foreign) -> None:
        run_context.request_stop()

    network = nn.Dense(2, 1)
    optimizer = nn.SGD(network.trainable_params(), 0.1)
    loss = subclass(nn.MSELoss, construct=construct)()
    model = train.Model(network, loss, optimizer, metrics={"mae"})
    callback = recording.callback(
        train.Callback, "on_.*|__enter__|__exit__", "on_train_step_end", stop
    )
    data = arrays({"x": X, "y": Y}, shuffle=False).batch(1)
    valid = arrays({"x": X[:1], "y": Y[:1]}, shuffle=False).batch(1)
    model.fit(EPOCHS, data, valid, callbacks=[callback], dataset_sink_mode=False)


def of_minispore(recording: Recording) -> None:
    """Train with minispore."""
    of_mindspore(recording, "minispore")


def of_keras(recording: Recording) -> None:
    """Train with Keras."""
    os.environ.setdefault("KERAS_BACKEND", "torch")
    keras = import_module("keras")

    def train_step(model: object, data: object) -> object:
        recording.compute(training=True)
        return keras.Sequential.train_step(model, data)

    def test_step(model: object, data: object) -> object:
        recording.compute(training=False)
        return keras.Sequential.test_step(model, data)

    def stop(callback: Foreign, *_: Foreign) -> None:
        callback.model.stop_training = True

    kind = subclass(keras.Sequential, train_step=train_step, test_step=test_step)
    model = kind([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse", run_eagerly=True)
    callback = recording.callback(keras.callbacks.Callback, "on_.*", "on_train_batch_end", stop)
    model.fit(
        X,
        Y,
        batch_size=1,
        epochs=EPOCHS,
        validation_data=(X[:1], Y[:1]),
        callbacks=[callback],
        verbose=0,
    )


def of_lightning(recording: Recording) -> None:
    """Train with Lightning."""
    lightning, torch = import_module("lightning"), import_module("torch")

    def loss(module: Foreign, batch: Foreign) -> Foreign:
        recording.compute(module.training)
        x, y = batch
        return torch.nn.functional.mse_loss(module.dense(x), y)

    def configure_optimizers(module: Foreign) -> Foreign:
        return torch.optim.SGD(module.parameters(), 0.1)

    def stop(_: Foreign, trainer: Foreign, *__: Foreign) -> None:
        trainer.should_stop = True

    methods = {"training_step": loss, "validation_step": loss}
    module = subclass(
        lightning.LightningModule, **methods, configure_optimizers=configure_optimizers
    )()
    module.dense = torch.nn.Linear(2, 1)
    callback = recording.callback(
        lightning.Callback, "on_.*|setup|teardown", "on_train_batch_end", stop
    )
    trainer = lightning.Trainer(
        accelerator="cpu",
        max_epochs=EPOCHS,
        callbacks=[callback],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    rows = torch.utils.data.TensorDataset(torch.from_numpy(X), torch.from_numpy(Y))
    loader = torch.utils.data.DataLoader
    valid = torch.utils.data.Subset(rows, [0])
    trainer.fit(module, loader(rows), loader(valid))


def of_tensorpack(recording: Recording) -> None:
    """Train with tensorpack, which validates in a callback."""
    tp, train = import_module("tensorpack"), import_module("tensorpack.train")
    tf = import_module("tensorflow")

    def build_graph(model: Foreign, x: Foreign, y: Foreign) -> Foreign:
        training = model.training
        weight = tf.compat.v1.get_variable("weight", [2, 1])

        def compute() -> Array:
            recording.compute(training)
            return np.zeros(1, np.float32)

        with tf.control_dependencies([tf.numpy_function(compute, [], tf.float32)]):
            error = tf.reduce_mean((tf.matmul(x, weight) - y) ** 2)
        return tf.identity(error, "error")

    def inputs(_: Foreign) -> list[Foreign]:
        sizes = {"x": 2, "y": 1}
        return [tf.TensorSpec([None, size], tf.float32, name) for name, size in sizes.items()]

    def optimizer(_: Foreign) -> Foreign:
        return tf.compat.v1.train.GradientDescentOptimizer(0.1)

    model = subclass(tp.ModelDesc, inputs=inputs, build_graph=build_graph, optimizer=optimizer)()
    callback = recording.callback(
        tp.Callback,
        TENSORPACK_HOOKS,
        "_trigger_step",
        train.StopTraining(),
    )
    rows = [[x[None], y[None]] for x, y in zip(X, Y, strict=True)]
    validation = tp.InferenceRunner(tp.DataFromList(rows[:1], False), tp.ScalarStats("error"))
    with TemporaryDirectory() as folder, tf.Graph().as_default():
        tp.logger.set_logger_dir(folder, action="d")
        config = tp.TrainConfig(
            model=model,
            data=tp.FeedInput(tp.DataFromList(rows, False)),
            callbacks=[callback, validation],
            extra_callbacks=[],
            monitors=[],
            steps_per_epoch=STEPS,
            max_epoch=EPOCHS,
        )
        tp.launch_train_with_config(config, tp.SimpleTrainer())


LEARNER_HOOKS = [
    *(
        f"{when}_{phase}"
        for phase in ("fit", "epoch", "batch")
        for when in ("before", "after", "cleanup")
    ),
    *("after_predict", "after_loss", "after_backward", "after_step"),
]


class CancelFitException(Exception):  # noqa: N818 (miniai's name)
    """Ends the training of a `Learner`."""


class Learner:
    """A loop like that of miniai, the library of fast.ai's course, which trains a linear network.

    Args:
        weight: The weights, an array of shape (features, 1).
        train: The batches of the training, pairs of arrays.
        valid: Those of the validation.
        callbacks: Objects with some of the methods in `LEARNER_HOOKS`, called with the learner.
        compute: A function that is called for each batch with whether it is of the training.
    """

    def __init__(
        self,
        weight: Array,
        train: Sequence[tuple[Array, Array]],
        valid: Sequence[tuple[Array, Array]],
        callbacks: Sequence[object],
        compute: Callable[[bool], None],
    ) -> None:
        self.weight, self.callbacks, self.compute = weight, callbacks, compute
        self.batches = {True: train, False: valid}

    def fit(self, epochs: int) -> None:
        """Train, and validate after each epoch."""
        with self._around("fit"):
            for _ in range(epochs):
                for training, batches in self.batches.items():
                    with self._around("epoch"):
                        for x, y in batches:
                            with self._around("batch"):
                                self._batch(x, y, training)

    def _batch(self, x: Array, y: Array, training: bool) -> None:
        self.compute(training)
        predicted = x @ self.weight
        self._call("after_predict")
        difference = predicted - y  # the loss is half of its square
        self._call("after_loss")
        if training:
            gradient = x.T @ difference
            self._call("after_backward")
            self.weight -= 0.1 * gradient
            self._call("after_step")

    @contextmanager
    def _around(self, phase: str) -> Generator[None]:
        try:
            self._call(f"before_{phase}")
            yield
            self._call(f"after_{phase}")
        except CancelFitException:
            if phase != "fit":
                raise
        finally:
            self._call(f"cleanup_{phase}")

    def _call(self, hook: str) -> None:
        for callback in self.callbacks:
            if hasattr(callback, hook):
                getattr(callback, hook)(self)


def of_learner(recording: Recording) -> None:
    """Train with the loop of this file."""
    base = subclass(object, **dict.fromkeys(LEARNER_HOOKS))
    callback = recording.callback(
        base, "(before|after|cleanup)_.*", "after_batch", CancelFitException()
    )
    batches = [(x[None], y[None]) for x, y in zip(X, Y, strict=True)]
    weight = np.zeros((2, 1), np.float32)
    Learner(weight, batches, batches[:1], [callback], recording.compute).fit(EPOCHS)


def subclass(base: type, **attributes: object) -> type[Foreign]:
    """Return a subclass of a class of a library."""
    # In `fit`, MindSpore validates without callbacks whose class is named like one of its own.
    return type(f"Recorded{base.__name__}", (base,), attributes)


# By name: the function, and the distributions whose versions are noted.
LIBRARIES: dict[str, tuple[Callable[[Recording], None], tuple[str, ...]]] = {
    "minispore": (of_minispore, ()),
    "MindSpore": (of_mindspore, ("mindspore",)),
    "Keras": (of_keras, ("keras", "torch")),
    "Lightning": (of_lightning, ("lightning", "torch")),
    "tensorpack": (of_tensorpack, ("tensorpack", "tensorflow-cpu")),
    "miniai-like loop": (of_learner, ()),
}


def runs(name: str) -> dict[str, list[str]]:
    """Return the events of each scenario with a library."""
    return {scenario: run(LIBRARIES[name][0], scenario) for scenario in SCENARIOS}


def run(train: Callable[[Recording], None], scenario: str) -> list[str]:
    """Return the events of a training."""
    recording = Recording(scenario)
    try:
        train(recording)
    except Exception as error:
        return [*recording.events, f"raises {type(error).__name__}"]
    return [*recording.events, "returns"]


def main() -> None:
    """Record the named libraries."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record_libraries")
    parser.add_argument("names", nargs="+", choices=LIBRARIES, help="the libraries")
    recorded: dict[str, object] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    for name in parser.parse_args().names:
        versions = {package: version(package) for package in LIBRARIES[name][1]}
        recorded[name] = {"versions": versions, "runs": runs(name)}
    ordered = {name: recorded[name] for name in LIBRARIES if name in recorded}
    FILE.write_text(json.dumps(ordered, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
