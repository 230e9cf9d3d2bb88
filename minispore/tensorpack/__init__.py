"""tensorpack's callbacks, triggers and monitors, for use in one list with MindSpore's.

Each of them is a `minispore.train.Callback`, for `Model.train` and `Model.fit`.

Its modules import `common`, `dataset`, `engine`, `nn`, `ops`, `train` and `utils`.
"""

from typing import TYPE_CHECKING

from minispore.tensorpack import callbacks, logger, train
from minispore.tensorpack.callbacks import *  # noqa: F403
from minispore.tensorpack.protocol import RunValues, UnknownMetricError
from minispore.tensorpack.train import *  # noqa: F403
from minispore.utils.facade import facade

if not TYPE_CHECKING:  # type checkers take it for a definition of every name
    __getattr__, __dir__ = facade(__name__)

__all__: list[str] = ["RunValues", "UnknownMetricError", "logger"]
__all__ += callbacks.__all__
__all__ += train.__all__
