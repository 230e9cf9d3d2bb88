# The names of the module; each is imported when it is first used.

from minispore.train.protocol.state_fields import read_dict_field as read_dict_field
from minispore.train.protocol.state_fields import read_field as read_field
from minispore.train.protocol.state_fields import read_list_field as read_list_field
from minispore.train.protocol.training_state import TrainingState as TrainingState
from minispore.train.protocol.training_state import decode as decode
from minispore.train.protocol.training_state import encode as encode
from minispore.train.resume.training_checkpoint import TrainingCheckpoint as TrainingCheckpoint
from minispore.train.resume.training_checkpoint import (
    read_training_checkpoint as read_training_checkpoint,
)
