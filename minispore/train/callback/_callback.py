"""The callback protocol under the path and the names at which MindSpore has it."""

from minispore.train.protocol.callback import (
    Callback,
    CallbackManager,
    InternalCallbackParam,
    RunContext,
)

# The names of MindSpore 1.x.
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
