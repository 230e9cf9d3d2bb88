# The names of the module; each is imported when it is first used.

from minispore.nn.layer.activation import *
from minispore.nn.layer.basic import *
from minispore.nn.layer.container import *
from minispore.nn.layer.conv import *
from minispore.nn.layer.embedding import *
from minispore.nn.layer.normalization import *
from minispore.nn.layer.padding import *
from minispore.nn.layer.pooling import *
from minispore.nn.layer.rnn_cells import *
from minispore.nn.layer.rnns import *
