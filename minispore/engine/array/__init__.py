"""Array namespaces and devices: the protocol of array libraries, and numpy and CuPy as backends.

A derivative rule obtains the functions of an array's library by `namespace(x)` and so runs on each
of them. `register_namespace` adds an array type, and `register_backend` a device.

Its modules import `utils`.

Examples:
    >>> import numpy as np
    >>> x = np.array([0.0, 1.0])
    >>> namespace(x).maximum(x, 0.5).tolist()
    [0.5, 1.0]
"""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
