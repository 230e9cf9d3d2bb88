"""Runs of `Model` with given losses, for callbacks that learners write."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from hypothesis import strategies as st

from minispore import nn
from minispore._course.feedback import WrongResult
from minispore.common import Tensor
from minispore.dataset import NumpySlicesDataset
from minispore.testing import INVARIANTS, CallbackError, check_callback
from minispore.train import Callback, Metric, Model, RunContext
from minispore.train.protocol.callback import EVENTS
from minispore.train.resume import decode, encode
from minispore.utils.checks import is_mapping

RESULT = "accuracy"


@dataclass(frozen=True)
class GivenRun:
    """A run in which each step has a given loss.

    Attributes:
        losses: The losses of the steps of each epoch; all epochs have equally many.
        accuracies: The result of the evaluation after each epoch; empty for `train`.
        gradients: Whether a step returns its loss with a dictionary of gradients, both being
            derived from the loss.
    """

    losses: tuple[tuple[float, ...], ...]
    accuracies: tuple[float, ...] = ()
    gradients: bool = False

    def __str__(self) -> str:
        text = "; ".join(f"epoch {i}: {_listed(losses)}" for i, losses in enumerate(self.losses, 1))
        results = f", and the accuracies {_listed(self.accuracies)}" if self.accuracies else ""
        return f"the losses {text}{results}"

    def means(self) -> list[float]:
        """Return the mean loss of each epoch."""
        return [sum(losses) / len(losses) for losses in self.losses]

    def train(self, *callbacks: Callback, done: int = 0) -> None:
        """Train, or fit, with these callbacks; `done` epochs precede the run."""
        values = iter([loss for epoch in self.losses[done:] for loss in epoch])
        network = _GivenLosses(values, gradients=self.gradients)
        rows = NumpySlicesDataset(np.zeros(len(self.losses[0]), np.float32), shuffle=False)
        metric = _GivenMetric(iter(self.accuracies[done:]))
        model = Model(network, metrics={RESULT: metric}, eval_network=_Unchanged())
        epochs, data = len(self.losses), rows.batch(1)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The loss of .* is not finite")
            if self.accuracies:
                one = NumpySlicesDataset(np.zeros(1, np.float32), shuffle=False).batch(1)
                model.fit(epochs, data, one, callbacks=callbacks, initial_epoch=done)
            else:
                model.train(epochs, data, callbacks=callbacks, initial_epoch=done)


def given_runs(
    *,
    evaluates: bool = False,
    gradients: bool = False,
    epochs: int = 5,
    steps: int = 3,
    most: int = 8,
) -> st.SearchStrategy[GivenRun]:
    """Generate runs; the losses are up to `most` quarters, whose sums are exact."""
    quarters = st.integers(0, most).map(lambda n: n / 4)

    def runs(size: tuple[int, int]) -> st.SearchStrategy[GivenRun]:
        count, length = size
        epoch = st.lists(quarters, min_size=length, max_size=length).map(tuple)
        results = st.lists(quarters, min_size=count, max_size=count).map(tuple)
        return st.builds(
            GivenRun,
            st.lists(epoch, min_size=count, max_size=count).map(tuple),
            results if evaluates else st.just(()),
            st.just(gradients),
        )

    return st.tuples(st.integers(1, epochs), st.integers(1, steps)).flatmap(runs)


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)


class _Unchanged(nn.Cell):
    """A network that returns its input."""

    def construct(self, x: Tensor) -> Tensor:
        return x


class _GivenLosses(nn.Cell):
    """A network that returns the next loss at each call."""

    def __init__(self, losses: Iterator[float], *, gradients: bool) -> None:
        super().__init__()
        self._losses = losses
        self._with_gradients = gradients

    def construct(self, x: Tensor) -> Tensor:
        loss = next(self._losses)
        value = Tensor(np.float32(loss))
        if not self._with_gradients:
            return value
        return cast("Tensor", (value, given_gradients(loss)))


def given_gradients(loss: float) -> dict[str, Tensor]:
    """Return the gradients of a step with this loss; their global norm is five times the loss."""
    weight = Tensor(np.array([[3.0 * loss, 0.0]], np.float32))
    return {"weight": weight, "bias": Tensor(np.array([-4.0 * loss], np.float32))}


class _GivenMetric(Metric):
    """A metric with given results."""

    def __init__(self, results: Iterator[float]) -> None:
        super().__init__()
        self._results = results

    def clear(self) -> None:
        """Do nothing: it depends on no outputs."""

    def update(self, *inputs: object) -> None:
        """Ignore the outputs."""

    def eval(self) -> float:
        """Return the next result."""
        return next(self._results)


class Act(Callback):
    """A callback that calls a function once, at the n-th event of a name."""

    def __init__(self, event: str, number: int, action: Callable[[RunContext], object]) -> None:
        super().__init__()

        def act(run_context: RunContext) -> None:
            nonlocal number
            number -= 1
            if number == 0:
                action(run_context)

        assert event in EVENTS
        setattr(self, event, act)


def kill_and_resume(
    run: GivenRun, epoch: int, make: Callable[[], Callback]
) -> tuple[Callback, RunContext | None]:
    """Kill a run after an epoch and resume it with a new callback; return that callback.

    The context is that of the resumed run, None if the run had ended before.
    """
    first, saved, contexts = make(), list[Mapping[str, object]](), list[RunContext]()

    def kill(run_context: RunContext) -> None:
        saved.append(through_file(first))
        raise _KillError

    with suppress(_KillError):
        run.train(first, Act("on_train_epoch_end", epoch, kill))
    if not saved:
        return first, None
    second = make()
    load = Act("on_train_begin", 1, lambda _: _load(second, saved[0]))
    keep = Act("on_train_begin", 1, contexts.append)
    run.train(second, load, keep, done=epoch)
    return second, contexts[0]


class _KillError(BaseException):
    """Ends a run as a kill does."""


def _load(callback: Callback, state: Mapping[str, object]) -> None:
    cast("Stateful", callback).load_state_dict(state)


class Stateful(Callback):
    """The type of a callback with a state."""

    def state_dict(self) -> dict[str, object]:
        """Return the state."""
        raise NotImplementedError

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Restore a state."""
        raise NotImplementedError


def through_file(callback: Callback) -> Mapping[str, object]:
    """Return a callback's state after writing it to a file and reading it, as new objects.

    Raises:
        WrongResult: It is no dictionary, or no file can store it.
    """
    state: object = cast("Stateful", callback).state_dict()
    if not is_mapping(state):
        raise WrongResult(f"your state_dict returned {state!r}, but a dictionary was expected")
    try:
        text, arrays = encode(state, "state")
    except TypeError as error:
        raise WrongResult(f"your state cannot be written to a file: {error}") from None
    copies = {name: array.copy() for name, array in arrays.items()}
    return cast("Mapping[str, object]", decode(text, "state", copies))


def expect_invariants(
    make: Callable[[], Callback],
    *ignore: str,
    modes: Sequence[Literal["train", "fit", "eval"]] = ("train", "fit", "eval"),
    may_change: Sequence[str] = (),
) -> None:
    """Raise `WrongResult` if `check_callback` finds a violated invariant.

    Args:
        make: Returns the callback.
        *ignore: The invariants that are not checked.
        modes: The kinds of runs.
        may_change: Where it may change parameters, as for `check_callback`.
    """
    try:
        check_callback(make, ignore=ignore, may_change=may_change, samples=5, modes=modes)
    except CallbackError as error:
        first = error.violations[0]
        message = first.message.rstrip(".").replace("\n", " ")
        where = f"the run {first.where}"
        raise WrongResult(
            f"the invariant {first.invariant!r} is violated in {where}: {message}. "
            f"The invariant is: {INVARIANTS[first.invariant]}"
        ) from None
