"""Files of cells: the operations of a call and the parameters, which run without the cell."""

import json
import os
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from minispore.common import Parameter, Tensor
from minispore.engine.array import device_target, set_device_target, to_host
from minispore.engine.array.plan import views_in
from minispore.engine.dispatch import wrap
from minispore.nn._array_program import (
    Runner,
    SavedTape,
    Values,
    from_json,
    to_json,
    with_constants,
)
from minispore.nn.cell import Cell
from minispore.nn.graph_cell import Graph
from minispore.train.checkpoint.loading import open_checkpoint
from minispore.train.checkpoint.protobuf import WireError
from minispore.train.checkpoint.saving import write_file
from minispore.train.checkpoint.storage import Value
from minispore.train.checkpoint.storage import load as load_entry
from minispore.utils.checks import as_items, check_one_of, check_type, describe_value
from minispore.utils.warn import warn_at_caller

__all__ = ["export", "load"]

_ENDINGS = {"MINISPORE": ".minispore", "MINDIR": ".mindir"}
_PROGRAM = "program"


def export(net: Cell, *inputs: Tensor, file_name: str, file_format: str, **kwargs: object) -> None:
    """Save the operations of a cell and its parameters, so that `load` and `GraphCell` run them.

    The cell is called once in evaluation mode, and the operations of this call are saved: Python's
    branches and loops are those that it takes, and shapes and data types are those of the inputs.
    The file is a checkpoint file with one text more, and not MindSpore's MindIR. Nothing in it is
    Python code.

    Args:
        net: The cell.
        *inputs: The inputs, whose elements do not matter.
        file_name: The file; ".minispore" is added if it is missing. An existing file is replaced.
        file_format: "MINISPORE". "MINDIR" gives a file of the same contents and the ending
            ".mindir", with a warning, as MindSpore cannot read it. The formats "AIR" and "ONNX" are
            not supported.
        **kwargs: There are none; MindSpore encrypts, quantizes and obfuscates files by them.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: `file_format` is another one.
        NotImplementedError: `file_format` is "AIR" or "ONNX".
        RuntimeError: The output cannot be computed from the inputs by operations of tensors alone:
            the cell uses elements as Python's numbers or in a shape, draws random numbers, or
            writes into a parameter.
        OSError: The file cannot be written.

    Examples:
        >>> import tempfile
        >>> from minispore import Tensor, nn
        >>> folder = tempfile.TemporaryDirectory()
        >>> net, x = nn.Dense(2, 3), Tensor([[1.0, 2.0]])
        >>> export(net, x, file_name=folder.name + "/net", file_format="MINISPORE")
        >>> os.listdir(folder.name)
        ['net.minispore']
        >>> folder.cleanup()

    Source: MindSpore's `mindspore.export`.
    """
    check_type(net, Cell, "net")
    check_type(file_name, str, "file_name")
    check_one_of(file_format, (*_ENDINGS, "AIR", "ONNX"), "file_format")
    if kwargs:
        raise TypeError(f"For 'export', there are no arguments {sorted(kwargs)}.")
    if file_format not in _ENDINGS:
        raise NotImplementedError(
            f"For 'export', the format {file_format!r} is not supported: use 'MINISPORE' for a "
            "file that minispore loads again, or save_checkpoint for the parameters alone."
        )
    for x in inputs:
        check_type(x, Tensor, "inputs", "export")
    parameters = {each.name: each for each in net.get_parameters()}
    tape, arrays = _captured(net, inputs, parameters)
    try:
        text = json.dumps(to_json(tape))
    except ValueError as error:
        raise RuntimeError(f"For 'export', the network cannot be saved: {error}.") from error
    values: list[tuple[str, Value]] = [(_PROGRAM, text)]
    values += [(f":{name}", array) for name, array in arrays.items()]
    values += [(f"[{i}]", array) for i, array in enumerate(tape.constants)]
    ending = _ENDINGS[file_format]
    path = file_name if file_name.endswith(ending) else f"{file_name}{ending}"
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    write_file(path, values, crc_check=True, format_="ckpt")
    if file_format == "MINDIR":
        warn_at_caller(
            f"For 'export', the file '{path}' is in minispore's own format: minispore.load reads "
            "it, and MindSpore does not. The format 'MINISPORE' is the same without this warning."
        )


def _captured(
    net: Cell, inputs: Sequence[Tensor], parameters: Mapping[str, Parameter]
) -> tuple[SavedTape, dict[str, Values]]:
    """Call a cell on copies of its parameters; return its tape and the copies."""
    from minispore.common.graph_mode import Lift, run_recorded

    own = [(cell, cell.training) for _, cell in net.cells_and_names()]
    data = {name: each._data for name, each in parameters.items()}
    arrays = {name: to_host(array).copy() for name, array in data.items()}
    copies = [wrap(to_host(x._data).copy(), x) for x in inputs]
    target = device_target()
    try:
        # The recorded arrays are numpy's.
        set_device_target("CPU", "export")
        net.set_train(False)
        for name, each in parameters.items():
            each._data = arrays[name]
        lift = Lift(copies, parameters.values())
        tape = lift.tape
        found = run_recorded(
            lambda: tape.operand(_arrays_of(net(*copies), tape.refuse)), tape, lift
        )
    finally:
        set_device_target(target, "export")
        for cell, training in own:
            cell.training = training
        for name, each in parameters.items():
            each._data = data[name]
    if lift.moved:
        tape.refuse("it changes a parameter or an input")
    if any(views_in([each.operands for each in tape.decisions])):
        tape.refuse("it decides on the elements of an input")
    if tape.reason is not None:
        raise RuntimeError(f"For 'export', the network cannot be saved: {tape.reason}.")
    described: list[tuple[tuple[int, ...], str]] = [(x.shape, x.dtype.name) for x in copies]
    sizes = [tape.sizes[i] for i in range(len(tape.sizes) - len(tape.outside))]
    saved = SavedTape(described, [*parameters], [], sizes, tape.entries, found)
    return with_constants(saved), arrays


def _arrays_of(output: object, refuse: Callable[[str], None]) -> object:
    """Return tensors in nested tuples as arrays."""
    if isinstance(output, Tensor):
        return output._data
    items = as_items(output)
    if items is None:
        refuse(f"it returns {describe_value(output)}")
    return tuple(_arrays_of(item, refuse) for item in items or ())


def load(file_name: str, **kwargs: object) -> Graph:
    """Read a file that `export` has written.

    Args:
        file_name: The file, which ends with ".minispore" or ".mindir".
        **kwargs: There are none; MindSpore decrypts and restores files by them.

    Returns:
        An object to make a `GraphCell` of.

    Raises:
        TypeError: There are further arguments.
        ValueError: `file_name` is not a str, or has another ending; the file does not exist, is
            damaged, or was not written by `export` of minispore.

    Examples:
        >>> import tempfile
        >>> from minispore import Tensor, nn
        >>> folder = tempfile.TemporaryDirectory()
        >>> net, x = nn.Dense(2, 3), Tensor([[1.0, 2.0]])
        >>> export(net, x, file_name=folder.name + "/net", file_format="MINISPORE")
        >>> graph = load(folder.name + "/net.minispore")
        >>> bool((nn.GraphCell(graph)(x) == net(x)).all())
        True
        >>> folder.cleanup()

    Source: MindSpore's `mindspore.load`.
    """
    if not isinstance(file_name, str) or not file_name.endswith(tuple(_ENDINGS.values())):
        raise ValueError(
            "For 'load', the argument 'file_name' must be a str that ends with '.minispore' or "
            f"'.mindir', but got {describe_value(file_name)}."
        )
    if kwargs:
        raise TypeError(f"For 'load', there are no arguments {sorted(kwargs)}.")
    if not os.path.isfile(file_name):
        raise ValueError(f"For 'load', the file '{file_name}' does not exist.")
    with open_checkpoint(file_name, "ckpt") as (file, entries, _):
        values = {name: load_entry(file, name, entry) for name, entry in entries.items()}
        text = values.pop(_PROGRAM, None)
        if not isinstance(text, str):
            raise WireError("it has no operations, so 'export' has not written it")
        try:
            arrays = _named_arrays(values)
            tape = from_json(json.loads(text), arrays)
        except (ValueError, RecursionError) as error:
            raise WireError(str(error)) from error
    named = {name: Tensor.from_numpy(arrays[f":{name}"]) for name in tape.parameters}
    return Graph(Runner(tape), named)


def _named_arrays(values: Mapping[str, Value]) -> dict[str, NDArray[np.generic]]:
    arrays = {name: value for name, value in values.items() if not isinstance(value, str)}
    if len(arrays) < len(values):
        raise ValueError("it has a text instead of an array")
    return arrays
