"""Hyper-parameters, their file, and the callbacks that set them."""

import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import nn
from minispore import tensorpack as tp
from minispore.tensorpack.param import HyperFile
from minispore.train import Model
from tests.helpers.stub_models import Rows, make
from tests.tensorpack.small_trainings import train_constant


@pytest.mark.parametrize(
    ("name", "rate", "message"),
    [
        ("globalstep", 0.1, "no parameter 'globalstep' of one element; did you mean 'global_step'"),
        ("weight", 0.1, "no parameter 'weight' of one element"),
        ("learning_rate", [0.5] * 9, "HyperParamSetter"),
    ],
)
def test_parameters_that_cannot_be_set_are_refused_before_training(
    name: str, rate: float | list[float], message: str
) -> None:
    net = nn.Dense(4, 3)
    model = Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), rate))
    with pytest.raises(ValueError, match=message):
        model.train(1, Rows(), [tp.HyperParamSetterWithFunc(name, lambda e, v: v)])


@pytest.mark.parametrize("value", [None, "fast", [1.0, 2.0]])
def test_non_numeric_attribute_raises_type_error(value: object) -> None:
    param = tp.ObjAttrParam(SimpleNamespace(rate=value), "rate")
    with pytest.raises(TypeError, match="The attribute 'rate' of .* is no number"):
        param.get_value()


line = st.text("ab:=1.5e \t#-_()", max_size=12)


parameter = st.tuples(st.sampled_from("ab"), st.floats(-10, 10))


@given(lines=st.lists(st.one_of(line, parameter)))
def test_valid_lines_are_used_among_invalid_ones(
    lines: list[str | tuple[str, float]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("hyper") / "hyper.txt"
    texts = [entry if isinstance(entry, str) else f"{entry[0]}: {entry[1]!r}" for entry in lines]
    path.write_text("".join(f"{text}\n" for text in texts), "utf-8")
    values, wrong = HyperFile(os.fspath(path)).read()
    for text, entry in zip(texts, lines, strict=True):
        if isinstance(entry, tuple):
            last = [other for other in texts if other.split(":")[0].strip() == entry[0]]
            assert entry[0] in values
            assert last
        elif text.split("#")[0].strip() and ":" not in text:
            assert any(repr(text.split("#")[0].strip()) in message for message in wrong)
    assert all(isinstance(value, float) for value in values.values())


@pytest.mark.parametrize(
    "text", ["lr: nan", "lr: inf", "lr: __import__('os')", ": 1", "lr: 1; 2", "1"]
)
def test_malformed_lines_are_reported_once(text: str, tmp_path: Path) -> None:
    path = tmp_path / "hyper.txt"
    path.write_text(f"momentum: 0.5\n{text}\n", "utf-8")
    file = HyperFile(os.fspath(path))
    assert file.read() == ({"momentum": 0.5}, [f"line 2 is no 'name: number': {text!r}"])
    assert file.read() == ({"momentum": 0.5}, [])  # reported once


NAMES = st.sampled_from(["lr", "LR", "l-r", "momentum"])


@given(
    mark=st.sampled_from(["", "\ufeff"]),
    lines=st.lists(st.tuples(NAMES, st.floats(0, 1)), max_size=3),
    end=st.sampled_from(["\n", "\r\n"]),
)
@example(mark="\ufeff", lines=[("lr", 0.125)], end="\r\n")
@example(mark="", lines=[("l-r", 0.125)], end="\n")
def test_a_number_is_read_or_its_absence_reported(
    mark: str,
    lines: list[tuple[str, float]],
    end: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Also in a file of Windows' editor, with a byte-order mark."""
    path = tmp_path_factory.mktemp("hyper") / "hyper.txt"
    text = mark + "".join(f"{name}: {value!r}{end}" for name, value in lines)
    path.write_text(text, "utf-8", newline="")
    file = HyperFile(os.fspath(path))
    values, problems = file.read("lr")
    assert values == dict(lines)
    names = ", ".join(map(repr, dict(lines)))
    missing = [f"there is no line for 'lr', only for {names}"]
    assert problems == ([] if "lr" in values or not lines else missing)
    assert file.read("lr") == (values, [])  # reported once


def test_missing_and_unreadable_files_have_no_values(tmp_path: Path) -> None:
    assert HyperFile(os.fspath(tmp_path / "none")).read() == ({}, [])
    assert HyperFile(os.fspath(tmp_path)).read() == ({}, ["it cannot be read: Is a directory"])
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00\na: 1\n")
    assert HyperFile(os.fspath(tmp_path / "bytes")).read()[0] == {"a": 1.0}


class RecordsValues(tp.Callback):
    """Record the value in each epoch, or in each step."""

    def __init__(self, param: tp.ObjAttrParam, steps: bool = False) -> None:
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
    param = tp.ObjAttrParam(SimpleNamespace(lr=1.0), "lr")
    setter = tp.ScheduledHyperParamSetter(param, schedule, interp, steps, at_beginning)
    watch = RecordsValues(param, steps)
    train_constant(setter, watch, epochs=epochs, steps=2, initial=initial)
    return watch.values


points = st.dictionaries(st.integers(0, 6), st.sampled_from([0.0, 0.25, 0.5]), min_size=1)


@given(
    schedule=points,
    epochs=st.integers(1, 4),
    initial=st.integers(0, 4),
    interp=st.sampled_from([None, "linear"]),
    steps=st.booleans(),
)
@example({3: 0.25, 1: 0.5}, 4, 0, None, False)
@example({0: 0.0, 2: 0.5}, 3, 0, None, False)
@example({1: 0.0, 3: 0.5}, 4, 0, "linear", False)
@example({2: 0.25}, 2, 2, None, False)
def test_scheduled_values_are_those_of_the_epochs_or_steps_done(
    schedule: dict[int, float], epochs: int, initial: int, interp: str | None, steps: bool
) -> None:
    """They do not depend on the epoch in which the training starts."""
    known = sorted(schedule)

    def value_after(done: int) -> float:
        passed = [point for point in known if point <= done]
        if not passed:
            return 1.0
        if interp and passed != known:
            left, right = passed[-1], known[len(passed)]
            share = (done - left) / (right - left)
            return schedule[left] + share * (schedule[right] - schedule[left])
        return schedule[passed[-1]]

    scale = 2 if steps else 1
    expected = [value_after(done) for done in range(initial * scale, (initial + epochs) * scale)]
    actual = scheduled(list(schedule.items()), epochs, initial, interp, steps)
    assert actual == pytest.approx(expected)


def test_differing_initial_value_is_only_logged_on_request(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert scheduled([(1, 0.5)], 2, initial=2, at_beginning=False) == [1, 1]
    assert "The schedule has lr 0.5 at this point, but the current value is 1." in caplog.text


def test_learning_rate_can_be_set_by_name() -> None:
    net = nn.Dense(4, 3)
    optimizer = nn.SGD(net.trainable_params(), 0.5)
    model = Model(net, nn.CrossEntropyLoss(), optimizer)
    model.train(2, Rows(), [tp.ScheduledHyperParamSetter("learning_rate", [(2, 0.125)])])
    assert optimizer.get_lr().asnumpy() == 0.125  # type: ignore[union-attr]  # pyright: ignore[reportAttributeAccessIssue]


def test_any_parameter_of_one_element_can_be_set() -> None:
    """Its shape and data type stay the same."""
    values: list[float] = []

    def ten_more(epoch: int, value: float) -> float:
        values.append(value)
        return value + 10.5

    model = make()
    parameter = model.train_network.parameters_dict()["global_step"]
    kind = (parameter.shape, parameter.dtype)
    model.train(2, Rows(), [tp.HyperParamSetterWithFunc("global_step", ten_more)])
    assert values == [3, 16]
    assert parameter.asnumpy() == 26
    assert (parameter.shape, parameter.dtype) == kind


def test_custom_setter_logs_once_per_epoch(caplog: pytest.LogCaptureFixture) -> None:
    class Count(tp.HyperParamSetter):
        def _trigger_step(self) -> None:
            self.trigger()

        def _get_value_to_set(self) -> float:
            return self.global_step + 0.5

    caplog.set_level("INFO", "minispore.tensorpack")
    train_constant(Count(tp.ObjAttrParam(SimpleNamespace(lr=1.0), "lr", "rate")), epochs=1, steps=4)
    assert caplog.messages == [
        "After 0 steps, rate changes from 1 to 0.5.",
        "After 1 steps, rate changes from 0.5 to 1.5.",
    ]


quarters = st.integers(0, 8).map(lambda n: n / 4)


@given(
    values=st.lists(quarters, min_size=1, max_size=7),
    threshold=st.sampled_from([0.25, 0.0, 0.5]),
    last_k=st.integers(1, 3),
    reverse=st.booleans(),
)
@example([5, 4, 3, 2, 1], 0.1, 3, False)
@example([5, 4.95, 4.93, 4, 4, 4], 0.1, 3, False)
@example([5, 4.95, 4, 4, 4], 0.1, 3, False)
@example([5, 4, 3, 2, 1], 0.1, 3, True)
def test_stat_monitor_changes_the_value_without_improvement(
    values: list[float], threshold: float, last_k: int, reverse: bool
) -> None:
    """It does so after `last_k` new values, the best of which is no better by the threshold."""
    window: list[float] = []
    expected: list[float] = [1.0]
    for value in values[:-1]:
        window.append(-value if reverse else value)
        recent = window[-last_k:]
        expected.append(expected[-1])
        if len(recent) == last_k and min(recent) >= recent[0] - threshold:
            window.clear()
            expected[-1] /= 2
    param = tp.ObjAttrParam(SimpleNamespace(lr=1.0), "lr")
    put = tp.CallbackFactory(
        trigger=lambda cb: cb.trainer.monitors.put_scalar("x", values[cb.epoch_num - 1]),
        produces=["x"],
    )
    setter = tp.StatMonitorParamSetter(param, "x", lambda v: v / 2, threshold, last_k, reverse)
    watch = RecordsValues(param)
    train_constant(put, setter, watch, epochs=len(values))
    assert watch.values == expected
    restored = tp.StatMonitorParamSetter(param, "x", lambda v: v / 2, threshold, last_k, reverse)
    restored.load_state_dict(setter.state_dict())
    assert restored.state_dict() == setter.state_dict()


@given(st.lists(st.none() | st.sampled_from([1.0, 0.5]), min_size=2, max_size=5), st.booleans())
def test_setter_with_func_sets_and_logs_the_values_of_the_function(
    values: list[float | None], at_begin: bool
) -> None:
    messages: list[str] = []
    param = tp.ObjAttrParam(SimpleNamespace(lr=1.0), "lr", "rate")
    setter = tp.HyperParamSetterWithFunc(param, lambda epoch, value: values[epoch], at_begin)
    watch = RecordsValues(param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tp.logger, "info", messages.append)
        train_constant(setter, watch, epochs=len(values) - 1, steps=1)
    current, expected, seen = 1.0, list[str](), list[float]()
    for step, value in enumerate(values):
        if value not in {None, current} and (step or at_begin):
            expected.append(f"After {step} steps, rate changes from {current:g} to {value:g}.")
            current = value or current
        seen.append(current)
    assert messages == expected
    assert watch.values == seen[:-1]


def test_stat_monitor_warns_without_new_values(caplog: pytest.LogCaptureFixture) -> None:
    param = tp.ObjAttrParam(SimpleNamespace(lr=1.0), "lr")
    put = tp.CallbackFactory(
        before_train=lambda cb: cb.trainer.monitors.put_scalar("x", 1), produces=["x"]
    )
    train_constant(put, tp.StatMonitorParamSetter(param, "x", lambda v: 0.0, 0.1, 2), epochs=5)
    assert param.get_value() == 1
    assert caplog.text.count("there is no new value of 'x'") == 4


@pytest.mark.parametrize("name", ["hyper.txt", "own.txt"])
def test_human_setter_follows_the_file(
    name: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    param = tp.ObjAttrParam(SimpleNamespace(lr=1.0), "lr")
    watch = RecordsValues(param)
    texts = {
        1: "lr: 0.5\n",
        2: "\n# nothing\nother: 3\n",
        3: "oops\n\n lr : 1e-3 \nlr 7\n",
        4: "lr: 0.25",
    }

    def edit(cb: tp.Callback) -> None:
        if cb.epoch_num in texts:
            (folder / name).write_text(texts[cb.epoch_num], "utf-8")

    setter = tp.HumanHyperParamSetter(param, *[name] * (name != "hyper.txt"))
    train_constant(tp.CallbackFactory(trigger=edit), setter, watch, epochs=6)
    assert watch.values == [1, 0.5, 0.5, 1e-3, 1e-3, 0.25]
    wrong = [message for message in caplog.messages if "line" in message]
    assert wrong == [
        f"In '{folder / name}', there is no line for 'lr', only for 'other'.",
        f"In '{folder / name}', line 1 is no 'name: number': 'oops'.",
        f"In '{folder / name}', line 4 is no 'name: number': 'lr 7'.",
    ]
