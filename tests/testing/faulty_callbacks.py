"""Callbacks that violate one invariant of `check_callback` each, with the expected messages."""

import contextlib
import io
import logging
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Self, TextIO

import numpy as np

from minispore import Parameter, Tensor
from minispore.common.seed import generator
from minispore.train import Callback, RunContext


class NeedsEvaluation(Callback):
    """It assumes that each epoch ends with an evaluation."""

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        print(run_context.original_args().metrics["accuracy"])


class FailsWhenStopped(Callback):
    """It assumes that a training is never stopped."""

    def on_train_begin(self, run_context: RunContext) -> None:
        self.done = False

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        self.done = (
            run_context.original_args().cur_epoch_num == run_context.original_args().epoch_num
        )

    def on_train_end(self, run_context: RunContext) -> None:
        if not self.done:
            raise RuntimeError("epochs are missing")


class Swallows(Callback):
    def __exit__(self, *error: object) -> bool:
        return True


class SwallowsInterrupts(Callback):
    def __exit__(self, *error: object) -> bool:
        return error[0] is KeyboardInterrupt


class FailsItself(Callback):
    """It closes a file that it opens only in the first step."""

    def on_train_step_begin(self, run_context: RunContext) -> None:
        self.file = 1

    def on_eval_begin(self, run_context: RunContext) -> None:
        self.file = 1

    def __exit__(self, *error: object) -> None:
        del self.file


class CountsDown(Callback):
    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        run_context.original_args().cur_epoch_num -= 1


class CancelsStop(Callback):
    def on_train_step_end(self, run_context: RunContext) -> None:
        run_context._stop_requested = False


class Decays(Callback):
    def on_train_epoch_end(self, run_context: RunContext) -> None:
        for parameter in run_context.original_args().network.trainable_params():
            parameter.set_data(parameter * 0.5)


class ResetsMomentum(Callback):
    def on_train_epoch_end(self, run_context: RunContext) -> None:
        optimizer = run_context.original_args().optimizer
        assert optimizer is not None
        for parameter in optimizer.get_parameters():
            if parameter.name.startswith("moments"):
                parameter.set_data(Tensor(np.zeros(parameter.shape, np.float32)))


class DrawsOurs(Callback):
    def on_train_begin(self, run_context: RunContext) -> None:
        generator("dropout").random()


class DrawsNumpys(Callback):
    def on_eval_begin(self, run_context: RunContext) -> None:
        np.random.standard_normal()  # noqa: NPY002


class DrawsPythons(Callback):
    def on_train_step_begin(self, run_context: RunContext) -> None:
        random.random()


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


class PrintsNumbers(Callback):
    """It counts its lines over all runs."""

    def __init__(self) -> None:
        self.lines = 0

    def on_eval_end(self, run_context: RunContext) -> None:
        self.lines += 1
        print("line", "one" if self.lines == 1 else "another")


class CountsRuns(Callback):
    """It prints the number of its run, which differs in the second one."""

    runs = 0

    def on_eval_begin(self, run_context: RunContext) -> None:
        self.runs += 1
        print(f"run {self.runs}")


class Used(Callback):
    """It counts its trainings."""

    trainings = 0

    def on_train_begin(self, run_context: RunContext) -> None:
        self.trainings += 1
        if self.trainings > 1:
            self.again(run_context)

    def again(self, run_context: RunContext) -> None: ...


class FailsAgain(Used):
    def again(self, run_context: RunContext) -> None:
        raise RuntimeError("not twice")


class SlowsDownAgain(Used):
    def again(self, run_context: RunContext) -> None:
        set_rate(run_context, 0.001)


class DecaysAgain(Used):
    def again(self, run_context: RunContext) -> None:
        Decays().on_train_epoch_end(run_context)


def set_rate(run_context: RunContext, rate: float) -> None:
    optimizer = run_context.original_args().optimizer
    assert optimizer is not None
    assert isinstance(optimizer.learning_rate, Parameter)
    optimizer.learning_rate.set_data(Tensor(rate))


class GivesUp(Callback):
    """It raises an exception, and suppresses it."""

    def on_train_step_end(self, run_context: RunContext) -> None:
        raise RuntimeError

    def __exit__(self, *error: object) -> bool:
        return error[0] is RuntimeError


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


class SavesNothing(Callback):
    """It has an empty state, but counts its steps."""

    def on_train_begin(self, run_context: RunContext) -> None:
        self._steps = 0

    def on_train_step_end(self, run_context: RunContext) -> None:
        self._steps += 1
        self.step(run_context)

    def step(self, run_context: RunContext) -> None: ...

    def state_dict(self) -> dict[str, object]:
        return {}

    def load_state_dict(self, state: Mapping[str, object]) -> None: ...


class ForgetsItsRate(SavesNothing):
    def step(self, run_context: RunContext) -> None:
        set_rate(run_context, 0.1 / self._steps)


class ForgetsWhatItChanged(SavesNothing):
    def step(self, run_context: RunContext) -> None:
        if self._steps == 3:
            Decays().on_train_epoch_end(run_context)


class ForgetsItsFiles(SavesNothing):
    def step(self, run_context: RunContext) -> None:
        open(f"{self._steps}.txt", "w", encoding="utf-8").close()


class CountsFromResume(SavesNothing):
    """It prints a number that begins again in a resumed run."""

    def step(self, run_context: RunContext) -> None:
        print(f"{self._steps} steps")


class RemembersFirstStep(Callback):
    """It has an attribute that is not set in a resumed run."""

    def on_train_step_end(self, run_context: RunContext) -> None:
        if run_context.original_args().cur_step_num == 1:
            self.first = 1.5


class SumsLosses(Callback):
    """It sums in an attribute that is no part of its state."""

    def on_train_begin(self, run_context: RunContext) -> None:
        self.total = 0.0

    def on_train_step_end(self, run_context: RunContext) -> None:
        self.total += 1e-12


class CannotLoad(SavesNothing):
    def load_state_dict(self, state: Mapping[str, object]) -> None:
        raise RuntimeError("unknown state")


class SkipsResumedRun(GivesUp):
    """It does so when a training is resumed."""

    def on_train_begin(self, run_context: RunContext) -> None:
        if run_context.get_resume_requested() is not None:
            raise RuntimeError

    def on_train_step_end(self, run_context: RunContext) -> None: ...


class OnlySaves(Callback):
    def state_dict(self) -> dict[str, object]:
        return {"x": 1}


class SavesItself(Callback):
    def state_dict(self) -> dict[str, object]:
        return {"self": self}

    def load_state_dict(self, state: Mapping[str, object]) -> None: ...


class LeavesLine(Callback):
    """It ends its line only at the end of the epoch."""

    def on_train_step_end(self, run_context: RunContext) -> None:
        print("\r", run_context.original_args().cur_step_num, end="")

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


class LeavesTemporaryFile(Callback):
    def on_train_step_end(self, run_context: RunContext) -> None:
        open("net.ckpt.tmp", "w", encoding="utf-8").close()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        os.replace("net.ckpt.tmp", "net.ckpt")


class LeavesThread(Callback):
    def __enter__(self) -> Self:
        threading.Thread(target=time.sleep, args=(1.3,), name="heart", daemon=True).start()
        return self


class LeavesHandler(Callback):
    def on_train_begin(self, run_context: RunContext) -> None:
        self.before = signal.signal(signal.SIGTERM, lambda *_: None)

    def on_train_end(self, run_context: RunContext) -> None:
        signal.signal(signal.SIGTERM, self.before)


class LeavesLogHandler(Callback):
    def __enter__(self) -> Self:
        logging.getLogger().addHandler(logging.NullHandler())
        return self


class LeavesStream(Callback):
    def __enter__(self) -> Self:
        sys.stdout = io.StringIO()
        return self


class LeavesFolder(Callback):
    def on_eval_end(self, run_context: RunContext) -> None:
        with contextlib.suppress(FileExistsError):
            os.mkdir("elsewhere")
        os.chdir("elsewhere")


class LeavesVariable(Callback):
    def on_eval_end(self, run_context: RunContext) -> None:
        os.environ["MINISPORE_TEST"] = "1"


# The callback, the invariant that it violates, and a part of the message.
BAD: list[tuple[Callable[[], Callback], str, str]] = [
    (NeedsEvaluation, "errors", "It raised AttributeError: The callback parameters hold no"),
    (FailsWhenStopped, "errors", "It raised RuntimeError: epochs are missing. Raised by"),
    (Swallows, "exceptions", "The InjectedError did not reach the caller: an __exit__ returned"),
    (SwallowsInterrupts, "exceptions", "The KeyboardInterrupt did not reach the caller"),
    (FailsItself, "exceptions", "Instead of the InjectedError the caller received AttributeError:"),
    (CountsDown, "bookkeeping", "on_train_epoch_begin changed the run's parameter 'cur_epoch_num'"),
    (CancelsStop, "bookkeeping", "on_train_step_end cancelled a requested stop."),
    (CancelsStop, "events", "The event after on_train_step_end in epoch 1, step 1 was on_tra"),
    (CancelsStop, "events", "; without the callback it is on_train_epoch_end in epoch 1"),
    (Decays, "parameters", "on_train_epoch_end changed the parameter '0.weight'."),
    (ResetsMomentum, "parameters", "on_train_epoch_end changed the parameter 'moments.0.weight'."),
    (DrawsOurs, "random", "on_train_begin drew from minispore's random streams."),
    (DrawsNumpys, "random", "on_eval_begin drew from numpy's global random numbers."),
    (DrawsPythons, "random", "on_train_step_begin drew from the random numbers of 'random'."),
    (GivesUp, "events", "There was an on_train_epoch_begin without its on_train_epoch_end."),
    (FailsAgain, "reuse", "It raised RuntimeError: not twice."),
    (SlowsDownAgain, "reuse", "The learning rates were different."),
    (DecaysAgain, "reuse", "At the end the parameter '0.weight' was different."),
    (StopsOnce, "reuse", "There were 6 events, in the first run 12."),
    (PrintsNumbers, "reuse", "It printed 'line another\\n' at on_eval_end in step 2; in the"),
    (CountsRuns, "reuse", "It printed 'run 2\\n' at on_eval_begin; in the first"),
    (CountsFromResume, "resume", "It printed '1 steps\\n' at on_train_step_end in epoch 1, st"),
    (RemembersFirstStep, "resume", "At the end its attribute 'first' was missing; in the uninterr"),
    (SumsLosses, "resume", "At the end its attribute 'total' was 9"),
    (Forgets, "resume", "The next event was on_train_step_begin in epoch 4, step 8; in the"),
    (Forgets, "resume", "it is on_train_epoch_end in epoch 4, step 7. It has no state_dict and"),
    (ForgetsAnEntry, "resume", "The next event was on_train_step_begin in epoch 4, step 8; in the"),
    (ForgetsItsRate, "resume", "A learning rate was [0.1"),
    (ForgetsWhatItChanged, "resume", "At the end the parameter '0.weight' was different."),
    (ForgetsItsFiles, "resume", "At the end there were the files ("),
    (CannotLoad, "resume", "It raised RuntimeError: unknown state."),
    (SkipsResumedRun, "resume", "The run did not continue."),
    (OnlySaves, "resume", "It has state_dict without load_state_dict."),
    (SavesItself, "resume", "The training state cannot be saved: "),
    (LeavesLine, "output", "The run left the line ' 1' unfinished."),
    (PrintsLater, "output", "After the end of the run it printed 'good bye\\n'."),
    (LeavesFile, "leaks", "/log.txt' is still open."),
    (LeavesTemporaryFile, "leaks", "After the run, there is the temporary file 'net.ckpt.tmp'."),
    (LeavesThread, "leaks", "After the run, the thread 'heart' still runs."),
    (LeavesHandler, "leaks", "After the run, the handler of the signal 15 (Terminated) was"),
    (LeavesLogHandler, "leaks", "the root logger has an additional handler, <NullHandler (NOTSET)"),
    (LeavesStream, "leaks", "After the run, sys.stdout was changed."),
    (LeavesFolder, "leaks", "After the run, the current folder is '"),
    (LeavesVariable, "leaks", "After the run, the environment variable MINISPORE_TEST was changed"),
]  # fmt: skip
