"""What MindSpore prints for the expressions in `oracle.txt`, and what minispore prints.

The file is written as `tests/common/oracle.txt` is, and printed anew by a Python that has MindSpore
(2.10 made the outcomes that are kept), from the root of the project:

    python -m tests.ops.oracle mindspore < tests/ops/oracle.txt > new.txt
"""

import sys
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np

from ..common.oracle import main

FILE = Path(__file__).with_name("oracle.txt")


def outcome(package: str, expression: str) -> str:
    """What an expression is printed as, or the name of the error that it raises."""
    ms = import_module(package)

    def tensor(values: object, dtype: type[np.generic] = np.float32) -> object:
        return ms.Tensor(np.array(values, dtype))

    def grid(*shape: int) -> object:
        """Numbers that differ, some of them below 0, and none of them 0."""
        return tensor((np.arange(np.prod(shape)).reshape(shape) - 2.5) / 2)

    names: dict[str, object] = {
        "__name__": __name__,  # MindSpore asks a lambda for its module's name
        "ms": ms,
        "np": np,
        "ops": import_module(f"{package}.ops"),
        "nan": np.nan,
        "inf": np.inf,
        "Tensor": ms.Tensor,
        "T": tensor,
        "grid": grid,
        "W": ms.Parameter(tensor(2.0), name="w"),
        "V": ms.Parameter(tensor(7.0), name="v"),
    }
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            printed = repr(eval(expression, names))
        except Exception as error:
            return f"raises {type(error).__name__}"
    # Of no number the sign says nothing.
    return printed.replace("\n", "\\n").replace("-nan", " nan")


if __name__ == "__main__":
    main(sys.argv[1], outcome)
