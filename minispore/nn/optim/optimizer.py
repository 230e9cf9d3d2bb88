"""The base class of optimizers: learning rates, weight decay, step count, in-place updates."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf, prod
from typing import NamedTuple, TypeAlias

import numpy as np

from minispore import ops
from minispore.engine.array import (
    A,
    Array,
    DeviceNamespace,
    Shape,
    commit_numbers,
    device_namespace,
    host_numbers,
    is_host,
)
from minispore.engine.dispatch import half_to_float32
from minispore.engine.dtypes import float16, float32, int32
from minispore.nn.cell import Cell
from minispore.nn.optim._param_groups import Parameters, check_decay, resolve_param_groups
from minispore.nn.optim._rates import (
    LearningRateSchedule,
    as_learning_rate,
    combined,
    host_parameter,
    initial_value,
    scalar_value,
)
from minispore.ops._writes import writable
from minispore.ops.parameter import Parameter, ParameterTuple, parameter_from_memory
from minispore.ops.tensors import Tensor, tensor_of
from minispore.utils.checks import caller, check_number, is_sequence

__all__ = ["Optimizer"]

LearningRate: TypeAlias = float | Tensor | Iterable[float] | LearningRateSchedule
# A learning rate or weight decay, whose value is read in each step.
Hyperparameter: TypeAlias = Parameter | Cell | float
# The numbers of a step: for each parameter those with which its arrays are updated.
Scalars: TypeAlias = list[tuple[float, ...]]
# Elements of a tile: 1 MiB of float32. Smaller tiles were measured to be slower: the cost of more
# calls exceeds the gain from a closer cache.
TILE = 1 << 18
_HALF = float16.numpy_dtype


class DonatedGradients(tuple[Tensor, ...]):
    """Gradients whose memory the update may overwrite, since they are not read afterwards.

    `TrainOneStepCell` passes these. The update then accesses a third less memory, which saves 4 %
    of the time of the tutorial's step.
    """

    __slots__ = ()


def _construct_not_defined(*hyper_params: object) -> tuple[bool, ...]:
    raise NotImplementedError("A subclass of 'Optimizer' must define 'construct'.")


class Optimizer(Cell):
    """Base class of optimizers: called with the gradients, it updates the parameters in place.

    A subclass defines `construct`, which updates all parameters.

    Args:
        learning_rate: A number; a list or a Tensor of one number for each step; or a schedule.
        parameters: The parameters, or parameter groups: dicts with "params" and optionally "lr" and
            "weight_decay", which replace the arguments for the group. A dict with "order_params"
            gives the order of the gradients; without it they are in the order of the groups.
        weight_decay: The factor by which weights are added to their gradients. Without groups it
            does not apply to parameters with "beta" or "gamma" in their names.
        loss_scale: The factor of the loss, by which the gradients are divided.

    Attributes:
        parameters: The parameters, in the order of the gradients.
        learning_rate: The learning rate as a Parameter, which can be changed with `set_data`; a
            cell if it changes from step to step; one for each parameter if groups have their own.
        weight_decay: The weight decay; one for each parameter if there are groups.
        global_step: The number of steps made, an int32 Parameter of shape (1,).

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: There are no parameters, two have the same name, or a number is out of range.
        KeyError: A group lacks "params" or has an unknown key.

    Examples:
        >>> from minispore import nn
        >>> net = nn.Dense(2, 1)
        >>> groups = [{"params": [net.weight], "lr": 0.5}, {"params": [net.bias]}]
        >>> optimizer = nn.SGD(groups, learning_rate=0.25)
        >>> [rate.item() for rate in optimizer.get_lr()]
        [0.5, 0.25]

    Source: MindSpore's `mindspore.nn.Optimizer`.
    """

    parameters: ParameterTuple
    learning_rate: Parameter | ParameterTuple | Cell
    construct: Callable[..., tuple[bool, ...]] = _construct_not_defined

    def __init__(
        self,
        learning_rate: LearningRate,
        parameters: Parameters,
        weight_decay: float | Cell = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(auto_prefix=False)
        groups = resolve_param_groups(parameters, weight_decay)
        options = groups.options
        self.loss_scale: float = check_number(loss_scale, "loss_scale", low=0.0)
        if self.loss_scale == 0:
            raise ValueError(f"For '{caller()}', the argument 'loss_scale' must be above 0, got 0.")
        decays = [option.weight_decay for option in options]
        self.weight_decay: float | Cell | tuple[float | Cell, ...] = (
            tuple(decays) if groups.grouped else check_decay(weight_decay, "weight_decay")
        )
        self.is_group: bool = groups.grouped
        self.is_group_params_ordered: bool = groups.ordered
        self.is_group_lr: bool = any(option.group is not None for option in options)

        # The order of these assignments is that of the parameters in a checkpoint.
        self.global_step: Parameter = host_parameter([0], int32, "global_step")
        by_group: dict[int | None, Parameter | LearningRateSchedule] = {}
        for option in options:
            if option.group not in by_group:
                value = learning_rate if option.group is None else option.learning_rate
                suffix = "" if option.group is None else f"_group_{option.group}"
                by_group[option.group] = as_learning_rate(value, f"learning_rate{suffix}")
        rates = [by_group[option.group] for option in options]
        self.learning_rate = combined(rates) if self.is_group_lr else rates[0]
        self.parameters = ParameterTuple(option.parameter for option in options)

        self.dynamic_lr: bool = any(isinstance(rate, Cell) for rate in rates)
        self.decay_flags: tuple[bool, ...] = tuple(option.weight_decay != 0.0 for option in options)
        # For a resumed run to compare, since training may change the values of the parameters.
        initial_rates = [initial_value(rate) for rate in rates]
        self._initial_arguments: dict[str, object] = {
            "learning_rate": initial_rates if self.is_group_lr else initial_rates[0],
            "weight_decay": decays if self.is_group else weight_decay,
            "params": [option.parameter for option in options],
        }
        self._rates = rates
        self._decays: list[Hyperparameter] = list(decays)

    def get_lr(self) -> Tensor | tuple[Tensor, ...]:
        """Return the learning rate of the next step, one for each parameter if groups differ."""
        rates = [
            rate if isinstance(rate, Parameter) else tensor_of(np.array(value, np.float32))
            for rate, value in zip(
                self._rates, self._current_values(self._rates, "learning rate"), strict=True
            )
        ]
        return tuple(rates) if self.is_group_lr else rates[0]

    def get_weight_decay(self) -> float | tuple[float, ...]:
        """Return the weight decay of the next step, one for each parameter if there are groups."""
        decays = self._current_values(self._decays, "weight decay")
        return tuple(decays) if self.is_group else max(decays)

    def get_lr_parameter(
        self, param: Parameter | Sequence[Parameter]
    ) -> Tensor | Cell | list[Tensor | Cell]:
        """Return the parameter or schedule of a parameter's learning rate; a list for several.

        Raises:
            ValueError: A parameter is not one of this optimizer's.
        """
        if not isinstance(param, Parameter):
            return [self._rate_of(parameter) for parameter in param]
        return self._rate_of(param)

    def _rate_of(self, param: Parameter) -> Tensor | Cell:
        for parameter, rate in zip(self.parameters, self._rates, strict=True):
            if parameter is param:
                return rate
        raise ValueError(
            f"For 'get_lr_parameter', '{param.name}' is not updated by this {self.cls_name}."
        )

    # The other attributes are read by `_scalars` and `_commit`, which run in each step.
    _captured = frozenset({"parameters", "_states"})
    _not_compared = ("parameters", "_initial_arguments", "_rates", "_decays", "_states", "_done")

    def _current_values(self, sources: Sequence[Hyperparameter], name: str) -> list[float]:
        # Once for all parameters of a group.
        values = {i: self._current_value(x, name) for i, x in {id(x): x for x in sources}.items()}
        return [values[id(source)] for source in sources]

    def _current_value(self, source: Hyperparameter, name: str) -> float:
        value = source(self.global_step) if isinstance(source, Cell) else source
        number = scalar_value(value) if isinstance(value, Tensor) else value
        if not 0 <= number < inf:
            raise ValueError(
                f"For '{self.cls_name}', the {name} must be a finite number of at least 0, "
                f"but in step {scalar_value(self.global_step):.0f} it is {number}."
            )
        return number + 0.0  # −0.0 becomes 0.0


class InPlaceOptimizer(Optimizer):
    """Base class of optimizers that update one parameter after another, in place.

    A subclass defines `_update`, the formula. If its numbers are more than the learning rate, it
    overrides `_scalars`; and `_commit`, if they depend on the steps before.

    Args:
        learning_rate: As of `Optimizer`.
        parameters: As of `Optimizer`.
        weight_decay: As of `Optimizer`.
        loss_scale: As of `Optimizer`.
    """

    _transient = ("_tiles",)

    def __init__(
        self,
        learning_rate: LearningRate,
        parameters: Parameters,
        weight_decay: float | Cell = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, loss_scale)
        # State arrays of the shapes of the parameters, which a subclass adds by `_new_state`.
        self._states: list[ParameterTuple] = []
        self._tiles = Tiles()
        self._done = (True,) * len(self.parameters)

    def construct(self, gradients: Sequence[Tensor]) -> tuple[bool, ...]:
        """Update all parameters once.

        Args:
            gradients: The gradients of `parameters`, in their order, with their shapes and dtypes.

        Returns:
            True for each parameter.

        Raises:
            TypeError: `gradients` is not a tuple or list of Tensors, or a dtype differs.
            ValueError: The number of gradients or a shape differs, or a learning rate or weight
                decay is negative, infinite or NaN. No parameter is updated.
            RuntimeError: The list of learning rates has no value for this step.
        """
        self._check_gradients(gradients)
        donated = isinstance(gradients, DonatedGradients)
        scalars = host_numbers(self._scalars)
        for i, (parameter, gradient, (decay, *own)) in enumerate(
            zip(self.parameters, gradients, scalars, strict=True)
        ):
            data = writable(parameter)
            xp = device_namespace(data)
            arrays = [data, gradient._data, *[state[i]._data for state in self._states]]
            for rows, buffer, scratch in self._tiles.of(arrays):
                w, g, *state = rows
                step = g if donated else buffer
                if self.loss_scale != 1:
                    g = xp.multiply(g, 1 / self.loss_scale, out=step)
                if decay:
                    g = xp.add(g, xp.multiply(w, decay, out=scratch), out=step)
                self._update(xp, (w, g, step, scratch, *state), own)
        commit_numbers(self._commit, scalars)
        return self._done

    def _scalars(self) -> Scalars:
        """Return the numbers of the coming step for each parameter, without side effects.

        The first is the factor of the weights in their gradients, the others those of `_update`,
        of which the first is the learning rate. All numbers that change from step to step are
        computed here: `_update` must not compute with them, since a captured step computes the
        arrays only.
        """
        rates = self._current_values(self._rates, "learning rate")
        return list(zip(self._current_values(self._decays, "weight decay"), rates, strict=True))

    def _update(
        self, xp: DeviceNamespace[Array], arrays: Sequence[Array], scalars: Sequence[float]
    ) -> None:
        """Update a parameter in place, or a tile of its rows.

        Args:
            xp: The library of the arrays.
            arrays: The parameter; its gradient, with loss scale and weight decay applied; two
                arrays for intermediate results, the first of which may be the gradient's memory;
                and the parameter's arrays made by `_new_state`.
            scalars: The parameter's numbers of `_scalars`, without the first.
        """
        raise NotImplementedError

    def _commit(self, scalars: Scalars) -> None:
        """Store what the numbers of the next step depend on, after the parameters are updated."""
        step = self.global_step._data
        step += 1

    def _new_state(self, prefix: str, value: float = 0.0) -> ParameterTuple:
        """Return new state: for each of `parameters` one of its shape, with equal elements.

        It has the type of the parameter, except that it is float32 for float16.
        """
        state = ParameterTuple(
            parameter_from_memory(
                ops.full_like(half_to_float32(parameter), value), f"{prefix}.{parameter.name}"
            )
            for parameter in self.parameters
        )
        self._states.append(state)
        return state

    def _check_gradients(self, gradients: object) -> None:
        if not is_sequence(gradients):
            raise TypeError(
                f"For '{self.cls_name}', the gradients must be a tuple of Tensors, "
                f"but got {type(gradients).__name__}."
            )
        if len(gradients) != len(self.parameters):
            raise ValueError(
                f"For '{self.cls_name}', there must be a gradient for each of the "
                f"{len(self.parameters)} parameters, but got {len(gradients)}."
            )
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            if not isinstance(gradient, Tensor):
                raise TypeError(
                    f"For '{self.cls_name}', the gradient of '{parameter.name}' must be a Tensor, "
                    f"but got {type(gradient).__name__}."
                )
            data, grad = parameter._data, gradient._data
            if grad.shape != data.shape:
                raise ValueError(
                    f"For '{self.cls_name}', the gradient of '{parameter.name}' must be of its "
                    f"shape {data.shape}, but got {grad.shape}."
                )
            if grad.dtype != data.dtype:
                raise TypeError(
                    f"For '{self.cls_name}', the gradient of '{parameter.name}' must be of its "
                    f"type {parameter.dtype!r}, but got {gradient.dtype!r}."
                )


class Tile(NamedTuple):
    """Some rows of an array (None for all), and two scratch arrays of their shape."""

    rows: slice | None
    step: Array
    scratch: Array


class Tiles:
    """The tiles of rows in which arrays are updated, computed once for each shape and dtype.

    An update needs memory for intermediate results. A tile needs little: the same scratch arrays
    serve all parameters, and no memory is allocated in a step.
    """

    def __init__(self) -> None:
        self._plans: dict[tuple[Shape, object], list[Tile]] = {}
        self._scratch: dict[object, Array] = {}

    def __reduce__(self) -> tuple[type["Tiles"], tuple[()]]:
        # Copies allocate their own scratch memory.
        return Tiles, ()

    def of(self, arrays: list[Array]) -> Iterator[tuple[list[Array], Array, Array]]:
        """Yield rows of arrays, and two scratch arrays of their shape, until all are updated.

        A number is a row. The first two arrays are in float32 if they are float16, like the others:
        squares of gradients are 0 in float16.
        """
        data = arrays[0]
        if data.dtype == _HALF:
            xp = device_namespace(data)
            arrays[:2] = [xp.astype(x, float32.numpy_dtype) for x in arrays[:2]]
            yield from self.of(arrays)
            xp.copyto(data, arrays[0])
            return
        if data.ndim == 0:
            xp = device_namespace(data)
            arrays = [xp.reshape(x, (1,)) for x in arrays]
        for rows, step, scratch in self.tiles_for(arrays[0]):
            yield arrays if rows is None else [x[rows] for x in arrays], step, scratch

    def tiles_for(self, x: Array) -> list[Tile]:
        """Return the tiles of `x`, which must have at least one axis."""
        plan = self._plans.get((x.shape, x.dtype))
        if plan is None:
            plan = self._plans[x.shape, x.dtype] = list(self._plan(x))
        return plan

    def _plan(self, x: Array) -> Iterator[Tile]:
        xp = device_namespace(x)
        row = prod(x.shape[1:])
        # On a device, a tile would not stay in a cache, and each tile costs kernel launches.
        tile = TILE if is_host(x) else prod(x.shape)
        count = max(1, tile // max(1, row))
        size = max(min(tile, prod(x.shape)), row)
        scratch = self._scratch.get(x.dtype)
        if scratch is None or scratch.shape[1] < size:
            scratch = self._scratch[x.dtype] = xp.empty((2, size), x.dtype)
        for start in range(0, x.shape[0], count):
            shape = (min(count, x.shape[0] - start), *x.shape[1:])
            yield Tile(
                None if shape == x.shape else slice(start, start + count),
                xp.reshape(scratch[0, : prod(shape)], shape),
                xp.reshape(scratch[1, : prod(shape)], shape),
            )


def update_average(
    xp: DeviceNamespace[A], mean: A, values: A, decay_rate: float, scratch: A
) -> None:
    """Set `mean` to `decay_rate * mean + (1 - decay_rate) * values`.

    Args:
        xp: The library of the arrays.
        mean: An exponential moving average.
        values: The new values.
        decay_rate: The decay rate.
        scratch: Memory for an intermediate result, which may be that of `values`.
    """
    mean *= decay_rate
    mean += xp.multiply(values, 1 - decay_rate, out=scratch)
