"""What the names that MindSpore and minispore share are called with.

`oracle.txt` is written as `tests/common/oracle.txt` is, and printed anew by a Python that has
MindSpore (2.10 made the outcomes that are kept), from the root of the project:

    python -m tests.signatures.oracle mindspore < tests/signatures/oracle.txt > new.txt
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import cast

from ..common.oracle import main

FILE = Path(__file__).with_name("oracle.txt")
MODULES = (
    "",
    "common.initializer",
    "communication",
    "dataset",
    "dataset.transforms",
    "dataset.vision",
    "nn",
    "ops",
    "train",
)
NOTHING, NOT_TOLD = "nothing", "not told"
# What MindSpore's compiled functions say: they take anything and sort it out later.
HIDDEN = {"(*args, **kwargs)", "(*args)"}


def expressions() -> Iterator[str]:
    """Each public function, class and method of minispore, in the first module that has it."""
    seen: set[int] = set()
    for name in MODULES:
        module = import_module(f"minispore.{name}".rstrip("."))
        prefix = f"{name}." if name else ""
        new = {
            each: found
            for each in sorted(cast("list[str]", getattr(module, "__all__", vars(module))))
            if callable(found := getattr(module, each))
            and id(found) not in seen
            and not each.startswith("_")
            and getattr(found, "__module__", "").startswith("minispore")
        }
        seen.update(map(id, new.values()))
        for each, found in new.items():
            yield f"{prefix}{each}"
            for method, value in vars(found).items() if inspect.isclass(found) else ():
                if inspect.isfunction(value) and not method.startswith("_"):
                    yield f"{prefix}{each}.{method}"


def outcome(package: str, expression: str) -> str:
    """The arguments with their defaults, without types."""
    home = max((name for name in MODULES if expression.startswith(f"{name}.")), key=len, default="")
    module = import_module(f"{package}.{home}".rstrip("."))
    names = expression.removeprefix(f"{home}.").split(".")
    try:
        found = reduce(getattr, names, cast("object", module))
    except AttributeError:
        return NOTHING
    return signature(found).replace(f"{package}.", "")


def signature(found: object) -> str:
    """The arguments of a function, or of a class's `__init__`."""
    made = inspect.isclass(found)
    function = cast("Callable[..., object]", found.__init__ if made else found)  # type: ignore[misc]
    if function is object.__init__:
        return "()"
    # MindSpore's decorators hide an `__init__`, but hold it.
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    inner = [each for each in cells if getattr(each, "__name__", "") == "__init__"]
    try:
        told = inspect.signature(cast("Callable[..., object]", inner[0]) if inner else function)
    except (TypeError, ValueError):
        return NOT_TOLD
    plain = [each.replace(annotation=each.empty) for each in told.parameters.values()]
    if plain and plain[0].name == "self":
        plain = plain[1:]
    text = str(told.replace(parameters=plain, return_annotation=told.empty))
    return NOT_TOLD if text in HIDDEN else text


if __name__ == "__main__":
    main(sys.argv[1], outcome)
