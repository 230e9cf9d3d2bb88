"""Properties of the arguments and the states of callbacks, `Model` and `SummaryRecord`."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import nn
from minispore.dataset import WaitedDSCallback
from minispore.train import Model, SummaryRecord
from minispore.train import callback as cb
from minispore.train.callback import Callback
from minispore.train.protocol import SupportsState
from minispore.train.resume import read_field
from tests.helpers.valid_arguments import VALUES

# Required arguments, and arguments tested elsewhere: a function for each event.
NEEDED: dict[object, dict[str, object]] = {
    cb.LearningRateScheduler: {"learning_rate_function": lambda rate, step: rate},
    cb.FlopsUtilizationCollector: {"data_size": 3},
    cb.BackupAndRestore: {"backup_dir": "backup"},
    cb.SummaryCollector: {"summary_dir": "summary"},
    cb.BestCheckpoint: {"monitor": "loss"},
    cb.CSVLogger: {"filename": "run.csv"},
    cb.TimeLimit: {"duration": 60},
    Model: {"network": nn.Dense(1, 1)},
    SummaryRecord: {"log_dir": "summary"},
}
# One of its settings switches off another; None is a method of the base class; or a file's name.
REWRITTEN: list[object] = [cb.CheckpointConfig, cb.LambdaCallback, SummaryRecord]
SWITCHED_OFF = ("save_checkpoint_seconds", "keep_checkpoint_per_n_minutes")
Made = Callable[..., object]
config: Callable[..., cb.CheckpointConfig] = cb.CheckpointConfig


def classes_with_settings() -> list[type[object]]:
    """Return all callbacks with arguments, and other classes."""
    result: list[type[object]] = [WaitedDSCallback, cb.CheckpointConfig, Model, SummaryRecord]
    for name in dir(cb):
        public: object = getattr(cb, name)
        if isinstance(public, type) and issubclass(public, Callback):
            result.append(public)
    return [make for make in result if settings_of(make)]


def settings_of(make: Made) -> list[inspect.Parameter]:
    listed = inspect.signature(make).parameters.values()
    return [p for p in listed if p.kind is p.POSITIONAL_OR_KEYWORD]


def stateful() -> list[Made]:
    return [make for make in classes_with_settings() if hasattr(make, "state_dict")]


def state_of(callback: object) -> dict[str, object]:
    """Return the state without the entries that depend on the clock."""
    assert isinstance(callback, SupportsState)
    state = callback.state_dict()
    return {key: value for key, value in state.items() if key != "elapsed"}


CASES = [
    pytest.param(make, setting.name, id=f"{make.__name__}-{setting.name}")
    for make in classes_with_settings()
    if make not in REWRITTEN
    for setting in settings_of(make)
]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.filterwarnings("ignore:For 'SummaryRecord', the 'max_file_size' should be greater")
@pytest.mark.filterwarnings("ignore:.*whether smaller or greater is better is not known")
@pytest.mark.parametrize(("make", "name"), CASES)
def test_accepted_setting_can_be_read(make: Made, name: str) -> None:
    for value in VALUES:
        try:
            created = make(**{**NEEDED.get(make, {}), name: value})
        except (TypeError, ValueError, KeyError, NotImplementedError):
            continue
        attr = getattr(created, name, value)
        assert (
            attr is value or attr == value or (name == "min_delta" and attr == -cast("int", value))
        )


@pytest.mark.parametrize("make", classes_with_settings(), ids=lambda make: make.__name__)
def test_defaults_match_signature(make: Made) -> None:
    created = make(**NEEDED.get(make, {}))
    for setting in settings_of(make):
        if setting.default is not setting.empty and setting.name not in SWITCHED_OFF:
            assert (
                make is cb.LambdaCallback
                or getattr(created, setting.name, setting.default) == setting.default
            )


@pytest.mark.parametrize("make", classes_with_settings(), ids=lambda make: make.__name__)
def test_unknown_setting_raises(make: Made) -> None:
    with pytest.raises((TypeError, ValueError), match="nonsense"):
        make(**NEEDED.get(make, {}), nonsense=1)


@pytest.mark.parametrize("make", stateful(), ids=lambda make: make.__name__)
def test_invalid_state_raises_without_effect(make: Made) -> None:
    """Each entry is omitted, and replaced by a value of every other type."""
    good = {**NEEDED.get(make, {})}
    callback, other_one = make(**good), make(**good)
    assert isinstance(callback, SupportsState)
    assert isinstance(other_one, SupportsState)
    before = state_of(callback)
    state = {**callback.state_dict()}
    # Another state, so that an entry that is loaded before the error is noticed.
    for key, value in state.items():
        if type(value) in {int, float}:
            state[key] = type(value)(7)  # type: ignore[call-arg]
    other_one.load_state_dict(state)
    for key, value in state.items():
        if value is None:
            continue
        others: list[object] = [None, True, "a", 1.5, b"a", [], {}, {"a": 0j}, [0j]]
        wrong = [
            {**state, key: other}
            for other in others
            if type(other) is not type(value) or other in ({"a": 0j}, [0j])
        ]
        missing = {name: entry for name, entry in state.items() if name != key}
        for bad in (missing, *wrong):
            with pytest.raises(ValueError, match=f"^For '{make.__name__}.*{key}'"):
                callback.load_state_dict(bad)
            assert state_of(callback) == before


@pytest.mark.parametrize(
    "numbers", [(1, 0, 5, 0), (10, None, 0, 3), (0, 60, 2, 0), (None, 7, None, 1)]
)
def test_checkpoint_policy_matches_arguments(numbers: tuple[int | None, ...]) -> None:
    policy = config(*numbers).get_checkpoint_policy()
    assert config(**policy).get_checkpoint_policy() == policy


def test_training_state_excludes_saved_network() -> None:
    message = (
        "For 'CheckpointConfig', 'training_state' in 'append_info' is that of the network that is "
        "trained: 'saved_network' must be None."
    )
    with pytest.raises(ValueError, match=f"^{message}$"):
        cb.CheckpointConfig(saved_network=nn.Dense(1, 1), append_info=["training_state"])


@given(st.integers(-9, 9), st.sampled_from([bool, int, float, str]))
def test_state_field_types_are_checked(number: int, kind: type[object]) -> None:
    values: list[object] = [number, float(number), bool(number), str(number)]
    for value in values:
        if type(value) is kind or (kind is float and value is number):
            result = read_field({"key": value}, "key", kind)
            assert type(result) is kind
            assert result == value
        else:
            with pytest.raises(ValueError, match=rf"^For '\w+', .*'key'.* {kind.__name__}, .*got "):
                read_field({"key": value}, "key", kind)
