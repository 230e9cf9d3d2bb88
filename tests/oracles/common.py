"""Compare expressions of tensors and parameters with recorded outputs of MindSpore.

In `common.txt`, an expression is not indented. MindSpore's outcome is below it, and below that,
where minispore differs on purpose, minispore's outcome after `here:`. The file was recorded with
MindSpore 2.10, which needs an environment of its own. A Python that has MindSpore records it:

    python tests/oracles/common.py mindspore < tests/oracles/common.txt > new.txt
"""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

FILE = Path(__file__).with_suffix(".txt")
INDENT = "    "
HERE = "here: "


class Entry(NamedTuple):
    """An expression (statements may precede it), MindSpore's outcome, and minispore's."""

    expression: str
    theirs: str
    ours: str


class Named(Protocol):
    """The attributes of a tensor or parameter of either package that are printed."""

    name: str
    requires_grad: bool
    dtype: object

    def asnumpy(self) -> NDArray[np.generic]: ...


def read(lines: Iterable[str]) -> Iterator[Entry]:
    """Return the entries of a file."""
    expression, outcomes = "", [""]
    for line in [*(line.rstrip("\n") for line in lines), ""]:
        if line.startswith(INDENT):
            outcomes.append(line.strip())
            continue
        if expression:
            ours = outcomes[-1].removeprefix(HERE)
            yield Entry(expression, outcomes[0], ours)
        expression, outcomes = ("" if line.startswith("#") else line), []


def outcome(package: str, expression: str) -> str:
    """Return the value of an expression as text, or the name of the error that it raises."""
    ms = import_module(package)

    def of(dtype: str, values: tuple[object, ...] = (1, 2, 3)) -> object:
        return ms.Tensor(np.array(values).astype(dtype))

    def grid(*shape: int) -> object:
        return ms.Tensor(np.arange(np.prod(shape)).reshape(shape).astype(np.float32))

    names: dict[str, object] = {
        "ms": ms,
        "np": np,
        "copy": import_module("copy"),
        "pickle": import_module("pickle"),
        "initializer": import_module(f"{package}.common.initializer"),
        "nan": np.nan,
        "inf": np.inf,
        "Tensor": ms.Tensor,
        "Parameter": ms.Parameter,
        "ParameterTuple": ms.ParameterTuple,
        "of": of,
        "grid": grid,
    }
    *statements, last = expression.split("; ")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for statement in statements:
                exec(statement, names)
            text = shown(eval(last, names))
        except Exception as error:
            text = f"raises {type(error).__name__}"
    return text.replace(package, "ms")


def shown(value: object) -> str:
    """Return a value as one line: a tensor by its type, shape and elements."""
    if isinstance(value, str):
        return value.replace("\n", "\\n")
    if isinstance(value, tuple | list):
        return "(" + ", ".join(shown(item) for item in cast("list[object]", value)) + ")"
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(cast("object", value))
        return f"numpy {array.dtype}{list(array.shape)} {array.tolist()}"
    if hasattr(value, "requires_grad") and hasattr(value, "set_data"):
        parameter = cast("Named", value)
        trained = "" if parameter.requires_grad else " not trained"
        return f"{parameter.name}{trained}: {_tensor(parameter)}"
    if hasattr(value, "asnumpy"):
        return _tensor(cast("Named", value))
    return repr(value)


def _tensor(value: Named) -> str:
    array = value.asnumpy()
    return f"{value.dtype}{list(array.shape)} {array.tolist()}"


def main(package: str, outcome: Callable[[str, str], str]) -> None:
    """Copy the standard input, with the package's outcomes instead of the recorded ones."""
    # Otherwise MindSpore may raise an expression's error in the next one.
    import_module(package).set_context(pynative_synchronize=True)
    for line in sys.stdin.read().splitlines():
        if line.startswith(INDENT):
            if line.strip().startswith(HERE):
                print(line)
            continue
        print(line)
        if line and not line.startswith("#"):
            print(INDENT + outcome(package, line), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], outcome)
