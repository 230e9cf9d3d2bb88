"""The learning rate of a run: its parameter, and what is logged of it."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from minispore import Parameter, Tensor, nn
from minispore.train import (
    Callback,
    CSVLogger,
    History,
    LambdaCallback,
    LearningRateScheduler,
    Model,
    ReduceLROnPlateau,
    RunContext,
    SummaryCollector,
)
from minispore.train.protocol.learning_rate import learning_rate_of
from minispore.train.summary import read_events
from tests.helpers.stub_models import Batches, ConstantLoss


def trained(rate: float) -> nn.TrainOneStepCell:
    net = nn.Dense(1, 1)
    return nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), rate))


def test_optimizer_of_run_takes_precedence() -> None:
    one, other = trained(0.5), trained(0.25)
    both = RunContext({"optimizer": one.optimizer, "train_network": other})
    assert learning_rate_of(both) is one.optimizer.learning_rate
    single = RunContext({"optimizer": None, "train_network": other})
    assert learning_rate_of(single) is other.optimizer.learning_rate
    assert learning_rate_of(RunContext({"train_network": other})).asnumpy() == 0.25


@pytest.mark.parametrize(
    ("callback", "event"),
    [
        (LearningRateScheduler(lambda rate, step: rate), "on_train_step_end"),
        (ReduceLROnPlateau("loss"), "on_train_begin"),
        (ReduceLROnPlateau("loss", mode="max", patience=0), "on_train_epoch_end"),
    ],
    ids=["scheduler", "plateau begins", "plateau reduces"],
)
def test_missing_optimizer_error_names_callback(callback: Callback, event: str) -> None:
    run = {"train_network": nn.Dense(1, 1), "cur_step_num": 1, "cur_epoch_num": 1}
    context = RunContext({**run, "net_outputs": -math.inf, "batch_num": 1})
    message = f"^For '{type(callback).__name__}', there must be an optimizer"
    with pytest.raises(ValueError, match=message):
        getattr(callback, event)(context)


class Two(nn.Cell):
    """A network with two parameters whose gradients are 1: a step subtracts its learning rate."""

    def __init__(self) -> None:
        super().__init__()
        self.a = Parameter(Tensor(0.0), name="a")
        self.b = Parameter(Tensor(0.0), name="b")

    def construct(self, *batch: Tensor) -> Tensor:
        return self.a + self.b


class Halving(nn.LearningRateSchedule):
    def construct(self, global_step: Tensor) -> Tensor:
        return 0.5 ** (global_step + 1.0)


class Used(Callback):
    """Record the learning rates by which the weights have changed, and change the rate."""

    def __init__(self, changes: str) -> None:
        self.rates: list[list[float]] = []
        self.changes = changes
        self.before = [0.0, 0.0]

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        if self.changes == "epoch":
            rate = learning_rate_of(run_context)
            rate.set_data(rate / 2)

    def on_train_step_end(self, run_context: RunContext) -> None:
        now = [p.item() for p in run_context.original_args().network.get_parameters()]
        self.rates.append([old - new for old, new in zip(self.before, now, strict=True)])
        self.before = now


EPOCHS, STEPS = 3, 2
CHANGES: dict[str, list[Callback]] = {
    "nothing": [],
    "epoch": [],
    "step": [LearningRateScheduler(lambda rate, step: rate / 2 if step % 3 else 1.0)],
    "plateau": [ReduceLROnPlateau("loss", 0.5, patience=0, mode="max")],
}
# Powers of two, so that the differences of weights are exact.
LISTED = [1.0, 0.5, 0.5, 2.0, 0.25, 0.125]
ARGUMENTS: dict[str, Callable[[Two], nn.SGD]] = {
    "constant": lambda net: nn.SGD(net.trainable_params(), 0.5),
    "listed": lambda net: nn.SGD(net.trainable_params(), LISTED),
    "schedule": lambda net: nn.SGD(net.trainable_params(), Halving()),
    "groups": lambda net: nn.SGD([{"params": [net.a], "lr": 0.25}, {"params": [net.b]}], 0.5),
    "schedules of groups": lambda net: nn.SGD(
        [{"params": [net.b]}, {"params": [net.a], "lr": LISTED}, {"order_params": [net.a, net.b]}],
        Halving(),
    ),
}


@pytest.mark.parametrize("own_step", [False, True])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("arguments", "changes"),
    [*((name, "nothing") for name in ARGUMENTS), *(("constant", name) for name in CHANGES)],
)
def test_logged_rates_are_those_of_the_steps(
    arguments: str, changes: str, first: bool, own_step: bool, tmp_path: Path
) -> None:
    """Whatever sets them, and wherever the callbacks that log them are in the list."""
    network, used = Two(), Used(changes)
    optimizer = ARGUMENTS[arguments](network)
    model = Model(network, optimizer=optimizer)
    if own_step:  # the network itself does the step
        model = Model(nn.TrainOneStepCell(network, optimizer))
        model._network = network
    history, table = History(), CSVLogger(tmp_path / "run.csv", 1)
    logs: list[Callback] = [history, table, SummaryCollector(str(tmp_path), 1)]
    others = [used, *CHANGES[changes]]
    model.train(EPOCHS, Batches(STEPS), [*logs, *others] if first else [*others, *logs])

    names = ["learning_rate"]
    rates = [{"learning_rate": rates[0]} for rates in used.rates]
    if "groups" in arguments:
        names = ["learning_rate_0", "learning_rate_1"]
        rates = [dict(zip(names, rates, strict=True)) for rates in used.rates]
    else:
        assert all(a == b for a, b in used.rates)
    assert len(rates) == EPOCHS * STEPS
    assert len({tuple(each.values()) for each in rates}) > (arguments, changes).count("nothing") - 1
    assert [{name: row[name] for name in names} for row in table.rows] == rates
    header = (tmp_path / "run.csv").read_text("utf-8").splitlines()[0]
    assert header == ",".join(["epoch", "step", "net_output", *names])
    last = rates[STEPS - 1 :: STEPS]
    assert history.learning_rate == {name: [each[name] for each in last] for name in names}
    [path] = tmp_path.glob("*.events.summary.*_MS")
    written = [
        {value.tag.removesuffix("/auto"): value.content for value in event.values}
        for event in read_events(path)
    ]
    assert [{n: e[n] for n in names} for e in written if "loss" in e] == rates


def test_run_without_optimizer_has_no_learning_rate(tmp_path: Path) -> None:
    history, table = History(), CSVLogger(tmp_path / "run.csv")
    Model(ConstantLoss()).train(1, Batches(1), [history, table])
    assert history.learning_rate == {}
    assert list(table.rows[0]) == ["epoch", "step", "net_output"]


class NegativeLater(nn.LearningRateSchedule):
    def construct(self, global_step: Tensor) -> Tensor:
        return 0.5 - global_step


@pytest.mark.parametrize("rate", [[0.5], NegativeLater()])
def test_rate_that_no_update_uses_is_not_logged(rate: object, tmp_path: Path) -> None:
    """A list has none for the second step, or the rate of that is an error of the update."""
    network = Two()
    optimizer = nn.SGD(network.trainable_params(), rate)  # type: ignore[arg-type]
    history, table = History(), CSVLogger(tmp_path / "run.csv", 1)

    def skip(run_context: RunContext) -> None:
        run_context.register_gradient_hook(
            lambda gradients: [] if optimizer.global_step.item() else list(gradients)
        )

    skips = LambdaCallback(on_train_begin=skip)
    Model(network, optimizer=optimizer).train(1, Batches(2), [skips, history, table])
    assert [row.get("learning_rate") for row in table.rows] == [0.5, None]
    assert history.learning_rate == {}
