"""Values of a checkpoint into the parameters of a network: all of them fit, or none is changed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from minispore._checks import check_type
from minispore._warn import warn
from minispore.common import Parameter
from minispore.common.tensor import host_tensor
from minispore.nn.cell import Cell

Array = npt.NDArray[np.generic]


def load_param_into_net(
    net: Cell,
    parameter_dict: Mapping[str, Parameter | str],
    strict_load: bool = False,
    remove_redundancy: bool = False,
) -> tuple[list[str], list[str]]:
    """Set the parameters of `net` to the values of the same names in `parameter_dict`.

    Everything is checked first: if one value does not fit, no parameter is changed, and the error
    lists all that do not fit. Values are copied; `requires_grad` stays as it is.

    Unless `strict_load`, a float value is converted to a parameter's other float type, and a
    signed integer to another signed integer type if it holds the same numbers; and parameters that
    found no value take one whose name is theirs behind a common prefix, as where the checkpoint is
    of a cell that wraps this one. A warning names the prefix. Another says so where no value fits
    any parameter.

    Source: mindspore.load_param_into_net.

    Args:
        net: The network to change.
        parameter_dict: Values by name, as `load_checkpoint` returns them.
        strict_load: Whether names and types must be the same.
        remove_redundancy: Only for a run of several processes; there is one, so it has no effect.

    Returns:
        The names of the parameters that found no value, and the names in `parameter_dict` that
        were not used.

    Raises:
        TypeError: `net` is no Cell, or `parameter_dict` no dict of str to Parameter (or str).
        RuntimeError: Some values do not fit in shape or type.
        ValueError: Two parameters of `net` have the same name.

    Examples:
        >>> from minispore import Tensor, nn
        >>> net = nn.Dense(3, 2)
        >>> load_param_into_net(net, {"bias": Parameter(Tensor([1.0, 2.0]), name="bias")})
        (['weight'], [])
        >>> print(net.bias.asnumpy())
        [1. 2.]
        >>> load_param_into_net(net, {"bias": Parameter(Tensor([1.0]), name="bias")})
        Traceback (most recent call last):
        RuntimeError: For 'load_param_into_net', nothing was loaded, as these parameters do not fit:
            bias: the net's shape is (2,), the checkpoint's (1,)
    """
    check_type(net, Cell, "net", "load_param_into_net")
    check_type(strict_load, bool, "strict_load", "load_param_into_net")
    check_type(remove_redundancy, bool, "remove_redundancy", "load_param_into_net")
    values = _parameters(parameter_dict)
    targets = _by_name(net)
    sources = _match(targets, values, strict_load)
    fitting: list[tuple[Parameter, Array]] = []
    problems: list[str] = []
    for name, source in sources.items():
        try:
            fitting.append((targets[name], _fit(targets[name], values[source], strict_load)))
        except ValueError as error:
            problems.append(f"{name}: {error}")
    if problems:
        raise RuntimeError(
            "For 'load_param_into_net', nothing was loaded, as these parameters do not fit:\n    "
            + "\n    ".join(problems)
        )
    if targets and not sources:
        reason = "it has no parameters"
        if values:
            own = next(iter(targets))
            reason = (
                f"no name in it, such as {next(iter(values))!r}, is one of 'net', such as {own!r}"
            )
        warn(f"For 'load_param_into_net', nothing was loaded from 'parameter_dict': {reason}.")
    for parameter, array in fitting:
        parameter.set_data(host_tensor(array))  # which copies
    used = set(sources.values())
    not_loaded = [name for name in targets if name not in sources]
    return not_loaded, [name for name in parameter_dict if name not in used]


def _by_name(net: Cell) -> dict[str, Parameter]:
    found: dict[str, Parameter] = {}
    for parameter in net.get_parameters():
        if found.setdefault(parameter.name, parameter) is not parameter:
            raise ValueError(
                "For 'load_param_into_net', two parameters of the argument 'net' have the name "
                f"{parameter.name!r}."
            )
    return found


def _parameters(parameter_dict: object) -> dict[str, Parameter]:
    """The dict's parameters, without the texts that a checkpoint may also hold."""
    if not isinstance(parameter_dict, Mapping):
        raise TypeError(
            "For 'load_param_into_net', the argument 'parameter_dict' must be a dict, "
            f"but got {type(parameter_dict).__name__}."
        )
    found: dict[str, Parameter] = {}
    for name, value in cast("Mapping[object, object]", parameter_dict).items():
        if not isinstance(name, str) or not isinstance(value, Parameter | str):
            raise TypeError(
                "For 'load_param_into_net', the argument 'parameter_dict' must hold Parameters "
                f"by name, but got {name!r}: {type(value).__name__}."
            )
        if isinstance(value, Parameter):
            found[name] = value
    return found


def _match(
    targets: Mapping[str, object], values: Mapping[str, object], strict: bool
) -> dict[str, str]:
    """For each target that finds one, the name of its value."""
    sources = {name: name for name in targets if name in values}
    if strict:
        return sources
    missing = [name for name in targets if name not in sources]
    unused = values.keys() - sources.keys()
    prefixes = _prefixes(missing, [value for value in values if value in unused])
    for name in missing:
        if name in sources or name not in prefixes:
            continue
        prefix = prefixes[name]
        _warn_of(prefix)
        # All that have it take it: a name alone may end like some other value's.
        found = {n: prefix + n for n in missing if n not in sources and prefix + n in unused}
        sources |= found
        unused -= set(found.values())
    return sources


def _prefixes(names: Sequence[str], values: Iterable[str]) -> dict[str, str]:
    """What stands before each name in the first value that ends with it, and with no longer one."""
    wanted = set(names)
    lengths = sorted({len(name) for name in wanted if name}, reverse=True)
    prefixes: dict[str, str] = {}
    for value in values:
        starts = (len(value) - length for length in lengths)
        start = next((i for i in starts if i > 0 and value[i:] in wanted), None)
        if start is not None:
            prefixes.setdefault(value[start:], value[:start])
    return prefixes


def _warn_of(prefix: str) -> None:
    warn(
        f"For 'load_param_into_net', parameters without a value of their name are loaded from "
        f"those whose names begin with {prefix!r}."
    )


def _fit(target: Parameter, value: Parameter, strict: bool) -> Array:
    """The elements of `value` in the shape and dtype of `target`; ValueError says why not."""
    # A checkpoint's single element may be the net's scalar, but not the other way round.
    if value.shape != target.shape and not (target.shape == () and value.shape == (1,)):
        raise ValueError(f"the net's shape is {target.shape}, the checkpoint's {value.shape}")
    array = value.asnumpy().reshape(target.shape)
    if value.dtype == target.dtype:
        return array
    types = f"the net's type is {target.dtype}, the checkpoint's {value.dtype}"
    dtype = target.dtype.numpy_dtype
    if strict or array.dtype.kind != dtype.kind or dtype.kind not in {"f", "i"}:
        raise ValueError(types)
    with np.errstate(over="ignore"):
        converted = array.astype(dtype)
    if not np.array_equal(np.isfinite(array), np.isfinite(converted)) or (
        dtype.kind == "i" and not np.array_equal(array, converted)
    ):
        raise ValueError(f"{types}, which holds numbers that are too large for it")
    return converted
