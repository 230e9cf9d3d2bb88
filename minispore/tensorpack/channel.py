"""The channel: whoever knows something of the training puts it in, and every monitor gets it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from minispore._checks import check_type, described
from minispore.common import Tensor
from minispore.tensorpack.states import Kept, Remembering
from minispore.train._protocol.run_context import InternalCallbackParam
from minispore.train.callback._monitored import as_array, shortest
from minispore.train.summary import Event

Array: TypeAlias = npt.NDArray[np.generic]
Number: TypeAlias = float | np.generic | Array | Tensor


class Listener:
    """Who gets what is put in the channel."""

    def process_scalar(self, name: str, val: float) -> None:
        """Take a number."""

    def process_image(self, name: str, val: Array) -> None:
        """Take images, of shape (n, height, width, 1 or 3), from 0 to 255."""

    def process_histogram(self, name: str, val: Array) -> None:
        """Take numbers of which the distribution matters."""

    def process_event(self, evt: Event) -> None:
        """Take a whole event, with a step of its own."""


class Memory(Remembering):
    """Numbers with their steps, by name."""

    _steps = Kept(dict[str, list[int]])
    _values = Kept(dict[str, list[float]])

    def add(self, name: str, step: int, val: float) -> None:
        """Remember a number."""
        self._steps.setdefault(name, []).append(step)
        self._values.setdefault(name, []).append(val)

    def get_latest(self, name: str) -> float:
        """Return the newest value of a name.

        Raises:
            KeyError: There is none; the message has the nearest names.
        """
        if name not in self._values:
            raise KeyError(f"nothing was put in under {name!r}{suggest(name, self.names())}")
        return self._values[name][-1]

    def get_history(self, name: str) -> list[tuple[int, float]]:
        """Return the (step, value) pairs of a name, the oldest first; none for an unknown one."""
        return list(zip(self._steps.get(name, ()), self._values.get(name, ()), strict=True))

    def names(self) -> list[str]:
        """Return the names that have values."""
        return list(self._values)

    def checked(self, state: Mapping[str, object]) -> dict[str, object]:
        """Return a copy of the state, by attributes; ValueError if it is none."""
        read = super().checked(state)
        steps, values = (cast("dict[str, list[object]]", each) for each in read.values())
        if {n: len(each) for n, each in steps.items()} != {n: len(values[n]) for n in values}:
            raise ValueError("For 'Monitors', the state's 'steps' and 'values' must fit.")
        return read


class Monitors(Memory):
    """The channel of one training: it hands everything to each monitor, and remembers numbers.

    Args:
        monitors: Who gets what is put in, in their order.
        step: Tells the current global step.

    Examples:
        >>> channel = Monitors([], lambda: 7)
        >>> channel.put_scalar("error", np.float32(0.1))
        >>> channel.get_latest("error"), channel.get_history("error")
        (0.1, [(7, 0.1)])
        >>> channel.get_latest("eror")
        Traceback (most recent call last):
        KeyError: "nothing was put in under 'eror'; did you mean 'error'?"
    """

    def __init__(self, monitors: Sequence[Listener], step: Callable[[], int]) -> None:
        self._monitors, self._step = monitors, step

    def put_scalar(self, name: str, val: Number) -> None:
        """Put in a number.

        Raises:
            TypeError: `name` is no str, or `val` no single real number.
        """
        check_type(name, str, "name", "put_scalar")
        number = as_float(val)
        if number is None:
            raise TypeError(
                f"For 'put_scalar', '{name}' must be a single number, but got {described(val)}."
            )
        self.add(name, self._step(), number)
        for monitor in self._monitors:
            monitor.process_scalar(name, number)

    def put_image(self, name: str, val: Array | Tensor) -> None:
        """Put in images: of shape (h, w), (h, w, c) or (n, h, w, c), from 0 to 255.

        Raises:
            TypeError: `name` is no str.
            ValueError: The shape is another, or there are neither 1 nor 3 channels.
        """
        check_type(name, str, "name", "put_image")
        array = given = _array(val)
        if array.ndim == 2:
            array = array[:, :, np.newaxis]
        if array.ndim == 3:
            array = array[np.newaxis]
        if array.ndim != 4 or array.shape[-1] not in {1, 3} or 0 in array.shape:
            raise ValueError(
                "For 'put_image', images must be of shape (h, w), (h, w, c) or (n, h, w, c) with "
                f"1 or 3 channels, but '{name}' is of shape {given.shape}."
            )
        for monitor in self._monitors:
            monitor.process_image(name, array)

    def put_histogram(self, name: str, val: Array | Tensor) -> None:
        """Put in an array of which the distribution matters."""
        check_type(name, str, "name", "put_histogram")
        for monitor in self._monitors:
            monitor.process_histogram(name, _array(val))

    def put_event(self, evt: Event) -> None:
        """Put in an event, as `minispore.train.summary` has them."""
        check_type(evt, Event, "evt", "put_event")
        for monitor in self._monitors:
            monitor.process_event(evt)


class UnknownMetricError(ValueError):
    """A callback reads a number that nothing writes, or that is written after it is read.

    Examples:
        >>> from minispore.tensorpack import SendStat
        >>> from minispore.tensorpack._examples import train
        >>> train(SendStat(["echo", "{los}"], "los"))
        Traceback (most recent call last):
        minispore.tensorpack.channel.UnknownMetricError: SendStat reads 'los', and no callback ...
    """


def names_of(callback: object, direction: str) -> Sequence[str]:
    """Return the names that a callback of either school says it "produces" or "consumes"."""
    told: object = getattr(callback, direction, None)
    return tuple(cast("Collection[str]", told())) if callable(told) else ()


def check_names(params: InternalCallbackParam, at_any_time: Collection[object]) -> None:
    """Check the callbacks of a run: the loop's numbers are there before the first one's turn.

    Args:
        params: The run's.
        at_any_time: The callbacks that get numbers whenever they are put in, so that for them the
            order does not matter.

    Raises:
        UnknownMetricError: A number is read and never written, or written too late.
    """
    written = ["loss", "learning_rate", *params.metric_names]
    callbacks = params.list_callback
    writers = {name: each for each in callbacks[::-1] for name in names_of(each, "produces")}
    for callback in callbacks:
        owner = type(callback).__name__
        for name in names_of(callback, "consumes"):
            if name not in [*written, *writers]:
                known = list(dict.fromkeys([*written, *writers]))
                raise UnknownMetricError(
                    f"{owner} reads {name!r}, and no callback puts it in{suggest(name, known)} "
                    "A callback of your own must tell what it puts in by its method 'produces'."
                )
            if name not in written and callback not in at_any_time:
                writer = type(writers[name]).__name__
                raise UnknownMetricError(
                    f"{owner} reads {name!r} before {writer} puts it in: "
                    f"put {writer} before it in the list of callbacks."
                )
        written += names_of(callback, "produces")


def name_list(names: str | Sequence[str]) -> list[str]:
    """Return names as a list, also if it is one name."""
    return [names] if isinstance(names, str) else list(names)


def as_float(val: object) -> float | None:
    """Return a number, or the one element of an array or tensor, as a float; None for others.

    >>> as_float(np.float32(0.5)), as_float([1])
    (0.5, None)
    """
    array = as_array(val)
    if array is None or array.size != 1 or array.dtype.kind not in "biuf":
        return None
    return shortest(array.reshape(-1)[0]) if array.dtype.kind == "f" else float(array.item())


def suggest(name: str, known: Sequence[str]) -> str:
    """Return the end of a message: the names that may have been meant."""
    from difflib import get_close_matches  # only needed for the message

    nearest = get_close_matches(name, known, n=3, cutoff=0.5)
    if nearest:
        return "; did you mean " + " or ".join(map(repr, nearest)) + "?"
    return "; there is " + (", ".join(map(repr, known)) if known else "nothing") + "."


def _array(val: Array | Tensor) -> Array:
    return val.asnumpy() if isinstance(val, Tensor) else np.asarray(val)
