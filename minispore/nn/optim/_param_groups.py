"""Resolve the parameters or parameter groups of an optimizer into options of each parameter."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from minispore.engine.dtypes import FLOAT
from minispore.nn.cell import Cell
from minispore.ops.parameter import Parameter
from minispore.ops.tensors import Tensor
from minispore.utils.checks import (
    all_are,
    caller,
    check_number,
    check_type,
    is_iterable,
    is_mapping,
    type_error,
)

# Parameters, or groups: mappings with "params" and optionally "lr", "weight_decay" and
# "grad_centralization"; a further mapping may give their order ("order_params"). The type is not a
# union of two Iterables, since type checkers infer literal lists of dicts better this way.
Parameters: TypeAlias = Iterable[Parameter | Mapping[str, object]]

_KEYS = ("params", "lr", "weight_decay", "grad_centralization", "order_params")


class ParamOptions(NamedTuple):
    """The options of one parameter.

    Attributes:
        parameter: The parameter.
        group: The index of its group if the group has its own learning rate, else None.
        learning_rate: The learning rate of the group.
        weight_decay: A number, or a cell that computes it from the step.
    """

    parameter: Parameter
    group: int | None
    learning_rate: object
    weight_decay: float | Cell


class ParamGroupOptions(NamedTuple):
    """The options of all parameters, in the order of the gradients."""

    options: list[ParamOptions]
    grouped: bool
    ordered: bool


def resolve_param_groups(parameters: object, weight_decay: object) -> ParamGroupOptions:
    """Return the options of each of `parameters`.

    Raises:
        TypeError: `parameters` are neither parameters nor groups of parameters, or do not hold
            floats.
        ValueError: There are no parameters, two have the same name, or a number is out of range.
        KeyError: A group lacks "params" or has an unknown key.
    """
    default = check_decay(weight_decay, "weight_decay")
    items = _as_list(parameters, "params")
    if all_are(items, Parameter):
        options = [ParamOptions(p, None, None, default if _decays(p) else 0.0) for p in items]
        _check_parameters(options)
        return ParamGroupOptions(options, grouped=False, ordered=False)
    groups = [item for item in items if is_mapping(item)]
    if len(groups) < len(items):
        raise TypeError(
            f"For '{caller()}', the elements of 'params' must all be Parameters or all be dicts, "
            f"but got {', '.join(sorted({type(item).__name__ for item in items}))}."
        )
    return _resolve_groups(groups, default)


def check_decay(value: object, name: str) -> float | Cell:
    """Return a weight decay, which is a cell or a number of at least 0."""
    return value if isinstance(value, Cell) else check_number(value, name, low=0.0)


def _decays(parameter: Parameter) -> bool:
    # As in MindSpore, the parameters of normalization layers have no weight decay.
    return "beta" not in parameter.name and "gamma" not in parameter.name


def _resolve_groups(
    groups: list[Mapping[object, object]], default: float | Cell
) -> ParamGroupOptions:
    options: list[ParamOptions] = []
    order: list[Parameter] | None = None
    for index, group in enumerate(groups):
        unknown = [key for key in group if key not in _KEYS]
        if unknown:
            raise KeyError(
                f"For '{caller()}', the keys of a group must be among {_KEYS}, but got {unknown}."
            )
        if "order_params" in group:
            order = _as_parameters(group["order_params"], "order_params")
            continue
        if "params" not in group:
            raise KeyError(
                f"For '{caller()}', a group must have the key 'params', but got {group!r}."
            )
        centralized = group.get("grad_centralization", False)
        check_type(centralized, bool, "grad_centralization")
        if centralized:
            raise ValueError(f"For '{caller()}', 'grad_centralization' is not supported.")
        decay = check_decay(group.get("weight_decay", default), "weight_decay")
        number = index if "lr" in group else None
        options += [
            ParamOptions(p, number, group.get("lr"), decay)
            for p in _as_parameters(group["params"], "params")
        ]
    _check_parameters(options)
    if order is not None:
        options = _ordered(options, order)
    return ParamGroupOptions(options, grouped=True, ordered=order is not None)


def _ordered(options: list[ParamOptions], order: list[Parameter]) -> list[ParamOptions]:
    by_name = {option.parameter.name: option for option in options}
    names = [parameter.name for parameter in order]
    if sorted(names) != sorted(by_name):
        raise ValueError(
            f"For '{caller()}', 'order_params' must be the parameters of all groups, each once: "
            f"{sorted(by_name)}, but got {sorted(names)}."
        )
    return [by_name[name] for name in names]


def _as_list(values: object, name: str) -> list[object]:
    if values is None or isinstance(values, str | Tensor) or not is_iterable(values):
        must = "be a list of Parameters, such as network.trainable_params() gives, or of dicts"
        raise type_error(values, name, must)
    items = list(values)
    if not items:
        raise ValueError(f"For '{caller()}', the argument '{name}' must not be empty.")
    return items


def _as_parameters(values: object, key: str) -> list[Parameter]:
    items = _as_list(values, key)
    return [check_type(item, Parameter, key) for item in items]


def _check_parameters(options: list[ParamOptions]) -> None:
    seen: set[str] = set()
    for option in options:
        name = option.parameter.name
        if name in seen:
            raise ValueError(
                f"For '{caller()}', each parameter must be given once and have a name of its own, "
                f"but there are two with the name '{name}'."
            )
        seen.add(name)
        dtype = option.parameter.dtype
        if dtype.category != FLOAT:
            raise TypeError(
                f"For '{caller()}', each parameter must be of floats, but '{name}' is of "
                f"{dtype!r}: give it requires_grad=False, so that it is not among those to train."
            )
