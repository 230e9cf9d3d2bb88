"""Where MindSpore keeps the protocol: what scripts import from there, under its names."""

from minispore.train._protocol.callback import Callback
from minispore.train._protocol.manager import CallbackManager
from minispore.train._protocol.run_context import InternalCallbackParam, RunContext

# MindSpore 1.x spelt these two with an underscore.
_CallbackManager = CallbackManager
_InternalCallbackParam = InternalCallbackParam

__all__ = [
    "Callback",
    "CallbackManager",
    "InternalCallbackParam",
    "RunContext",
    "_CallbackManager",
    "_InternalCallbackParam",
]
