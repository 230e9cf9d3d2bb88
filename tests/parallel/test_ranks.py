"""What processes that train together tell one another of their callbacks, played by threads."""

from collections.abc import Callable, Mapping, Sequence
from threading import Event as Flag
from time import sleep
from typing import cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import nn
from minispore.train import Callback, RunContext
from minispore.train import _ranks as ranks
from minispore.train._dataset import SupportsState
from minispore.train._protocol.callback import EVENTS
from minispore.train._protocol.manager import CallbackManager
from tests.parallel.threads import play

Hook = Callable[[RunContext], None]


def context(**values: object) -> RunContext:
    return RunContext({"batch_num": 3, "train_network": nn.Cell(), **values})


def managed(*callbacks: Callback, **values: object) -> tuple[CallbackManager, RunContext]:
    return ranks.manager_of(callbacks), context(**values)


def event(name: str) -> Callable[[Callback, RunContext], None]:
    found: Callable[[Callback, RunContext], None] = getattr(Callback, name)
    return found


def at(name: str, hook: Hook, *, chief_only: bool = False) -> Callback:
    """A callback with this one hook."""

    def call(self: Callback, run_context: RunContext) -> None:
        hook(run_context)

    made = type("At", (Callback,), {name: call, "chief_only": chief_only})
    callback: Callback = made()
    return callback


# How much is asked for: nothing, a stop from which the training can go on, one for good.
ASKED = st.lists(st.integers(0, 2), min_size=1, max_size=4)


@given(ASKED, st.sampled_from(list(EVENTS)))
@example([1, 2, 0], "on_train_step_end")
@example([2, 1], "on_eval_end")
def test_all_stop_as_the_one_who_asks_for_most_where_the_loop_looks(
    asked: list[int], name: str
) -> None:
    """At the end of a step and of an epoch, of a step of an evaluation and of the whole of it."""

    def program(rank: int) -> tuple[bool, bool]:
        def ask(run_context: RunContext) -> None:
            if asked[rank]:
                run_context.request_stop(for_good=asked[rank] == 2)

        callbacks, told = managed(at(name, ask))
        callbacks.emit(event(name), told)
        return told.get_stop_requested(), told.is_interrupted()

    looks = name in ("on_train_step_end", "on_train_epoch_end", "on_eval_step_end", "on_eval_end")
    agreed = [max(asked)] * len(asked) if looks else asked
    assert play(len(asked), program) == [(each > 0, each == 1) for each in agreed]


UNLIKE = (
    "In data parallel training all processes must have equally many batches, but those of the "
    "processes 0, 1, … are 4, 3, 4. A data set with 'num_shards' and 'shard_id' gives each as many."
)


@pytest.mark.parametrize("name", list(EVENTS))
def test_all_are_told_where_the_data_would_not_end_together(name: str) -> None:
    said: list[str] = []
    begun: list[int] = []

    def program(rank: int) -> None:
        callbacks, told = managed(at(name, lambda _: begun.append(rank)), batch_num=(4, 3, 4)[rank])
        try:
            callbacks.emit(event(name), told)
        except ValueError as error:
            said.append(str(error))

    play(3, program)
    if name in ("on_train_begin", "on_eval_begin"):
        assert said == [UNLIKE] * 3
        assert not begun
    else:
        assert (said, sorted(begun)) == ([], [0, 1, 2])


@pytest.mark.parametrize("name", list(EVENTS))
@pytest.mark.parametrize("path", [None, "here.ckpt"])
def test_all_go_on_from_what_the_first_goes_on_from(name: str, path: str | None) -> None:
    def program(rank: int) -> str | None:
        def ask(run_context: RunContext) -> None:
            if rank == 0 and path is not None:
                run_context.request_resume(path)

        callbacks, told = managed(at(name, ask))
        callbacks.emit(event(name), told)
        return told.get_resume_requested()

    everywhere = name == "on_train_begin"
    assert play(3, program) == [path, *[path if everywhere else None] * 2]


def test_nobody_ends_the_training_before_all_have_come() -> None:
    ended = Flag()

    def program(rank: int) -> bool:
        callbacks, told = managed(at("on_train_end", lambda _: ended.set()))
        if rank == 1:
            sleep(0.03)
        before = ended.is_set()
        callbacks.emit(Callback.on_train_end, told)
        return before

    assert play(2, program) == [False, False]


class Companion(Callback):
    """One for all that ask for it: it knows whose it is."""

    def __init__(self, of: Sequence[Callback]) -> None:
        self.of = [type(each).__name__ for each in of]


class Guide(Companion):
    """Another, which remembers something."""

    def state_dict(self) -> dict[str, object]:
        return {}

    def load_state_dict(self, state: Mapping[str, object]) -> None: ...


class Asks(Callback):
    """Works with a companion of that kind."""

    kind: type[Companion]

    def companions(self, callbacks: Sequence[Callback]) -> Sequence[Callback]:
        if any(type(each) is self.kind for each in callbacks):
            return ()
        return [self.kind([x for x in callbacks if isinstance(x, Asks) and x.kind is self.kind])]


class Remembers(Asks):
    def state_dict(self) -> dict[str, object]:
        return {"own": 3}

    def load_state_dict(self, state: Mapping[str, object]) -> None: ...


def asks(name: str, base: type[Asks], **values: object) -> type[Asks]:
    """A class that could stand in a script."""
    return cast("type[Asks]", type(name, (base,), {"__qualname__": f"script.{name}", **values}))


# The kind of the companion, whether only the first process calls it, whether it has a state.
KINDS = st.tuples(st.sampled_from([Companion, Guide]), st.booleans(), st.booleans())


@given(st.lists(KINDS, min_size=1, max_size=4), st.booleans(), st.integers(1, 3))
def test_a_process_has_stand_ins_for_the_callbacks_of_the_first(
    kinds: list[tuple[type[Companion], bool, bool]], in_a_manager: bool, count: int
) -> None:
    """In the same places and of the same names; a companion is that of those that are called."""
    asking = [
        asks(f"C{i}", Remembers if remembers else Asks, kind=kind, chief_only=chief)
        for i, (kind, chief, remembers) in enumerate(kinds)
    ]

    def program(rank: int) -> list[Callback]:
        own: list[Callback] = [each() for each in asking]
        given = [*own[:1], CallbackManager(own[1:])] if in_a_manager else own
        listed = ranks.manager_of(iter(given)).callbacks
        called = [each for each in own if rank == 0 or not each.chief_only]
        assert [each for each in listed if isinstance(each, Asks)] == called
        return listed

    found = play(count, program)
    assert [[said(each) for each in listed] for listed in found] == [
        [said(each) for each in found[0]]
    ] * count
    if in_a_manager:
        return
    for listed in found[1:]:
        for mine, its in zip(listed, found[0], strict=True):
            if isinstance(its, Companion):
                stay = [each.__name__ for each in asking if each.kind is type(its)]
                stay = [name for name in stay if not kinds[int(name[1:])][1]]
                assert stay == (mine.of if isinstance(mine, Companion) else [])


def said(callback: Callback) -> tuple[str, str, bool]:
    """What a training state says of it."""
    kind = type(callback)
    return kind.__name__, kind.__qualname__, isinstance(callback, SupportsState)


@pytest.mark.parametrize("count", [1, 2])
def test_what_only_the_first_calls_is_told_what_all_are_told(count: int) -> None:
    def program(rank: int) -> list[object]:
        seen: list[object] = []
        set_on_it = Callback()
        set_on_it.on_train_end = lambda run_context: seen.append(run_context)  # type: ignore[method-assign]
        callbacks, told = managed(set_on_it, at("on_train_end", seen.append, chief_only=True))
        callbacks.emit(Callback.on_train_end, told)
        return [each is told for each in seen]

    assert play(count, program) == [[True, True], [True]][:count]


def test_an_error_is_told_to_all_and_to_the_callbacks(monkeypatch: pytest.MonkeyPatch) -> None:
    everybody: list[BaseException] = []
    monkeypatch.setattr(ranks, "fail_together", everybody.append)
    errors = [ArithmeticError("the milk has boiled over"), KeyboardInterrupt()]

    def program(rank: int) -> bool:
        class Told(Callback):
            def on_exception(self, run_context: RunContext, error: BaseException) -> None:
                self.of = run_context, error

        def fail() -> None:
            raise errors[rank]

        callback = Told()
        callbacks, told = managed(callback)
        with pytest.raises(type(errors[rank])) as raised:
            callbacks.run(told, fail)
        assert callbacks.run(told, lambda: rank) == rank
        return callback.of == (told, raised.value)

    assert play(2, program) == [True, True]
    assert sorted(map(str, everybody)) == sorted(map(str, errors))
