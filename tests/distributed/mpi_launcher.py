"""Start the programs of tests in several processes, if MPI is installed."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# Seconds; a program that takes longer hangs.
LIMIT = 120


def mpiexec() -> str | None:
    """Return the path of mpiexec: that of this Python's environment, or one on PATH."""
    in_environment = shutil.which("mpiexec", path=str(Path(sys.executable).parent))
    return in_environment or shutil.which("mpiexec")


needs_mpi = pytest.mark.skipif(
    mpiexec() is None or find_spec("mpi4py") is None,
    reason="needs mpi4py and mpiexec: install the extra 'mpi'",
)


def launch(
    processes: int, program: Path, *arguments: object, folder: Path, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """Run a program in several processes, and return its exit status and output."""
    launcher = mpiexec()
    assert launcher is not None
    settings = {
        "PYTHONPATH": str(ROOT),
        # The processes share the machine's cores, which Open MPI refuses by default.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
    }
    return subprocess.run(
        [
            *(launcher, "-n", str(processes), sys.executable, "-W", "error"),
            *(str(program), *map(str, arguments)),
        ],
        cwd=folder,
        env=os.environ | settings | environment,
        capture_output=True,
        encoding="utf-8",
        timeout=LIMIT,
        check=False,
    )
