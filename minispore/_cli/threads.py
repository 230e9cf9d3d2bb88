"""With how many threads numpy computes: its libraries read that when they are loaded."""

import os
import sys

from minispore._cli.errors import UserError

# OpenBLAS, MKL, Accelerate and BLIS; the last one is for those that are built with OpenMP.
VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "BLIS_NUM_THREADS",
    "OMP_NUM_THREADS",
)


def set_threads(number: int) -> None:
    """Set the number of threads, before numpy is imported.

    Raises:
        UserError: numpy has already been imported.
    """
    if "numpy" in sys.modules:
        raise UserError(
            "--threads must be set before numpy is imported: start the command in its own process"
        )
    os.environ.update(dict.fromkeys(VARIABLES, str(number)))
