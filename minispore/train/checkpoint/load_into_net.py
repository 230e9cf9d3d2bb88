"""Load the values of a checkpoint into a network: if one does not fit, no parameter is changed."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from minispore.common import Parameter
from minispore.nn.cell import Cell
from minispore.ops.tensors import tensor_of
from minispore.train.checkpoint.storage import by_unique_name
from minispore.utils.arrays import AnyArray
from minispore.utils.checks import check_bool, check_type, is_mapping
from minispore.utils.warn import warn_at_caller


def load_param_into_net(
    net: Cell,
    parameter_dict: Mapping[str, Parameter | str],
    strict_load: bool = False,
    remove_redundancy: bool = False,
) -> tuple[list[str], list[str]]:
    """Set the parameters of `net` to the values of the same names in `parameter_dict`.

    All values are checked first: if one does not fit, no parameter is changed, and the error lists
    all that do not fit. Values are copied; `requires_grad` does not change.

    Unless `strict_load`, a float value is converted to the parameter's float type, and a signed
    integer to the parameter's signed integer type if it can represent the numbers. A parameter
    without a value of its name is loaded from one whose name is a prefix and its own, such as that
    of a cell that wraps the network; a warning names the prefix. Another warning says that no value
    was loaded at all.

    Args:
        net: The network.
        parameter_dict: Values by name, as `load_checkpoint` returns them.
        strict_load: Whether names and types must be the same.
        remove_redundancy: Has no effect.

    Returns:
        The names of the parameters without a value, and the names in `parameter_dict` that were not
        used.

    Raises:
        TypeError: `net` is not a Cell, or `parameter_dict` not a dict of str to Parameter (or str).
        RuntimeError: Some values have another shape or type.
        ValueError: Two parameters of `net` have the same name.

    Examples:
        >>> from minispore import Tensor, nn
        >>> net = nn.Dense(3, 2)
        >>> load_param_into_net(net, {"bias": Parameter(Tensor([1.0, 2.0]), name="bias")})
        (['weight'], [])
        >>> net.bias.tolist()
        [1.0, 2.0]
        >>> load_param_into_net(net, {"bias": Parameter(Tensor([1.0]), name="bias")})
        Traceback (most recent call last):
        RuntimeError: For 'load_param_into_net', nothing was loaded, as these parameters do not fit:
            bias: the net's shape is (2,), the checkpoint's (1,)

    Source: MindSpore's `mindspore.load_param_into_net`.
    """
    check_type(net, Cell, "net")
    check_bool(strict_load, "strict_load")
    check_bool(remove_redundancy, "remove_redundancy")
    values = _parameters(parameter_dict)
    targets = by_unique_name(
        ((parameter.name, parameter) for parameter in net.get_parameters()),
        "For 'load_param_into_net', two parameters of the argument 'net' have",
    )
    sources = _match(targets, values, strict_load)
    fitting: list[tuple[Parameter, AnyArray]] = []
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
            given, wanted = next(iter(values)), next(iter(targets))
            reason = f"no name in it, such as {given!r}, is one of 'net', such as {wanted!r}"
        warn_at_caller(
            f"For 'load_param_into_net', nothing was loaded from 'parameter_dict': {reason}."
        )
    for parameter, array in fitting:
        parameter.set_data(tensor_of(array))  # which copies
    used = set(sources.values())
    not_loaded = [name for name in targets if name not in sources]
    return not_loaded, [name for name in parameter_dict if name not in used]


def _parameters(parameter_dict: object) -> dict[str, Parameter]:
    """Return the parameters of the dict, without the texts that a checkpoint may also hold."""
    if not is_mapping(parameter_dict):
        raise TypeError(
            "For 'load_param_into_net', the argument 'parameter_dict' must be a dict, "
            f"but got {type(parameter_dict).__name__}."
        )
    parameters: dict[str, Parameter] = {}
    for name, value in parameter_dict.items():
        if not isinstance(name, str) or not isinstance(value, Parameter | str):
            raise TypeError(
                "For 'load_param_into_net', the argument 'parameter_dict' must hold Parameters "
                f"by name, but got {name!r}: {type(value).__name__}."
            )
        if isinstance(value, Parameter):
            parameters[name] = value
    return parameters


def _match(
    targets: Mapping[str, object], values: Mapping[str, object], strict: bool
) -> dict[str, str]:
    """Return the name of the value for each target that has one."""
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
        warn_at_caller(
            f"For 'load_param_into_net', parameters without a value of their name are loaded from "
            f"those whose names begin with {prefix!r}."
        )
        # Apply a prefix to all names: a single name may be the end of an unrelated one.
        matched = {n: prefix + n for n in missing if n not in sources and prefix + n in unused}
        sources |= matched
        unused -= set(matched.values())
    return sources


def _prefixes(names: Sequence[str], values: Iterable[str]) -> dict[str, str]:
    """Return the prefix of each name in the first value whose longest ending in `names` it is."""
    targets = set(names)
    lengths = sorted({len(name) for name in targets if name}, reverse=True)
    prefixes: dict[str, str] = {}
    for value in values:
        starts = (len(value) - length for length in lengths)
        start = next((i for i in starts if i > 0 and value[i:] in targets), None)
        if start is not None:
            prefixes.setdefault(value[start:], value[:start])
    return prefixes


def _fit(target: Parameter, value: Parameter, strict: bool) -> AnyArray:
    """Return `value` in the shape and dtype of `target`; ValueError if that is impossible."""
    # A single element in a checkpoint can be a scalar of the network, but not vice versa.
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
