"""Print the signatures of CuPy's functions, in a Python that has CuPy; no GPU is needed.

    cd tests/strict_device && python cupy_signatures.py sum add ndarray.mT … > cupy.txt

Each argument is a name to look up. A line has the name, the signature and, for a ufunc, the types
it takes; for what CuPy has not, the name alone. A ufunc has no signature of its own: what counts is
how many operands it takes.
"""

import inspect
import sys
from importlib import import_module
from types import ModuleType
from typing import Any


def described(cupy: ModuleType, name: str) -> str:
    found: Any = cupy
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None:
        return name
    if isinstance(found, cupy.ufunc):
        operands = ", ".join(f"x{i}" for i in range(found.nin))
        return f"{name} ({operands}, /, out=None) {' '.join(found.types)}"
    if not inspect.isfunction(found):
        return f"{name} there"
    bare = [
        # What a default is does not matter, only that there is one.
        p.replace(annotation=p.empty, default=p.empty if p.default is p.empty else None)
        for p in inspect.signature(found).parameters.values()
    ]
    return f"{name} {inspect.Signature(bare)}"


if __name__ == "__main__":
    library = import_module("cupy")
    print(f"CuPy {library.__version__}")
    for name in sys.argv[1:]:
        print(described(library, name))
