"""Callbacks of which each breaks one law of `check_callback`, with the words that must say so."""

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
    """It takes for granted that there is a step before the end of an epoch."""

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        print(run_context.original_args().metrics["accuracy"])


class FailsWhenStopped(Callback):
    """It takes for granted that a training comes to its end."""

    def on_train_begin(self, run_context: RunContext) -> None:
        self.done = False

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        self.done = (
            run_context.original_args().cur_epoch_num == run_context.original_args().epoch_num
        )

    def on_train_end(self, run_context: RunContext) -> None:
        if not self.done:
            raise RuntimeError("where are the other epochs")


class Swallows(Callback):
    def __exit__(self, *error: object) -> bool:
        return True


class SwallowsInterrupts(Callback):
    def __exit__(self, *error: object) -> bool:
        return error[0] is KeyboardInterrupt


class FailsItself(Callback):
    """It closes a file that it has opened only if the run came so far."""

    def on_train_step_begin(self, run_context: RunContext) -> None:
        self.file = 1

    def on_eval_begin(self, run_context: RunContext) -> None:
        self.file = 1

    def __exit__(self, *error: object) -> None:
        del self.file


class CountsDown(Callback):
    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        run_context.original_args().cur_epoch_num -= 1


class TakesBackStop(Callback):
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
    """Patience that is used up for ever."""

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
    """It numbers its lines over all runs."""

    def __init__(self) -> None:
        self.lines = 0

    def on_eval_end(self, run_context: RunContext) -> None:
        self.lines += 1
        print("line", "one" if self.lines == 1 else "another")


class Used(Callback):
    """It knows whether it has seen a training before."""

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
    """It fails, and says that nothing has happened."""

    def on_train_step_end(self, run_context: RunContext) -> None:
        raise RuntimeError

    def __exit__(self, *error: object) -> bool:
        return error[0] is RuntimeError


class Forgets(Callback):
    """Without a state."""

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
    """It says that there is nothing to remember, but counts its steps."""

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


class CannotLoad(SavesNothing):
    def load_state_dict(self, state: Mapping[str, object]) -> None:
        raise RuntimeError("what is that")


class GoesHome(GivesUp):
    """It does so where a training is to go on."""

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
    """A progress bar that is finished only where the training is."""

    def on_train_step_end(self, run_context: RunContext) -> None:
        print("\r", run_context.original_args().cur_step_num, end="")

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        print()


class TalksLater(Callback):
    def on_train_end(self, run_context: RunContext) -> None:
        self.me = self  # so that it is the garbage collector's

    def __exit__(self, *error: object) -> None:
        Late()


class Late:
    """What prints when it is collected."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        print("good bye")


OPENED: list[TextIO] = []  # for whoever tidies up


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


# The callback, the law that it breaks, and words of the report.
BAD: list[tuple[Callable[[], Callback], str, str]] = [
    (NeedsEvaluation, "errors", "It raised AttributeError: The callback parameters hold no"),
    (FailsWhenStopped, "errors", "It raised RuntimeError: where are the other epochs. Raised by"),
    (Swallows, "exceptions", "The PlannedError did not reach the caller: an __exit__ returned"),
    (SwallowsInterrupts, "exceptions", "The KeyboardInterrupt did not reach the caller"),
    (FailsItself, "exceptions", "Instead of the PlannedError the caller got AttributeError: "),
    (CountsDown, "bookkeeping", "on_train_epoch_begin changed the run's parameter 'cur_epoch_num'"),
    (TakesBackStop, "bookkeeping", "on_train_step_end took back a requested stop."),
    (TakesBackStop, "events", "After on_train_step_end in epoch 1, step 1 came on_train_step"),
    (TakesBackStop, "events", "; without the callback it is on_train_epoch_end in epoch 1"),
    (Decays, "parameters", "on_train_epoch_end changed the parameter '0.weight'."),
    (ResetsMomentum, "parameters", "on_train_epoch_end changed the parameter 'moments.0.weight'."),
    (DrawsOurs, "random", "on_train_begin drew from minispore's random streams."),
    (DrawsNumpys, "random", "on_eval_begin drew from numpy's global random numbers."),
    (DrawsPythons, "random", "on_train_step_begin drew from the random numbers of 'random'."),
    (GivesUp, "events", "There was an on_train_epoch_begin without its on_train_epoch_end."),
    (FailsAgain, "reuse", "It raised RuntimeError: not twice."),
    (SlowsDownAgain, "reuse", "The learning rates were others."),
    (DecaysAgain, "reuse", "At the end the parameter '0.weight' was another."),
    (StopsOnce, "reuse", "There were 6 events, in the first run 12."),
    (PrintsNumbers, "reuse", "It printed 'line another\\n' at on_eval_end in step 2; in the"),
    (Forgets, "resume", "There came on_train_step_begin in epoch 4, step 8; in the run"),
    (Forgets, "resume", "it is on_train_epoch_end in epoch 4, step 7. It has no state_dict and"),
    (ForgetsAnEntry, "resume", "There came on_train_step_begin in epoch 4, step 8; in the run"),
    (ForgetsItsRate, "resume", "A learning rate was [0.1"),
    (ForgetsWhatItChanged, "resume", "At the end the parameter '0.weight' was another."),
    (ForgetsItsFiles, "resume", "At the end there were the files ("),
    (CannotLoad, "resume", "It raised RuntimeError: what is that."),
    (GoesHome, "resume", "It did not go on."),
    (OnlySaves, "resume", "It has state_dict without load_state_dict."),
    (SavesItself, "resume", "The training state cannot be saved: "),
    (LeavesLine, "output", "The run left the line ' 1' unfinished."),
    (TalksLater, "output", "After the end of the run it printed 'good bye\\n'."),
    (LeavesFile, "leaks", "/log.txt' is still open."),
    (LeavesTemporaryFile, "leaks", "After the run, there is the temporary file 'net.ckpt.tmp'."),
    (LeavesThread, "leaks", "After the run, the thread 'heart' still runs."),
    (LeavesHandler, "leaks", "After the run, the handler of the signal 15 (Terminated) is"),
    (LeavesLogHandler, "leaks", "the root logger has a handler more, <NullHandler (NOTSET)>."),
    (LeavesStream, "leaks", "After the run, sys.stdout is another."),
    (LeavesFolder, "leaks", "After the run, the current folder is '"),
    (LeavesVariable, "leaks", "After the run, the environment variable MINISPORE_TEST is another."),
]  # fmt: skip
