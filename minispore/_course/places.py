"""The places of the learner's functions in the package, where the functions have more arguments."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Protocol, cast

from minispore import nn
from minispore._course.solutions import loop as small_loop
from minispore.common import Parameter, Tensor
from minispore.engine import graph
from minispore.train import RunContext, loop
from minispore.train.protocol.callback import EVENTS, Callback, CallbackManager
from minispore.train.protocol.dataset import EpochIterator
from minispore.utils.arrays import Float32Array


class Called(Protocol):
    """A learner's function."""

    def __call__(self, *args: object, **kwargs: object) -> object: ...


@dataclass(frozen=True)
class Place:
    """The place of a learner's function.

    Attributes:
        owner: The module or class of the package.
        name: The name of the function there.
        adapt: Makes a function with the arguments of the package's from the learner's.
    """

    owner: object
    name: str
    adapt: Callable[[Called], object]


def _backward_pass(learner: Called) -> object:
    def backward_pass(
        seeds: Iterable[tuple[graph.Node, object]],
        inputs: Collection[int],
        first_number: int,
        get_pullbacks: Callable[[graph.Node], Iterable[object]],
        _: object,
    ) -> dict[int, object]:
        def edges(node: graph.Node) -> list[tuple[graph.Node, object]]:
            if node.number in inputs:
                return []
            return [
                (parent, pullback)
                for parent, pullback in zip(node.parents, get_pullbacks(node), strict=True)
                if parent is not None
                and pullback is not None
                and (parent.number >= first_number or parent.number in inputs)
            ]

        found = cast("dict[int, object]", learner(seeds, edges))
        return {number: found[number] for number in found if number in inputs}

    return backward_pass


def _cells_and_names(learner: Called) -> object:
    without_some = nn.Cell.cells_and_names

    def cells_and_names(
        cell: nn.Cell, cells: str | Iterable[nn.Cell] | None = None, name_prefix: str = ""
    ) -> Iterator[tuple[str, nn.Cell]]:
        if cells is not None and not isinstance(cells, str):
            return without_some(cell, cells, name_prefix)
        # The learner's own calls have the prefix only.
        prefix = name_prefix if cells is None else cells
        return cast("Iterator[tuple[str, nn.Cell]]", learner(cell, prefix))

    return cells_and_names


def _parameters_and_names(learner: Called) -> object:
    of_one = nn.Cell.parameters_and_names

    def parameters_and_names(
        cell: nn.Cell, name_prefix: str = "", expand: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        if not expand:
            return of_one(cell, name_prefix, expand=False)
        return cast("Iterator[tuple[str, Parameter]]", learner(cell, name_prefix))

    return parameters_and_names


def _update(learner: Called) -> object:
    def update(
        sgd: nn.SGD, _: object, arrays: Sequence[Float32Array], scalars: Sequence[float]
    ) -> None:
        w, g, _, _, v = arrays
        rate, momentum, is_first_step = scalars
        learner(w, g, v, rate, momentum, sgd.dampening, sgd.nesterov, bool(is_first_step))

    return update


def _fit(learner: Called) -> object:
    def train(
        context: RunContext, callbacks: CallbackManager, validate: Callable[[], None] | None = None
    ) -> None:
        params = context.original_args()
        epochs = iter(EpochIterator(params.train_dataset, params.epoch_num))

        class Batches:
            def __iter__(self) -> Iterator[Sequence[Tensor]]:
                """Yield the batches of the next epoch."""
                for params.train_dataset_element in next(epochs)[1]:
                    yield params.train_dataset_element

        def step(*batch: Tensor) -> object:
            params.train_network.set_train()
            params.net_outputs = params.train_network(*batch)
            return params.net_outputs

        def hook(event: str) -> Callable[[small_loop.State], None]:
            def emit(state: small_loop.State) -> None:
                if event == "on_train_epoch_begin":
                    params.cur_epoch_num = params.initial_epoch + state.epoch
                params.cur_step_num += event == "on_train_step_begin"
                callbacks.emit(getattr(Callback, event), context)
                if event == "on_train_epoch_end":
                    params.pop("metrics", None)
                    params.pop("eval_results", None)
                state.stop = context.get_stop_requested()

            return emit

        hooks = SimpleNamespace(**{event: hook(event) for event in EVENTS if "train" in event})
        learner(step, Batches(), params.epoch_num, [hooks], validate)

    return train


# By the names of the parts; the place of each other part is where its lesson found it.
PLACES = {
    "backward_pass": Place(graph, "backward_pass", _backward_pass),
    "Cell.cells_and_names": Place(nn.Cell, "cells_and_names", _cells_and_names),
    "Cell.parameters_and_names": Place(nn.Cell, "parameters_and_names", _parameters_and_names),
    "update": Place(nn.SGD, "_update", _update),
    "fit": Place(loop, "train", _fit),
}
