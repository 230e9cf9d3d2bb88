"""Operations with NumPy's names and arguments: what scripts use most of `mindspore.numpy`.

Other names raise an error that says which operation to use.

Its modules import `engine`, `ops` and `utils`.
"""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
