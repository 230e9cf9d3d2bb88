"""Callback managers: which hooks are called, in which order, and which callbacks are exited."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import nullcontext
from typing import Self, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore.train import Callback, RunContext
from minispore.train.callback import LossMonitor
from minispore.train.protocol.callback import (
    EVENTS,
    CallbackEvent,
    CallbackManager,
    make_callback_manager,
    manager_class,
    reject_legacy_hooks,
)
from tests.helpers.refusals import assert_refused, values

CONTEXT = RunContext({})


NAMES = st.sampled_from([*EVENTS, *EVENTS.values()])
CLASSES = st.lists(st.sets(NAMES), max_size=3)


@given(CLASSES, st.sets(NAMES))
@example([{"on_train_begin"}, {"begin"}], set())
@example([{"begin", "on_train_begin"}], set())
@example([{"begin"}], {"on_train_begin"})
def test_event_calls_the_nearest_of_its_hook_and_the_legacy_hook(
    classes: list[set[str]], attributes: set[str]
) -> None:
    """That of the instance, or of the last class; there the one of the present comes first."""
    log: list[str] = []
    cls: type[Callback] = Callback
    for i, names in enumerate(classes):
        hooks = {name: logging(f"{i} {name}", log) for name in names}
        cls = cast("type[Callback]", type("Own", (cls,), hooks))
    callback = cls()
    for name in attributes:
        setattr(callback, name, logging(f"own {name}", log).__get__(callback))
    manager = CallbackManager([Callback(), callback])
    nearest = [("own", attributes), *reversed([*enumerate(classes)])]
    for event, legacy in EVENTS.items():
        calls = [f"{i} {name}" for i, found in nearest for name in (event, legacy) if name in found]
        method: CallbackEvent = getattr(Callback, event)
        manager.emit(method, CONTEXT)
        assert log == calls[:1]
        assert len(manager._hooks[method]) == len(log)  # an event without hooks costs nothing
        log.clear()


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
            cast("CallbackEvent", getattr(Callback, name))(self, run_context)  # as super() does

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

    def record(self, name: str) -> None:
        self.log.append(f"{name} {self.index}")

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
    names = [cb.name for group in made for cb in group]
    added = [f"for {cb.name}" for group in made for cb in group if isinstance(cb, Needs)]
    CallbackManager(cb for group in made for cb in group).emit(BEGIN, CONTEXT)
    assert (log[: len(added)], log[len(added) :]) == (added[::-1], names)
    plain = [[cb for cb in group if type(cb) is Begins] for group in made]
    log.clear()
    CallbackManager([CallbackManager(group) for group in plain]).on_train_begin(CONTEXT)
    assert log == [cb.name for group in plain for cb in group]


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


@given(values, st.integers(0, 2))
@example(Recorder, 0)
def test_only_callbacks_are_accepted(value: object, valid: int) -> None:
    callbacks = [Callback() for _ in range(valid)]
    assert CallbackManager(callbacks).callbacks == callbacks
    refused: list[object] = [[*callbacks, value]]
    refused += [dict.fromkeys([value])] if isinstance(value, Hashable) else []
    refused += [] if value is None or isinstance(value, Iterable) else [value]
    for wrong in refused:
        message = (
            "The argument 'callbacks' must be a Callback or a list of Callback, "
            f"but got {value!r} of type {type(value).__name__} in it."
        )
        assert_refused(TypeError, message, CallbackManager, wrong)


@given(st.sets(NAMES))
def test_legacy_hooks_are_rejected_by_name(names: set[str]) -> None:
    old = type("Old", (Callback,), {name: logging(name, []) for name in names})()
    callbacks = CallbackManager([LossMonitor(), old]).callbacks
    legacy = ", ".join(sorted({*EVENTS.values()} & names))
    with pytest.raises(ValueError, match=f"Old defines {legacy}, w") if legacy else nullcontext():
        reject_legacy_hooks(callbacks)
