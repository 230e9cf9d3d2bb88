"""Compare operations with recorded outputs of MindSpore.

`ops.txt` has the format of `tests/oracles/common.txt` and was recorded with MindSpore 2.10. A
Python that has MindSpore records it from the root of the project:

    python -m tests.oracles.ops mindspore < tests/oracles/ops.txt > new.txt
"""

import sys
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np

from tests.oracles.common import main

FILE = Path(__file__).with_suffix(".txt")


def outcome(package: str, expression: str) -> str:
    """Return the value of an expression as text, or the name of the error that it raises."""
    ms = import_module(package)

    def tensor(values: object, dtype: type[np.generic] = np.float32) -> object:
        return ms.Tensor(np.array(values, dtype))

    def grid(*shape: int) -> object:
        """Return different numbers other than 0, some of them negative."""
        return tensor((np.arange(np.prod(shape)).reshape(shape) - 2.5) / 2)

    names: dict[str, object] = {
        "__name__": __name__,  # MindSpore reads the name of a lambda's module
        "ms": ms,
        "np": np,
        "ops": import_module(f"{package}.ops"),
        "mnp": import_module(f"{package}.numpy"),
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
    # The sign of NaN is arbitrary.
    return printed.replace("\n", "\\n").replace("-nan", " nan")


if __name__ == "__main__":
    main(sys.argv[1], outcome)
