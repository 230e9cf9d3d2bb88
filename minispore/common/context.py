"""The context of a program: on which device new tensors are made, and how code is run."""

from minispore._array import device_target, set_device_target
from minispore._checks import check_one_of

GRAPH_MODE = 0
PYNATIVE_MODE = 1

# Settings of MindSpore's compiler and runtime that change nothing about results here.
_HARMLESS = {
    "deterministic", "device_id", "max_call_depth", "max_device_memory", "memory_optimize_level",
    "precompile_only", "pynative_synchronize", "runtime_num_threads", "save_graphs",
    "save_graphs_path", "jit_level", "jit_syntax_level",
}  # fmt: skip
_settings: dict[str, object] = {"mode": PYNATIVE_MODE}


def set_context(**kwargs: object) -> None:
    """Set options of the program under MindSpore's names.

    `device_target` "CPU" or "GPU" says where new tensors are made. Both values of `mode` run code
    as Python does, statement by statement: there is no compiler. What only tunes MindSpore's
    compiler or runtime is accepted and remembered.

    >>> set_context(mode=GRAPH_MODE, device_target="CPU")
    >>> get_context("device_target")
    'CPU'

    Raises:
        ValueError: An option has a value that it cannot have, or there is no such option.
        RuntimeError: A GPU is asked for where there is none, or no CuPy.
    """
    for name, value in kwargs.items():
        if name == "device_target":
            check_one_of(value, ("CPU", "GPU"), name, "set_context")
            set_device_target("GPU" if value == "GPU" else "CPU")
        elif name == "mode":
            check_one_of(value, (GRAPH_MODE, PYNATIVE_MODE), name, "set_context")
            _settings[name] = value
        elif name in _HARMLESS:
            _settings[name] = value
        else:
            known = ", ".join(sorted({"device_target", "mode"} | _HARMLESS))
            raise ValueError(f"For 'set_context', there is no option {name!r}; there are: {known}.")


def get_context(attr_key: str) -> object:
    """The value of an option; None if it was never set.

    Raises:
        ValueError: There is no such option.
    """
    if attr_key == "device_target":
        return device_target()
    if attr_key not in {"mode"} | _HARMLESS:
        raise ValueError(f"For 'get_context', there is no option {attr_key!r}.")
    return _settings.get(attr_key)


def set_device(device_target: str, device_id: int | None = None) -> None:
    """Choose the device on which new tensors are made, as `set_context(device_target=…)`."""
    set_context(device_target=device_target, device_id=device_id)
