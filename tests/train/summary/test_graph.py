"""The graph of a network: its operations in its cells, and the network as it was before."""

from collections.abc import Callable
from io import BytesIO

import numpy as np
import pytest

from minispore import Parameter, Tensor, nn, value_and_grad
from minispore._autograd import is_recording
from minispore.ops import where
from minispore.train._files import protobuf as wire
from minispore.train.summary._graph import Tracer

from .test_events import Schema, fields_are_known

X = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
Y = Tensor(np.array([0, 1], np.int32))


class Twice(nn.Cell):
    """A cell that calls one part twice, and computes something itself."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(3, 3)
        self.scale = Parameter(Tensor(2.0))

    def construct(self, x: Tensor) -> Tensor:
        return self.dense(self.dense(x)) * self.scale


def nodes(graph: bytes | None) -> dict[str, tuple[str, list[str]]]:
    """Operation and inputs of each node by its name."""
    assert graph is not None
    stream = BytesIO(graph)
    found: dict[str, tuple[str, list[str]]] = {}
    for node in wire.fields(stream, 0, len(graph)):
        if node.number == 1:
            fields = list(wire.fields(stream, node.start, node.stop))
            texts = [(f.number, wire.text(stream, f)) for f in fields if f.number in {1, 2, 3}]
            inputs = [text for number, text in texts if number == 3]
            found[dict(texts)[1]] = dict(texts)[2], inputs
    return found


def traced(network: nn.Cell, call: Callable[[], object]) -> dict[str, tuple[str, list[str]]]:
    tracer = Tracer(network, {"Net": network})
    assert tracer.graph() is None
    call()
    return nodes(tracer.graph())


def test_operations_lie_in_their_cells() -> None:
    net = Twice()
    assert traced(net, lambda: net(X)) == {
        "input_0": ("Input", []),
        "Net/scale": ("Parameter", []),
        "Net/dense/weight": ("Parameter", []),
        "Net/dense/bias": ("Parameter", []),
        "Net/dense/dense": ("dense", ["input_0", "Net/dense/weight", "Net/dense/bias"]),
        "Net/dense/dense_1": (
            "dense",
            ["Net/dense/dense", "Net/dense/weight", "Net/dense/bias"],
        ),
        "Net/multiply": ("multiply", ["Net/dense/dense_1", "Net/scale"]),
    }


def test_a_training_step_has_the_same_graph_and_a_loss() -> None:
    net, loss = Twice(), nn.CrossEntropyLoss()
    step = nn.TrainOneStepCell(nn.WithLossCell(net, loss), nn.SGD(net.trainable_params(), 0.1))
    tracer = Tracer(step, {"Net": net, "Loss": loss})
    step(X, Y)
    found = nodes(tracer.graph())
    assert found.items() >= traced(net, lambda: net(X)).items()
    assert any(name.startswith("Loss/") for name in found)
    used = {name for _, inputs in found.values() for name in inputs}
    assert used <= found.keys()


@pytest.mark.parametrize("training", [True, False])
def test_the_network_is_as_it_was_and_computes_the_same(training: bool) -> None:
    net = Twice()
    before = dict(net.__dict__), dict(net.dense.__dict__)

    def run() -> list[object]:
        if not training:
            return [net(X).asnumpy()]
        value, gradients = value_and_grad(
            lambda x: net(x).sum(), None, tuple(net.trainable_params())
        )(X)
        return [value.asnumpy(), *(g.asnumpy() for g in gradients)]

    plain = run()
    tracer = Tracer(net, {"Net": net})
    watched = run()
    assert nodes(tracer.graph())
    Tracer(net, {"Net": net})
    assert net(X)._node is None
    assert all(np.array_equal(a, b) for a, b in zip(plain, watched, strict=True))  # type: ignore[arg-type]
    assert (dict(net.__dict__), dict(net.dense.__dict__)) == before
    assert net(X)._node is None


def test_a_network_that_fails_is_left_as_it_was() -> None:
    net = Twice()
    before = dict(net.__dict__)
    tracer = Tracer(net, {"Net": net})
    with pytest.raises(ValueError, match="shape"):
        net(Tensor(np.zeros((2, 5), np.float32)))
    assert dict(net.__dict__) == before
    assert tracer.graph() is None


def test_what_is_watched_no_more_is_left_as_it_was() -> None:
    net = Twice()
    before = dict(net.__dict__)
    Tracer(net, {"Net": net}).stop()
    assert dict(net.__dict__) == before


class Deep(nn.Cell):
    """Cells in cells, and a parameter that is not trained."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.SequentialCell(nn.Dense(3, 3), nn.SequentialCell(nn.ReLU()))
        self.fixed = Parameter(Tensor(2.0), requires_grad=False)

    def construct(self, x: Tensor) -> Tensor:
        return self.layers(x) * self.fixed


def test_names_are_paths_and_what_is_not_trained_is_an_input_too() -> None:
    net = Deep()
    found = traced(net, lambda: net(X))
    assert found["Net/layers/1/0/relu"] == ("relu", ["Net/layers/0/dense"])
    assert found["Net/multiply"] == ("multiply", ["Net/layers/1/0/relu", "Net/fixed"])


class Chosen(nn.Cell):
    """Rows of the input, and where they are chosen from another."""

    def construct(self, x: Tensor, rows: Tensor, choice: Tensor) -> Tensor:
        return where(choice, x[rows], x)


def test_indices_and_conditions_are_inputs_too() -> None:
    net = Chosen()
    rows, choice = Tensor(np.array([1, 0])), Tensor(np.ones((2, 3), np.bool_))
    found = traced(net, lambda: net(X, rows, choice))
    assert found["Net/getitem"] == ("getitem", ["input_0", "input_1"])
    assert found["Net/where"] == ("where", ["input_2", "Net/getitem", "input_0"])
    table = nn.Embedding(5, 3)
    found = traced(table, lambda: table(rows))
    assert found["Net/getitem"] == ("getitem", ["Net/embedding_table", "input_0"])


def test_what_is_called_often_is_numbered() -> None:
    net = nn.SequentialCell(*[nn.ReLU()] * 4)
    found = traced(net, lambda: net(X))
    relu = "Net/0/relu"
    assert list(found) == ["input_0", relu, f"{relu}_1", f"{relu}_2", f"{relu}_3"]


def test_a_part_has_the_name_that_it_is_given() -> None:
    net = Twice()
    tracer = Tracer(net, {"/X.X": net})
    net(X)
    folders = {name.rsplit("/", 1)[0] for name in nodes(tracer.graph())}
    assert folders == {"input_0", "/X.X", "/X.X/dense"}


def test_what_belongs_to_no_part_has_no_path() -> None:
    net, loss = Twice(), nn.MSELoss()
    whole = nn.WithLossCell(net, loss)
    tracer = Tracer(whole, {"Net": net})
    whole(X, X)
    found = nodes(tracer.graph())
    assert {name.split("/")[0] for name in found if "/" in name} == {"Net"}
    assert any("/" not in name and not name.startswith("input") for name in found)


def test_the_gradients_of_a_step_are_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Twice()
    step = nn.TrainOneStepCell(
        nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1)
    )
    seen: list[bool] = []
    update = step.optimizer.construct

    def noting(gradients: object) -> object:
        seen.append(is_recording())
        return update(gradients)  # type: ignore[arg-type]

    monkeypatch.setattr(step.optimizer, "construct", noting)
    tracer = Tracer(step, {"Net": net})
    step(X, X)
    assert tracer.graph() is not None
    assert seen == [False]


def test_tensorboard_finds_the_shape_of_each_node() -> None:
    graph_pb2 = pytest.importorskip("tensorboard.compat.proto.graph_pb2")
    net = Twice()
    tracer = Tracer(net, {"Net": net})
    net(X)
    data = tracer.graph()
    assert data is not None
    graph = graph_pb2.GraphDef.FromString(data)
    assert graph.versions.producer == 22
    shapes = {
        node.name: [
            [dim.size for dim in shape.dim] for shape in node.attr["_output_shapes"].list.shape
        ]
        for node in graph.node
    }
    assert shapes == {
        "input_0": [[2, 3]],
        "Net/scale": [[]],
        "Net/dense/weight": [[3, 3]],
        "Net/dense/bias": [[3]],
        "Net/dense/dense": [[2, 3]],
        "Net/dense/dense_1": [[2, 3]],
        "Net/multiply": [[2, 3]],
    }
    shape: Schema = {7: {2: {1: None}}}
    node: Schema = {1: None, 2: None, 3: None, 5: {1: None, 2: {1: shape}}}
    fields_are_known(data, {1: node, 4: {1: None}})
