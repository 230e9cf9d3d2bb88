"""The context of a program: on which device new tensors are made, and how code is run."""

from typing import Final

from minispore._array import device_target, set_device_target
from minispore._checks import check_int, check_one_of, check_type
from minispore.common.parallel import (
    ParallelMode,
    get_auto_parallel_context,
    reset_auto_parallel_context,
    set_auto_parallel_context,
)

__all__ = [
    "GRAPH_MODE",
    "PYNATIVE_MODE",
    "ParallelMode",
    "get_auto_parallel_context",
    "get_context",
    "reset_auto_parallel_context",
    "set_auto_parallel_context",
    "set_context",
    "set_device",
]

GRAPH_MODE = 0
PYNATIVE_MODE = 1

# Settings of MindSpore's compiler and runtime that change nothing about results here, as they
# stand before anybody sets them. A value must be of the type of the one here.
_DEFAULTS: Final[dict[str, object]] = {
    "deterministic": "OFF",
    "device_id": 0,
    "enable_compile_cache": False,
    "enable_graph_kernel": False,
    "jit_config": {},
    "jit_level": "",
    "jit_syntax_level": 2,
    "max_call_depth": 1000,
    "max_device_memory": "1024GB",
    "memory_optimize_level": "O0",
    "mode": PYNATIVE_MODE,
    "pynative_synchronize": False,
    "reserve_class_name_in_scope": True,
    "runtime_num_threads": 1,
    "save_graphs": False,
    "save_graphs_path": ".",
}
_settings: dict[str, object] = dict(_DEFAULTS)
_CHOICES: dict[str, tuple[object, ...]] = {
    "deterministic": ("ON", "OFF"),
    "device_target": ("CPU", "GPU"),
    "memory_optimize_level": ("O0", "O1"),
    "mode": (GRAPH_MODE, PYNATIVE_MODE),
}


def set_context(**kwargs: object) -> None:
    """Set options of the program under MindSpore's names.

    `device_target` "CPU" or "GPU", the first one, says where new tensors are made. Both values of
    `mode` run code as Python does, statement by statement: there is no compiler. What only tunes
    MindSpore's compiler or runtime is checked and remembered. If any option is wrong, none is set.

    >>> set_context(mode=GRAPH_MODE, device_target="CPU")
    >>> get_context("device_target")
    'CPU'

    Raises:
        TypeError: A value is of the wrong type.
        ValueError: An option has a value that it cannot have, or there is no such option.
        RuntimeError: A GPU is asked for where there is none, or no CuPy.
    """
    for name, value in kwargs.items():
        _check(name, value)
    target = kwargs.pop("device_target", None)
    if (target or device_target()) == "GPU":
        _check_first_gpu(kwargs.get("device_id", _settings["device_id"]))
    if target is not None:
        set_device_target("GPU" if target == "GPU" else "CPU")
    _settings.update(kwargs)


def get_context(attr_key: str) -> object:
    """The value of an option.

    Raises:
        TypeError: `attr_key` is no string.
        ValueError: There is no such option.
    """
    check_type(attr_key, str, "attr_key", "get_context")
    if attr_key == "device_target":
        return device_target()
    _check_known(attr_key, "get_context")
    return _settings[attr_key]


def set_device(device_target: str, device_id: int | None = None) -> None:
    """Choose the device on which new tensors are made, as `set_context(device_target=…)`.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: There is no such device.
        RuntimeError: A GPU is asked for where there is none, or no CuPy.
    """
    if device_id is None:
        set_context(device_target=device_target)
    else:
        set_context(device_target=device_target, device_id=device_id)


def _check(name: str, value: object) -> None:
    if name != "device_target":
        _check_known(name, "set_context")
    kind = type(_DEFAULTS.get(name, ""))
    if kind is int:
        check_int(value, name, "set_context", low=0)
    else:
        # MindSpore grades some switches: save_graphs may be 0, 1, 2 or 3.
        check_type(value, (bool, int) if kind is bool else kind, name, "set_context")
    if name in _CHOICES:
        check_one_of(value, _CHOICES[name], name, "set_context")


def _check_first_gpu(device_id: object) -> None:
    if device_id != 0:
        raise ValueError(
            "For 'set_context', 'device_id' must be 0 with a GPU: the first one is used, "
            f"which CUDA_VISIBLE_DEVICES chooses, but got {device_id}."
        )


def _check_known(name: str, owner: str) -> None:
    if name not in _settings:
        known = ", ".join(sorted(["device_target", *_settings]))
        raise ValueError(f"For '{owner}', there is no option {name!r}; there are: {known}.")
