"""The context: the device of new tensors, and MindSpore's execution options."""

from typing import Final

from minispore.common import step_cache
from minispore.common.parallel import (
    ParallelMode,
    get_auto_parallel_context,
    reset_auto_parallel_context,
    set_auto_parallel_context,
)
from minispore.engine.array import device_target, set_device_target
from minispore.engine.array.capture_hooks import CapturedSteps
from minispore.utils.checks import caller, check_int, check_one_of, check_type

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

# The defaults of options of MindSpore's compiler and runtime. Of these only the mode and the saving
# of graphs have an effect, which is not on results. A value must have the type of the default.
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
    """Set options of the program.

    In `GRAPH_MODE` each `TrainOneStepCell` captures its step once and replays it, with equal bits;
    `graph_info` says what was done. With `save_graphs`, a text file for each captured step is
    written to the folder `save_graphs_path`: its calls, and when each intermediate result is in
    memory. Other options of MindSpore's compiler and runtime are checked and stored. If one option
    is invalid, none is set.

    Args:
        **kwargs: The options, such as `mode`, `PYNATIVE_MODE` by default, or `device_target`:
            "CPU", or "GPU" for the first GPU, is the device on which new tensors are created.

    Raises:
        TypeError: A value has the wrong type.
        ValueError: A value is invalid, or there is no such option.
        RuntimeError: A GPU is requested, but there is none or CuPy is not installed.

    Examples:
        >>> set_context(mode=PYNATIVE_MODE, device_target="CPU")
        >>> get_context("device_target")
        'CPU'

    Source: MindSpore's `mindspore.set_context`.
    """
    for name, value in kwargs.items():
        check_option(name, value)
    target = kwargs.pop("device_target", None)
    if (target or device_target()) == "GPU":
        _check_first_gpu(kwargs.get("device_id", _settings["device_id"]))
    if target is not None:
        set_device_target("GPU" if target == "GPU" else "CPU")
    _settings.update(kwargs)


def get_context(attr_key: str) -> object:
    """Return the value of an option of `set_context`.

    Args:
        attr_key: The name of the option.

    Returns:
        The value that was set, or MindSpore's default.

    Raises:
        TypeError: `attr_key` is not a string.
        ValueError: There is no such option.

    Examples:
        >>> get_context("save_graphs")
        False

    Source: MindSpore's `mindspore.get_context`.
    """
    check_type(attr_key, str, "attr_key")
    if attr_key == "device_target":
        return device_target()
    _check_known(attr_key)
    return _settings[attr_key]


def is_graph_mode() -> bool:
    """Return whether training steps are captured and replayed."""
    return _settings["mode"] == GRAPH_MODE


def steps_of(owner: object, name: str = "_captured_steps") -> CapturedSteps:
    """Return the steps in an attribute of an object; steps without plans, if there are none yet."""
    steps: CapturedSteps | None = vars(owner).get(name)
    if steps is None:
        steps = vars(owner)[name] = step_cache.StepCache()
    return steps


def set_device(device_target: str, device_id: int | None = None) -> None:
    """Set the device on which new tensors are created, as `set_context(device_target=…)`.

    Args:
        device_target: "CPU" or "GPU".
        device_id: The number of the device: 0 with a GPU.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: There is no such device.
        RuntimeError: A GPU is requested, but there is none or CuPy is not installed.

    Examples:
        >>> set_device("CPU")
        >>> get_context("device_target")
        'CPU'

    Source: MindSpore's `mindspore.set_device`.
    """
    options: dict[str, object] = {} if device_id is None else {"device_id": device_id}
    set_context(device_target=device_target, **options)


def check_option(name: str, value: object) -> None:
    """Raise the error of `set_context` for an option that is invalid."""
    if name != "device_target":
        _check_known(name)
    kind = type(_DEFAULTS.get(name, ""))
    if kind is int:
        check_int(value, name, low=0)
    else:
        # Some of MindSpore's switches have levels: save_graphs may be 0, 1, 2 or 3.
        check_type(value, (bool, int) if kind is bool else kind, name)
    if name in _CHOICES:
        check_one_of(value, _CHOICES[name], name)


def _check_first_gpu(device_id: object) -> None:
    if device_id != 0:
        raise ValueError(
            "For 'set_context', 'device_id' must be 0 with a GPU: the first one is used, "
            f"which CUDA_VISIBLE_DEVICES chooses, but got {device_id}."
        )


def _check_known(name: str) -> None:
    if name not in _settings:
        known = ", ".join(sorted(["device_target", *_settings]))
        raise ValueError(f"For '{caller()}', there is no option {name!r}; there are: {known}.")
