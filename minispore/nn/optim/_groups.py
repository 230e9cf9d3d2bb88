"""What a user says about the parameters of an optimiser, read into one setting for each of them."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias, cast

from minispore._checks import check_number, check_type, described
from minispore.common.parameter import Parameter
from minispore.common.tensor import Tensor
from minispore.nn.cell import Cell

# Parameters, or groups: mappings with "params" and optionally "lr", "weight_decay",
# "grad_centralization"; one more may say their order ("order_params"). It is one Iterable and not
# two, though a mixture is refused, so that a type checker reads a literal list of dicts well.
Parameters: TypeAlias = Iterable[Parameter | Mapping[str, object]]

_KEYS = ("params", "lr", "weight_decay", "grad_centralization", "order_params")


class Setting(NamedTuple):
    """How one parameter is updated.

    Attributes:
        parameter: The parameter.
        group: The number of its group if that has a learning rate of its own, else None.
        rate: That learning rate as the user gave it.
        decay: The weight decay: a number, or a cell from the step to it.
    """

    parameter: Parameter
    group: int | None
    rate: object
    decay: float | Cell


class Settings(NamedTuple):
    """All of them, in the order of the gradients."""

    each: list[Setting]
    grouped: bool
    ordered: bool


def read(parameters: object, weight_decay: object, owner: str) -> Settings:
    """The settings of `parameters`.

    Raises:
        TypeError: They are neither parameters nor groups of them.
        ValueError: There are none, two have one name, or a number is out of range.
        KeyError: A group lacks "params" or has an unknown key.
    """
    default = check_decay(weight_decay, "weight_decay", owner)
    items = _as_list(parameters, "params", owner)
    if all(isinstance(item, Parameter) for item in items):
        plain = cast("list[Parameter]", items)
        # MindSpore's rule of thumb: scales and shifts of normalisation layers do not decay.
        each = [Setting(p, None, None, default if _decays(p) else 0.0) for p in plain]
        _check_names(each, owner)
        return Settings(each, grouped=False, ordered=False)
    if not all(isinstance(item, Mapping) for item in items):
        raise TypeError(
            f"For '{owner}', the elements of 'params' must all be Parameters or all be dicts, "
            f"but got {', '.join(sorted({type(item).__name__ for item in items}))}."
        )
    return _read_groups(cast("list[Mapping[str, object]]", items), default, owner)


def check_decay(value: object, name: str, owner: str) -> float | Cell:
    """A weight decay: a cell, or a number from 0."""
    return value if isinstance(value, Cell) else check_number(value, name, owner, low=0.0)


def _decays(parameter: Parameter) -> bool:
    return "beta" not in parameter.name and "gamma" not in parameter.name


def _read_groups(groups: list[Mapping[str, object]], default: float | Cell, owner: str) -> Settings:
    each: list[Setting] = []
    order: list[Parameter] | None = None
    for number, group in enumerate(groups):
        unknown = [key for key in group if key not in _KEYS]
        if unknown:
            raise KeyError(
                f"For '{owner}', the keys of a group must be among {_KEYS}, but got {unknown}."
            )
        if "order_params" in group:
            order = _as_parameters(group["order_params"], "order_params", owner)
            continue
        if "params" not in group:
            raise KeyError(f"For '{owner}', a group must have the key 'params', but got {group!r}.")
        centralized = group.get("grad_centralization", False)
        check_type(centralized, bool, "grad_centralization", owner)
        if centralized:
            raise ValueError(f"For '{owner}', 'grad_centralization' is not supported.")
        decay = check_decay(group.get("weight_decay", default), "weight_decay", owner)
        own = "lr" in group
        each += [
            Setting(p, number if own else None, group.get("lr"), decay)
            for p in _as_parameters(group["params"], "params", owner)
        ]
    _check_names(each, owner)
    if order is None:
        return Settings(each, grouped=True, ordered=False)
    return Settings(_ordered(each, order, owner), grouped=True, ordered=True)


def _ordered(each: list[Setting], order: list[Parameter], owner: str) -> list[Setting]:
    by_name = {setting.parameter.name: setting for setting in each}
    names = [parameter.name for parameter in order]
    if sorted(names) != sorted(by_name):
        raise ValueError(
            f"For '{owner}', 'order_params' must be the parameters of all groups, each once: "
            f"{sorted(by_name)}, but got {sorted(names)}."
        )
    return [by_name[name] for name in names]


def _as_list(values: object, name: str, owner: str) -> list[object]:
    if values is None or isinstance(values, str | Tensor) or not isinstance(values, Iterable):
        raise TypeError(
            f"For '{owner}', the argument '{name}' must be a list of Parameters, such as "
            f"network.trainable_params() gives, or of dicts, but got {described(values)}."
        )
    items = list(cast("Iterable[object]", values))
    if not items:
        raise ValueError(f"For '{owner}', the argument '{name}' must not be empty.")
    return items


def _as_parameters(values: object, key: str, owner: str) -> list[Parameter]:
    items = _as_list(values, key, owner)
    for item in items:
        check_type(item, Parameter, key, owner)
    return cast("list[Parameter]", items)


def _check_names(each: list[Setting], owner: str) -> None:
    seen: set[str] = set()
    for setting in each:
        name = setting.parameter.name
        if name in seen:
            raise ValueError(
                f"For '{owner}', each parameter must be given once and have a name of its own, "
                f"but there are two with the name '{name}'."
            )
        seen.add(name)
