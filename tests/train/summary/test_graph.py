"""The graph of a network: operations named by cells, and a restored network."""

from collections.abc import Callable
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Parameter, Tensor, nn, value_and_grad
from minispore.engine.graph import is_recording
from minispore.ops import where
from minispore.train.checkpoint import protobuf as wire
from minispore.train.summary.graph import GraphTracer, parts_of
from tests.train.summary.test_encode import Schema, fields_are_known

X = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
Y = Tensor(np.array([0, 1], np.int32))


class Twice(nn.Cell):
    """A cell that calls one part twice and has an operation of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(3, 3)
        self.scale = Parameter(Tensor(2.0), requires_grad=False)

    def construct(self, x: Tensor) -> Tensor:
        return self.dense(self.dense(x)) * self.scale


def nodes(graph: bytes | None) -> dict[str, tuple[str, list[str]]]:
    """Return the operation and the inputs of each node by name."""
    assert graph is not None
    stream = BytesIO(graph)
    result: dict[str, tuple[str, list[str]]] = {}
    for node in wire.fields(stream, 0, len(graph)):
        if node.number == 1:
            fields = list(wire.fields(stream, node.start, node.stop))
            texts = [(f.number, wire.text(stream, f)) for f in fields if f.number in {1, 2, 3}]
            inputs = [text for number, text in texts if number == 3]
            result[dict(texts)[1]] = dict(texts)[2], inputs
    return result


def traced(network: nn.Cell, call: Callable[[], object]) -> dict[str, tuple[str, list[str]]]:
    tracer = GraphTracer(network, {"Net": network})
    assert tracer.graph() is None
    call()
    return nodes(tracer.graph())


def test_operations_are_named_by_their_cells() -> None:
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


def test_training_step_graph_adds_the_loss() -> None:
    net, loss = Twice(), nn.CrossEntropyLoss()
    step = nn.TrainOneStepCell(nn.WithLossCell(net, loss), nn.SGD(net.trainable_params(), 0.1))
    tracer = GraphTracer(step, {"Net": net, "Loss": loss})
    step(X, Y)
    result = nodes(tracer.graph())
    assert result.items() >= traced(net, lambda: net(X)).items()
    assert any(name.startswith("Loss/") for name in result)
    used = {name for _, inputs in result.values() for name in inputs}
    assert used <= result.keys()


@given(st.booleans(), st.booleans())
def test_tracing_does_not_change_the_network(training: bool, fails: bool) -> None:
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
    tracer = GraphTracer(net, {"Net": net})
    if fails:
        with pytest.raises(ValueError, match="shape"):
            net(Tensor(np.zeros((2, 5), np.float32)))
        assert tracer.graph() is None
        assert (dict(net.__dict__), dict(net.dense.__dict__)) == before
        return
    watched = run()
    assert nodes(tracer.graph())
    GraphTracer(net, {"Net": net})
    assert net(X)._node is None
    assert all(np.array_equal(a, b) for a, b in zip(plain, watched, strict=True))  # type: ignore[arg-type]
    assert (dict(net.__dict__), dict(net.dense.__dict__)) == before
    assert net(X)._node is None


class Chosen(nn.Cell):
    """Index rows of the input, and select elements by a condition."""

    def construct(self, x: Tensor, rows: Tensor, choice: Tensor) -> Tensor:
        return where(choice, x[rows], x)


def test_static_arguments_are_inputs() -> None:
    net = Chosen()
    rows, choice = Tensor(np.array([1, 0])), Tensor(np.ones((2, 3), np.bool_))
    result = traced(net, lambda: net(X, rows, choice))
    assert result["Net/getitem"] == ("getitem", ["input_0", "input_1"])
    assert result["Net/where"] == ("where", ["input_2", "Net/getitem", "input_0"])
    table = nn.Embedding(5, 3)
    result = traced(table, lambda: table(rows))
    assert result["Net/getitem"] == ("getitem", ["Net/embedding_table", "input_0"])


@given(st.integers(1, 6))
def test_repeated_operations_are_numbered(count: int) -> None:
    net = nn.SequentialCell(*[nn.ReLU()] * count)
    result = traced(net, lambda: net(X))
    relu = "Net/0/relu"
    assert list(result) == ["input_0", relu, *(f"{relu}_{i}" for i in range(1, count))]


def test_parts_are_network_and_loss_cell() -> None:
    net, loss = Twice(), nn.MSELoss()
    assert parts_of(net, loss) == {"Twice": net, "MSELoss": loss}
    assert parts_of(net, Twice()) == parts_of(net, None) == parts_of(net, print) == {"Twice": net}


def test_cells_outside_parts_have_no_path() -> None:
    net, loss = Twice(), nn.MSELoss()
    complete = nn.WithLossCell(net, loss)
    tracer = GraphTracer(complete, {"Net": net})
    complete(X, X)
    result = nodes(tracer.graph())
    assert {name.split("/")[0] for name in result if "/" in name} == {"Net"}
    assert any("/" not in name and not name.startswith("input") for name in result)


def test_gradients_of_a_step_are_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Twice()
    step = nn.TrainOneStepCell(
        nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1)
    )
    observed: list[bool] = []
    update = step.optimizer.construct

    def observe(gradients: object) -> object:
        observed.append(is_recording())
        return update(gradients)

    monkeypatch.setattr(step.optimizer, "construct", observe)
    tracer = GraphTracer(step, {"Net": net})
    step(X, X)
    assert tracer.graph() is not None
    assert observed == [False]


@pytest.mark.full
def test_tensorboard_reads_shapes_of_nodes() -> None:
    graph_pb2 = pytest.importorskip("tensorboard.compat.proto.graph_pb2")
    net = Twice()
    tracer = GraphTracer(net, {"Net": net})
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
