"""Each wrong argument of each public function and class is refused, by name.

Three tables of each package are recorded: what the errors of wrong arguments say
(`wrong_arguments.txt`), which numbers an argument accepts (`numbers.txt`), and the errors of
further calls, which `refusals.txt` lists. `python -m tests.record` records the first two.
"""

import os
import re
import warnings
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from functools import cache
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import numpy as np
import pytest

import minispore as ms
from minispore import Tensor, nn
from minispore.train.serialization import wait_for_saves
from minispore.utils.checks import as_items, describe_value, is_iterable
from tests.helpers.public_calls import PACKAGES, Call, calls, names_of
from tests.helpers.valid_arguments import HUGE, VALUES

TABLES = Path(__file__).parents[1]
RECORD = "If it is right, record it: python -m tests.record"
ERRORS = (
    *(TypeError, ValueError, LookupError, RuntimeError, OSError),
    *(AttributeError, OverflowError),  # of values that a function is not called with, by its type
)
NUMBERS: list[float] = [
    -2, -1, 0, 1, 2, 3, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 100.0, float("inf"), float("nan"),
]  # fmt: skip
# Arguments that would take HUGE, and as many steps.
LONG = {"total_step", "epoch"}
# Their files would be downloaded.
WITHOUT_FILES = {
    *("Cifar10Dataset", "Cifar100Dataset", "FashionMnistDataset", "ImageFolderDataset"),
    "MnistDataset",
}
# Arguments, or all those of a function, that take more than their annotations say, or whose errors
# are those of another function or of several arguments. What these say is recorded as well.
EXEMPT: dict[str, set[str]] = {
    "nn": {
        *("auto_prefix", "beta_init", "bias_init", "data", "embedding_table"),
        *("gamma_init", "init", "layerwise_parallel", "learning_rate", "mode", "moving_mean_init"),
        *("moving_var_init", "parallel_optimizer", "parameters", "prim_name", "slice_shape"),
        *("unflattened_size", "value", "w", "weight_init", "milestone", "learning_rates"),
    },
    "ops": {"shape", "weights", "input", "other"},
    "train": {
        *("build_train_network", "get_metric_fn", "load_checkpoint_async"),
        *("black_list", "callbacks", "func", "reorder", "sig", "white_list"),
    },
    "dataset": {
        *("batch_sampler", "column_names", "count", "indices", "max_rowsize"),
        *("python_multiprocessing", "weights"),
    },
    "tensorpack": set(),
}


def fits(value: Any, annotation: Any) -> bool:  # noqa: ANN401
    """Return whether an annotation includes a value; a bool is no number, a str no sequence."""
    # numpy's NDArray is a `type` alias from Python 3.12 on.
    annotation = getattr(annotation, "__value__", annotation)
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in {Union, UnionType}:
        return any(fits(value, option) for option in inner)
    if origin is Literal:
        return any(type(value) is type(option) and value == option for option in inner)
    if isinstance(annotation, TypeVar) or getattr(annotation, "_is_protocol", False):
        return True
    if isinstance(value, bool):
        return annotation in {bool, object}
    kind: Any = origin or annotation
    if kind in {Sequence, Iterable, list}:
        is_series = isinstance(value, kind) and not isinstance(value, str | bytes)
        return is_series and all(map(fits, value, repeat(inner[0])))
    kinds: dict[object, Any] = {float: (int, float), tuple: (tuple, list)}
    return isinstance(value, kinds.get(kind, kind))


def error_of(call: Call, argument: str, value: object) -> Exception | None:
    """Return the error of a call with this value, if it is refused."""
    try:
        call.run(**call.arguments | {argument: value})
        wait_for_saves()
    except ERRORS as error:
        return error
    return None


def message_of(error: Exception) -> str:
    return str(error.args[-1] if isinstance(error, OSError) else error.args[0])


def refused(call: Call, argument: str) -> Iterator[tuple[object, str, str]]:
    """Yield each of VALUES that is refused, with the error's type and message.

    Nothing has been written then.
    """
    before = files()
    for value in VALUES:
        error = None if value is HUGE and argument in LONG else error_of(call, argument, value)
        after = files()
        if error is not None:
            assert after == before, (call.name, argument, value)
            yield value, type(error).__name__, message_of(error)
        before = after


def files() -> list[tuple[str, list[str], list[str]]]:
    return list(os.walk("."))


def row_of(call: Call, argument: str, errors: Iterable[tuple[object, str, str]]) -> str:
    """Return what the errors of an argument say, each text once and without the value.

    Python's and numpy's messages are left out.
    """
    texts: dict[str, None] = {}
    for value, kind, message in errors:
        text = message.removeprefix(f"For '{call.name}', ").partition(", but got")[0]
        for form in (describe_value(value), repr(value)):
            text = re.sub(rf"(?<!\w){re.escape(form)}(?!\w)", "…", text)
        texts[f"{kind}: {text}" if message.startswith("For ") else kind] = None
    return f"{call.name}.{argument}  # {' | '.join(texts) or 'takes any value'}"


def numbers_of(call: Call) -> Iterator[str]:
    """Yield a line for each argument that accepts some of NUMBERS if the others are valid."""
    for argument in call.arguments:
        numbers = [n for n in NUMBERS if error_of(call, argument, n) is None]
        listed = "any" if len(numbers) == len(NUMBERS) else " ".join(map(str, numbers))
        if numbers:
            yield f"{call.name}.{argument}: {listed}"


def mentions(message: str, value: object) -> bool:
    """Return whether the end of a message contains a value, one of its items, or its type."""
    _, got, end = message.partition(" got ")
    parts = [value]
    if isinstance(value, Mapping):
        parts += [*value, *value.values()]
    elif isinstance(value, Tensor | np.ndarray):
        parts += [value.tolist(), *value]
    elif is_iterable(value):
        parts += [tuple(value), *value]
    texts = {describe_value(part).partition(" of type")[0] for part in parts}
    texts |= {text for part in parts for text in (str(part), type(part).__name__)}
    return not got or any(text in end for text in texts)


def memory(call: Call) -> list[object]:
    """Return the elements of the tensors and parameters among the valid arguments."""
    found: list[object] = []
    for value in call.arguments.values():
        listed = value.get_parameters() if isinstance(value, nn.Cell) else as_items(value)
        found += [x.asnumpy().tobytes() for x in (value, *(listed or ())) if isinstance(x, Tensor)]
    return found


@contextmanager
def valid_files() -> Generator[None]:
    """Work in a new folder with the files that the valid arguments name."""
    with (
        TemporaryDirectory() as folder,
        chdir(folder),
        np.errstate(all="ignore"),
        warnings.catch_warnings(action="ignore"),
    ):
        Path("rows.csv").write_text("a\n1\n2\n", "utf-8")
        ms.save_checkpoint(nn.Dense(2, 2), "net.ckpt")
        ms.save_checkpoint(nn.Dense(2, 2), "net.safetensors", format="safetensors")
        yield


@pytest.fixture(autouse=True)
def folder() -> Iterator[None]:
    with valid_files():
        yield


@cache
def recorded(package: str, table: str) -> frozenset[str]:
    return frozenset((TABLES / package / f"{table}.txt").read_text("utf-8").splitlines())


CALLS = [
    pytest.param(package, call, id=f"{package}-{call.name}")
    for package in PACKAGES
    for call in calls(package)
]


@pytest.mark.parametrize(("package", "call"), CALLS)
def test_wrong_argument_is_refused_by_name(package: str, call: Call) -> None:
    """An error of one line names function, argument and value, and says what is recorded."""
    if call.name not in WITHOUT_FILES:
        call.run(**call.arguments)
    annotations = call.annotations()
    names = {call.name, call.name.rstrip("()"), *names_of(call.function)}
    for argument in call.arguments:
        annotation, before = annotations.get(argument, object), memory(call)
        errors = list(refused(call, argument))
        assert memory(call) == before
        row = row_of(call, argument, errors)
        assert row in recorded(package, "wrong_arguments"), RECORD
        if EXEMPT[package] & {argument, call.name}:
            continue
        accepted = [v for v in VALUES if not any(v is value for value, _, _ in errors)]
        assert argument in LONG or all(fits(value, annotation) for value in accepted)
        for value, _, message in errors:
            assert "\n" not in message
            if fits(value, annotation):
                continue  # it does not fit to the other arguments, or is out of range
            assert re.match("For ['\"`]", message), message
            assert any(f"'{name}'" in message for name in names), message
            assert re.search(rf"\b{argument}\b|operand|elements", message), message
            assert mentions(message, value), message


@pytest.mark.parametrize("package", PACKAGES)
def test_recorded_arguments_exist(package: str) -> None:
    arguments = {f"{call.name}.{name}" for call in calls(package) for name in call.arguments}
    assert {row.partition("  # ")[0] for row in recorded(package, "wrong_arguments")} == arguments


@pytest.mark.parametrize("package", PACKAGES)
def test_arguments_accept_the_recorded_numbers(package: str) -> None:
    lines: set[str] = set()
    for call in calls(package):
        with valid_files():
            lines |= {*numbers_of(call)}
    assert lines == recorded(package, "numbers"), RECORD


def record() -> None:
    """Write both tables of each package."""
    for package in PACKAGES:
        rows: list[str] = []
        numbers: list[str] = []
        for call in calls(package):
            with valid_files():
                rows += [row_of(call, name, refused(call, name)) for name in call.arguments]
            with valid_files():
                numbers += numbers_of(call)
        for table, lines in (("wrong_arguments", rows), ("numbers", numbers)):
            (TABLES / package / f"{table}.txt").write_text("\n".join(lines) + "\n", "utf-8")
