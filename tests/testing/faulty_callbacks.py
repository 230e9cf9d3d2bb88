"""Callbacks that violate one invariant of `check_callback` each, with the expected messages."""

import contextlib
import os
import random
import warnings
from collections.abc import Callable, Mapping
from typing import ClassVar, TextIO

import numpy as np

from minispore import Parameter, Tensor
from minispore.engine.array import is_ndarray
from minispore.ops.seed import generator
from minispore.train import Callback, InternalCallbackParam, RunContext, WeightAveraging


def hooks(**methods: Callable[..., object]) -> type[Callback]:
    """Return a class of callbacks with these methods."""
    return type("Faulty", (Callback,), methods)


def params(run_context: RunContext) -> InternalCallbackParam:
    return run_context.original_args()


def fail(message: str) -> None:
    raise RuntimeError(message)


def halve(run_context: RunContext, optimizers: bool = False) -> None:
    """Halve all weights, or the state of the optimizer."""
    optimizer = params(run_context).optimizer
    assert optimizer is not None
    network = params(run_context).network.trainable_params()
    states = [state for state in optimizer.get_parameters() if state.name.startswith("moments")]
    for parameter in states if optimizers else network:
        parameter.set_data(parameter * 0.5)


def set_rate(run_context: RunContext, rate: float) -> None:
    optimizer = params(run_context).optimizer
    assert optimizer is not None
    assert isinstance(optimizer.learning_rate, Parameter)
    optimizer.learning_rate.set_data(Tensor(rate))


class FailsItself(Callback):
    """It closes a file that it opens only in the first step."""

    def on_train_step_begin(self, run_context: RunContext) -> None:
        self.file = 1

    def on_eval_begin(self, run_context: RunContext) -> None:
        self.file = 1

    def __exit__(self, *error: object) -> None:
        del self.file


class GivesUp(Callback):
    """It raises an exception, and suppresses it."""

    def on_train_step_end(self, run_context: RunContext) -> None:
        raise RuntimeError

    def __exit__(self, *error: object) -> bool:
        return error[0] is RuntimeError


class SkipsResumedRun(GivesUp):
    """It does so when a training is resumed."""

    def on_train_begin(self, run_context: RunContext) -> None:
        if run_context.get_resume_requested() is not None:
            raise RuntimeError

    def on_train_step_end(self, run_context: RunContext) -> None: ...


class StopsOnce(Callback):
    """It does not reset its patience when a new run begins."""

    patience = 3

    def on_train_step_end(self, run_context: RunContext) -> None:
        self.patience -= 1
        if self.patience <= 0:
            run_context.request_stop()

    def state_dict(self) -> dict[str, object]:
        return {"patience": self.patience}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        patience = state["patience"]
        assert isinstance(patience, int)
        self.patience = patience


class CountsRuns(Callback):
    """It prints the number of its run, which differs in the second one."""

    runs = 0

    def on_eval_begin(self, run_context: RunContext) -> None:
        self.runs += 1
        print(f"run {self.runs}")


class CountsRunsSilently(CountsRuns):
    """It has another number in an attribute."""

    def on_eval_begin(self, run_context: RunContext) -> None:
        self.runs += 1


class PrintsWords(Callback):
    """It prints another word from its second line on, also in the second run."""

    lines = 0

    def on_eval_end(self, run_context: RunContext) -> None:
        self.lines += 1
        print("line", "one" if self.lines == 1 else "another")


def again(action: Callable[[RunContext], object]) -> type[Callback]:
    """Return a class of callbacks that act when their second training begins."""

    class Again(Callback):
        trainings = 0

        def on_train_begin(self, run_context: RunContext) -> None:
            self.trainings += 1
            if self.trainings > 1:
                action(run_context)

    return Again


class Forgets(Callback):
    """It has no state."""

    def __init__(self) -> None:
        self._waited = 0

    def on_train_begin(self, run_context: RunContext) -> None:
        self._waited = 0

    def on_train_step_end(self, run_context: RunContext) -> None:
        self._waited += 1
        if self._waited == 7:
            run_context.request_stop()


class ForgetsAnEntry(Forgets):
    def state_dict(self) -> dict[str, object]:
        return {}

    def load_state_dict(self, state: Mapping[str, object]) -> None: ...


def counting(action: Callable[[RunContext, int], object]) -> type[Callback]:
    """Return a class of callbacks that act at each step, but do not save its number."""

    class Counting(ForgetsAnEntry):
        def on_train_step_end(self, run_context: RunContext) -> None:
            self._waited += 1
            action(run_context, self._waited)

    return Counting


class CannotLoad(ForgetsAnEntry):
    def on_train_step_end(self, run_context: RunContext) -> None: ...

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        raise RuntimeError("unknown state")


class RemembersFirstStep(Callback):
    """It has an attribute that is not set in a resumed run."""

    def on_train_step_end(self, run_context: RunContext) -> None:
        if params(run_context).cur_step_num == 1:
            self.first = 1.5


class SumsLosses(Callback):
    """It sums in an attribute that is no part of its state."""

    def on_train_begin(self, run_context: RunContext) -> None:
        self._total = 0.0

    def on_train_step_end(self, run_context: RunContext) -> None:
        self._total += 1e-12


class SavesItself(CannotLoad):
    def state_dict(self) -> dict[str, object]:
        return {"self": self}


class LeavesLine(Callback):
    """It ends its line only at the end of the epoch."""

    def on_train_step_end(self, run_context: RunContext) -> None:
        print("\r", params(run_context).cur_step_num, end="")

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        print()


class PrintsLater(Callback):
    def on_train_end(self, run_context: RunContext) -> None:
        self.me = self  # a reference cycle, which only the garbage collector frees

    def __exit__(self, *error: object) -> None:
        Late()


class Late:
    """An object that prints when it is collected."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        print("good bye")


OPENED: list[TextIO] = []  # closed by the test


class LeavesFile(Callback):
    def on_train_begin(self, run_context: RunContext) -> None:
        self.file = open("log.txt", "w", encoding="utf-8")  # noqa: SIM115
        OPENED.append(self.file)

    def on_train_end(self, run_context: RunContext) -> None:
        self.file.close()


class ChangesFolder(Callback):
    def on_eval_end(self, run_context: RunContext) -> None:
        with contextlib.suppress(FileExistsError):
            os.mkdir("elsewhere")
        os.chdir("elsewhere")


def write_file(step: int) -> None:
    open(f"{step}.txt", "w", encoding="utf-8").close()


def needs_all_epochs(_: object, run_context: RunContext) -> None:
    if params(run_context).cur_epoch_num != params(run_context).epoch_num:
        fail("epochs are missing")


def count_down(_: object, run_context: RunContext) -> None:
    params(run_context).cur_epoch_num -= 1


def cancel_stop(_: object, run_context: RunContext) -> None:
    run_context._stop_requested = False


def set_variable(*_: object) -> None:
    os.environ["MINISPORE_TEST"] = "1"


def draw_numpys(*_: object) -> None:
    np.random.standard_normal()  # noqa: NPY002


class Averaging(WeightAveraging):
    """Averages of the weights, with the mistakes of its subclasses."""

    def __init__(self) -> None:
        super().__init__(0.5)


class StaysAfterEvaluation(Averaging):
    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        self._weights = []


class StaysAfterError(Averaging):
    def on_exception(self, run_context: RunContext, error: BaseException) -> None:
        self._weights = []


class StaysAfterStop(Averaging):
    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        if not run_context.get_stop_requested():
            super().on_eval_epoch_end(run_context)


class RestoresTheWrongWeights(Averaging):
    def on_eval_begin(self, run_context: RunContext) -> None:
        super().on_eval_begin(run_context)
        self._weights = [(parameter, value * 1.5) for parameter, value in self._weights]


class TrainsTheAverages(Averaging):
    def on_train_step_end(self, run_context: RunContext) -> None:
        super().on_train_step_end(run_context)
        self.on_train_end(run_context)


class IsNotReset(Averaging):
    def on_train_begin(self, run_context: RunContext) -> None: ...


class LosesItsAverages(Averaging):
    def load_state_dict(self, state: Mapping[str, object]) -> None: ...


# Each with the invariant that it violates and a part of the message.
BAD_AVERAGING: list[tuple[type[Averaging], str, str]] = [
    (StaysAfterEvaluation, "parameters", "At the end of the evaluation '0.weight' was not that"),
    (StaysAfterError, "parameters", "At the end of the evaluation '0.weight' was not that of"),
    (StaysAfterStop, "parameters", "At the end of the evaluation '0.weight' was not that"),
    (RestoresTheWrongWeights, "parameters", "At the end of the evaluation '0.weight' was not"),
    (TrainsTheAverages, "parameters", "on_train_step_end changed the parameter '0.weight'."),
    (IsNotReset, "reuse", "The result of an evaluation was "),
    (LosesItsAverages, "resume", "The result of an evaluation was "),
]


class Borrows(Callback):
    """It trains other weights, and restores those of before."""

    restores = True

    def on_train_begin(self, run_context: RunContext) -> None:
        parameters = list(params(run_context).train_network.get_parameters())
        self.saved = [(parameter, parameter.copy()) for parameter in parameters]
        halve(run_context)

    def __exit__(self, *error: object) -> None:
        for parameter, value in self.saved if self.restores else ():
            parameter.set_data(value)


class Keeps(Borrows):
    restores = False


def overwrite(run_context: RunContext, column: int, name: str = "train_dataset_element") -> None:
    """Set a column of the batch to zero."""
    batch = params(run_context)[name]
    assert isinstance(batch, list)
    batch[column][...] = batch[column] * 0


def replace_column(_: object, run_context: RunContext) -> None:
    batch = params(run_context)["train_dataset_element"]
    assert isinstance(batch, list)
    batch[0] = batch[0] * 2


def change_data(_: object, run_context: RunContext) -> None:
    """Set the rows of the dataset to zero, in place."""
    remaining: list[object] = [params(run_context).train_dataset]
    while remaining:
        value = remaining.pop()
        if is_ndarray(value) and value.dtype == np.float32:
            value.setflags(write=True)
            value[...] = 0
        remaining += (
            value if isinstance(value, list | tuple) else getattr(value, "__dict__", {}).values()
        )


class SharesAList(Callback):
    """All objects of the class append to one list."""

    losses: ClassVar[list[int]] = []

    def on_train_step_end(self, run_context: RunContext) -> None:
        self.losses.append(1)


class CountsInItsClass(Callback):
    steps = 0

    def on_train_step_end(self, run_context: RunContext) -> None:
        type(self).steps += 1


class SharesADefault(Callback):
    """All objects append to the list that is the default of an argument."""

    def __init__(self, losses: list[int] = []) -> None:  # noqa: B006 (its mistake)
        self.losses = losses

    def on_eval_step_end(self, run_context: RunContext) -> None:
        self.losses.append(1)


class Totals:
    steps = 0


class SharesAnObject(Callback):
    totals = Totals()

    def on_eval_end(self, run_context: RunContext) -> None:
        self.totals.steps += 1


# Callbacks that change what belongs to all, each with the invariant and a part of the message.
TOUCHES: dict[str, tuple[type[Callback], str, str]] = {
    "inputs": (
        hooks(on_train_step_begin=lambda _, c: overwrite(c, 0)),
        "bookkeeping",
        "on_train_step_begin changed the run's parameter 'train_dataset_element'.",
    ),
    "labels": (
        hooks(on_train_step_end=lambda _, c: overwrite(c, 1)),
        "bookkeeping",
        "on_train_step_end changed the run's parameter 'train_dataset_element'.",
    ),
    "evaluated inputs": (
        hooks(on_eval_step_begin=lambda _, c: overwrite(c, 0, "eval_dataset_element")),
        "bookkeeping",
        "on_eval_step_begin changed the run's parameter 'eval_dataset_element'.",
    ),
    "another column": (
        hooks(on_train_step_begin=replace_column),
        "bookkeeping",
        "on_train_step_begin changed the run's parameter 'train_dataset_element'.",
    ),
    "rows of the dataset": (
        hooks(on_train_epoch_end=change_data), "bookkeeping", "on_train_epoch_end changed 'train_da"
    ),
    "class attribute": (SharesAList, "leaks", "the class attribute SharesAList.losses was changed"),
    "class counter": (
        CountsInItsClass, "leaks", "the class attribute CountsInItsClass.steps was changed"
    ),
    "default argument": (
        SharesADefault, "leaks", "a default argument of SharesADefault.__init__ was changed"
    ),
    "shared object": (
        SharesAnObject, "leaks", "the class attribute SharesAnObject.totals was changed"
    ),
    "numpy's errors": (
        hooks(on_eval_end=lambda *_: np.seterr(all="ignore")),
        "leaks",
        "After the run, numpy's handling of errors was changed",
    ),
    "numpy's printing": (
        hooks(on_train_end=lambda *_: np.set_printoptions(precision=2)),
        "leaks",
        "After the run, numpy's format of arrays was changed",
    ),
    "warnings": (
        hooks(on_eval_begin=lambda *_: warnings.simplefilter("ignore")),
        "leaks",
        "After the run, the list of warning filters was changed",
    ),
}  # fmt: skip


# For each invariant, callbacks that violate it with parts of the messages.
VIOLATIONS: dict[str, list[tuple[Callable[[], Callback], str]]] = {
    "errors": [
        (
            hooks(on_train_epoch_end=lambda _, c: params(c).metrics["accuracy"]),
            "It raised AttributeError: The callback parameters hold no",
        ),
        (hooks(on_train_end=needs_all_epochs), "RuntimeError: epochs are missing. Raised by"),
    ],
    "exceptions": [
        (
            hooks(__exit__=lambda *_: True),
            "The InjectedError did not reach the caller: an __exit__ returned",
        ),
        (
            hooks(__exit__=lambda _, *error: error[0] is KeyboardInterrupt),
            "The KeyboardInterrupt did not reach the caller",
        ),
        (FailsItself, "Instead of the InjectedError the caller received AttributeError:"),
    ],
    "bookkeeping": [
        (
            hooks(on_train_epoch_begin=count_down),
            "on_train_epoch_begin changed the run's parameter 'cur_epoch_num'",
        ),
        (hooks(on_train_step_end=cancel_stop), "on_train_step_end cancelled a requested stop."),
    ],
    "events": [
        (
            hooks(on_train_step_end=cancel_stop),
            (
                "The event after on_train_step_end in epoch 1, step 1 was on_train_step_begin in "
                "epoch 1, step 2; without the callback it is on_train_epoch_end in epoch 1"
            ),
        ),
        (GivesUp, "There was an on_train_epoch_begin without its on_train_epoch_end."),
    ],
    "parameters": [
        (
            hooks(on_train_epoch_end=lambda _, c: halve(c)),
            "on_train_epoch_end changed the parameter '0.weight'.",
        ),
        (
            hooks(on_train_epoch_end=lambda _, c: halve(c, optimizers=True)),
            "on_train_epoch_end changed the parameter 'moments.0.weight'.",
        ),
    ],
    "random": [
        (
            hooks(on_train_begin=lambda *_: generator("dropout").random()),
            "on_train_begin drew from minispore's random streams.",
        ),
        (hooks(on_eval_begin=draw_numpys), "on_eval_begin drew from numpy's global random numbers"),
        (
            hooks(on_train_step_begin=lambda *_: random.random()),
            "on_train_step_begin drew from the random numbers of 'random'.",
        ),
    ],
    "reuse": [
        (again(lambda c: fail("not twice")), "It raised RuntimeError: not twice."),
        (again(lambda c: set_rate(c, 0.001)), "The learning rates were different."),
        (again(halve), "At the end the parameter '0.weight' was different."),
        (StopsOnce, "There were 6 events, in the first run 12."),
        (PrintsWords, "It printed 'line another\\n' at on_eval_end in step 2; in the"),
        (CountsRunsSilently, "At the end its attribute 'runs' was 2; in the first run it is 1."),
        (CountsRuns, "It printed 'run 2\\n' at on_eval_begin; in the first"),
    ],
    "resume": [
        (
            counting(lambda c, step: print(f"{step} steps")),
            "It printed '1 steps\\n' at on_train_step_end in epoch 1, st",
        ),
        (RemembersFirstStep, "At the end its attribute 'first' was missing; in the uninterr"),
        (SumsLosses, "At the end its attribute '_total' was 9"),
        (Forgets, "The next event was on_train_step_begin in epoch 4, step 8; in the"),
        (Forgets, "it is on_train_epoch_end in epoch 4, step 7. It has no state_dict and"),
        (ForgetsAnEntry, "The next event was on_train_step_begin in epoch 4, step 8; in the"),
        (counting(lambda c, step: set_rate(c, 0.1 / step)), "A learning rate was [0.1"),
        (
            counting(lambda c, step: halve(c) if step == 3 else None),
            "At the end the parameter '0.weight' was different.",
        ),
        (counting(lambda c, step: write_file(step)), "At the end there were the files ("),
        (CannotLoad, "It raised RuntimeError: unknown state."),
        (SkipsResumedRun, "The run did not continue."),
        (hooks(state_dict=lambda _: {"x": 1}), "It has state_dict without load_state_dict."),
        (SavesItself, "The training state cannot be saved: "),
    ],
    "output": [
        (LeavesLine, "The run left the line ' 1' unfinished."),
        (PrintsLater, "After the end of the run it printed 'good bye\\n'."),
    ],
    "leaks": [
        (LeavesFile, "/log.txt' is still open."),
        (ChangesFolder, "After the run, the current folder is '"),
        (hooks(on_eval_end=set_variable), "the environment variable MINISPORE_TEST was changed"),
    ],
}
BAD = [(name, *case) for name, cases in VIOLATIONS.items() for case in cases]
