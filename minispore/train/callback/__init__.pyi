# The names of the module; each is imported when it is first used.

from minispore.train.callback._backup_and_restore import *
from minispore.train.callback._best_checkpoint import *
from minispore.train.callback._callback import Callback as Callback
from minispore.train.callback._callback import RunContext as RunContext
from minispore.train.callback._callback import _CallbackManager as _CallbackManager
from minispore.train.callback._callback import _InternalCallbackParam as _InternalCallbackParam
from minispore.train.callback._checkpoint import *
from minispore.train.callback._csv_logger import *
from minispore.train.callback._early_stopping import *
from minispore.train.callback._flops_collector import *
from minispore.train.callback._history import *
from minispore.train.callback._lambda_callback import *
from minispore.train.callback._learning_rate_scheduler import *
from minispore.train.callback._loss_monitor import *
from minispore.train.callback._on_request_exit import *
from minispore.train.callback._progress_bar import *
from minispore.train.callback._reduce_lr_on_plateau import *
from minispore.train.callback._summary_collector import *
from minispore.train.callback._summary_landscape import *
from minispore.train.callback._terminate_on_nan import *
from minispore.train.callback._time_limit import *
from minispore.train.callback._time_monitor import *
from minispore.train.callback._weight_averaging import *
