"""What `import minispore` costs, beside `import numpy`, each in a fresh interpreter."""

import subprocess
import sys

from benchmarks._timing import Contestant, Row, compare


def _inside(name: str) -> float:
    """The seconds of the import statement alone, without the interpreter's start."""
    code = f"import time; t = time.perf_counter(); import {name}; print(time.perf_counter() - t)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(done.stdout)


def rows() -> list[Row]:
    """The import statement."""
    return compare(
        "import minispore",
        lambda: _inside("minispore"),
        [Contestant("import numpy", lambda: _inside("numpy"), 1.5)],
        turns=21,
    )
