"""Watching one callback in one run: what it is told, prints and changes."""

import io
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import cast
from zlib import crc32

import numpy as np
import numpy.typing as npt

from minispore.common import Tensor
from minispore.common.seed import random_state
from minispore.testing._looking import Eye, Thing, changed
from minispore.testing._watching import Moment
from minispore.train._dataset import SupportsState
from minispore.train._protocol.callback import Callback
from minispore.train._protocol.run_context import RunContext

# The run's parameters that say where the run is and what is trained; they are the loop's own.
_BOOKKEEPING = (
    "mode",
    "epoch_num",
    "initial_epoch",
    "batch_num",
    "cur_epoch_num",
    "cur_step_num",
    "network",
    "train_network",
    "eval_network",
    "loss_fn",
    "optimizer",
    "train_dataset",
    "valid_dataset",
    "list_callback",
)
# The law about what is looked at, and what it is called.
_KINDS = {
    "entry": ("bookkeeping", "the run's parameter"),
    "parameter": ("parameters", "the parameter"),
}


def place_of(name: str, epoch: object, step: object) -> str:
    """Where in the run something has happened, in words.

    >>> place_of("on_eval_end", None, 3), place_of("on_train_begin", None, 0)
    ('on_eval_end in step 3', 'on_train_begin')
    """
    places = [f"{what} {n}" for what, n in (("epoch", epoch), ("step", step)) if n]
    return " in ".join([name, ", ".join(places)][: 1 + bool(places)])


# What is drawn over again, as progress bars are, at times of its own.
_BAR = re.compile(r"\r[^\n]*\n?")


@dataclass(frozen=True)
class Call:
    """A call of one of the callback's methods, and what it printed for good."""

    name: str
    epoch: object
    step: object
    text: str

    def __str__(self) -> str:
        return place_of(self.name, self.epoch, self.step)


class Observer:
    """The watcher of one callback in one run.

    Args:
        subject: The callback.
        output: Where what is printed in the run goes to.
        thorough: Whether to look at the random states as well, which takes longer.

    Attributes:
        events: The loop's events, with epoch and step.
        calls: What the callback was told.
        rates: The learning rates at the end of each step.
        stopped_at: How many events there had been when the callback requested a stop.
        faults: The laws that were seen to be broken, each with a sentence.
        resumes: Whether the run goes on from a file.
    """

    def __init__(self, subject: Callback, output: io.StringIO, *, thorough: bool) -> None:
        self.events: list[str] = []
        self.calls: list[Call] = []
        self.rates: list[list[float]] = []
        self.stopped_at: int | None = None
        self.faults: list[tuple[str, str]] = []
        self.resumes = False
        self._subject = subject
        self._output = output
        self._thorough = thorough
        self._inside = False
        self._eye = Eye()

    @property
    def began(self) -> bool:
        """Whether the run has come to a step."""
        return any("_step_" in event for event in self.events)

    @contextmanager
    def around(self, moment: Moment) -> Generator[None, None, None]:
        """See what happens at a moment of the run."""
        # A run of the callback's own is no business of this one.
        if self._inside or (moment.kind == "call" and moment.callback is not self._subject):
            yield
        elif moment.kind == "call":
            self._inside = True
            try:
                yield from self._call(moment)
            finally:
                self._inside = False
        else:
            if moment.kind == "event":
                params = moment.context.original_args()
                where = params.get("cur_epoch_num"), params.get("cur_step_num")
                self.events.append(place_of(moment.name, *where))
                if moment.name == "on_train_step_end":
                    self.rates.append(_rates(moment.context))
            try:
                yield
            finally:
                self.resumes |= moment.context.get_resume_requested() is not None

    def _call(self, moment: Moment) -> Generator[None, None, None]:
        context, began = moment.context, self._output.tell()
        stopped = context.get_stop_requested()
        before, chance = self._eye.look(context), self._chance()
        try:
            yield
        finally:
            self.faults += [
                (law, f"{moment.name} changed {what} '{thing.name}'.")
                for thing in changed(before, self._eye.look(context))
                if thing in before and not _is_free(thing)
                for law, what in [_KINDS[thing.kind]]
            ]
            now = self._chance()
            self.faults += [
                ("random", f"{moment.name} drew from {what}.")
                for what in chance
                if chance[what] != now[what]
            ]
            if context.get_stop_requested() and not stopped:
                self.stopped_at = len(self.events)
            elif stopped and not context.get_stop_requested():
                self.faults.append(("bookkeeping", f"{moment.name} took back a requested stop."))
            params = context.original_args()
            text = _BAR.sub("", self._output.getvalue()[began:])
            epoch, step = params.get("cur_epoch_num"), params.get("cur_step_num")
            self.calls.append(Call(moment.name, epoch, step, text))

    def _chance(self) -> dict[str, object]:
        """The random states, by what they are called."""
        if not self._thorough:
            return {}
        state = random_state()
        names = {
            "program": "minispore's random streams",
            "numpy": "numpy's global random numbers",
            "python": "the random numbers of 'random'",
        }
        return {what: _frozen(state[key]) for key, what in names.items()}


def _is_free(thing: Thing) -> bool:
    """Whether a callback may change it: a learning rate, or an entry that is not the loop's own."""
    if thing.kind == "entry":
        return thing.name not in _BOOKKEEPING
    return thing.name.startswith("learning_rate")


def memory(callback: Callback) -> dict[str, object]:
    """What a callback remembers, as far as it consists of plain values, by what that is called.

    A callback that says itself what its state is may keep other things to itself.
    """
    stateful = isinstance(callback, SupportsState)
    found = {
        f"its attribute '{name}'": _plain(value)
        for name, value in vars(callback).items()
        if not (stateful and name.startswith("_"))
    }
    if isinstance(callback, SupportsState):
        with suppress(Exception):  # which comes up again where a run is resumed
            for name, value in callback.state_dict().items():
                found[f"the entry '{name}' of its state"] = _plain(value)
    return {name: value for name, value in found.items() if value != _OTHER}


_OTHER = "…"


def _plain(value: object) -> object:
    """A value as something that can be compared and printed; `_OTHER` if it is not plain."""
    if isinstance(value, Tensor):
        value = value.asnumpy()
    if isinstance(value, np.ndarray):
        array = cast("npt.NDArray[np.generic]", value)
        if array.size < 10:
            return array.tolist()
        return f"an array {array.dtype} {array.shape} with the check sum {crc32(array.tobytes())}"
    if isinstance(value, float):
        return repr(value)  # of which NaN is equal to itself
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        items: list[object] = [_plain(item) for _, item in pairs]
        plain: object = {key: item for (key, _), item in zip(pairs, items, strict=True)}
    elif isinstance(value, list | tuple):
        plain = items = [_plain(item) for item in cast("list[object]", value)]
    else:
        return _OTHER
    return _OTHER if _OTHER in items else plain


def _frozen(state: object) -> object:
    """A random state as something that can be compared."""
    if isinstance(state, Mapping):
        pairs = cast("Mapping[str, object]", state).items()
        return tuple((key, _frozen(value)) for key, value in pairs)
    return (
        cast("npt.NDArray[np.generic]", state).tobytes() if isinstance(state, np.ndarray) else state
    )


def _rates(context: RunContext) -> list[float]:
    optimizer = context.original_args().optimizer
    assert optimizer is not None, "it is the small model's run"
    rates = optimizer.get_lr()
    each = (rates,) if isinstance(rates, Tensor) else rates
    return [float(rate.asnumpy().reshape(-1)[0]) for rate in each]
