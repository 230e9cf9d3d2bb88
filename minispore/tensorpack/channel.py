"""The channel: whoever knows something of the training puts it in, and every monitor gets it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from minispore._checks import check_type, described
from minispore.common import Tensor
from minispore.train.callback._monitored import as_array, shortest
from minispore.train.callback._states import entries, numbers
from minispore.train.summary import Event

Array: TypeAlias = npt.NDArray[np.generic]
Number: TypeAlias = float | np.generic | Array | Tensor


class Listener(Protocol):
    """What the channel asks of a monitor."""

    def process_scalar(self, name: str, val: float) -> None:
        """Take a number."""
        ...

    def process_image(self, name: str, val: Array) -> None:
        """Take images, of shape (n, height, width, 1 or 3), from 0 to 255."""
        ...

    def process_histogram(self, name: str, val: Array) -> None:
        """Take numbers of which the distribution matters."""
        ...

    def process_event(self, evt: Event) -> None:
        """Take a whole event, with a step of its own."""
        ...


class Memory:
    """Numbers with their steps, by name."""

    def __init__(self) -> None:
        self._steps: dict[str, list[int]] = {}
        self._values: dict[str, list[float]] = {}

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

    def state_dict(self) -> dict[str, object]:
        """Return all of it."""
        return {"steps": self._steps, "values": self._values}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Remember what another one does.

        Raises:
            ValueError: It is no such state; nothing is changed then.
        """
        owner = "Monitors"
        steps = {
            n: numbers(entries(state, "steps", list, owner), n, int, owner)
            for n in entries(state, "steps", list, owner)
        }
        values = {
            n: numbers(entries(state, "values", list, owner), n, float, owner)
            for n in entries(state, "values", list, owner)
        }
        if {n: len(s) for n, s in steps.items()} != {n: len(v) for n, v in values.items()}:
            raise ValueError("For 'Monitors', the state's 'steps' and 'values' must fit.")
        self._steps, self._values = steps, values


class Monitors(Memory):
    """The channel of one training: it hands everything to each monitor, and remembers numbers.

    Args:
        monitors: Who gets what is put in, in their order.
        step: Tells the current global step.
    """

    def __init__(self, monitors: Sequence[Listener], step: Callable[[], int]) -> None:
        super().__init__()
        self._monitors = tuple(monitors)
        self._step = step

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
        array = np.asarray(val.asnumpy() if isinstance(val, Tensor) else val)
        shape = array.shape
        if array.ndim == 2:
            array = array[np.newaxis, :, :, np.newaxis]
        elif array.ndim == 3:
            array = array[np.newaxis]
        if array.ndim != 4 or array.shape[-1] not in {1, 3} or 0 in array.shape:
            raise ValueError(
                "For 'put_image', images must be of shape (h, w), (h, w, c) or (n, h, w, c) with "
                f"1 or 3 channels, but '{name}' is of shape {shape}."
            )
        for monitor in self._monitors:
            monitor.process_image(name, array)

    def put_histogram(self, name: str, val: Array | Tensor) -> None:
        """Put in an array of which the distribution matters."""
        check_type(name, str, "name", "put_histogram")
        array = np.asarray(val.asnumpy() if isinstance(val, Tensor) else val)
        for monitor in self._monitors:
            monitor.process_histogram(name, array)

    def put_event(self, evt: Event) -> None:
        """Put in an event, as `minispore.train.summary` has them."""
        check_type(evt, Event, "evt", "put_event")
        for monitor in self._monitors:
            monitor.process_event(evt)


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
