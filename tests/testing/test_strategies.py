"""Strategies draw what was requested, and failures shrink to short programs."""

from collections.abc import Callable
from inspect import isfunction
from pathlib import Path
from random import Random
from typing import get_type_hints

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from minispore import Parameter, Tensor, float32, get_seed, nn, ops
from minispore._hypothesis import register
from minispore.common.dtype import DType
from minispore.dataset import Dataset
from minispore.testing import EventTrace, Scenario, gradcheck
from minispore.testing import strategies as mst
from minispore.testing._scenario import Kind
from minispore.train import Callback


@given(mst.dtypes("int", "bool"), mst.tensors(mst.dtypes("float"), special=True))
def test_dtypes_has_the_requested_categories(dtype: DType, x: Tensor) -> None:
    assert dtype.numpy_dtype.kind in "iub"
    assert x.dtype.numpy_dtype.kind == "f"


def test_from_type_makes_tensors_once_hypothesis_has_called_the_entry_point() -> None:
    register()
    kinds: list[type[Tensor | DType]] = [Tensor, Parameter, DType]

    @given(st.data())
    def draw(data: st.DataObject) -> None:
        for kind in kinds:
            assert type(data.draw(st.from_type(kind))) is kind

        def total(x: Tensor, dtype: DType) -> Tensor:
            return x.astype(dtype).sum()

        assert data.draw(st.builds(total)).shape == ()

    draw()


def test_annotations_of_tensors_and_operations_can_be_evaluated() -> None:
    """`hypothesis write` evaluates them, as other tools do."""
    operations = [*vars(ops).values(), *vars(Tensor).values()]
    functions = [f for f in operations if isfunction(f) and not f.__name__.startswith("__")]
    assert len(functions) > 300
    for function in functions:
        hints = get_type_hints(function)
        assert hints.get("input", Tensor) != "Tensor"


@given(mst.shapes(1, 2, 3, 5), mst.tensors(float32, (2, 0)), mst.tensors(shape=mst.shapes(2, 2)))
def test_shapes_are_within_the_bounds(shape: tuple[int, ...], x: Tensor, y: Tensor) -> None:
    assert len(shape) in {1, 2}
    assert all(3 <= side <= 5 for side in shape)
    assert x.shape == (2, 0)
    assert y.ndim == 2


@given(mst.tensors())
def test_tensors_are_bounded_by_default(x: Tensor) -> None:
    assert np.all(abs(x.asnumpy().astype(float)) <= 100)


@pytest.mark.parametrize("kind", "biuf")
def test_tensors_are_of_any_kind_by_default(kind: str) -> None:
    find(mst.tensors(), lambda x: x.dtype.numpy_dtype.kind == kind)  # or an error is raised


@given(mst.broadcastable_tensors(3, float32))
def test_broadcastable_tensors_broadcast(drawn: tuple[Tensor, ...]) -> None:
    x, y, z = drawn
    assert (x + y + z).shape == np.broadcast_shapes(x.shape, y.shape, z.shape)


@settings(max_examples=min(10, settings().max_examples))
@given(mst.cells(inputs=2, outputs=3), st.integers(0, 3))
def test_cells_have_the_requested_features(net: nn.Cell, rows: int) -> None:
    x = Tensor(np.linspace(-1, 1, 2 * rows).reshape(rows, 2))
    assert net(x).shape == (rows, 3)
    # Their initial weights depend on the seed that hypothesis sets.
    assert get_seed() is not None


@settings(max_examples=5)
@given(mst.cells())
def test_cells_have_correct_gradients(net: nn.Cell) -> None:
    smooth = all(not isinstance(cell, nn.ReLU) for _, cell in net.cells_and_names())
    if smooth:
        features = next(iter(net.get_parameters())).shape[1]
        gradcheck(net, Tensor(np.sin(np.arange(2.0 * features)).reshape(2, features)))


@given(mst.datasets(features=3, classes=4))
def test_datasets_yield_batches_for_training(dataset: Dataset) -> None:
    batches = list(dataset.create_tuple_iterator(num_epochs=1, output_numpy=True))
    assert len(batches) == dataset.get_dataset_size() > 0
    for x, y in batches:
        assert x.dtype == np.float32
        assert x.shape[1:] == (3,)
        assert y.dtype == np.int32
        assert y.shape == x.shape[:1]
        assert set(y.tolist()) <= {0, 1, 2, 3}


@settings(max_examples=min(20, settings().max_examples))
@given(scenario=mst.scenarios(), data=st.data())
def test_scenarios_run_with_random_callbacks(
    tmp_path_factory: pytest.TempPathFactory, scenario: Scenario, data: st.DataObject
) -> None:
    validated = scenario.kind != "fit" or (
        scenario.valid_batches is not None and scenario.valid_frequency == 1
    )
    kind = scenario.kind if validated else "train"
    callbacks = data.draw(mst.callback_lists(kind, tmp_path_factory.mktemp("files")))
    trace = scenario.run(callbacks)
    assert trace == EventTrace(trace)
    assert trace.names.count("run") == 1
    injected = scenario.fault is not None and scenario.fault.kind != "stop"
    assert not trace[0].raised or injected


@pytest.mark.parametrize(
    ("kind", "files", "names"),
    [
        ("train", False, {"History", "LossMonitor", "TimeMonitor"}),
        ("eval", True, {"History", "LossMonitor", "TimeMonitor"}),
        ("train", True, {"History", "LossMonitor", "ModelCheckpoint", "TimeMonitor"}),
        (
            *("fit", True),
            {"BestCheckpoint", "EarlyStopping", "History", "LossMonitor", "ModelCheckpoint"}
            | {"ReduceLROnPlateau", "TimeMonitor"},
        ),
    ],
)
def test_callback_lists_draws_the_callbacks_of_a_mode(
    kind: Kind, files: bool, names: set[str], tmp_path: Path
) -> None:
    drawn: set[str] = set()

    @settings(max_examples=100, database=None, derandomize=True)
    @given(mst.callback_lists(kind, tmp_path if files else None))
    def collect(callbacks: list[Callback]) -> None:
        drawn.update(type(callback).__name__ for callback in callbacks)

    collect()
    assert drawn == names


def layers_of(net: nn.Cell) -> list[str]:
    """Return the layers of a network, Dense layers with their numbers of inputs and outputs."""
    layers = [cell for _, cell in net.cells_and_names() if not isinstance(cell, nn.SequentialCell)]
    return [
        "{1}-{0}".format(*cell.weight.shape) if isinstance(cell, nn.Dense) else type(cell).__name__
        for cell in layers
    ]


FULL = pytest.mark.full


@pytest.mark.parametrize(
    ("layer", "expected", "seed"),
    [
        *(
            pytest.param("Dropout", ["1-1", "ReLU", "Dropout", "1-1"], seed, marks=FULL)
            for seed in (4, 6, 7)
        ),
        pytest.param("Tanh", ["1-1", "Tanh", "1-1"], 0, marks=FULL),
        ("1-3", ["1-3"], 0),
        ("3-1", ["3-1"], 0),
    ],
)
def test_networks_shrink_to_the_fewest_layers(layer: str, expected: list[str], seed: int) -> None:
    net = find(
        mst.cells(max_layers=4, dropout=True),
        lambda net: layer in layers_of(net),
        settings=settings(max_examples=500, database=None),
        random=Random(seed),
    )
    assert layers_of(net) == expected


# A strategy, a condition, and the program that it shrinks to.
SMALLEST: list[tuple[st.SearchStrategy[object], Callable[[object], bool], str]] = [
    (mst.tensors(float32), lambda x: True, "Tensor(array(0., dtype=float32))"),
    (mst.cells(), lambda net: True, "Dense(1, 1)"),
    (
        mst.cells(),
        lambda net: isinstance(net, nn.SequentialCell),
        "SequentialCell([Dense(1, 1), ReLU(), Dense(1, 1)])",
    ),
    (mst.scenarios(["train"]), lambda run: True, "Scenario('train', epochs=1, batches=1)"),
    (
        mst.scenarios(["eval"]),
        lambda run: isinstance(run, Scenario) and run.fault is not None,
        "Scenario('eval', valid_batches=1, fault=Fault('on_eval_begin', 1, 'stop', False))",
    ),
    (mst.callback_lists("fit"), lambda callbacks: callbacks != [], "[History()]"),
    (
        mst.datasets(),
        lambda dataset: True,
        "batch(NumpySlicesDataset({'x': array([[0.  , 0.25]], dtype=float32),",
    ),
]


@pytest.mark.parametrize(("strategy", "condition", "program"), SMALLEST)
def test_failures_shrink_to_short_programs(
    strategy: st.SearchStrategy[object], condition: Callable[[object], bool], program: str
) -> None:
    @settings(database=None, derandomize=True, phases=[Phase.generate, Phase.shrink])
    @given(value=strategy)
    def fails(value: object) -> None:
        assert not condition(value)

    with pytest.raises(AssertionError) as raised:
        fails()
    notes = "".join(" ".join(raised.value.__notes__).split())
    for mark in (" ", ","):  # long programs are printed in several lines
        program, notes = program.replace(mark, ""), notes.replace(mark, "")
    assert f"value={program}" in notes


def test_rng_state_is_restored() -> None:
    before = get_seed()
    find(mst.cells(), lambda net: True, settings=settings(phases=[Phase.generate]))
    assert get_seed() == before
