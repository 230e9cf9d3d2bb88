"""Graph mode: wherever a step keeps state, and however that changes, results are the eager ones.

Each test runs a step that reads a number from a payload in a holder, changes it, and runs the step
again. The step may be replayed or run eagerly, but it must return what the function returns.
"""

from collections.abc import Callable
from itertools import cycle
from typing import Any

import numpy as np
import pytest

import minispore as ms
from minispore import Tensor
from tests.helpers.hidden_state import HOLDERS, PAYLOADS, Hold, Payload, package_holders
from tests.helpers.replays import needs_replays

pytestmark = [pytest.mark.filterwarnings("ignore"), needs_replays]

X = Tensor([1.0, 2.0])
CALLS = 5
# Payloads of the small language: steps that read them are replayed, and the others run eagerly.
REPLAYED = {
    "number", "text", "numpy number", "list", "dict", "dict with other keys", "dict as a whole",
    "list in a tuple", "enumeration", "function", "default of a function", "partial", "module",
    "subclass of Cell", "iterator", "counter", "generator of numbers", "tensor", "parameter",
}  # fmt: skip


def _outcome(step: Callable[[Tensor], Tensor]) -> object:
    try:
        return step(X).tolist()
    except Exception as error:  # the same error is the same result
        return repr(error)


def _snapshot(value: Any) -> object:  # noqa: ANN401
    if type(value) is cycle:
        items: list[object] = [next(value) for _ in range(4)]
        return items
    if isinstance(value, np.random.Generator):
        return value.random()
    return getattr(value, "scale", None) or repr(value)


def run(decorate: Callable[[Any], Any], hold: Hold, payload: Payload, change: str) -> list[object]:
    """Return the results of a step before and after a change."""
    value = payload.make()
    held = hold(value)
    get, read = held.get, payload.read
    if effect := payload.effects.get(change):
        step = decorate(lambda x: (effect(get()), x * read(get()))[1])
        return [*(_outcome(step) for _ in range(2 * CALLS)), _snapshot(value)]
    step = decorate(lambda x: x * read(get()))
    results = [_outcome(step) for _ in range(CALLS)]
    if change == "rebind":
        other = payload.make() if payload.changes else 3.0
        for in_place in list(payload.changes.values())[:1]:
            in_place(other)
        held.rebind(other)
    else:
        payload.changes[change](value)
    return [*results, *(_outcome(step) for _ in range(CALLS))]


def is_replayed(hold: Hold, name: str, change: str) -> bool:
    """Compare a step with its function, and return whether it was replayed."""
    steps: list[Any] = []

    def jit(function: Any) -> Any:  # noqa: ANN401
        steps.append(ms.jit(function))
        return steps[0]

    payload = PAYLOADS[name]
    found = run(jit, hold, payload, change)
    assert found == run(lambda function: function, hold, payload, change)
    return ms.graph_info(steps[0]).replayed > 0


def _changes(payload: Payload) -> list[str]:
    return ["rebind", *payload.changes, *payload.effects]


def _check(name: str, holder: str, hold: Hold, change: str) -> bool:
    try:
        return is_replayed(hold, name, change)
    except AssertionError as error:
        raise AssertionError(f"{name} in {holder}: {change}") from error


@pytest.mark.parametrize("name", PAYLOADS)
def test_changed_state_is_seen(name: str) -> None:
    """Each holder, with the next change in turn."""
    changes = cycle(_changes(PAYLOADS[name]))
    replayed = [_check(name, *item, next(changes)) for item in HOLDERS.items()]
    assert any(replayed) == (name in REPLAYED)


OF_PACKAGE = package_holders()


@pytest.mark.parametrize("number", range(len(PAYLOADS)))
def test_changed_state_on_objects_of_the_package_is_seen(number: int) -> None:
    """Each class of the package, with two or three payloads."""
    name = list(PAYLOADS)[number]
    changes = cycle(_changes(PAYLOADS[name]))
    for item in list(OF_PACKAGE.items())[number % 31 :: 31]:
        _check(name, *item, next(changes))


@pytest.mark.full
@pytest.mark.parametrize("name", PAYLOADS)
def test_every_change_is_seen_in_every_place(name: str) -> None:
    for item in (HOLDERS | OF_PACKAGE).items():
        for change in _changes(PAYLOADS[name]):
            _check(name, *item, change)
