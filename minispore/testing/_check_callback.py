"""check_callback: run a callback through every way that a run can go."""

import gc
import os
from collections.abc import Collection, Iterator
from dataclasses import replace
from tempfile import TemporaryDirectory

from minispore._checks import check_one_of
from minispore.testing._judging import described, judged
from minispore.testing._laws import LAWS, BrokenLaw, CallbackError
from minispore.testing._resuming import resume_faults
from minispore.testing._runs import Factory, Observed, Place, differing
from minispore.testing._schedule import Kind, Schedule, Trouble
from minispore.train._protocol.callback import EVENTS, Callback

_KINDS: tuple[Kind, ...] = ("train", "fit", "eval")


def check_callback(
    factory: Factory, *, modes: Collection[Kind] = _KINDS, ignore: Collection[str] = ()
) -> None:
    """Check that a callback keeps its laws, whichever way a run goes.

    The callback is made anew for each run, with an empty folder as the current one, and is run
    with a small network: wholly; with one batch; with no, no due and empty validation; with a stop,
    an exception and an interrupt at each event; twice with the same object, also after an
    exception; and, if it trains, resumed after each step and epoch. That is about a hundred runs of
    some milliseconds.

    Args:
        factory: Makes the callback; always an equal one. Files belong into the current folder:
            ``lambda: ModelCheckpoint("net")``.
        modes: What it is meant for. In a mode that it is meant for it may refuse, before the first
            step, only a run without validation.
        ignore: Names of laws that it breaks on purpose, such as "parameters" for one that averages
            the weights; all are in `LAWS`.

    Raises:
        CallbackError: It breaks a law; the message says which, where, and what happened.
        TypeError: `factory` makes no `Callback`.
        ValueError: There is no such mode or law, or there are no modes.

    Examples:
        >>> from minispore.train import Callback, LossMonitor
        >>> check_callback(LossMonitor, modes=["train"])
        >>> class Counts(Callback):
        ...     steps = 0
        ...
        ...     def on_train_step_end(self, run_context):
        ...         self.steps += 1
        >>> check_callback(Counts)
        Traceback (most recent call last):
        minispore.testing._laws.CallbackError: The callback Counts breaks 1 of 10 laws.
        ...
        resume: A run that is resumed after any step goes on as the one that was not interrupted.
          In fit with 5 epochs of 2 steps, ... resumed after on_train_step_end in epoch 1, ...:
            At the end its attribute 'steps' was 9; in the run that was not interrupted it is ...
    """
    kinds: list[Kind] = [kind for kind in _KINDS if kind in modes]
    for mode in modes:
        check_one_of(mode, _KINDS, "modes", "check_callback")
    for law in ignore:
        check_one_of(law, tuple(LAWS), "ignore", "check_callback")
    if not kinds:
        raise ValueError("For 'check_callback', the argument 'modes' must name at least one.")
    # What the garbage of other code prints when it is collected is not the callback's output.
    gc.collect()
    with TemporaryDirectory() as folder:
        kit = _Kit(factory, folder)
        broken = [each for each in kit.faults(kinds) if each.law not in ignore]
    if broken:
        raise CallbackError(kit.name, broken)


class _Kit:
    """All the runs of one callback.

    Args:
        factory: What makes it.
        folder: Where there is place for its files.
    """

    def __init__(self, factory: Factory, folder: str) -> None:
        self._factory = factory
        self._folder = os.path.realpath(folder)
        made: object = self._place().make(factory)
        if not isinstance(made, Callback):
            raise TypeError(
                f"For 'check_callback', the argument 'factory' must make a Callback, but it made "
                f"{made!r}."
            )
        self.name = type(made).__name__

    def faults(self, kinds: list[Kind]) -> Iterator[BrokenLaw]:
        """Every law that is broken in every run."""
        for kind in kinds:
            whole = Schedule(kind)
            found = list(self._judged(whole, thorough=True))
            yield from found
            if any(each.law in {"errors", "leaks"} for each in found):
                continue  # in all others it would be the same
            yield from self._judged(Schedule(kind, epochs=1, batches=1, valid_batches=1))
            yield from self._reuse_faults(whole)
            if kind != "train" or "fit" not in kinds:  # which is the same loop, and more
                for trouble in _troubles(kind):
                    yield from self._judged(replace(whole, trouble=trouble))
                if kind != "eval":
                    longer = Schedule(kind, epochs=5)
                    again = self._run(longer)
                    yield from resume_faults(self._factory, longer, self._folder, again)
        if "fit" in kinds:
            yield from self._judged(Schedule("fit", valid_batches=None), may_refuse=True)
            yield from self._judged(Schedule("fit", valid_frequency=()), may_refuse=True)
            yield from self._judged(Schedule("fit", valid_batches=0))

    def _place(self) -> Place:
        return Place(os.path.join(self._folder, "run"))

    def _run(self, schedule: Schedule, *, thorough: bool = False) -> Observed:
        place = self._place()
        return place.run(schedule, place.make(self._factory), thorough=thorough)

    def _judged(
        self, schedule: Schedule, *, thorough: bool = False, may_refuse: bool = False
    ) -> Iterator[BrokenLaw]:
        yield from judged(self._run(schedule, thorough=thorough), may_refuse=may_refuse)

    def _reuse_faults(self, schedule: Schedule) -> Iterator[BrokenLaw]:
        """What is different in a second run with the same object."""
        first, again = self._run(schedule), self._run(schedule)
        exact = first.texts == again.texts
        # Of a training in its second epoch, when there may be files of the first. What goes on with
        # these has the same callbacks: that of the trouble as well, which comes no more.
        when = ("on_eval_step_end", 2) if schedule.kind == "eval" else ("on_train_step_end", 3)
        trouble = Trouble(*when, "exception")
        failing = replace(schedule, trouble=trouble)
        calm = replace(schedule, trouble=replace(trouble, times=1000))
        for before, then in ((schedule, schedule), (failing, calm)):
            place = self._place()
            subject = place.make(self._factory)
            place.run(before, subject)
            second = place.run(then, subject)
            message = _reuse_difference(first, second, exact=exact)
            if message:
                yield BrokenLaw("reuse", f"{schedule}, run after {before}", message)


def _troubles(kind: Kind) -> Iterator[Trouble]:
    for event in EVENTS:
        if kind != "fit" and not event.startswith(f"on_{kind}_"):
            continue
        yield Trouble(event, kind="stop")
        yield Trouble(event, kind="exception")
        yield Trouble(event, kind="exception", first=True)
        yield Trouble(event, kind="interrupt")


def _reuse_difference(first: Observed, second: Observed, *, exact: bool) -> str | None:
    """In what the second run went otherwise; what is kept may be of all runs, as History's."""
    if second.error is not None:
        return f"It raised {described(second.error)}"
    if not second.observer.resumes:
        events, events_now = first.observer.events, second.observer.events
        if events_now != events:
            return f"There were {len(events_now)} events, in the first run {len(events)}."
        if second.observer.rates != first.observer.rates:
            return "The learning rates were others."
        for then, now in differing(first.shown(exact=exact), second.shown(exact=exact)):
            return f"It {now}; in the first run it {then}."
    for name, value in first.parameters.items():
        if second.parameters[name] != value:
            return f"At the end the parameter '{name}' was another."
    return None
