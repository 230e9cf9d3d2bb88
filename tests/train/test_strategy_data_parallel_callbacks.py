"""Callback managers of data-parallel processes, simulated by threads."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Event as Flag
from time import sleep
from typing import cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import Callback, RunContext, data_parallel
from minispore.train import callback as cb
from minispore.train.model import current_strategy
from minispore.train.protocol.callback import EVENTS, CallbackManager
from minispore.train.protocol.dataset import SupportsState
from minispore.train.resume.compatibility import class_name
from tests.distributed.threaded_communicator import run_in_threads
from tests.helpers.stub_models import Batches, X, Y, make

Hook = Callable[[RunContext], None]


def context(**values: object) -> RunContext:
    data = Batches(3)
    params = {"mode": "train", "train_dataset": data, "valid_dataset": data}
    networks = {"train_network": nn.Cell(), "eval_network": nn.Cell()}
    return RunContext({**params, **networks, **values})


def managed(*callbacks: Callback, **values: object) -> tuple[CallbackManager, RunContext]:
    return current_strategy().make_callback_manager(callbacks), context(**values)


def event(name: str) -> Callable[[Callback, RunContext], None]:
    result: Callable[[Callback, RunContext], None] = getattr(Callback, name)
    return result


def at(name: str, hook: Hook, *, chief_only: bool = False) -> Callback:
    """Return a callback with one hook."""

    def call(self: Callback, run_context: RunContext) -> None:
        hook(run_context)

    created = type("At", (Callback,), {name: call, "chief_only": chief_only})
    callback: Callback = created()
    return callback


# The request of each process: 0 for none, 1 for a stop that can be resumed, 2 for a final stop.
NAMES = st.sampled_from([*EVENTS])
REQUESTS = st.lists(st.integers(0, 2), min_size=1, max_size=4)


@given(NAMES, REQUESTS)
@example("on_train_step_end", [1, 2, 0])
@example("on_train_epoch_end", [0, 1])
@example("on_eval_step_end", [0, 2])
@example("on_eval_end", [1, 0])
def test_stop_request_is_synchronized_where_loop_reads_it(name: str, requested: list[int]) -> None:
    """At the end of a step, an epoch, an evaluation step and an evaluation."""

    def program(rank: int) -> tuple[bool, bool]:
        def ask(run_context: RunContext) -> None:
            if requested[rank]:
                run_context.request_stop(finished=requested[rank] == 2)

        callbacks, run_context = managed(at(name, ask))
        callbacks.emit(event(name), run_context)
        return run_context.get_stop_requested(), run_context.is_interrupted()

    synchronized = name in (
        "on_train_step_end",
        "on_train_epoch_end",
        "on_eval_step_end",
        "on_eval_end",
    )
    agreed = [max(requested)] * len(requested) if synchronized else requested
    assert run_in_threads(len(requested), program) == [(stop > 0, stop == 1) for stop in agreed]


UNLIKE = (
    "In data parallel training all processes must have equally many batches, but those of the "
    "processes 0, 1, … are 4, 3, 4. A data set with 'num_shards' and 'shard_id' gives each as many."
)


@given(NAMES)
@example("on_train_begin")
@example("on_eval_begin")
def test_unequal_batch_counts_raise_in_all_processes(name: str) -> None:
    message: list[str] = []
    begun: list[int] = []

    def program(rank: int) -> None:
        mode, data = "eval" if name == "on_eval_begin" else "train", Batches((4, 3, 4)[rank])
        named = {"valid_dataset" if mode == "eval" else "train_dataset": data}
        callbacks, run_context = managed(at(name, lambda _: begun.append(rank)), mode=mode, **named)
        try:
            callbacks.emit(event(name), run_context)
        except ValueError as error:
            message.append(str(error))

    run_in_threads(3, program)
    if name in ("on_train_begin", "on_eval_begin"):
        assert message == [UNLIKE] * 3
        assert not begun
    else:
        assert (message, sorted(begun)) == ([], [0, 1, 2])


@given(NAMES, st.sampled_from([None, "here.ckpt"]))
@example("on_train_begin", "here.ckpt")
def test_resume_request_of_rank_0_is_broadcast(name: str, path: str | None) -> None:
    def program(rank: int) -> str | None:
        def ask(run_context: RunContext) -> None:
            if rank == 0 and path is not None:
                run_context.request_resume(path)

        callbacks, run_context = managed(at(name, ask))
        callbacks.emit(event(name), run_context)
        return run_context.get_resume_requested()

    everywhere = name == "on_train_begin"
    assert run_in_threads(3, program) == [path, *[path if everywhere else None] * 2]


def test_training_ends_after_barrier() -> None:
    ended = Flag()

    def program(rank: int) -> bool:
        callbacks, run_context = managed(at("on_train_end", lambda _: ended.set()))
        if rank == 1:
            sleep(0.03)
        before = ended.is_set()
        callbacks.emit(Callback.on_train_end, run_context)
        return before

    assert run_in_threads(2, program) == [False, False]


class Companion(Callback):
    """A callback that others share, which stores their names."""

    def __init__(self, of: Sequence[Callback]) -> None:
        self.of = [type(callback).__name__ for callback in of]


class Guide(Companion):
    """A shared callback with a state."""

    def state_dict(self) -> dict[str, object]:
        return {}

    def load_state_dict(self, state: Mapping[str, object]) -> None: ...


class Asks(Callback):
    """A callback that adds a shared callback of a given class."""

    kind: type[Companion]

    def configure_callbacks(self, callbacks: Sequence[Callback]) -> Sequence[Callback]:
        if any(type(callback) is self.kind for callback in callbacks):
            return ()
        return [self.kind([x for x in callbacks if isinstance(x, Asks) and x.kind is self.kind])]


class Remembers(Asks):
    def state_dict(self) -> dict[str, object]:
        return {"own": 3}

    def load_state_dict(self, state: Mapping[str, object]) -> None: ...


def asks(name: str, base: type[Asks], **values: object) -> type[Asks]:
    """Return a class as if it was defined in a script."""
    return cast("type[Asks]", type(name, (base,), {"__qualname__": f"script.{name}", **values}))


# The kind of the companion, whether only the first process calls it, whether it has a state.
KINDS = st.tuples(st.sampled_from([Companion, Guide]), st.booleans(), st.booleans())


@given(st.lists(KINDS, min_size=1, max_size=4), st.booleans(), st.integers(1, 3))
def test_chief_only_callbacks_have_placeholders(
    kinds: list[tuple[type[Companion], bool, bool]], in_a_manager: bool, count: int
) -> None:
    """Placeholders have the same positions and names; shared callbacks list the local ones."""
    asking = [
        asks(f"C{i}", Remembers if remembers else Asks, kind=kind, chief_only=chief)
        for i, (kind, chief, remembers) in enumerate(kinds)
    ]

    def program(rank: int) -> list[Callback]:
        local: list[Callback] = [cls() for cls in asking]
        callbacks = [*local[:1], CallbackManager(local[1:])] if in_a_manager else local
        listed = current_strategy().make_callback_manager(iter(callbacks)).callbacks
        called = [callback for callback in local if rank == 0 or not callback.chief_only]
        assert [callback for callback in listed if isinstance(callback, Asks)] == called
        return listed

    result = run_in_threads(count, program)
    assert [[message(callback) for callback in listed] for listed in result] == [
        [message(callback) for callback in result[0]]
    ] * count
    if in_a_manager:
        return
    for listed in result[1:]:
        for mine, its in zip(listed, result[0], strict=True):
            if isinstance(its, Companion):
                stay = [cls.__name__ for cls in asking if cls.kind is type(its)]
                stay = [name for name in stay if not kinds[int(name[1:])][1]]
                assert stay == (mine.of if isinstance(mine, Companion) else [])


def message(callback: Callback) -> tuple[str, bool]:
    """Return how a training state identifies a callback."""
    return class_name(callback), isinstance(callback, SupportsState)


# By a folder, callbacks that write to it.
WRITERS: dict[str, Callable[[Path], Callback]] = {
    "BestCheckpoint": lambda folder: cb.BestCheckpoint("loss", directory=str(folder)),
    "CSVLogger": lambda folder: cb.CSVLogger(folder / "log.csv"),
    "ModelCheckpoint": lambda folder: cb.ModelCheckpoint(directory=str(folder)),
    "SummaryCollector": lambda folder: cb.SummaryCollector(str(folder)),
}
PRINTERS: dict[str, Callable[[], Callback]] = {
    "FlopsUtilizationCollector": lambda: cb.FlopsUtilizationCollector(2, 1e9),
    "LossMonitor": cb.LossMonitor,
    "ProgressBar": cb.ProgressBar,
    "TimeMonitor": cb.TimeMonitor,
}


def train_in_threads(make_callback: Callable[[int], Callback], count: int) -> None:
    def program(rank: int) -> None:
        source = NumpySlicesDataset((X, Y), shuffle=False, num_shards=count, shard_id=rank)
        data = source.batch(2 // count)
        make({"accuracy"}).fit(1, data, data, callbacks=[make_callback(rank)])

    run_in_threads(count, program)


@pytest.mark.parametrize("name", WRITERS)
def test_only_the_first_process_writes_files(tmp_path: Path, name: str) -> None:
    for rank in "01":
        (tmp_path / rank).mkdir()
    train_in_threads(lambda rank: WRITERS[name](tmp_path / str(rank)), 2)
    assert [any((tmp_path / rank).iterdir()) for rank in "01"] == [True, False]


@pytest.mark.parametrize("name", PRINTERS)
def test_only_the_first_process_prints(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[int] = []
    for count in (1, 2):
        train_in_threads(lambda _: PRINTERS[name](), count)
        lines.append(capsys.readouterr().out.count("\n"))
    assert lines[0] == lines[1] > 0


@pytest.mark.parametrize("count", [1, 2])
def test_chief_only_hook_receives_same_context(count: int) -> None:
    def program(rank: int) -> list[object]:
        contexts: list[object] = []
        set_on_it = Callback()
        set_on_it.on_train_end = lambda run_context: contexts.append(run_context)  # type: ignore[method-assign]
        callbacks, run_context = managed(
            set_on_it, at("on_train_end", contexts.append, chief_only=True)
        )
        callbacks.emit(Callback.on_train_end, run_context)
        return [seen is run_context for seen in contexts]

    assert run_in_threads(count, program) == [[True, True], [True]][:count]


def test_error_is_reported_to_processes_and_callbacks(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[BaseException] = []
    monkeypatch.setattr(data_parallel, "abort_unless_all_failed", reported.append)
    errors = [ArithmeticError("division"), KeyboardInterrupt()]

    def program(rank: int) -> bool:
        class Recording(Callback):
            def on_exception(self, run_context: RunContext, error: BaseException) -> None:
                self.of = run_context, error

        def fail() -> None:
            raise errors[rank]

        callback = Recording()
        callbacks, run_context = managed(callback)
        with pytest.raises(type(errors[rank])) as raised:
            callbacks.run(run_context, fail)
        assert callbacks.run(run_context, lambda: rank) == rank
        return callback.of == (run_context, raised.value)

    assert run_in_threads(2, program) == [True, True]
    assert sorted(map(str, reported)) == sorted(map(str, errors))
