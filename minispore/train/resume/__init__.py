"""Exact resume: the training state of a run, and reading the states of callbacks from it."""

from minispore.train.resume.state_fields import StateField, StatefulMixin
from minispore.train.resume.training_state import (
    TrainingCheckpoint,
    TrainingState,
    decode,
    encode,
    read_dict_field,
    read_field,
    read_list_field,
    read_training_checkpoint,
)

__all__ = [
    "StateField",
    "StatefulMixin",
    "TrainingCheckpoint",
    "TrainingState",
    "decode",
    "encode",
    "read_dict_field",
    "read_field",
    "read_list_field",
    "read_training_checkpoint",
]


def __dir__() -> list[str]:
    return sorted(__all__)
