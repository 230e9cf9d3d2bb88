"""Callback managers: which hooks are called, in which order, and which callbacks are exited."""

from collections.abc import Callable, Sequence
from typing import Self, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore.train import Callback, RunContext
from minispore.train.callback import LossMonitor
from minispore.train.protocol.callback import (
    EVENTS,
    CallbackManager,
    Event,
    make_callback_manager,
    manager_class,
    reject_legacy_hooks,
)
from tests.helpers.refusals import assert_refused

CONTEXT = RunContext({})


def test_event_without_hooks_is_empty() -> None:
    manager = CallbackManager([Callback() for _ in range(20)])
    assert set(manager._hooks.values()) == {()}


def test_event_calls_its_hook_and_legacy_hook() -> None:
    """The nearer one, or that of the present if a class defines both."""
    for event, legacy in EVENTS.items():
        for names in ([event], [legacy], [legacy, event]):
            log: list[str] = []
            callback = type("Own", (Callback,), {name: logging(name, log) for name in names})()
            manager = CallbackManager(callback)
            for other in EVENTS:
                if other == event or EVENTS[other] not in names:
                    manager.emit(cast("Event", getattr(Callback, other)), CONTEXT)
            assert log == names[-1:]


def logging(name: str, log: list[str]) -> Callable[[Callback, RunContext], None]:
    def hook(self: Callback, run_context: RunContext) -> None:
        assert run_context is CONTEXT
        log.append(name)

    return hook


@pytest.mark.parametrize("newer", [True, False])
@pytest.mark.parametrize("older", [True, False])
def test_custom_loop_may_call_either_name(newer: bool, older: bool) -> None:
    """The old names mean those of the training."""
    log: list[str] = []

    def hook(name: str) -> Callable[[Callback, RunContext], None]:
        def called(self: Callback, run_context: RunContext) -> None:
            assert run_context is CONTEXT
            log.append(name)
            cast("Event", getattr(Callback, name))(self, run_context)  # as super() does

        return called

    for event, legacy in EVENTS.items():
        names = [event] * newer + [legacy] * older
        callback: object = type("Own", (Callback,), {name: hook(name) for name in names})()
        getattr(callback, event)(CONTEXT)
        assert log == names
        log.clear()
        getattr(callback, legacy)(CONTEXT)
        trained = [event] * (newer and event.startswith("on_train"))
        assert log == ([legacy] if older else trained)
        log.clear()


def test_legacy_hook_of_subclass_takes_precedence(
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
    """Return a class that overrides `names`, each of which calls super()."""
    created: list[type[Callback]] = []

    def hook(name: str) -> Callable[[Callback, RunContext], None]:
        def called(self: Callback, run_context: RunContext) -> None:
            run_context.original_args().setdefault("calls", [])
            cast("list[str]", run_context.original_args()["calls"]).append(name)
            getattr(super(created[0], self), name)(run_context)

        return called

    created.append(type("Own", (parent,), {name: hook(name) for name in names}))
    return created[0]


@given(
    st.lists(st.lists(st.sampled_from(["on_train_end", "end"]), unique=True), max_size=4),
    st.sampled_from(["on_train_end", "end"]),
)
def test_hook_names_do_not_recurse(classes: list[list[str]], called: str) -> None:
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


def test_hook_on_instance_is_called() -> None:
    class Older(Callback):
        def begin(self, run_context: RunContext) -> None:
            pytest.fail("the instance is nearer")

    for callback in (Callback(), Older()):
        log: list[RunContext] = []
        hook: Callable[[RunContext], None] = log.append
        callback.on_train_begin = hook  # type: ignore[method-assign, assignment]
        CallbackManager(callback).emit(Callback.on_train_begin, CONTEXT)
        assert log == [CONTEXT]


def raising(error: BaseException) -> Callable[[], object]:
    def body() -> object:
        raise error

    return body


class Recorder(Callback):
    """Record all calls, and do what its kind says."""

    def __init__(self, kind: str, index: int, log: list[str]) -> None:
        self.kind = kind
        self.index = index
        self.log = log

    def record(self, what: str) -> None:
        self.log.append(f"{what} {self.index}")

    def __enter__(self) -> Self:
        if self.kind == "fails to enter":
            raise OSError("no room")
        self.record("enter")
        return self

    def __exit__(self, *exc: object) -> bool:
        self.record(f"exit {type(exc[1]).__name__}")
        return self.kind == "swallows"

    def on_exception(self, run_context: RunContext, error: BaseException) -> None:
        assert run_context is CONTEXT
        self.record(f"on_exception {type(error).__name__}")
        if self.kind == "fails in on_exception":
            raise OSError("disk full")


def expected_run(
    kinds: list[str], error: BaseException | None
) -> tuple[list[str], int | type[BaseException] | None]:
    """Return the calls of a run, and the class of the error that it raises, or its result."""
    log: list[str] = []
    for i, kind in enumerate(kinds):
        if kind == "fails to enter":
            return log + exits(kinds[:i], OSError()), OSError
        log.append(f"enter {i}")
    if error is not None:
        log += [f"on_exception {type(error).__name__} {i}" for i in range(len(kinds))]
    if error is not None and "swallows" not in kinds:
        return log + exits(kinds, error), type(error)
    return log + exits(kinds, error), 7 if error is None else None


def exits(kinds: list[str], error: BaseException | None) -> list[str]:
    lines: list[str] = []
    for i, kind in reversed(list(enumerate(kinds))):
        lines.append(f"exit {type(error).__name__} {i}")
        error = None if kind == "swallows" else error
    return lines


KINDS = ["plain", "swallows", "fails in on_exception", "fails to enter"]


@given(
    st.lists(st.sampled_from(KINDS), max_size=4),
    st.sampled_from([None, KeyError, KeyboardInterrupt]),
)
@example(["plain", "fails to enter", "plain"], None)
@example(["swallows", "fails to enter"], None)
@example(["plain", "swallows", "plain"], KeyError)
@example(["fails in on_exception", "plain"], KeyError)
@example(["fails in on_exception", "plain"], KeyboardInterrupt)
def test_run_enters_and_exits_callbacks_in_order(
    kinds: list[str], error: type[BaseException] | None
) -> None:
    """Each time: a manager can run again."""
    log: list[str] = []
    manager = CallbackManager([Recorder(kind, i, log) for i, kind in enumerate(kinds)])
    for _ in range(2):
        raised = None if error is None else error()
        expected, result = expected_run(kinds, raised)
        body = raising(raised) if raised is not None else lambda: 7
        if isinstance(result, type):
            with pytest.raises(result):
                manager.run(CONTEXT, body)
        else:
            assert manager.run(CONTEXT, body) == result
        assert log == expected
        log.clear()
        if raised is not None and "fails to enter" not in kinds:
            note = "Recorder.on_exception itself raised OSError('disk full')."
            assert getattr(raised, "__notes__", []) == [note] * kinds.count(KINDS[2])


@given(st.lists(st.lists(st.sampled_from(["plain", "needs"]), max_size=2), max_size=3))
def test_managers_stand_for_their_callbacks(groups: list[list[str]]) -> None:
    """What `configure_callbacks` adds comes first; each event goes through all, in order."""
    log: list[str] = []

    class Begins(Callback):
        def __init__(self, name: str) -> None:
            self.name = name

        def on_train_begin(self, run_context: RunContext) -> None:
            log.append(self.name)

    class Needs(Begins):
        def configure_callbacks(self, callbacks: Sequence[Callback]) -> list[Callback]:
            assert self in callbacks
            return [Begins(f"for {self.name}")]

    made = [
        [(Needs if kind == "needs" else Begins)(f"{i}.{j}") for j, kind in enumerate(group)]
        for i, group in enumerate(groups)
    ]
    names = [each.name for group in made for each in group]
    added = [f"for {each.name}" for group in made for each in group if isinstance(each, Needs)]
    CallbackManager(each for group in made for each in group).emit(BEGIN, CONTEXT)
    assert (log[: len(added)], log[len(added) :]) == (added[::-1], names)
    plain = [[each for each in group if type(each) is Begins] for group in made]
    log.clear()
    CallbackManager([CallbackManager(group) for group in plain]).on_train_begin(CONTEXT)
    assert log == [each.name for group in plain for each in group]


BEGIN = Callback.on_train_begin


@given(
    st.sampled_from([*EVENTS, *EVENTS.values()]),
    st.sampled_from([KeyError("a"), KeyboardInterrupt()]),
)
def test_error_of_hook_has_note_with_its_name(event: str, error: BaseException) -> None:
    """The hooks of the manager are those of MindSpore, the old ones being those of training."""
    error.__notes__ = []
    hook = event if event.startswith("on_") else f"on_train_{event}"
    failing = type("Failing", (Callback,), {hook: lambda *_: raising(error)()})()
    with CallbackManager([Callback(), failing]) as manager, pytest.raises(type(error)) as raised:
        getattr(manager, event)(CONTEXT)
    assert raised.value is error
    assert error.__notes__ == [f"Raised by the callback's hook Failing.{hook}."]


def test_manager_class_of_context_is_used() -> None:
    class Other(CallbackManager):
        pass

    token = manager_class.set(Other)
    try:
        assert type(make_callback_manager(None)) is Other
    finally:
        manager_class.reset(token)
    assert type(make_callback_manager(None)) is CallbackManager


@pytest.mark.parametrize("name", ["__enter__", "__exit__", "on_train_begin"])
def test_stop_iteration_of_callback_propagates(name: str) -> None:
    error = StopIteration("over")
    stopping = type("Stopping", (Callback,), {name: lambda *_: raising(error)()})()
    manager = CallbackManager(stopping)
    with pytest.raises(StopIteration) as raised:
        manager.run(CONTEXT, lambda: manager.on_train_begin(CONTEXT))
    assert raised.value is error


def test_only_callbacks_are_accepted() -> None:
    for right in (None, [], (), Callback(), [Callback()], {Callback()}):
        assert len(CallbackManager(right).callbacks) <= 1
    refused: list[tuple[object, object]] = [
        *((wrong, wrong) for wrong in (Recorder, 5, "x")),
        *(([Callback(), wrong], wrong) for wrong in (Recorder, 5, None)),
        ({"a": Callback()}, "a"),
    ]
    for wrong, item in refused:
        message = (
            "The argument 'callbacks' must be a Callback or a list of Callback, "
            f"but got {item!r} of type {type(item).__name__} in it."
        )
        assert_refused(TypeError, message, CallbackManager, wrong)


def test_legacy_hooks_are_rejected_by_name() -> None:
    class Old(Callback):
        def step_end(self, run_context: RunContext) -> None: ...

        def begin(self, run_context: RunContext) -> None: ...

    reject_legacy_hooks(CallbackManager(CallbackManager([Callback(), LossMonitor()])).callbacks)
    with pytest.raises(ValueError, match="Old defines begin, step_end"):
        reject_legacy_hooks([Callback(), Old()])
