"""Communication of the processes of a data-parallel training, by MPI.

`init` joins the processes that `mpiexec` has started. mpi4py is imported only then.

Its modules import `common`, `engine` and `utils`.
"""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
