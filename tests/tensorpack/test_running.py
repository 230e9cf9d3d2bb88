"""Functions, threads and processes beside a training."""

import signal
import threading
import time
from multiprocessing import get_context

import pytest

from minispore.tensorpack import (
    Callback,
    RunOp,
    RunUpdateOps,
    StartProcOrThread,
    StopTraining,
    running,
)
from minispore.train import Model

from ..train.standins import Batches, ConstantLoss


def run(*callbacks: Callback, epochs: int = 2) -> None:
    Model(ConstantLoss()).train(epochs, Batches(3), list(callbacks))


def test_run_op() -> None:
    calls: list[str] = []
    run(RunOp(lambda: calls.append("x")), RunOp(lambda: calls.append("s"), False, False, True))
    assert "".join(calls) == "xsssxsssx"
    run(RunUpdateOps(), RunUpdateOps(lambda: calls.append("u")), epochs=1)
    assert "".join(calls).endswith("uuu")
    with pytest.raises(TypeError, match="RunOp"):
        RunOp("op")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_verbose_function_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "minispore.tensorpack")

    def tidy() -> None:
        pass

    run(RunOp(tidy, verbose=True), epochs=1)
    assert caplog.messages == ["Running tidy ..."] * 2


def test_a_thread_that_does_not_end_is_told_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(running, "_JOIN_SECONDS", 0.01)
    end = threading.Event()
    thread = threading.Thread(target=end.wait, name="busy")
    run(StartProcOrThread(thread))
    end.set()
    thread.join()
    (message,) = caplog.messages
    assert "busy" in message
    assert "has not ended within 0.01 seconds" in message


@pytest.mark.parametrize("error", [None, StopTraining, KeyboardInterrupt])
def test_threads_end_with_the_training(error: type[BaseException] | None) -> None:
    stop = threading.Event()

    class Work(threading.Thread):
        def run(self) -> None:
            stop.wait()

        def stop(self) -> None:
            stop.set()

    class Fail(Callback):
        def _trigger_step(self) -> None:
            assert work.is_alive()
            if error is not None:
                raise error

    work = Work()
    if error is KeyboardInterrupt:
        with pytest.raises(KeyboardInterrupt):
            run(StartProcOrThread(work), Fail())
    else:
        run(StartProcOrThread(work), Fail())
    assert not work.is_alive()


def test_processes_end_with_the_training() -> None:
    process = get_context("spawn").Process(target=time.sleep, args=[60])
    run(StartProcOrThread([process]))
    assert process.exitcode == -signal.SIGTERM
    with pytest.raises(TypeError, match="StartProcOrThread.*startable"):
        StartProcOrThread(print)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
