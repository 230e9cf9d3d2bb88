"""The auto-parallel context: the options of training in several processes."""

from typing import Final

from minispore.utils.checks import check_int, describe_value


class ParallelMode:
    """MindSpore's names of parallel modes, of which STAND_ALONE and DATA_PARALLEL are supported.

    Examples:
        >>> ParallelMode.DATA_PARALLEL
        'data_parallel'

    Source: MindSpore's `mindspore.ParallelMode`.
    """

    STAND_ALONE: Final = "stand_alone"
    DATA_PARALLEL: Final = "data_parallel"
    HYBRID_PARALLEL: Final = "hybrid_parallel"
    SEMI_AUTO_PARALLEL: Final = "semi_auto_parallel"
    AUTO_PARALLEL: Final = "auto_parallel"
    MODE_LIST: Final = (
        STAND_ALONE,
        DATA_PARALLEL,
        HYBRID_PARALLEL,
        SEMI_AUTO_PARALLEL,
        AUTO_PARALLEL,
    )


_SUPPORTED: Final = (ParallelMode.STAND_ALONE, ParallelMode.DATA_PARALLEL)
# A value must have the type of the default.
_DEFAULTS: Final[dict[str, object]] = {
    "device_num": 1,
    "global_rank": 0,
    "gradients_mean": False,
    "parallel_mode": ParallelMode.STAND_ALONE,
    "parameter_broadcast": False,
}
# Options of MindSpore's other modes, which must have these values.
_FIXED: Final[dict[str, object]] = {
    "all_reduce_fusion_config": [],
    "auto_parallel_search_mode": "recursive_programming",
    "communi_parallel_mode": "all_group_parallel",
    "dataset_strategy": "data_parallel",
    "enable_alltoall": False,
    "enable_parallel_optimizer": False,
    "full_batch": False,
    "grad_accumulation_step": 1,
    "gradient_fp32_sync": True,
    "loss_repeated_mean": True,
    "pipeline_stages": 1,
    "search_mode": "recursive_programming",
    "sharding_propagation": False,
    "strategy_ckpt_load_file": "",
    "strategy_ckpt_save_file": "",
}
_settings: dict[str, object] = dict(_DEFAULTS)
_explicit: set[str] = set()
# The rank and the number of processes, after `communication.init`.
_world: dict[str, int] = {}


def set_auto_parallel_context(**kwargs: object) -> None:
    """Set the options of training in several processes. If one is invalid, none is set.

    Args:
        **kwargs: The options. `parallel_mode`: "stand_alone" or "data_parallel". `gradients_mean`:
            whether the gradients of all processes are averaged, which is right for a loss that is
            a mean, or summed. `parameter_broadcast`: with False, set explicitly, each process keeps
            its initial parameters; otherwise all start with those of process 0. `device_num` and
            `global_rank` may be omitted: they are known from the launcher.

    Raises:
        TypeError: A value has the wrong type.
        ValueError: A value is invalid, or there is no such option.

    Examples:
        >>> set_auto_parallel_context(parallel_mode=ParallelMode.DATA_PARALLEL, gradients_mean=True)
        >>> get_auto_parallel_context("gradients_mean")
        True
        >>> reset_auto_parallel_context()

    Source: MindSpore's `mindspore.set_auto_parallel_context`.
    """
    for name, value in kwargs.items():
        _check(name, value)
    changed = {name: value for name, value in kwargs.items() if name in _settings}
    _settings.update(changed)
    _explicit.update(changed)


def get_auto_parallel_context(attr_key: str) -> object:
    """Return the value of an option of `set_auto_parallel_context`.

    Args:
        attr_key: The name of the option.

    Returns:
        The value that was set, or MindSpore's default.

    Raises:
        ValueError: There is no such option.

    Examples:
        >>> get_auto_parallel_context("parallel_mode")
        'stand_alone'

    Source: MindSpore's `mindspore.get_auto_parallel_context`.
    """
    for options in (_FIXED, _world, _settings):
        if attr_key in options:
            return options[attr_key]
    raise ValueError(f"Get context keyword {attr_key} is not recognized!")


def reset_auto_parallel_context() -> None:
    """Reset all options of `set_auto_parallel_context` to their defaults.

    Examples:
        >>> set_auto_parallel_context(gradients_mean=True)
        >>> reset_auto_parallel_context()
        >>> get_auto_parallel_context("gradients_mean")
        False

    Source: MindSpore's `mindspore.reset_auto_parallel_context`.
    """
    _settings.update(_DEFAULTS)
    _explicit.clear()


def is_set_explicitly(name: str) -> bool:
    """Return whether the program has set this option."""
    return name in _explicit


def set_world_info(rank: int, size: int) -> None:
    """Set the rank and the number of processes.

    Raises:
        ValueError: The program has set other values.
    """
    for name, value in (("global_rank", rank), ("device_num", size)):
        if name in _explicit:
            _check_as_launched(name, _settings[name], value)
    _world.update(global_rank=rank, device_num=size)


def clear_world_info() -> None:
    """Forget the rank and the number of processes, which have left the group."""
    _world.clear()


def _check(name: str, value: object) -> None:
    """Raise the error of `set_auto_parallel_context` for an option that is invalid."""
    if name in _FIXED:
        if value != _FIXED[name]:
            raise ValueError(
                f"For 'set_auto_parallel_context', '{name}' can only be {_FIXED[name]!r}: of the "
                f"parallel modes, data parallel is supported, but got {describe_value(value)}."
            )
        return
    if name not in _DEFAULTS:
        raise ValueError(f"Set context keyword {name} is not recognized!")
    kind = type(_DEFAULTS[name])
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"The parameter '{name}' must be {kind}, but got {type(value)}")
    if name == "parallel_mode":
        _check_mode(value)
    elif kind is int:
        low = int(name == "device_num")
        check_int(value, name, low=low, high=low + 4095)
    if name in _world:
        _check_as_launched(name, value, _world[name])


# For what checks options without a call; a public function would be named in the errors.
check_parallel_option = _check


def _check_mode(value: object) -> None:
    if value not in ParallelMode.MODE_LIST:
        raise ValueError(
            "The context configuration parameter 'parallel_mode' only support 'stand_alone' and "
            f"'data_parallel', but got the value : {value}."
        )
    if value not in _SUPPORTED:
        raise ValueError(
            f"For 'set_auto_parallel_context', the 'parallel_mode' {value!r} is not supported: "
            "each process holds the complete network. Use 'data_parallel'."
        )


def _check_as_launched(name: str, value: object, launched: int) -> None:
    if value != launched:
        raise ValueError(
            f"The context configuration parameter '{name}' is {launched} in this process, as it "
            f"was started, but got {value}; leave it out."
        )
