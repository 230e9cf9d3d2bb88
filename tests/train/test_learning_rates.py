"""ReduceLROnPlateau and LearningRateScheduler: in trainings, and what they can't work with."""

from collections.abc import Callable, Mapping

import pytest

from minispore import Tensor, nn
from minispore.train import (
    Callback,
    EarlyStopping,
    LearningRateScheduler,
    Model,
    ReduceLROnPlateau,
)

from .deciding import epoch, learning_rate, run_context
from .standins import Batches, ConstantLoss, Rows, make


def halve(rate: float, step: int) -> float:
    return rate / 2


CALLBACKS: list[Callable[[], Callback]] = [
    lambda: ReduceLROnPlateau("loss", patience=1),
    lambda: LearningRateScheduler(halve),
]


def test_zero_is_a_value() -> None:
    plateau, context = ReduceLROnPlateau("value", 0.5, 1, mode="min"), run_context(0.5)
    for number, value in enumerate([1.0, 0.0, 0.0], start=1):
        epoch(plateau, context, number, value)
    assert plateau.best == 0.0
    assert learning_rate(context) == 0.25


def test_plateaus_in_a_training(capsys: pytest.CaptureFixture[str]) -> None:
    net = nn.Dense(4, 3)
    optimizer = nn.SGD(net.trainable_params(), 0.0)
    optimizer.learning_rate.set_data(1e-30)  # type: ignore[union-attr]
    model = Model(net, nn.CrossEntropyLoss(), optimizer)
    model.train(5, Rows(), ReduceLROnPlateau("loss", patience=2, verbose=True))
    lines = [f"Epoch 0000{i}: ReduceLROnPlateau reducing learning rate to" for i in (3, 5)]
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        f"{line} {rate}." for line, rate in zip(lines, ("1e-31", "1e-32"), strict=True)
    ]


def test_no_more_is_said_than_happens_and_nothing_to_whom_did_not_ask(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(callback: ReduceLROnPlateau | EarlyStopping) -> str:
        net = nn.Dense(4, 3)
        model = Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 2e-30))
        model.train(9, Rows(), callback)
        return capsys.readouterr().out

    plateau = ReduceLROnPlateau("loss", 0.5, 1, True, min_lr=1e-30)
    assert run(plateau) == "Epoch 00002: ReduceLROnPlateau reducing learning rate to 1e-30.\n"
    assert run(ReduceLROnPlateau("loss", 0.5, 1)) == ""
    assert run(EarlyStopping("loss", restore_best_weights=True)) == ""


@pytest.mark.parametrize("factor", [0.0, 1.0, 1.5, -0.5])
def test_a_factor_reduces_and_leaves_something(factor: float) -> None:
    with pytest.raises(ValueError, match=f"^For 'ReduceLROnPlateau', .*'factor' .* got {factor}"):
        ReduceLROnPlateau(factor=factor)


def test_a_schedule_in_a_training() -> None:
    seen: list[tuple[float, int]] = []

    def schedule(rate: float, step: int) -> float:
        seen.append((rate, step))
        return round(rate - 0.01, 2)

    model = make()
    model.train(2, Rows(8), LearningRateScheduler(schedule))
    assert seen == [(0.1, 1), (0.09, 2), (0.08, 3), (0.07, 4)]


@pytest.mark.parametrize("answer", [0.25, Tensor(0.25), Tensor([0.25])])
def test_what_a_schedule_may_return(answer: object) -> None:
    context = run_context(cur_step_num=1)
    LearningRateScheduler(lambda rate, step: answer).on_train_step_end(context)  # type: ignore[arg-type, return-value]
    assert learning_rate(context) == 0.25


@pytest.mark.parametrize("answer", [None, "a", Tensor([1.0, 2.0]), True, (1.0,)])
def test_what_it_may_not_return(answer: object) -> None:
    scheduler = LearningRateScheduler(lambda rate, step: answer)  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="must return a number, but for step 7 it returned"):
        scheduler.on_train_step_end(run_context(cur_step_num=7))


@pytest.mark.parametrize("function", [None, 3, "halve"])
def test_a_schedule_is_a_function(function: object) -> None:
    with pytest.raises(TypeError, match="'learning_rate_function' must be a function, but got"):
        LearningRateScheduler(function)  # type: ignore[arg-type]


@pytest.mark.parametrize("callback", CALLBACKS)
def test_rates_that_something_else_changes_are_refused_at_once(
    callback: Callable[[], Callback],
) -> None:
    owner = f"For '{type(callback()).__name__}', "
    net = nn.Dense(4, 3)
    groups: list[Mapping[str, object]] = [
        {"params": [net.weight], "lr": 0.5},
        {"params": [net.bias]},
    ]
    optimizers = [
        nn.SGD(net.trainable_params(), [0.1, 0.2, 0.3]),
        nn.SGD(net.trainable_params(), nn.ExponentialDecayLR(0.1, 0.9, 4)),
        nn.SGD(groups, 0.1),
    ]
    for optimizer in optimizers:
        model = Model(net, nn.CrossEntropyLoss(), optimizer)
        with pytest.raises(ValueError, match=f"^{owner}.*dynamic learning rate and group learning"):
            model.train(1, Rows(), callback())
    with pytest.raises(ValueError, match=f"^{owner}there must be an optimizer"):
        Model(ConstantLoss()).train(1, Batches(1), callback())


@pytest.mark.parametrize("callback", CALLBACKS)
def test_the_optimizer_of_a_network_that_does_its_own_steps(
    callback: Callable[[], Callback],
) -> None:
    net = nn.Dense(4, 3)
    optimizer = nn.SGD(net.trainable_params(), 1e-30)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer)
    Model(step).train(2, Rows(4), callback())
    assert float(optimizer.get_lr().asnumpy()) < 1e-30  # type: ignore[union-attr]


@pytest.mark.parametrize("key", ["best", "wait", "cooldown_counter"])
def test_a_state_that_is_none_changes_nothing(key: str) -> None:
    plateau = ReduceLROnPlateau("value")
    epoch(plateau, run_context(), 1, 0.5)
    before = plateau.state_dict()
    with pytest.raises(ValueError, match=f"'ReduceLROnPlateau', the state's '{key}' must be"):
        plateau.load_state_dict({**before, key: None})
    with pytest.raises(ValueError, match=f"'ReduceLROnPlateau', the state holds no '{key}'"):
        plateau.load_state_dict({k: v for k, v in before.items() if k != key})
    assert plateau.state_dict() == before
