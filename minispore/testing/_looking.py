"""Looking at what a callback can change in a run, so that before and after can be compared."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from minispore.common import Parameter
from minispore.nn import Cell
from minispore.train._protocol.run_context import RunContext


class Thing(NamedTuple):
    """What can be changed.

    Attributes:
        kind: An "entry" of what the run's `original_args` give, or a "parameter" of what is
            trained, by which the optimiser's memory and its learning rate are also meant.
        name: Its name.
    """

    kind: Literal["entry", "parameter"]
    name: str


class Content(NamedTuple):
    """What a parameter holds."""

    dtype: npt.DTypeLike
    shape: tuple[int, ...]
    data: bytes


Sight: TypeAlias = Mapping[Thing, tuple[object, ...]]
NOTHING: Final[Sight] = {}


class Eye:
    """Who looks at runs: it remembers where the parameters of the last one are."""

    def __init__(self) -> None:
        self._context: RunContext | None = None
        self._parameters: Sequence[Parameter] = ()

    def look(self, context: RunContext) -> Sight:
        """What there is now, as values that can be compared."""
        if context is not self._context:
            self._context, self._parameters = context, _parameters(context)
        seen: dict[Thing, tuple[object, ...]] = {
            Thing("entry", name): _comparable(value)
            for name, value in context.original_args().items()
        }
        for parameter in self._parameters:
            array = parameter.asnumpy()
            content = Content(array.dtype, array.shape, array.tobytes())
            seen[Thing("parameter", parameter.name)] = content
        return seen


def changed(before: Sight, after: Sight) -> list[Thing]:
    """What is another now, is gone or is new.

    >>> weight, best = Thing("parameter", "w"), Thing("entry", "best")
    >>> changed({weight: (1,)}, {weight: (1,), best: (2,)})
    [Thing(kind='entry', name='best')]
    """
    return [thing for thing in {**before, **after} if before.get(thing) != after.get(thing)]


def described(thing: Thing, before: Sight, after: Sight) -> str:
    """A change in words; with both values if it is a parameter that is one number."""
    if thing.kind == "entry":
        return f"cb_params.{thing.name}"
    numbers = [_number(sight.get(thing)) for sight in (before, after)]
    if None in numbers:
        return thing.name
    return f"{thing.name} from {numbers[0]} to {numbers[1]}"


def _parameters(context: RunContext) -> Sequence[Parameter]:
    params = context.original_args()
    root = params.get("train_network", params.get("network"))
    return list(root.get_parameters()) if isinstance(root, Cell) else ()


def _comparable(value: object) -> tuple[object, ...]:
    """Of what may not be comparable, only whether it is the same object."""
    if isinstance(value, bool | int | float | str | bytes):
        return type(value), value
    return id(value), value


def _number(content: tuple[object, ...] | None) -> str | None:
    if not isinstance(content, Content) or np.prod(content.shape) != 1:
        return None
    array = cast("npt.NDArray[np.generic]", np.frombuffer(content.data, content.dtype))
    return str(array[0])
