"""CuPy's functions, without a GPU: those of the protocol exist and accept its arguments.

CuPy's signatures are in a stored table. If MINISPORE_CUPY_PYTHON is the path of a Python that has
CuPy, the table is compared with it, and the module for CuPy is imported there.
"""

import ast
import os
from inspect import Parameter, isfunction, signature
from itertools import product
from pathlib import Path

import pytest

from minispore.engine.array import Array, ArrayBackend, DeviceNamespace, _numpy
from tests.helpers.processes import run
from tests.strict_device.strict_backend import CONTRACT, TABLE, cupy_signatures, rows

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("cupy_signatures.py")
MODULE = Path(_numpy.__file__).with_name("_cupy.py")
PYTHON = os.environ.get("MINISPORE_CUPY_PYTHON", "")
needs_cupy = pytest.mark.skipif(not PYTHON, reason="MINISPORE_CUPY_PYTHON is not set")
FLOATS = {"e", "f", "d"}
# The functions of one operand or two that take floats and give them.
OF_FLOATS = (
    (
        "abs", "exp", "expm1", "floor", "log", "log1p", "sign", "sqrt", "square", "sinh", "cosh",
        "tanh", "sin", "cos", "trunc", "asin", "acos", "atan", "asinh", "acosh", "atanh",
    ),
    ("add", "divide", "floor_divide", "maximum", "minimum", "multiply", "remainder", "subtract"),
)  # fmt: skip
OF_ARRAYS = ("copy", "flags", "__iadd__", "__setitem__")


def written() -> set[str]:
    """The names that the module for CuPy defines."""
    found: set[str] = set()
    for node in ast.parse(MODULE.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        if isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


def asked() -> list[str]:
    """The names to look up in CuPy, in a fixed order."""
    functions = sorted(CONTRACT - (written() - {"asarray"}))
    of_arrays = sorted({*OF_ARRAYS, *protocol_names()})
    return [
        *functions,
        *("add.at", "asnumpy", "is_available", "lib.stride_tricks.as_strided"),
        *("cuda.get_current_stream", "cuda.Stream.synchronize"),
        *("ascontiguousarray", *(f"ndarray.{name}" for name in of_arrays)),
    ]


def protocol_names() -> list[str]:
    members = (n for n, v in vars(Array).items() if isinstance(v, property) or isfunction(v))
    return [n for n in members if n not in {"__init__", "__subclasshook__"}]


def calls(name: str) -> list[tuple[int, tuple[str, ...]]]:
    """Each way to call a function by the protocol: the number of positional arguments, and the
    names of the others.
    """
    parameters = list(signature(getattr(DeviceNamespace, name)).parameters.values())[1:]
    ways: list[tuple[int, tuple[str, ...]]] = []
    for choice in product((True, False), repeat=len(parameters)):
        chosen = [p for p, taken in zip(parameters, choice, strict=True) if taken]
        if any(p.default is p.empty and p not in chosen for p in parameters):
            continue
        by_name = [p for p in chosen if p.kind is not Parameter.POSITIONAL_ONLY]
        first = [p for p in chosen if p not in by_name]
        ways.append((len(first), tuple(p.name for p in by_name)))
        free = [p for p in by_name if p.kind is Parameter.POSITIONAL_OR_KEYWORD]
        if parameters[: len(first) + len(free)] == first + free:
            named = tuple(p.name for p in by_name if p not in free)
            ways.append((len(first) + len(free), named))
    return ways


@pytest.mark.parametrize("name", sorted(CONTRACT - written()))
def test_cupy_accepts_all_calls_of_the_protocol(name: str) -> None:
    theirs = cupy_signatures()[name]
    for count, names in calls(name):
        theirs.bind(*[None] * count, **dict.fromkeys(names))


def test_functions_that_cupy_lacks_are_defined() -> None:
    missing = [name for name, signature, _ in rows() if not signature]
    assert missing == []
    library = {n for n in vars(ArrayBackend) if not n.startswith("_")}
    assert library | {"is_available"} <= written()


def test_cupy_arrays_have_the_members_of_the_protocol() -> None:
    there = {name for name, signature, _ in rows() if signature}
    assert {f"ndarray.{name}" for name in [*protocol_names(), *OF_ARRAYS]} <= there


@pytest.mark.parametrize("operands", [1, 2])
def test_functions_keep_the_float_type(operands: int) -> None:
    types = {name: set(found) for name, _, found in rows()}
    for name in OF_FLOATS[operands - 1]:
        assert {f"{t * operands}->{t}" for t in FLOATS} <= types[name], name


def in_cupys_python(*args: str) -> str:
    return run(PYTHON, *args, folder=ROOT, environment={"PYTHONPATH": str(ROOT)}).stdout


@needs_cupy
def test_stored_signatures_are_cupys() -> None:
    found = in_cupys_python(str(SCRIPT), *asked()).splitlines()
    # Of whatever version: what counts is how the functions are called.
    assert found[1:] == TABLE.read_text("utf-8").splitlines()[1:]


@needs_cupy
def test_cupy_module_is_complete_and_requires_a_gpu() -> None:
    printed = in_cupys_python(
        "-c",
        "import minispore\n"
        "from minispore.engine.array import _cupy\n"
        "print(*sorted(vars(_cupy)))\n"
        "if not _cupy.is_available():\n"
        "    try:\n"
        "        minispore.set_context(device_target='GPU')\n"
        "    except RuntimeError as error:\n"
        "        print(error, minispore.get_context('device_target'))\n",
    )
    names, *errors = printed.splitlines()
    assert set(names.split()) >= CONTRACT | {"ndarray", "to_host"}
    assert not errors or ("needs a CUDA device" in errors[0] and errors[0].endswith("CPU"))
