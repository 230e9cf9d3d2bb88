"""What importing minispore costs, beside `import numpy`, each in a fresh interpreter."""

from benchmarks._peers import fresh
from benchmarks._timing import Contestant, Row, compare

# `import minispore` alone loads no package of its own yet: they come with the first use.
EVERYTHING = "import minispore.dataset, minispore.nn, minispore.train"


def _inside(statement: str) -> float:
    """The seconds of an import statement alone, without the interpreter's start."""
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    return fresh(code)[0]


def rows() -> list[Row]:
    """The statement alone, with the first tensor, and with everything that there is."""
    return [
        *_beside_numpy("import minispore", "import numpy; import minispore", 1.3),
        *_beside_numpy("import minispore and name Tensor", "import minispore; minispore.Tensor"),
        *_beside_numpy("import all packages of minispore", EVERYTHING),
    ]


def _beside_numpy(work: str, statement: str, target: float | None = None) -> list[Row]:
    return compare(
        work,
        lambda: _inside(statement),
        [Contestant("import numpy", lambda: _inside("import numpy"), target)],
        turns=21,
    )
