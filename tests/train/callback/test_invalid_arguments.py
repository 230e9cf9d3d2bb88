"""Callbacks with invalid arguments: the errors are of MindSpore's types and name what is wrong."""

import errno
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, train
from minispore.dataset import WaitedDSCallback
from minispore.train.callback._summary_landscape import read_landscape_options
from minispore.train.protocol.callback import Callback
from tests.helpers.callback_driver import run_context

Make = Callable[..., object]
FILE = __file__


def collector(**specified: object) -> train.SummaryCollector:
    return train.SummaryCollector("never", collect_specified_data=specified)


def landscape(**options: object) -> train.SummaryCollector:
    return collector(collect_landscape=options)


SWITCHES = (
    "collect_metric", "collect_graph", "collect_train_lineage", "collect_eval_lineage",
    "collect_input_data", "collect_dataset_graph",
)  # fmt: skip
OPTIONS = (*SWITCHES, "histogram_regular", "collect_landscape")
LANDSCAPE = ("landscape_size", "unit", "num_samples", "create_landscape", "intervals")

# For each class or function: by argument, pairs of an error and invalid values.
# `tests/properties/test_wrong_arguments.py` has the values that are wrong for many arguments.
REFUSED: dict[Make, dict[str, dict[type[Exception], list[object]]]] = {
    train.BackupAndRestore: {"backup_dir": {NotADirectoryError: [FILE]}},
    train.BestCheckpoint: {"directory": {NotADirectoryError: [FILE]}},
    train.CheckpointConfig: {
        "append_info": {TypeError: [[3], [{"a": 1}, {"b": 2}]], ValueError: [["loss"]]},
        "enc_key": {NotImplementedError: [b"1" * 16]},
    },
    train.ModelCheckpoint: {"directory": {NotADirectoryError: [FILE]}},
    train.OnRequestExit: {
        "save_mindir": {NotImplementedError: [True]},
        "sig": {ValueError: [signal.SIGKILL, signal.SIGSTOP, [signal.SIGTERM, 1000]]},
    },
    train.SummaryCollector: {
        "summary_dir": {ValueError: [" "]},
        "collect_specified_data": {TypeError: [{3: 1}], ValueError: [{"x": 1}]},
        "custom_lineage_data": {TypeError: [{3: 1}, {"a": [1]}], ValueError: [{"a": 2**31}]},
        "export_options": {TypeError: [{"x": "npy"}]},
    },
    WaitedDSCallback: {"step_size": {ValueError: [2**31]}},
    collector: {
        **{key: {TypeError: [None, 1, "yes"]} for key in SWITCHES},
        "histogram_regular": {TypeError: [1], ValueError: ["[", "("]},
        "collect_landscape": {TypeError: [1, "step"], ValueError: [{"x": 1}]},
        "collect_dataset_graph": {TypeError: [None, 1], NotImplementedError: [True]},
        "colect_metric": {ValueError: [True]},
    },
    landscape: {
        "landscape_size": {ValueError: [3, 256], TypeError: [None, 4.0]},
        "unit": {ValueError: ["hour"], TypeError: [None, 3]},
        "num_samples": {ValueError: [0], TypeError: [None, 1.5]},
        "create_landscape": {TypeError: [None, {1: True}], ValueError: [{"way": True}]},
        "intervals": {TypeError: [None, 3, [3], [[1, 2, "3"]]], ValueError: [[[1, 2]]]},
        "sise": {ValueError: [4]},
    },
}
NEEDED: dict[Make, dict[str, object]] = {train.SummaryCollector: {"summary_dir": "never"}}


@pytest.mark.parametrize("make", REFUSED, ids=lambda make: make.__name__)
def test_error_names_class_argument_and_value(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of MindSpore's type; no folder is created."""
    monkeypatch.chdir(tmp_path)
    caller = "SummaryCollector" if make in {collector, landscape} else make.__name__
    for name, errors in REFUSED[make].items():
        for error, values in errors.items():
            for value in values:
                with pytest.raises(error) as raised:
                    make(**{**NEEDED.get(make, {}), name: value})
                message = str(raised.value)
                assert re.match(rf".*For '{caller}', ", message), message
                assert re.search(rf"\b{name}\b", message) or name == "create_landscape", message
                assert "\n" not in message
                assert not list(tmp_path.iterdir()), (name, value)


@pytest.mark.parametrize(
    ("make", "keys"),
    [
        (collector, OPTIONS),
        (landscape, LANDSCAPE),
        (lambda **options: landscape(create_landscape=options), ("train", "result")),
    ],
)
def test_unknown_key_error_lists_known_keys(make: Make, keys: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"the keys \['sise'\] of '\w+' are unsupported") as raised:
        make(sise=4)
    assert str(raised.value).endswith(str([*keys]))


@given(st.integers(-5, 300))
def test_landscape_size_is_in_range(size: int) -> None:
    if 4 <= size <= 255:
        assert read_landscape_options({"landscape_size": size}).landscape_size == size
    else:
        message = f"^For '\\w+', .*'landscape_size' must be in \\[4, 255\\], but got {size}"
        with pytest.raises(ValueError, match=message):
            read_landscape_options({"landscape_size": size})


@given(st.dictionaries(st.sampled_from(["a", "b"]), st.just(0)), st.sampled_from([0, None]))
def test_checkpoint_config_must_count_something(unknown: dict[str, int], nothing: None) -> None:
    with pytest.raises(ValueError, match="'keep_checkpoint_per_n_minutes' must not all be 0 or No"):
        train.CheckpointConfig(nothing, nothing, nothing, nothing)
    if unknown:
        names = ", ".join(map(repr, sorted(unknown)))
        with pytest.raises(TypeError, match=f"^For 'CheckpointConfig', .* no argument {names}\\.$"):
            train.CheckpointConfig(**unknown)  # type: ignore[arg-type]


@pytest.mark.parametrize("item", [{3: 1}, {"a": [1]}])
def test_appended_values_are_checked(item: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="'CheckpointConfig'.*( name|'a')"):
        train.CheckpointConfig(append_info=[item])


@given(
    st.sampled_from([train.EarlyStopping, train.ReduceLROnPlateau, train.BestCheckpoint]),
    st.lists(st.sampled_from(["acc", "mse"]), unique=True),
)
def test_monitored_metric_must_be_measured(
    make: Callable[[str], Callback], measured: list[str]
) -> None:
    message = (
        f"For '{make.__name__}', the argument 'monitor' must be one of what this run measures, "
        f"{', '.join(map(repr, ['loss', *measured]))}, but got 'accuracy'."
    )
    if not measured:
        message += (
            " Only 'Model.fit' with a 'valid_dataset' evaluates, after epochs of 'valid_frequency'."
        )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make("accuracy").on_train_begin(train.RunContext({"metric_names": measured}))


def test_unknown_number_of_steps_raises() -> None:
    message = "^For 'TimeMonitor', the number of steps .* 'data_size', or 'batch_num' of the callb"
    with pytest.raises(ValueError, match=message):
        train.TimeMonitor().on_train_epoch_end(train.RunContext({}))


@pytest.mark.parametrize("answer", [None, "a", Tensor([1.0, 2.0]), True, (1.0,)])
def test_schedule_must_return_a_number(answer: object) -> None:
    scheduler = train.LearningRateScheduler(lambda rate, step: answer)  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="must return a number, but for step 7 it returned"):
        scheduler.on_train_step_end(run_context(cur_step_num=7))


def test_file_as_directory_error_has_errno_and_path() -> None:
    with pytest.raises(NotADirectoryError, match="For 'ModelCheckpoint', 'directory'") as raised:
        train.ModelCheckpoint(directory=FILE)
    assert (raised.value.errno, raised.value.filename) == (errno.ENOTDIR, FILE)
