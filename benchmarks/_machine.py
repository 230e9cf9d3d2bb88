"""The machine as the benchmarks want it: the kernel that numpy chooses, one thread, one core."""

import os
import platform
import sys
from importlib.metadata import version

from benchmarks._other_frameworks import library

# With these, OpenBLAS uses another kernel or other blocks than it would choose for the processor.
_CHOICES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
# JAX reads the last one.
_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NPROC")


def prepare(threads: int = 1) -> None:
    """Give this process the environment of a number of threads, and for one thread one core.

    JAX's own threads need twice the time on two cores.

    Raises:
        RuntimeError: numpy is loaded, which has read its environment.
    """
    if "numpy" in sys.modules:
        raise RuntimeError("the benchmarks' environment must be set before numpy is loaded")
    for name in _CHOICES:
        os.environ.pop(name, None)
    os.environ.update(dict.fromkeys(_THREADS, str(threads)))
    # macOS and Windows have no such function.
    if threads == 1 and sys.platform == "linux":
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def description() -> str:
    """Return a sentence on Python, numpy, its library of linear algebra, and the processor."""
    library("numpy")  # it loads its own library
    inspector = library("threadpoolctl")
    loaded: list[dict[str, str]] = [] if inspector is None else inspector.threadpool_info()
    libraries = [
        f"{each['internal_api']} {each['version']} ({each['architecture']})"
        for each in loaded
        if "numpy" in each["filepath"] and "architecture" in each
    ]
    return (
        f"Python {platform.python_version()}, numpy {version('numpy')} with "
        f"{', '.join(libraries) or 'a library that is not known'}, {os.cpu_count()} cores, "
        f"{platform.machine()}; one thread, on one core."
    )
