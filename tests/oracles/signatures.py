"""Compare the signatures of the public names with recorded ones of MindSpore.

`signatures.txt` has the format of `tests/oracles/common.txt` and was recorded with MindSpore 2.10.
A Python that has MindSpore records it from the root of the project:

    python -m tests.oracles.signatures mindspore < tests/oracles/signatures.txt > new.txt

After a change of minispore's own names `python -m tests.record` updates the file. It keeps
MindSpore's signatures, and records that MindSpore has no such name for each name that is new.
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import cast

from tests.oracles.common import HERE, INDENT, main, read

FILE = Path(__file__).with_suffix(".txt")
MODULES = (
    "", "common.initializer", "communication", "dataset", "dataset.transforms", "dataset.vision",
    "nn", "numpy", "ops", "train",
)  # fmt: skip
NOTHING, UNKNOWN = "nothing", "unknown"
# The signatures of MindSpore's compiled functions, which check their arguments themselves.
HIDDEN = {"(*args, **kwargs)", "(*args)"}


def expressions() -> Iterator[str]:
    """Yield each public function, class and method, in the first module that has it."""
    listed_ids: set[int] = set()
    for name in MODULES:
        module = import_module(f"minispore.{name}".rstrip("."))
        prefix = f"{name}." if name else ""
        # A module that lists its names has those of others, too.
        lists_names = "__dir__" in vars(module)
        home = "minispore" if lists_names else module.__name__
        new = {
            attribute: value
            for attribute in dir(module)
            if callable(value := getattr(module, attribute))
            and id(value) not in listed_ids
            and not attribute.startswith("_")
            and getattr(value, "__module__", "").startswith(home)
        }
        listed_ids.update(map(id, new.values()))
        for member, public in new.items():
            yield f"{prefix}{member}"
            for method, value in vars(public).items() if inspect.isclass(public) else ():
                # A method of another module is an operation, which is listed with `ops`.
                defined_here = getattr(value, "__module__", None) == public.__module__
                if inspect.isfunction(value) and defined_here and not method.startswith("_"):
                    yield f"{prefix}{member}.{method}"


def outcome(package: str, expression: str) -> str:
    """Return the parameters with their defaults, without annotations."""
    home = max((name for name in MODULES if expression.startswith(f"{name}.")), key=len, default="")
    module = import_module(f"{package}.{home}".rstrip("."))
    names = expression.removeprefix(f"{home}.").split(".")
    try:
        public = reduce(getattr, names, cast("object", module))
    except AttributeError:
        return NOTHING
    return signature(public).replace(f"{package}.", "")


def signature(public: object) -> str:
    """Return the parameters of a function, or of the `__init__` of a class."""
    is_class = inspect.isclass(public)
    function = cast("Callable[..., object]", public.__init__ if is_class else public)  # type: ignore[misc]
    if function is object.__init__:
        return "()"
    # MindSpore's decorators wrap an `__init__`, which their closure contains.
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    inner = [content for content in cells if getattr(content, "__name__", "") == "__init__"]
    try:
        shown = inspect.signature(cast("Callable[..., object]", inner[0]) if inner else function)
    except (TypeError, ValueError):
        return UNKNOWN
    plain = [p.replace(annotation=p.empty) for p in shown.parameters.values()]
    if plain and plain[0].name == "self":
        plain = plain[1:]
    text = str(shown.replace(parameters=plain, return_annotation=shown.empty))
    return UNKNOWN if text in HIDDEN else text


def record() -> None:
    """Write the public names and minispore's signatures to the file; keep MindSpore's."""
    text = FILE.read_text("utf-8")
    theirs = {entry.expression: entry.theirs for entry in read(text.splitlines())}
    lines = [*(line for line in text.splitlines() if line.startswith("#")), ""]
    for expression in expressions():
        expected = theirs.get(expression, NOTHING)
        ours = outcome("minispore", expression)
        lines += [expression, INDENT + expected]
        if ours != expected:
            lines.append(f"{INDENT}{HERE}{ours}")
    FILE.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1], outcome)
