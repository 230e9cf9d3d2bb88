"""The learner's functions in the places of the package's do what the package's do."""

from collections.abc import Callable, Iterable, Iterator
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, nn
from minispore._course.places import PLACES, Called
from minispore._course.solutions import cell, loop
from minispore.testing import record_events
from minispore.train import Callback, Model, RunContext
from minispore.train import loop as package_loop

Pairs = Callable[..., Iterable[tuple[str, object]]]


def in_place(name: str, learner: object) -> Pairs:
    return cast("Pairs", PLACES[name].adapt(cast("Called", learner)))


def recursive(self: nn.Cell, name_prefix: str = "") -> Iterator[tuple[str, nn.Cell]]:
    """Yield the cells as a learner may do it, who calls the method of the children."""
    yield name_prefix, self
    for name, child in self._children():
        inner = f"{name_prefix}.{name}" if name_prefix else name
        pairs = in_place("Cell.cells_and_names", recursive)(child, inner)
        yield from cast("Iterable[tuple[str, nn.Cell]]", pairs)


@st.composite
def networks(draw: st.DrawFn) -> nn.Cell:
    network: nn.Cell = nn.Dense(1, 1)
    for more in draw(st.lists(st.booleans(), max_size=3)):
        network = nn.SequentialCell(network, nn.ReLU(), *([nn.Dense(1, 1)] if more else []))
    return network


@given(networks(), st.sampled_from(["", "net"]), st.booleans())
def test_traversals_take_the_package_s_arguments(
    network: nn.Cell, prefix: str, expand: bool
) -> None:
    cells = in_place("Cell.cells_and_names", cell.Cell.cells_and_names)
    for some in (None, [child for _, child in network._children()][:1]):
        expected = list(network.cells_and_names(some, prefix))
        assert list(cells(network, some, name_prefix=prefix)) == expected
    assert list(in_place("Cell.cells_and_names", recursive)(network)) == list(
        network.cells_and_names()
    )
    parameters = in_place("Cell.parameters_and_names", cell.Cell.parameters_and_names)
    named = [(path, id(p)) for path, p in network.parameters_and_names(prefix, expand)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nn.Cell, "cells_and_names", cells)
        found = [(path, id(p)) for path, p in parameters(network, prefix, expand=expand)]
    assert found == named


class Requests(Callback):
    """Requests a stop in the n-th call of its hooks, and records what its hooks see."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.seen: list[tuple[object, ...]] = []

    def _see(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        fields = ("cur_epoch_num", "cur_step_num", "metrics")
        self.seen.append(tuple(str(params.get(name)) for name in fields))
        if len(self.seen) == self.number:
            run_context.request_stop()

    on_train_step_begin = on_train_step_end = on_train_epoch_end = on_train_end = _see


@given(st.integers(1, 12), st.integers(0, 1), st.booleans())
def test_learner_s_loop_runs_a_model(number: int, done: int, validates: bool) -> None:
    def trained() -> tuple[str, list[tuple[object, ...]]]:
        network = nn.Dense(1, 1, weight_init="ones", bias_init="zeros")
        optimizer = nn.SGD(network.trainable_params(), 0.1)
        model = Model(network, nn.MSELoss(), optimizer, metrics={"mse"})
        data = [(Tensor(np.ones((1, 1), np.float32)), Tensor(np.ones((1, 1), np.float32)))] * 2
        callback = Requests(number)
        with record_events() as trace:
            if validates:
                model.fit(2, data, data, callbacks=callback, initial_epoch=done)
            else:
                model.train(2, data, callbacks=callback, initial_epoch=done)
        return "\n".join(str(event.name) for event in trace), callback.seen

    expected = trained()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(package_loop, "train", in_place("fit", loop.fit))
        assert trained() == expected
