"""The manager: who is called, in which order, and who is left."""

from collections.abc import Callable
from typing import Self, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.train import Callback, RunContext
from minispore.train._protocol.callback import EVENTS
from minispore.train._protocol.manager import CallbackManager, Event, refuse_older_names
from minispore.train.callback import LossMonitor, _CallbackManager, _InternalCallbackParam

CONTEXT = RunContext({})


class Recorder(Callback):
    def __init__(self, log: list[str], name: str) -> None:
        self.log = log
        self.name = name

    def __enter__(self) -> Self:
        self.log.append(f"enter {self.name}")
        return self

    def __exit__(self, *exc: object) -> bool | None:
        self.log.append(f"exit {self.name}")
        return None


class Stubborn(Recorder):
    def __enter__(self) -> Self:
        raise OSError("no room")


class Swallowing(Recorder):
    def __exit__(self, *exc: object) -> bool | None:
        super().__exit__(*exc)
        return True


def test_what_nobody_overrides_is_an_empty_loop() -> None:
    manager = CallbackManager([Callback() for _ in range(20)])
    assert set(manager._hooks.values()) == {()}


@pytest.mark.parametrize("event", list(EVENTS))
def test_each_event_reaches_its_own_hook_and_its_older_name(event: str) -> None:
    def called(name: str) -> list[str]:
        log: list[str] = []

        def hook(self: Callback, run_context: RunContext) -> None:
            assert run_context is CONTEXT
            log.append(name)

        callback = cast("type[Callback]", type("Own", (Callback,), {name: hook}))()
        CallbackManager(callback).emit(cast("Event", getattr(Callback, event)), CONTEXT)
        return log

    assert called(event) == [event]
    assert called(EVENTS[event]) == [EVENTS[event]]
    others = set(EVENTS) - {event}
    assert all(called(other) == [] for other in others)


def test_the_newer_name_wins_and_may_call_the_older_one() -> None:
    class Both(Callback):
        def __init__(self) -> None:
            self.log: list[str] = []

        def on_train_begin(self, run_context: RunContext) -> None:
            self.log.append("on_train_begin")

        def begin(self, run_context: RunContext) -> None:
            self.log.append("begin")

        def on_train_end(self, run_context: RunContext) -> None:
            super().on_train_end(run_context)

        def end(self, run_context: RunContext) -> None:
            self.log.append("end")

    both = Both()
    manager = CallbackManager(both)
    manager.on_train_begin(CONTEXT)
    manager.on_train_end(CONTEXT)
    assert both.log == ["on_train_begin", "end"]


@pytest.mark.parametrize("event", [name for name in EVENTS if name.startswith("on_train")])
@pytest.mark.parametrize("newer", [True, False])
@pytest.mark.parametrize("older", [True, False])
def test_a_loop_may_call_either_name(event: str, newer: bool, older: bool) -> None:
    log: list[str] = []

    def hook(name: str) -> Callable[[Callback, RunContext], None]:
        def called(self: Callback, run_context: RunContext) -> None:
            log.append(name)
            cast("Event", getattr(Callback, name))(self, run_context)  # as super() does

        return called

    names = [event] * newer + [EVENTS[event]] * older
    callback: object = type("Own", (Callback,), {name: hook(name) for name in names})()
    getattr(callback, event)(CONTEXT)
    assert log == names
    log.clear()
    getattr(callback, EVENTS[event])(CONTEXT)
    assert log == names[::-1][:1]


def test_an_older_hook_of_a_subclass_wins_over_its_parents_newer_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Announced(LossMonitor):
        def step_end(self, run_context: RunContext) -> None:
            print("a step has ended")
            super().step_end(run_context)

    context = RunContext({"cur_step_num": 1, "batch_num": 1, "net_outputs": 0.5})
    lines = "a step has ended\nepoch: 1 step: 1, loss is 0.5\n"
    CallbackManager(Announced()).emit(Callback.on_train_step_end, context)
    assert capsys.readouterr().out == lines
    Announced().step_end(context)
    assert capsys.readouterr().out == lines


def _overriding(names: list[str], parent: type[Callback]) -> type[Callback]:
    """A class that overrides `names`, each calling super() as well."""
    made: list[type[Callback]] = []

    def hook(name: str) -> Callable[[Callback, RunContext], None]:
        def called(self: Callback, run_context: RunContext) -> None:
            run_context.original_args().setdefault("calls", [])
            cast("list[str]", run_context.original_args()["calls"]).append(name)
            getattr(super(made[0], self), name)(run_context)

        return called

    made.append(type("Own", (parent,), {name: hook(name) for name in names}))
    return made[0]


@given(
    st.lists(st.lists(st.sampled_from(["on_train_end", "end"]), unique=True), max_size=4),
    st.sampled_from(["on_train_end", "end"]),
)
def test_however_the_names_are_overridden_no_call_goes_round(
    classes: list[list[str]], called: str
) -> None:
    cls: type[Callback] = Callback
    for names in classes:
        cls = _overriding(names, cls)
    context = RunContext({})
    getattr(cls(), called)(context)
    calls = cast("list[str]", context.original_args().get("calls", []))
    defined = [name for names in classes for name in names]
    assert calls.count("end") <= defined.count("end")
    assert calls.count("on_train_end") <= defined.count("on_train_end")
    assert bool(calls) == bool(defined)


def test_a_hook_set_on_the_instance_is_called() -> None:
    class Older(Callback):
        def begin(self, run_context: RunContext) -> None:
            pytest.fail("the instance is nearer")

    for callback in (Callback(), Older()):
        log: list[RunContext] = []
        hook: Callable[[RunContext], None] = log.append
        callback.on_train_begin = hook  # type: ignore[method-assign, assignment]
        CallbackManager(callback).emit(Callback.on_train_begin, CONTEXT)
        assert log == [CONTEXT]


def test_a_loop_written_for_mindspore_drives_it() -> None:
    params = _InternalCallbackParam(batch_num=2, cur_epoch_num=1, cur_step_num=1, net_outputs=0.5)
    context = RunContext(params)
    log: list[str] = []
    with _CallbackManager([Recorder(log, "a"), LossMonitor()]) as callbacks:
        callbacks.begin(context)
        callbacks.step_end(context)
        callbacks.on_train_end(context)
    assert log == ["enter a", "exit a"]


def test_older_names_of_the_manager_mean_training(capsys: pytest.CaptureFixture[str]) -> None:
    context = RunContext({"cur_step_num": 1, "batch_num": 1, "net_outputs": 0.5})
    CallbackManager(LossMonitor()).step_end(context)
    assert capsys.readouterr().out == "epoch: 1 step: 1, loss is 0.5\n"


def test_a_manager_is_a_callback() -> None:
    log: list[str] = []

    class Begin(Recorder):
        def on_train_begin(self, run_context: RunContext) -> None:
            self.log.append(f"begin {self.name}")

    inner = CallbackManager([Begin(log, "a"), Begin(log, "b")])
    manager = CallbackManager([inner, Begin(log, "c")])
    manager.run(CONTEXT, lambda: CallbackManager([inner]).on_train_begin(CONTEXT))
    assert log[:3] == ["enter a", "enter b", "enter c"]
    assert log[3:] == ["begin a", "begin b", "exit c", "exit b", "exit a"]


def raising(error: Exception) -> Callable[[], None]:
    def body() -> None:
        raise error

    return body


def test_if_one_cannot_be_entered_those_before_it_are_left() -> None:
    log: list[str] = []
    manager = CallbackManager([Recorder(log, "a"), Stubborn(log, "b"), Recorder(log, "c")])
    with pytest.raises(OSError, match="no room"):
        manager.run(CONTEXT, lambda: pytest.fail("the run has begun"))
    assert log == ["enter a", "exit a"]


@pytest.mark.parametrize("name", ["__enter__", "__exit__", "on_train_begin"])
def test_a_stop_iteration_of_a_callback_is_not_turned_into_another(name: str) -> None:
    error = StopIteration("over")
    stopping = type("Stopping", (Callback,), {name: lambda *_: raising(error)()})()
    manager = CallbackManager(stopping)
    with pytest.raises(StopIteration) as raised:
        manager.run(CONTEXT, lambda: manager.on_train_begin(CONTEXT))
    assert raised.value is error


def test_a_manager_can_be_entered_again() -> None:
    log: list[str] = []
    manager = CallbackManager(Recorder(log, "a"))
    for _ in range(2):
        assert manager.run(CONTEXT, lambda: 7) == 7
    assert log == ["enter a", "exit a"] * 2


def test_an_exit_that_returns_true_ends_the_exception() -> None:
    log: list[str] = []
    CallbackManager([Recorder(log, "a"), Swallowing(log, "b")]).run(CONTEXT, raising(KeyError()))
    assert log == ["enter a", "enter b", "exit b", "exit a"]


def test_an_on_exception_that_fails_hides_nothing() -> None:
    told: list[BaseException] = []

    class Failing(Callback):
        def on_exception(self, run_context: RunContext, error: BaseException) -> None:
            raise OSError("disk full")

    class Told(Callback):
        def on_exception(self, run_context: RunContext, error: BaseException) -> None:
            assert run_context is CONTEXT
            told.append(error)

    error = KeyError("first")
    with pytest.raises(KeyError) as raised:
        CallbackManager([Failing(), Told()]).run(CONTEXT, raising(error))
    assert raised.value is error
    assert told == [error]
    assert error.__notes__ == ["Failing.on_exception itself raised OSError('disk full')."]


@pytest.mark.parametrize(
    "wrong", [object(), [object()], Callback, [Callback], "x", [None], {"a": Callback()}, 5]
)
def test_what_is_no_callback_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError, match="must be a Callback or a list of Callback"):
        CallbackManager(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("right", [None, [], (), Callback(), [Callback()], {Callback()}])
def test_what_is_a_callback_is_taken(right: list[Callback]) -> None:
    assert len(CallbackManager(right).callbacks) <= 1


def test_older_names_are_refused_with_all_of_them_named() -> None:
    class Old(Callback):
        def step_end(self, run_context: RunContext) -> None: ...

        def begin(self, run_context: RunContext) -> None: ...

    refuse_older_names(CallbackManager(CallbackManager([Callback(), LossMonitor()])).callbacks)
    with pytest.raises(ValueError, match="Old defines begin, step_end"):
        refuse_older_names([Callback(), Old()])
