"""The time of importing minispore, compared with `import numpy`, in new interpreters."""

from benchmarks._other_frameworks import run_python
from benchmarks._timing import Baseline, Row, compare

# `import minispore` alone imports no module of it: modules are imported at their first use.
SMALLEST_TRAINING = (
    "from minispore import dataset, nn, train; dataset.NumpySlicesDataset, nn.Dense, nn.SGD,"
    "nn.CrossEntropyLoss, train.LossMonitor, train.Model, train.TimeMonitor"
)


def _seconds_of(statement: str) -> float:
    """Return the seconds of an import statement, without the start of the interpreter."""
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    return run_python(code)[0]


def rows() -> list[Row]:
    """Return the rows of the statement alone, of the first tensor, and of a small training."""
    return [
        *_compare_with_numpy("import minispore", "import numpy; import minispore", 1.3),
        *_compare_with_numpy(
            "import minispore and name Tensor", "import minispore; minispore.Tensor"
        ),
        *_compare_with_numpy("import what the smallest training uses", SMALLEST_TRAINING),
    ]


def _compare_with_numpy(work: str, statement: str, target: float | None = None) -> list[Row]:
    return compare(
        work,
        lambda: _seconds_of(statement),
        [Baseline("import numpy", lambda: _seconds_of("import numpy"), target)],
        turns=21,
    )
