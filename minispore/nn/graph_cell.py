"""A cell that runs a program that `export` has saved."""

from collections.abc import Mapping

import numpy as np

from minispore.common.parameter import Parameter, ParameterTuple
from minispore.common.tensor import Tensor
from minispore.engine.array import from_host, is_ndarray, to_host
from minispore.engine.dispatch import wrap
from minispore.nn._array_program import Runner
from minispore.nn.cell import Cell
from minispore.utils.checks import check_type, describe_value, map_items
from minispore.utils.warn import warn_at_caller

__all__ = ["GraphCell"]


class Graph:
    """What `load` returns: the operations of a cell, for `GraphCell`.

    Args:
        runner: The operations.
        parameters: The parameters, by name.
    """

    def __init__(self, runner: Runner, parameters: Mapping[str, Tensor]) -> None:
        self.runner: Runner = runner
        self.parameters: dict[str, Tensor] = dict(parameters)

    def __repr__(self) -> str:
        return f"Graph({len(self.runner.tape.entries)} operations)"


class GraphCell(Cell):
    """A cell that runs the operations of a file, for inference: no gradients flow through it.

    The operations run on the host.

    Args:
        graph: What `load` returns.
        params_init: Other values of parameters, by name. A name that the graph does not have is a
            warning.
        obf_random_seed: Must be None: files are not obfuscated.

    Raises:
        TypeError: `graph` is not what `load` returns, a name is not a str, or a value is not a
            Tensor.
        ValueError: A value has another shape or data type than the parameter, or
            `obf_random_seed` is not None.

    Examples:
        >>> import tempfile
        >>> from minispore import Tensor, export, load, nn
        >>> folder = tempfile.TemporaryDirectory()
        >>> net = nn.SequentialCell(nn.Dense(2, 3), nn.ReLU())
        >>> x = Tensor([[1.0, 2.0]])
        >>> export(net, x, file_name=folder.name + "/net", file_format="MINISPORE")
        >>> graph = load(folder.name + "/net.minispore")
        >>> bool((nn.GraphCell(graph)(x) == net(x)).all())
        True
        >>> folder.cleanup()

    Source: MindSpore's `mindspore.nn.GraphCell`.
    """

    def __init__(
        self,
        graph: Graph,
        params_init: dict[str, Tensor] | None = None,
        obf_random_seed: int | None = None,
    ) -> None:
        super().__init__(auto_prefix=False)
        check_type(graph, Graph, "graph")
        check_type(params_init, dict, "params_init", allow_none=True)
        if obf_random_seed is not None:
            raise ValueError(
                "For 'GraphCell', the argument 'obf_random_seed' must be None, but got "
                f"{describe_value(obf_random_seed)}."
            )
        self.graph = graph
        changed = params_init or {}
        for name, value in changed.items():
            check_type(name, str, "params_init")
            check_type(value, Tensor, "params_init")
            own = graph.parameters.get(name, value)
            if (value.shape, value.dtype) != (own.shape, own.dtype):
                raise ValueError(
                    f"For 'GraphCell', the value of {name!r} in 'params_init' must be of the shape "
                    f"{own.shape} and of {own.dtype!r}, but is of {value.shape} and "
                    f"{value.dtype!r}."
                )
        if unknown := sorted(changed.keys() - graph.parameters.keys()):
            warn_at_caller(
                f"For 'GraphCell', the graph has no parameters of the names {unknown} in "
                f"'params_init'; it has {sorted(graph.parameters)}."
            )
        self.weights: ParameterTuple = ParameterTuple(
            Parameter(changed.get(name, value), name=name)
            for name, value in graph.parameters.items()
        )

    def construct(self, *inputs: Tensor) -> object:
        """Return the output of the cell that was saved.

        Raises:
            TypeError: An input is not a Tensor.
            ValueError: The inputs are not as many, or not of the shapes and data types, as those
                with which the cell was saved.
        """
        expected = self.graph.runner.tape.inputs
        found = [(x.shape, x.dtype.name) for x in inputs if isinstance(x, Tensor)]
        if len(found) < len(inputs):
            raise TypeError(
                f"For 'GraphCell', the inputs must be Tensors, but got {describe_value(inputs)}."
            )
        if found != expected:
            raise ValueError(
                "For 'GraphCell', the inputs must be of the shapes and data types with which the "
                f"cell was exported, {expected}, but are {found}."
            )
        weights = [np.ascontiguousarray(to_host(x._data)) for x in self.weights]
        return _as_tensors(self.graph.runner.run([to_host(x._data) for x in inputs], weights))


_LIKE = Tensor(0)


def _as_tensors(output: object) -> object:
    """Return arrays in nested tuples as tensors."""
    return wrap(from_host(output), _LIKE) if is_ndarray(output) else map_items(_as_tensors, output)
