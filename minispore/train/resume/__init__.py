"""Exact resume: the training state of a run, and reading the states of callbacks from it."""

from minispore.train.resume.state_fields import StateField as StateField
from minispore.train.resume.state_fields import StatefulMixin as StatefulMixin
from minispore.train.resume.training_state import TrainingCheckpoint as TrainingCheckpoint
from minispore.train.resume.training_state import TrainingState as TrainingState
from minispore.train.resume.training_state import decode as decode
from minispore.train.resume.training_state import encode as encode
from minispore.train.resume.training_state import read_dict_field as read_dict_field
from minispore.train.resume.training_state import read_field as read_field
from minispore.train.resume.training_state import read_list_field as read_list_field
from minispore.train.resume.training_state import (
    read_training_checkpoint as read_training_checkpoint,
)
