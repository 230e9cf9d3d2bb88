"""The context of a program that several processes run: whether, and how, they train together."""

from typing import Final

from minispore._checks import check_int, described


class ParallelMode:
    """MindSpore's names for the ways to train in several processes, of which two are covered.

    Source: mindspore.ParallelMode.
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


_COVERED: Final = (ParallelMode.STAND_ALONE, ParallelMode.DATA_PARALLEL)
# A new value must be of the type of what it replaces.
_DEFAULTS: Final[dict[str, object]] = {
    "device_num": 1,
    "global_rank": 0,
    "gradients_mean": False,
    "parallel_mode": ParallelMode.STAND_ALONE,
    "parameter_broadcast": False,
}
# What belongs to MindSpore's other modes can only stay as it is.
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
_chosen: set[str] = set()
# What the launcher says, once there is communication.
_world: dict[str, int] = {}


def set_auto_parallel_context(**kwargs: object) -> None:
    """Say how several processes train together, under MindSpore's names.

    `parallel_mode` is "stand_alone" or "data_parallel". `gradients_mean` says whether the gradients
    of all processes are averaged, as a loss that is a mean wants it, or summed.
    `parameter_broadcast=False` leaves each process the parameters that it begins with; otherwise
    the first one's are everybody's. `device_num` and `global_rank` need not be given: they are what
    the launcher says. If any option is wrong, none is set.

    >>> set_auto_parallel_context(parallel_mode=ParallelMode.DATA_PARALLEL, gradients_mean=True)
    >>> get_auto_parallel_context("gradients_mean")
    True
    >>> reset_auto_parallel_context()

    Raises:
        TypeError: A value is of the wrong type.
        ValueError: An option has a value that it cannot have, or there is no such option.
    """
    for name, value in kwargs.items():
        _check(name, value)
    own = {name: value for name, value in kwargs.items() if name in _settings}
    _settings.update(own)
    _chosen.update(own)


def get_auto_parallel_context(attr_key: str) -> object:
    """The value of an option of `set_auto_parallel_context`.

    >>> get_auto_parallel_context("parallel_mode")
    'stand_alone'

    Raises:
        ValueError: There is no such option.
    """
    if attr_key in _FIXED:
        return _FIXED[attr_key]
    if attr_key not in _settings:
        raise ValueError(f"Get context keyword {attr_key} is not recognized!")
    if attr_key in _world:
        return _world[attr_key]
    return _settings[attr_key]


def reset_auto_parallel_context() -> None:
    """Set all options of `set_auto_parallel_context` back to where nobody has set them."""
    _settings.update(_DEFAULTS)
    _chosen.clear()


def is_chosen(name: str) -> bool:
    """Whether somebody has set this option."""
    return name in _chosen


def know_world(rank: int | None, size: int | None) -> None:
    """Let the options be what the launcher says; None where there is none any more.

    Raises:
        ValueError: Something else has been set.
    """
    _world.clear()
    if rank is None or size is None:
        return
    for name, value in (("global_rank", rank), ("device_num", size)):
        if name in _chosen:
            _check_as_launched(name, _settings[name], value)
    _world.update(global_rank=rank, device_num=size)


def _check(name: str, value: object) -> None:
    if name in _FIXED:
        if value != _FIXED[name]:
            raise ValueError(
                f"For 'set_auto_parallel_context', '{name}' can only be {_FIXED[name]!r}: of the "
                f"parallel modes, data parallel is covered, but got {described(value)}."
            )
        return
    if name not in _DEFAULTS:
        raise ValueError(f"Set context keyword {name} is not recognized!")
    kind = type(_DEFAULTS[name])
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"The parameter '{name}' must be {kind}, but got {type(value)}")
    if name == "parallel_mode":
        _check_mode(value)
    elif name == "device_num":
        check_int(value, name, "set_auto_parallel_context", low=1, high=4096)
    elif name == "global_rank":
        check_int(value, name, "set_auto_parallel_context", low=0, high=4095)
    if name in _world:
        _check_as_launched(name, value, _world[name])


def _check_mode(value: object) -> None:
    if value not in ParallelMode.MODE_LIST:
        raise ValueError(
            "The context configuration parameter 'parallel_mode' only support 'stand_alone' and "
            f"'data_parallel', but got the value : {value}."
        )
    if value not in _COVERED:
        raise ValueError(
            f"For 'set_auto_parallel_context', the 'parallel_mode' {value!r} is not covered: each "
            "process holds the whole network. Use 'data_parallel'."
        )


def _check_as_launched(name: str, value: object, launched: int) -> None:
    if value != launched:
        raise ValueError(
            f"The context configuration parameter '{name}' is {launched} in this process, as it "
            f"was started, but got {value}; leave it out."
        )
