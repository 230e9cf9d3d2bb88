"""Checks of what `Model` is given; options for graphs, precision and devices pass if harmless."""

from collections.abc import Mapping

from minispore._checks import check_int, check_one_of, check_type, is_int_list
from minispore.common import Tensor

# Every option with the values that change nothing here.
_HARMLESS: Mapping[str, tuple[object, ...]] = {
    "amp_level": ("O0",),
    "boost_level": ("O0",),
    "acc_level": ("O0",),
    "loss_scale_manager": (None,),
    "keep_batchnorm_fp32": (None, True, False),
    "boost_config_dict": (None, ""),
}
_LEVELS = {"amp_level": ("O0", "O1", "O2", "O3", "auto"), "boost_level": ("O0", "O1", "O2")}


def check_options(amp_level: object, boost_level: object, others: Mapping[str, object]) -> None:
    """Raise unless every option of `Model` is known and harmless."""
    for name, value in (("amp_level", amp_level), ("boost_level", boost_level)):
        check_type(value, str, name, "Model")
        check_one_of(value, _LEVELS[name], name, "Model")
        _check_harmless(name, value)
    for name, value in others.items():
        if name not in _HARMLESS or name in _LEVELS:
            raise ValueError(
                "For 'Model', the argument in 'kwargs' should be 'loss_scale_manager', "
                "'keep_batchnorm_fp32', 'boost_config_dict' or 'acc_level', "
                f"but got '{name}'."
            )
        _check_harmless(name, value)


def check_sink(owner: str, sink_size: object = -1, **modes: object) -> None:
    """Check the arguments about sinking data to a device; they have no effect on a CPU."""
    for name, mode in modes.items():
        check_type(mode, bool, name, owner)
    if check_int(sink_size, "sink_size", owner) < 1 and sink_size != -1:
        raise ValueError(
            f"For '{owner}', the argument 'sink_size' must be -1 or positive, but got {sink_size}."
        )


def _check_harmless(name: str, value: object) -> None:
    if value not in _HARMLESS[name]:
        raise ValueError(
            f"For 'Model', the argument '{name}' = {value!r} is not covered: everything is "
            f"computed in the precision it is given; use {_HARMLESS[name][0]!r}."
        )


def check_epochs(epoch: object, initial_epoch: object, owner: str) -> None:
    """Raise unless 0 <= `initial_epoch` < `epoch`, both int."""
    last = check_int(epoch, "epoch", owner, low=1)
    first = check_int(initial_epoch, "initial_epoch", owner, low=0)
    if first >= last:
        raise ValueError(
            f"For '{owner}', the argument 'epoch' must be greater than 'initial_epoch', "
            f"but got epoch {last} and initial_epoch {first}."
        )


def check_predict_data(data: tuple[object, ...], backend: object, config: object) -> None:
    """Raise unless `data` may be a network's inputs, and nothing asks for MindSpore Lite."""
    if backend is not None or config is not None:
        raise ValueError(
            "For 'Model.predict', 'backend' and 'config' must be None: MindSpore Lite is not "
            f"covered, but got backend {backend!r} and config {config!r}."
        )
    types = (Tensor, int, float, bool, str, tuple, list, dict)
    for item in data:
        check_type(item, types, "predict_data", "Model.predict", none=True)


def check_indexes(eval_indexes: object) -> list[int] | None:
    """Return `eval_indexes` if it is None or three int."""
    if eval_indexes is None:
        return None
    if not is_int_list(eval_indexes) or len(eval_indexes) != 3:
        raise ValueError(
            "For 'Model', the argument 'eval_indexes' must be None or a list of three int, "
            f"but got {eval_indexes!r}."
        )
    return eval_indexes


def check_frequency(valid_frequency: object) -> None:
    """Raise unless `valid_frequency` is a positive int or a list of int."""
    if not is_int_list(valid_frequency):
        check_type(valid_frequency, (int, list), "valid_frequency", "Model.fit")
        check_int(valid_frequency, "valid_frequency", "Model.fit", low=1)


def is_due(valid_frequency: int | list[int], epoch: int) -> bool:
    """Return whether `fit` evaluates after `epoch`."""
    if isinstance(valid_frequency, list):
        return epoch in valid_frequency
    return epoch % valid_frequency == 0
