"""A loaded graph computes what the exported cell computes, and other cells are refused."""

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Parameter, Tensor, export, float16, float32, load, nn, ops, save_checkpoint
from minispore.testing import strategies as mst
from minispore.utils.checks import as_items
from tests.helpers.refusals import Refusal, refusals


class Function(nn.Cell):
    """A cell that calls a function."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.factor = Parameter(ops.full(3, 2.0, dtype=float32), name="factor")
        self.function = function

    def construct(self, *inputs: Tensor) -> object:
        return self.function(*inputs, self.factor)


CONSTANT = Tensor([1.0, -2.0, 3.0])
PROGRAMS: dict[str, Callable[[Tensor, Tensor], object]] = {
    "mixed operands": lambda x, w: (CONSTANT - x, CONSTANT**2 / w, w > CONSTANT, 1.0 / w - x),
    "selection": lambda x, w: ops.where(x > w, ops.exp(x), ops.argmax(x)),
    "indices from elements": lambda x, w: (
        w[ops.argsort(x)],
        ops.gather(w * CONSTANT, ops.argmin(x), 0),
    ),
    "padding": lambda x, w: ops.pad(x * w, (1, 2), value=7.0),
    "an output that is an input": lambda x, w: (x, (w, CONSTANT)),
    "another data type": lambda x, w: ops.matmul(x.astype(float16), w.astype(float16)).int(),
    "functions of several": lambda x, w: ops.concat(
        [CONSTANT, ops.stack([x, w]).sum(0), x.cumsum(0)]
    ),
    "new tensors": lambda x, w: x + ops.arange(3) * ops.ones(3) - ops.zeros_like(w),
    "cut and joined": lambda x, w: ops.flip(ops.roll(x, 1, 0), (0,)) * ops.tile(w[1:2], (3,)),
}


def exported(net: nn.Cell, *inputs: Tensor, folder: Path) -> nn.GraphCell:
    export(net, *inputs, file_name=str(folder / "net"), file_format="MINISPORE")
    return nn.GraphCell(load(str(folder / "net.minispore")))


def assert_same(actual: object, expected: object) -> None:
    """Assert equal types and bits."""
    items = as_items(expected)
    if items is not None:
        for pair in zip(as_items(actual) or (), items, strict=True):
            assert_same(*pair)
        return
    assert isinstance(actual, Tensor)
    assert isinstance(expected, Tensor)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    assert actual.asnumpy().tobytes() == expected.asnumpy().tobytes()


@given(net=mst.cells(inputs=3), seed=st.integers(0, 99))
def test_loaded_graph_computes_what_the_cell_computes(
    tmp_path_factory: pytest.TempPathFactory, net: nn.Cell, seed: int
) -> None:
    x, other = (Tensor(np.random.default_rng(seed + i).normal(size=(4, 3))) for i in (0, 1))
    net.set_train(seed % 2 == 0)
    cell = exported(net, x.float(), folder=tmp_path_factory.mktemp("export"))
    assert net.training == (seed % 2 == 0)
    net.set_train(False)
    assert_same(cell(other.float()), net(other.float()))


@pytest.mark.parametrize("name", PROGRAMS)
def test_loaded_program_computes_what_the_function_computes(name: str, tmp_path: Path) -> None:
    net = Function(PROGRAMS[name])
    cell = exported(net, Tensor([0.5, 0.25, 4.0]), folder=tmp_path)
    other = Tensor([1.5, -2.25, -3.0])
    assert_same(cell(other), net(other))
    half = ops.full(3, 0.5)
    net.factor.set_data(half)
    changed = nn.GraphCell(load(str(tmp_path / "net.minispore")), {"factor": half})
    assert_same(changed(other), net(other))


def test_images_and_normalization(tmp_path: Path) -> None:
    layers = [nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2, 2)]
    net = nn.SequentialCell(*layers, nn.Flatten(), nn.Dropout(p=0.5), nn.Dense(8, 3)).set_train()
    x, other = (Tensor(np.random.default_rng(i).normal(size=(2, 1, 4, 4))).float() for i in (0, 1))
    before = [each.asnumpy().copy() for each in net.get_parameters()]
    cell = exported(net, x, folder=tmp_path)
    assert [each.name for each in cell.get_parameters()] == [
        each.name for each in net.get_parameters()
    ]
    for old, each in zip(before, net.get_parameters(), strict=True):
        assert np.array_equal(old, each.asnumpy())
    net.set_train(False)
    assert_same(cell(other), net(other))


def in_place(x: Tensor, w: Tensor) -> Tensor:
    return ops.depend(x, ops.assign(w, x)) if isinstance(w, Parameter) else x


REFUSED: dict[str, Callable[[Tensor, Tensor], object]] = {
    "branches on elements": lambda x, w: x if x.sum() > 0 else w,
    "elements as numbers": lambda x, w: x * x.asnumpy().max(),
    "random numbers": lambda x, w: x + ops.rand(3),
    "no tensor": lambda x, w: "a",
    "shapes that depend on elements": lambda x, w: x[x > 0],
    "a function of numpy": lambda x, w: x + Tensor(np.linalg.norm(x)),
    "parameters in place": in_place,
}


def test_decision_on_an_input_is_refused(tmp_path: Path) -> None:
    labels = Tensor([0, 2])
    with pytest.raises(RuntimeError, match="decides on the elements of an input"):
        exported(nn.CrossEntropyLoss(), ops.ones((2, 3)), labels, folder=tmp_path)
    exported(Function(lambda x, w: x + ops.pow(labels, labels).sum()), labels, folder=tmp_path)


@pytest.mark.parametrize("name", REFUSED)
def test_cell_that_is_no_program_is_refused(name: str, tmp_path: Path) -> None:
    net = Function(REFUSED[name])
    with pytest.raises((RuntimeError, TypeError), match="For '"):
        exported(net, Tensor([0.5, 0.25, 4.0]), folder=tmp_path)
    assert [*tmp_path.iterdir()] == []
    assert net.factor.tolist() == [2.0, 2.0, 2.0]


WRONG = """
    export(net, x, file_name="a", file_format="AIR")  # NotImplementedError: 'AIR' is not | save_checkpoint
    export(net, x, file_name="a", file_format="ONNX")  # NotImplementedError: 'ONNX' | save_checkpoint
    export(net, x, file_name="a", file_format="PT")  # ValueError: 'file_format' must be one of | got 'PT'
    export(net, x, file_name="a", file_format="MINISPORE", enc_key=b"")  # TypeError: no arguments ['enc_key']
    load("net.ckpt")  # ValueError: 'file_name' must be a str that ends with | got 'net.ckpt'
    load("no.minispore")  # ValueError: the file 'no.minispore' does not exist
    load("net.minispore", dec_key=b"")  # TypeError: no arguments ['dec_key']
    nn.GraphCell(graph)(ones((2, 3)))  # ValueError: must be of the shapes | (1, 3) | (2, 3)
    nn.GraphCell(graph)(x, x)  # ValueError: must be of the shapes | (1, 3) | (1, 3) | (1, 3)
    nn.GraphCell(graph).construct(1)  # TypeError: must be Tensors, but got (1,)
    nn.GraphCell(net)  # TypeError: 'graph' must be one of Graph
    nn.GraphCell(graph, {"weight": x})  # ValueError: 'weight' in 'params_init' | (2, 3) | (1, 3)
    nn.GraphCell(graph, obf_random_seed=3)  # ValueError: 'obf_random_seed' must be None, but got 3
    nn.GraphCell(graph, {3: x})  # TypeError: 'params_init' must be one of str, but got 3
"""  # noqa: E501


@pytest.mark.parametrize("refusal", refusals(WRONG))
def test_arguments_are_checked(
    refusal: Refusal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, x = nn.Dense(3, 2), ops.ones((1, 3))
    graph = exported(net, x, folder=tmp_path).graph
    monkeypatch.chdir(tmp_path)
    names = {"export": export, "load": load, "nn": nn, "ones": ops.ones}
    refusal.check({**names, "net": net, "x": x, "graph": graph})
    assert [path.name for path in tmp_path.iterdir()] == ["net.minispore"]


def test_parameter_that_the_graph_does_not_have_warns(tmp_path: Path) -> None:
    cell = exported(nn.Dense(3, 2), ops.ones((1, 3)), folder=tmp_path)
    with pytest.warns(UserWarning, match=r"no parameters of the names \['gain'\]") as caught:
        nn.GraphCell(cell.graph, {"gain": Tensor(1.0)})
    assert caught[0].filename == __file__


def test_file_called_mindir_is_minispores_with_a_warning(tmp_path: Path) -> None:
    net, x, file = nn.Dense(3, 2), ops.ones((1, 3)), str(tmp_path / "net")
    with pytest.warns(UserWarning, match="MindSpore does not") as caught:
        export(net, x, file_name=file, file_format="MINDIR")
    assert caught[0].filename == __file__
    assert_same(nn.GraphCell(load(f"{file}.mindir"))(x), net(x))


def test_instruction_that_fails_raises_value_error(tmp_path: Path) -> None:
    cell = exported(nn.Dense(3, 2), ops.ones((1, 3)), folder=tmp_path)
    entries = cell.graph.runner.tape.entries
    first = entries[0]
    assert first.result is not None
    for wrong in (
        first._replace(operands=()),
        first._replace(result=first.result._replace(offset=4000)),
        first._replace(result=first.result._replace(strides=(-400, -400))),
    ):
        entries[0] = wrong
        with pytest.raises(ValueError, match="An operation of the file fails"):
            cell(ops.ones((1, 3)))


def test_loaded_graph_follows_its_weights_and_can_be_copied(tmp_path: Path) -> None:
    net, x = nn.Dense(3, 2), ops.ones((1, 3))
    cell = exported(net, x, folder=tmp_path)
    cell(x)
    for change in (Parameter.set_data, ops.assign):
        for weight, other in zip(cell.get_parameters(), net.get_parameters(), strict=True):
            change(weight, other * 2)
            change(other, other * 2)
        for each in (cell, copy.deepcopy(cell), cell):
            assert_same(each(x), net(x))


def test_several_threads_run_one_graph(tmp_path: Path) -> None:
    net = nn.SequentialCell(nn.Dense(40, 40), nn.Tanh(), nn.Dense(40, 40))
    inputs = [ops.full((30, 40), float(i)) for i in range(4)]
    cell = exported(net, inputs[0], folder=tmp_path)
    with ThreadPoolExecutor(4) as threads:
        for x, result in zip(inputs * 50, threads.map(cell, inputs * 50), strict=True):
            assert_same(result, net(x))


def test_checkpoint_is_no_program(tmp_path: Path) -> None:
    save_checkpoint(nn.Dense(1, 1), str(tmp_path / "net.ckpt"))
    (tmp_path / "net.ckpt").rename(tmp_path / "net.minispore")
    with pytest.raises(ValueError, match=r"net\.minispore': it has no operations"):
        load(str(tmp_path / "net.minispore"))
