"""Hyper-parameters follow schedules, functions, files and numbers."""

import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import nn
from minispore.tensorpack import (
    Callback,
    CallbackFactory,
    GraphVarParam,
    HumanHyperParamSetter,
    HyperParamSetter,
    HyperParamSetterWithFunc,
    ObjAttrParam,
    ScheduledHyperParamSetter,
    StatMonitorParamSetter,
)
from minispore.tensorpack.hyper_params import HyperFile
from minispore.train import Callback as TrainCallback
from minispore.train import Model

from ..train.standins import Batches, ConstantLoss, Rows, make


def run(callbacks: list[TrainCallback], epochs: int, steps: int = 2, initial: int = 0) -> None:
    model = Model(ConstantLoss())
    model.train(initial + epochs, Batches(steps), callbacks, initial_epoch=initial)


class Watch(Callback):
    """The value in each epoch, or in each step."""

    def __init__(self, param: ObjAttrParam, steps: bool = False) -> None:
        self.param, self.steps = param, steps
        self.values: list[float] = []

    def _before_epoch(self) -> None:
        if not self.steps:
            self.values.append(self.param.get_value())

    def _before_run(self, run_context: object) -> None:
        if self.steps:
            self.values.append(self.param.get_value())


def scheduled(
    schedule: Sequence[tuple[int, float]],
    epochs: int = 5,
    initial: int = 0,
    interp: str | None = None,
    steps: bool = False,
    at_beginning: bool = True,
) -> list[float]:
    param = ObjAttrParam(SimpleNamespace(lr=1.0), "lr")
    setter = ScheduledHyperParamSetter(param, schedule, interp, steps, at_beginning)
    watch = Watch(param, steps)
    run([setter, watch], epochs, 2, initial)
    return watch.values


def test_a_value_is_set_after_its_epoch() -> None:
    assert scheduled([(3, 0.25), (1, 0.5)]) == [1, 0.5, 0.5, 0.25, 0.25]


def test_epoch_0_is_before_the_first() -> None:
    assert scheduled([(0, 0.0), (2, 0.5)], 3) == [0, 0, 0.5]


def test_linear_between_the_points_and_nothing_beyond() -> None:
    assert scheduled([(1, 1.0), (3, 0.0)], 5, interp="linear") == [1, 1, 0.5, 0, 0]


def test_by_steps() -> None:
    values = scheduled([(1, 0.5), (3, 0.25)], 2, steps=True)
    assert values == [1, 0.5, 0.5, 0.25]


@pytest.mark.parametrize("interp", [None, "linear"])
@given(
    schedule=st.lists(
        st.tuples(st.integers(0, 6), st.sampled_from([0.0, 0.25, 0.5])),
        min_size=1,
        unique_by=lambda pair: pair[0],
    ),
    initial=st.integers(0, 4),
)
def test_a_training_that_begins_later_has_the_values_of_the_whole(
    interp: str | None, schedule: list[tuple[int, float]], initial: int
) -> None:
    assert (
        scheduled(schedule, 6 - initial, initial, interp)
        == scheduled(schedule, 6, 0, interp)[initial:]
    )


def test_a_value_at_the_beginning_is_only_told_if_wanted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert scheduled([(1, 0.5)], 2, initial=2, at_beginning=False) == [1, 1]
    assert "lr is to be 0.5 at this point, and it is 1." in caplog.text


@pytest.mark.parametrize(
    ("schedule", "interp", "error"),
    [
        ([], None, ValueError),
        ([(1, 1.0), (1, 2.0)], None, ValueError),
        ([(-1, 1.0)], None, ValueError),
        ([(1, 1.0)], "cubic", ValueError),
        ([1.0], None, TypeError),
        ([(1, "x")], None, TypeError),
        ([(0.5, 1.0)], None, TypeError),
    ],
)
def test_what_is_no_schedule(
    schedule: list[tuple[int, float]], interp: str | None, error: type[Exception]
) -> None:
    with pytest.raises(error, match="ScheduledHyperParamSetter"):
        ScheduledHyperParamSetter("learning_rate", schedule, interp)


def test_the_learning_rate_of_the_optimiser_by_its_name() -> None:
    net = nn.Dense(4, 3)
    optimizer = nn.SGD(net.trainable_params(), 0.5)
    model = Model(net, nn.CrossEntropyLoss(), optimizer)
    model.train(2, Rows(), [ScheduledHyperParamSetter("learning_rate", [(2, 0.125)])])
    assert optimizer.get_lr().asnumpy() == 0.125  # type: ignore[union-attr]  # pyright: ignore[reportAttributeAccessIssue]


def test_a_learning_rate_with_a_schedule_of_its_own_is_refused() -> None:
    net = nn.Dense(4, 3)
    optimizer = nn.SGD(net.trainable_params(), [0.5] * 9)
    setter = HyperParamSetterWithFunc("learning_rate", lambda e, v: v)
    with pytest.raises(ValueError, match="HyperParamSetter"):
        Model(net, nn.CrossEntropyLoss(), optimizer).train(1, Rows(), [setter])


def test_a_parameter_that_is_not_there() -> None:
    setter = HyperParamSetterWithFunc(GraphVarParam("globalstep"), lambda e, v: v)
    with pytest.raises(ValueError, match="did you mean 'global_step'"):
        make().train(1, Rows(), [setter])


def test_a_parameter_is_known_in_training_only() -> None:
    for use in (GraphVarParam("w").get_value, lambda: GraphVarParam("w").set_value(1.0)):
        with pytest.raises(RuntimeError, match="The parameter 'w' is known in training only"):
            use()


@pytest.mark.parametrize("value", [None, "fast", [1.0, 2.0]])
def test_an_attribute_that_is_no_number(value: object) -> None:
    param = ObjAttrParam(SimpleNamespace(rate=value), "rate")
    with pytest.raises(TypeError, match="The attribute 'rate' of .* is no number"):
        param.get_value()


def test_any_parameter_of_one_element() -> None:
    seen: list[float] = []
    setter = HyperParamSetterWithFunc("global_step", lambda e, v: seen.append(v))
    make().train(2, Rows(), [setter])
    assert seen == [3, 6]


@pytest.mark.parametrize("at_begin", [False, True])
def test_a_function(at_begin: bool) -> None:
    param = ObjAttrParam(SimpleNamespace(lr=1.0), "lr")
    watch = Watch(param)
    halve = HyperParamSetterWithFunc(param, lambda e, v: v / 2 if e % 2 == 0 else None, at_begin)
    run([halve, watch], 3)
    assert watch.values == ([0.5, 0.5, 0.25] if at_begin else [1, 1, 0.5])


def test_a_setter_of_ones_own_is_told_of_once_an_epoch(caplog: pytest.LogCaptureFixture) -> None:
    class Count(HyperParamSetter):
        def _trigger_step(self) -> None:
            self.trigger()

        def _get_value_to_set(self) -> float:
            return self.global_step + 0.5

    caplog.set_level("INFO", "minispore.tensorpack")
    run([Count(ObjAttrParam(SimpleNamespace(lr=1.0), "lr", "rate"))], 1, 4)
    assert caplog.messages == [
        "After 0 steps, rate changes from 1 to 0.5.",
        "After 1 steps, rate changes from 0.5 to 1.5.",
    ]


# A number that stands still.


@pytest.mark.parametrize(
    ("values", "reverse", "fires"),
    [
        ([5, 4, 3, 2, 1], False, []),
        ([5, 5, 5, 5, 5, 5], False, [3, 6]),
        ([5, 4.95, 4.93, 4, 4, 4], False, [3, 6]),
        ([5, 4.95, 4, 4, 4], False, [5]),
        ([1, 2, 3, 4, 5], True, []),
        ([5, 4, 3, 2, 1], True, [3]),
    ],
)
def test_stat_monitor(values: list[float], reverse: bool, fires: list[int]) -> None:
    param = ObjAttrParam(SimpleNamespace(lr=1.0), "lr")
    put = CallbackFactory(
        trigger=lambda cb: cb.trainer.monitors.put_scalar("x", values[cb.epoch_num - 1]),
        produces=["x"],
    )
    setter = StatMonitorParamSetter(param, "x", lambda v: v / 2, 0.1, 3, reverse)
    watch = Watch(param)
    run([put, setter, watch], len(values))
    halved = [
        epoch
        for epoch in range(1, len(watch.values))
        if watch.values[epoch] < watch.values[epoch - 1]
    ]
    assert halved == [epoch for epoch in fires if epoch < len(values)]
    again = StatMonitorParamSetter(param, "x", lambda v: v / 2, 0.1, 3, reverse)
    again.load_state_dict(setter.state_dict())
    assert again.state_dict() == setter.state_dict()


def test_stat_monitor_without_new_values(caplog: pytest.LogCaptureFixture) -> None:
    param = ObjAttrParam(SimpleNamespace(lr=1.0), "lr")
    put = CallbackFactory(
        before_train=lambda cb: cb.trainer.monitors.put_scalar("x", 1), produces=["x"]
    )
    run([put, StatMonitorParamSetter(param, "x", lambda v: 0.0, 0.1, 2)], 5)
    assert param.get_value() == 1
    assert caplog.text.count("there is no new value of 'x'") == 4


# A file.


def test_a_file_changes_a_hyper_parameter(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    param = ObjAttrParam(SimpleNamespace(lr=1.0), "lr")
    watch = Watch(param)
    texts = {
        1: "lr: 0.5\n",
        2: "\n# nothing\nother: 3\n",
        3: "oops\n\n lr : 1e-3 \nlr 7\n",
        4: "lr: 0.25",
    }

    def edit(cb: Callback) -> None:
        if cb.epoch_num in texts:
            (folder / "hyper.txt").write_text(texts[cb.epoch_num], "utf-8")

    run([CallbackFactory(trigger=edit), HumanHyperParamSetter(param), watch], 6)
    assert watch.values == [1, 0.5, 0.5, 1e-3, 1e-3, 0.25]
    wrong = [message for message in caplog.messages if "line" in message]
    assert [message[-50:].split(", ")[-1] for message in wrong] == [
        "line 1 is no 'name: number': 'oops'.",
        "line 4 is no 'name: number': 'lr 7'.",
    ]


line = st.text("ab:=1.5e \t#-_()", max_size=12)
parameter = st.tuples(st.sampled_from("ab"), st.floats(-10, 10))


@given(lines=st.lists(st.one_of(line, parameter)))
def test_good_lines_count_among_bad_ones(
    lines: list[str | tuple[str, float]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("hyper") / "hyper.txt"
    texts = [each if isinstance(each, str) else f"{each[0]}: {each[1]!r}" for each in lines]
    path.write_text("".join(f"{text}\n" for text in texts), "utf-8")
    values, wrong = HyperFile(os.fspath(path)).read()
    for text, each in zip(texts, lines, strict=True):
        if isinstance(each, tuple):
            last = [other for other in texts if other.split(":")[0].strip() == each[0]]
            assert each[0] in values
            assert last
        elif text.split("#")[0].strip() and ":" not in text:
            assert any(repr(text.split("#")[0].strip()) in message for message in wrong)
    assert all(isinstance(value, float) for value in values.values())


@pytest.mark.parametrize(
    "text", ["lr: nan", "lr: inf", "lr: __import__('os')", ": 1", "lr: 1; 2", "1"]
)
def test_malformed_lines(text: str, tmp_path: Path) -> None:
    path = tmp_path / "hyper.txt"
    path.write_text(f"momentum: 0.5\n{text}\n", "utf-8")
    file = HyperFile(os.fspath(path))
    assert file.read() == ({"momentum": 0.5}, [f"line 2 is no 'name: number': {text!r}"])
    assert file.read() == ({"momentum": 0.5}, [])  # told once


def test_what_is_no_file(tmp_path: Path) -> None:
    assert HyperFile(os.fspath(tmp_path / "none")).read() == ({}, [])
    assert HyperFile(os.fspath(tmp_path)).read() == ({}, ["it cannot be read: Is a directory"])
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00\na: 1\n")
    assert HyperFile(os.fspath(tmp_path / "bytes")).read()[0] == {"a": 1.0}


def test_without_a_folder_there_is_no_file() -> None:
    with pytest.raises(ValueError, match="HumanHyperParamSetter.*set_logger_dir"):
        make().train(1, Rows(), [HumanHyperParamSetter("learning_rate")])
