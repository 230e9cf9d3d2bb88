"""Properties of the arguments and the states of callbacks, `Model` and `SummaryRecord`."""

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import UnionType
from typing import Literal, cast, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, nn
from minispore.dataset import WaitedDSCallback
from minispore.train import Model, SummaryRecord
from minispore.train import callback as cb
from minispore.train.callback import Callback
from minispore.train.protocol import SupportsState
from minispore.train.resume import read_field

# Required arguments, and arguments tested elsewhere: a function for each event.
NEEDED: dict[object, dict[str, object]] = {
    cb.LearningRateScheduler: {"learning_rate_function": lambda rate, step: rate},
    cb.FlopsUtilizationCollector: {"data_size": 3},
    cb.BackupAndRestore: {"backup_dir": "backup"},
    cb.SummaryCollector: {"summary_dir": "summary"},
    cb.BestCheckpoint: {"monitor": "loss"},
    cb.CSVLogger: {"filename": "run.csv"},
    Model: {"network": nn.Dense(1, 1)},
    SummaryRecord: {"log_dir": "summary"},
}
BAD: list[object] = [
    None, True, 3, -7, 2.5, float("nan"), "a", "", b"a", object(), [], ["a"], (1,), {}, {"a": 2},
    Tensor([1.0]), nn.ReLU(), print, 2**100, "a/b",
]  # fmt: skip
# One of its settings switches off another; None is a method of the base class; or a file's name.
REWRITTEN: list[object] = [cb.CheckpointConfig, cb.LambdaCallback, SummaryRecord]
SWITCHED_OFF = ("save_checkpoint_seconds", "keep_checkpoint_per_n_minutes")
# The counts of which 0 makes no sense.
FROM_ONE = {
    "step_size", "num_process", "data_size", "save_freq", "top_k", "collect_freq",
    "collect_tensor_freq", "max_file_size", "every", "update_every_n_steps",
    "update_starting_at_step",
}  # fmt: skip
Made = Callable[..., object]
config: Callable[..., cb.CheckpointConfig] = cb.CheckpointConfig


def own() -> list[type[object]]:
    """Return all callbacks with arguments, and other classes."""
    result: list[type[object]] = [WaitedDSCallback, cb.CheckpointConfig, Model, SummaryRecord]
    for name in cb.__all__:
        what: object = getattr(cb, name)
        if isinstance(what, type) and issubclass(what, Callback) and not name.startswith("_"):
            result.append(what)
    return [make for make in result if settings_of(make)]


def settings_of(make: Made) -> list[inspect.Parameter]:
    listed = inspect.signature(make).parameters.values()
    return [p for p in listed if p.kind is p.POSITIONAL_OR_KEYWORD]


def hints_of(make: Made) -> dict[str, object]:
    return get_type_hints(vars(make)["__init__"])


def belongs(value: object, hint: object) -> bool:
    """Return whether a value is of an annotated type, as far as `isinstance` can check."""
    origin = get_origin(hint)
    if origin is UnionType or str(origin) == "typing.Union":
        return any(belongs(value, part) for part in get_args(hint))
    if origin is Literal:
        return value in get_args(hint)
    plain = origin or hint
    if plain is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if plain is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return plain is object or isinstance(value, cast("type[object]", plain))


def stateful() -> list[Made]:
    return [make for make in own() if hasattr(make, "state_dict")]


def state_of(callback: object) -> dict[str, object]:
    """Return the state without the entries that depend on the clock."""
    assert isinstance(callback, SupportsState)
    state = callback.state_dict()
    return {key: value for key, value in state.items() if key != "elapsed"}


CASES = [
    pytest.param(make, each.name, id=f"{make.__name__}-{each.name}")
    for make in own()
    for each in settings_of(make)
]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.filterwarnings("ignore:For 'SummaryRecord', the 'max_file_size' should be greater")
@pytest.mark.parametrize(("make", "name"), CASES)
def test_invalid_setting_raises_with_name(make: Made, name: str) -> None:
    """A value that the annotation excludes raises an error of one sentence."""
    hint = hints_of(make)[name]
    make(**NEEDED.get(make, {}))
    for bad in BAD:
        try:
            created = make(**{**NEEDED.get(make, {}), name: bad})
        except (TypeError, ValueError, NotImplementedError) as error:
            message = str(error)
            assert re.match(f"For ['`\"]({make.__name__}|{name})['`\"]", message), message
            assert re.search(rf"\b{name}\b", message)
            assert "\n" not in message
            continue
        assert belongs(bad, hint), f"{bad!r} was taken"
        # What was given is what can be read.
        kept = getattr(created, name, bad)
        if make not in REWRITTEN:
            assert kept is bad or kept == bad or (name == "min_delta" and kept == -cast("int", bad))


def counts() -> Iterator[tuple[Made, str]]:
    for make in own():
        for name, hint in hints_of(make).items():
            integral = name != "return" and belongs(1, hint) and not belongs(1.5, hint)
            # A signal is no count, and a record's size that is none is only warned of.
            if integral and name != "sig" and (make, name) != (SummaryRecord, "max_file_size"):
                yield make, name


@pytest.mark.parametrize(("make", "name"), list(counts()), ids=lambda x: getattr(x, "__name__", x))
def test_count_accepts_its_minimum(make: Made, name: str) -> None:
    minimum = 1 if name in FROM_ONE else 0
    make(**{**NEEDED.get(make, {}), name: minimum})
    with pytest.raises(ValueError, match=rf"\b{name}\b.* got.* `?{minimum - 1}\b"):
        make(**{**NEEDED.get(make, {}), name: minimum - 1})


@pytest.mark.parametrize("make", own(), ids=lambda make: make.__name__)
def test_defaults_match_signature(make: Made) -> None:
    created = make(**NEEDED.get(make, {}))
    for each in settings_of(make):
        if each.default is not each.empty and each.name not in SWITCHED_OFF:
            assert (
                make is cb.LambdaCallback
                or getattr(created, each.name, each.default) == each.default
            )


@pytest.mark.parametrize("make", own(), ids=lambda make: make.__name__)
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
        missing = {name: each for name, each in state.items() if name != key}
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
