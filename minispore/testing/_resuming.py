"""Whether a run that is resumed goes on as the one that was not interrupted."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

from minispore.testing._judging import described
from minispore.testing._laws import BrokenLaw
from minispore.testing._observing import Observer
from minispore.testing._runs import Factory, Observed, Place, differing
from minispore.testing._schedule import Schedule
from minispore.train._dataset import SupportsState
from minispore.train._protocol.callback import Callback
from minispore.train._protocol.run_context import Occasion, RunContext
from minispore.train._training_state import TrainingState
from minispore.train.serialization import save_checkpoint

_MISSING = "missing"


@dataclass(frozen=True)
class _Point:
    """A place between two steps at which the training state was kept.

    Attributes:
        where: The place, in words.
        file: The state.
        content: A copy of the current folder.
        events: How many events there had been.
        calls: How many calls there had been.
        rates: How many steps there had been.
    """

    where: str
    file: str
    content: str
    events: int
    calls: int
    rates: int


class _Keeper(Callback):
    """Keep the training state of every place between two steps.

    Args:
        folder: Where; None only to note at which place a run goes on.
        observer: Who counts.
    """

    def __init__(self, folder: str | None, observer: Observer) -> None:
        self.points: list[_Point] = []
        self._folder = folder
        self._observer = observer

    def on_train_step_end(self, run_context: RunContext) -> None:
        if self._folder is not None and not run_context.get_stop_requested():
            run_context.request_save(self)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        self.on_train_step_end(run_context)

    def save_training_state(
        self, run_context: RunContext, state: TrainingState, occasion: Occasion
    ) -> None:
        observer, params = self._observer, run_context.original_args()
        name = file = ""
        if self._folder is not None:
            name = os.path.join(self._folder, str(len(self.points)))
            file = f"{name}.ckpt"
            save_checkpoint(params.train_network, file, append_dict=state.entries())
            shutil.copytree(os.curdir, name)
        where = f"resumed after {observer.events[-1]}"
        counts = (len(observer.events), len(observer.calls), len(observer.rates))
        self.points.append(_Point(where, file, name, *counts))


def resume_faults(
    factory: Factory, schedule: Schedule, folder: str, again: Observed
) -> Iterator[BrokenLaw]:
    """What is lost where a run is resumed.

    Args:
        factory: What makes the callback.
        schedule: The run.
        folder: Where there is place for its files.
        again: The run, not interrupted: what differs from it without a resume cannot be compared.
    """
    kept = os.path.join(folder, "kept")
    os.makedirs(kept)
    keepers: list[_Keeper] = []

    def keeper(observer: Observer) -> list[_Keeper]:
        keepers.append(_Keeper(kept, observer))
        return keepers

    place = Place(os.path.join(folder, "run"))
    subject = place.make(factory)
    for one, other in (("state_dict", "load_state_dict"), ("load_state_dict", "state_dict")):
        if hasattr(subject, one) and not hasattr(subject, other):
            yield BrokenLaw("resume", str(schedule), f"It has {one} without {other}.")
    straight = place.run(schedule, subject, keeper)
    if straight.error is not None:
        error = f"Where the training state is saved, there was {described(straight.error)}"
        yield BrokenLaw("resume", str(schedule), error)
        return
    for point in keepers[0].points:
        place = Place(os.path.join(folder, "run"), point.content)
        subject = place.make(factory)
        resumed: list[_Keeper] = []

        def noted(observer: Observer, resumed: list[_Keeper] = resumed) -> list[_Keeper]:
            resumed.append(_Keeper(None, observer))
            return resumed

        part = place.run(schedule, subject, noted, resume=point.file)
        message = next(_differences(straight, point, part, resumed[0].points, again), None)
        if message:
            if not isinstance(subject, SupportsState):
                message += " It has no state_dict and load_state_dict: what it remembers is lost."
            yield BrokenLaw("resume", f"{schedule}, {point.where}", message)
    shutil.rmtree(kept)


def _differences(
    straight: Observed, point: _Point, part: Observed, entered: list[_Point], again: Observed
) -> Iterator[str]:
    """In what the rest of the straight run differs from the resumed one."""
    if part.error is not None or not entered:
        yield f"It raised {described(part.error)}" if part.error else "It did not go on."
        return  # pragma: no cover (nobody asks for a second difference)
    begin = entered[0]
    whole, rest = straight.observer, part.observer
    for old, new in differing(whole.events[point.events :], rest.events[begin.events :]):
        yield f"There came {new}; in the run that was not interrupted it is {old}."
    exact = straight.texts == again.texts
    calls, calls_now = straight.shown(exact=exact), part.shown(exact=exact)
    for old, new in differing(calls[point.calls :], calls_now[begin.calls :]):
        yield f"It {new}; in the run that was not interrupted it {old}."
    for was, rate in zip(whole.rates[point.rates :], rest.rates[begin.rates :], strict=True):
        if rate != was:
            yield f"A learning rate was {rate}; in the run that was not interrupted {was}."
    for name, content in straight.parameters.items():
        if part.parameters.get(name) != content:
            yield f"At the end the parameter '{name}' was another."
    for name, value in straight.memory.items():
        now = part.memory.get(name, _MISSING)
        lazy = now == _MISSING and name.startswith("its attribute '_")  # set where it is first used
        if now != value and not lazy and again.memory.get(name) == value:
            yield (
                f"At the end {name} was {now}; in the run that was not interrupted it is {value}."
            )
    if straight.files == again.files and part.files != straight.files:
        yield f"At the end there were the files {part.files}, and not {straight.files}."
