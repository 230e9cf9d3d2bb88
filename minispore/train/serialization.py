"""Save and load parameters: MindSpore's functions, its file formats, names and defaults."""

from minispore._left_out import refusing
from minispore.train._files.converting import ckpt_to_safetensors, safetensors_to_ckpt
from minispore.train._files.load_into_net import load_param_into_net
from minispore.train._files.loading import load_checkpoint, load_checkpoint_async
from minispore.train._files.saving import async_ckpt_thread_status, save_checkpoint, wait_for_saves
from minispore.train._left_out import LEFT_OUT

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

# In a dictionary, since a definition would tell type checkers that there is every attribute.
globals()["__getattr__"] = refusing(__name__, LEFT_OUT)
