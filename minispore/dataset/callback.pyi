# The names of the module; each is imported when it is first used.

from minispore.dataset._ds_callback import DSCallback as DSCallback
from minispore.train.callback._waited_ds_callback import WaitedDSCallback as WaitedDSCallback
