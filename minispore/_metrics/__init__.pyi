# The names of the module; each is imported when it is first used.

from minispore._metrics import loss as loss
from minispore._metrics.classification import *
from minispore._metrics.confusion import *
from minispore._metrics.curves import *
from minispore._metrics.loss import *
from minispore._metrics.metric import *
from minispore._metrics.registry import *
from minispore._metrics.regression import *
