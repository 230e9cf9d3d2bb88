"""Random scenarios for `check_callback`, which needs no other package."""

from collections.abc import Sequence
from itertools import cycle, product
from random import Random

from minispore.testing._scenario import Fault, FaultKind, Kind, Scenario
from minispore.train.protocol import EVENTS

_MOST = 3  # epochs, or steps in an epoch
_FAULTS: tuple[FaultKind, ...] = ("stop", "exception", "interrupt", "kill")


def sample_scenarios(kinds: Sequence[Kind], count: int, seed: int) -> list[Scenario]:
    """Return random scenarios of these kinds, the simplest first.

    Each kind has the same share. Its first ones have every number of epochs and of steps from 1 to
    3 and no fault; in all later ones a fault occurs.

    Args:
        kinds: The kinds of runs.
        count: The number of scenarios to draw; of equal ones only the first is returned.
        seed: The seed.

    Returns:
        The scenarios.

    Examples:
        >>> [str(each) for each in sample_scenarios(["eval"], 3, seed=0)]
        ['eval with 1 step', 'eval with 2 steps', 'eval with 3 steps']
    """
    rng = Random(seed)  # noqa: S311 (no secret)
    sampled: list[Scenario] = []
    for number, kind in enumerate(kinds):
        sizes = range(1, _MOST + 1)
        shapes = list(product([2] if kind == "eval" else sizes, sizes))
        rng.shuffle(shapes)
        share = len(range(number, count, len(kinds)))
        for i, (epochs, steps) in zip(range(share), cycle(shapes), strict=False):
            fault = _sample_fault(rng, kind) if i >= len(shapes) else None
            if kind == "eval":
                sampled.append(Scenario(kind, valid_batches=steps, fault=fault))
            elif kind == "train":
                sampled.append(Scenario(kind, epochs, steps, fault=fault))
            else:
                valid = rng.choice([None, *sizes])
                listed = tuple(sorted(rng.sample(range(1, _MOST + 2), rng.randint(1, 2))))
                frequency = rng.choice([*sizes, listed])
                sampled.append(Scenario(kind, epochs, steps, valid, frequency, fault))
    return sorted(dict.fromkeys(sampled), key=_size)


def _sample_fault(rng: Random, kind: Kind) -> Fault:
    events = [event for event in EVENTS if kind == "fit" or event.startswith(f"on_{kind}_")]
    times = rng.randint(1, _MOST + 1)
    return Fault(rng.choice(events), times, rng.choice(_FAULTS), rng.random() < 0.5)


def _size(scenario: Scenario) -> tuple[int, int]:
    steps = scenario.valid_batches or 0
    if scenario.kind != "eval":
        steps = scenario.epochs * (scenario.batches + steps)
    return (scenario.fault is not None, steps)
