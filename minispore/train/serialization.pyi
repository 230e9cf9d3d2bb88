# The names of the module; each is imported when it is first used.

from minispore.train.checkpoint.conversion import ckpt_to_safetensors, safetensors_to_ckpt
from minispore.train.checkpoint.load_into_net import load_param_into_net
from minispore.train.checkpoint.loading import load_checkpoint, load_checkpoint_async
from minispore.train.checkpoint.saving import (
    async_ckpt_thread_status,
    save_checkpoint,
    wait_for_saves,
)

__all__ = [
    "async_ckpt_thread_status",
    "ckpt_to_safetensors",
    "load_checkpoint",
    "load_checkpoint_async",
    "load_param_into_net",
    "safetensors_to_ckpt",
    "save_checkpoint",
    "wait_for_saves",
]
