"""The base of optimisers: learning rates, weight decay, the count of steps; updating in place."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias, cast

import numpy as np

from minispore import ops
from minispore._array import Array, DeviceNamespace, device_namespace, to_host
from minispore._checks import check_number, described
from minispore.common.dtype import DType, float32, int32
from minispore.common.parameter import Parameter, ParameterTuple, parameter_in
from minispore.common.tensor import Tensor, host_tensor
from minispore.nn.cell import Cell
from minispore.nn.container import CellList
from minispore.nn.learning_rate_schedule import LearningRateSchedule
from minispore.nn.optim._blocks import Blocks
from minispore.nn.optim._groups import Parameters, read

LearningRate: TypeAlias = float | Tensor | Iterable[float] | LearningRateSchedule
# Where a rate or a decay is read from at each step.
Source: TypeAlias = Parameter | Cell | float


class Spare(tuple[Tensor, ...]):
    """Gradients that nobody reads afterwards, so that an update may use their memory as scratch.

    A training step gives these: its update then touches a third less memory, which is 4 % of the
    tutorial's step.
    """

    __slots__ = ()


class Optimizer(Cell):
    """The base of optimisers: called with the gradients, it updates the parameters in place.

    A subclass defines `_update`, which changes one parameter, or `construct`, which does all.

    Source: MindSpore's `mindspore.nn.Optimizer`.

    Args:
        learning_rate: A number; a list or a Tensor with one for each step; or a schedule.
        parameters: The parameters, or groups: dicts with "params" and, where they differ from
            what is given for all, "lr" and "weight_decay". A dict with "order_params" gives the
            order of the gradients; without, they come group by group.
        weight_decay: The factor of the weights that is added to their gradients. Without groups
            it leaves out parameters with "beta" or "gamma" in their names.
        loss_scale: What the loss was multiplied by, and the gradients are divided by.

    Attributes:
        parameters: What is updated, in the order of the gradients.
        learning_rate: The learning rate as a Parameter, which can be changed with `set_data`; a
            cell if it changes from step to step; one for each parameter if groups differ in it.
        global_step: How many steps have been done, an int32 Parameter of shape (1,).

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: There are no parameters, two have one name, or a number is out of range.
        KeyError: A group lacks "params" or has an unknown key.
    """

    parameters: ParameterTuple
    learning_rate: Parameter | ParameterTuple | Cell

    def __init__(
        self,
        learning_rate: LearningRate,
        parameters: Parameters,
        weight_decay: float | Cell = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(auto_prefix=False)
        owner = self.cls_name
        settings = read(parameters, weight_decay, owner)
        self.loss_scale: float = check_number(loss_scale, "loss_scale", owner, low=0.0)
        if self.loss_scale == 0:
            raise ValueError(f"For '{owner}', the argument 'loss_scale' must be above 0, got 0.")
        self.weight_decay = weight_decay
        self.is_group: bool = settings.grouped
        self.is_group_params_ordered: bool = settings.ordered
        self.is_group_lr: bool = any(setting.group is not None for setting in settings.each)

        # The order of these assignments is that of the parameters in a checkpoint.
        self.global_step: Parameter = for_host([0], int32, "global_step")
        named: dict[int | None, Parameter | LearningRateSchedule] = {}
        for setting in settings.each:
            if setting.group not in named:
                given = learning_rate if setting.group is None else setting.rate
                suffix = "" if setting.group is None else f"_group_{setting.group}"
                named[setting.group] = _read_rate(given, f"learning_rate{suffix}", owner)
        rates = [named[setting.group] for setting in settings.each]
        self.learning_rate = _combined(rates) if self.is_group_lr else rates[0]
        self.parameters = ParameterTuple(setting.parameter for setting in settings.each)

        self.dynamic_lr: bool = any(isinstance(rate, Cell) for rate in rates)
        self.decay_flags: tuple[bool, ...] = tuple(
            setting.decay != 0.0 for setting in settings.each
        )
        # As given, for a resumed run to compare: training may change the parameters' values.
        given = [_as_given(rate) for rate in rates]
        self._given: dict[str, object] = {
            "learning_rate": given if self.is_group_lr else given[0],
            "weight_decay": [each.decay for each in settings.each]
            if self.is_group
            else weight_decay,
            "params": [setting.parameter for setting in settings.each],
        }
        self._rates: list[Source] = list(rates)
        self._decays: list[Source] = [setting.decay for setting in settings.each]
        self._blocks = Blocks()
        self._done = (True,) * len(settings.each)

    def construct(self, gradients: Sequence[Tensor]) -> tuple[bool, ...]:
        """Do one step.

        Args:
            gradients: One for each of `parameters`, in their order, of their shapes and types.

        Returns:
            True for each parameter.

        Raises:
            TypeError: The gradients are no tuple or list of Tensors, or of other types.
            ValueError: There are more or fewer, or one is of another shape. Nothing is updated
                then.
            RuntimeError: A learning rate given for each step has no more of them.
        """
        self._check_gradients(gradients)
        self._spare = isinstance(gradients, Spare)
        rates = self._now(self._rates)
        decays = self._now(self._decays)
        self._begin_step()
        for i, (parameter, gradient) in enumerate(zip(self.parameters, gradients, strict=True)):
            data = parameter._data
            self._update(device_namespace(data), i, data, gradient._data, rates[i], decays[i])
        step = self.global_step._data
        device_namespace(step).add(step, 1, out=step)
        return self._done

    def get_lr(self) -> Tensor | tuple[Tensor, ...]:
        """The learning rate of the next step; one for each parameter if groups differ in it."""
        rates = [
            rate if isinstance(rate, Parameter) else host_tensor(np.array(value, np.float32))
            for rate, value in zip(self._rates, self._now(self._rates), strict=True)
        ]
        return tuple(rates) if self.is_group_lr else rates[0]

    def get_weight_decay(self) -> float | tuple[float, ...]:
        """The weight decay of the next step; one for each parameter if there are groups."""
        decays = self._now(self._decays)
        return tuple(decays) if self.is_group else max(decays)

    def get_lr_parameter(
        self, param: Parameter | Sequence[Parameter]
    ) -> Tensor | Cell | list[Tensor | Cell]:
        """Where the learning rate of a parameter is kept; a list for several.

        Raises:
            ValueError: A parameter is not one of this optimiser's.
        """
        if not isinstance(param, Parameter):
            return [cast("Tensor | Cell", self.get_lr_parameter(p)) for p in param]
        for own, rate in zip(self.parameters, self._rates, strict=True):
            if own is param:
                return cast("Tensor | Cell", rate)
        raise ValueError(
            f"For 'get_lr_parameter', '{param.name}' is not updated by this {self.cls_name}."
        )

    # Of the step that is being done: whether its gradients are scratch.
    _spare: bool = False

    # For subclasses.

    def _begin_step(self) -> None:
        """Do what is to be done once a step, before the first update."""

    def _update(
        self,
        xp: DeviceNamespace[Array],
        i: int,
        data: Array,
        gradient: Array,
        rate: float,
        decay: float,
    ) -> None:
        """Change parameter number `i`, whose array is `data`, in place."""
        raise NotImplementedError(f"For '{self.cls_name}', '_update' is not defined.")

    def _state(self, prefix: str) -> ParameterTuple:
        """A parameter of the optimiser's own beside each of `parameters`, all zeros."""
        return ParameterTuple(
            parameter_in(ops.zeros_like(each), f"{prefix}.{each.name}") for each in self.parameters
        )

    def _parts(self, data: Array, gradient: Array, *state: Array) -> Iterator[tuple[Array, ...]]:
        """Block by block, two scratch arrays and what of each array belongs to them.

        The first scratch may be the gradient's own memory: write there only what is no longer
        computed from the gradient.
        """
        arrays = (data, gradient, *state)
        if data.ndim == 0:
            xp = device_namespace(data)
            arrays = tuple(xp.reshape(x, (1,)) for x in arrays)
        for rows, first, second in self._blocks.of(arrays[0]):
            w, g, *rest = arrays if rows is None else [x[rows] for x in arrays]
            yield g if self._spare else first, second, w, g, *rest

    def _effective(
        self,
        xp: DeviceNamespace[Array],
        data: Array,
        gradient: Array,
        decay: float,
        out: Array,
        scratch: Array,
    ) -> Array:
        """The gradient, scaled down and with the weight decay: itself, or in `out`."""
        if self.loss_scale != 1:
            gradient = xp.multiply(gradient, 1 / self.loss_scale, out=out)
        if decay:
            gradient = xp.add(gradient, xp.multiply(data, decay, out=scratch), out=out)
        return gradient

    def _now(self, sources: Sequence[Source]) -> list[float]:
        known: dict[int, float] = {}
        for source in sources:
            if id(source) not in known:
                known[id(source)] = self._value(source)
        return [known[id(source)] for source in sources]

    def _value(self, source: Source) -> float:
        value = source(self.global_step) if isinstance(source, Cell) else source
        return number(value) if isinstance(value, Tensor) else value

    def _check_gradients(self, gradients: object) -> None:
        if not isinstance(gradients, tuple | list):
            raise TypeError(
                f"For '{self.cls_name}', the gradients must be a tuple of Tensors, "
                f"but got {type(gradients).__name__}."
            )
        gradients = cast("Sequence[object]", gradients)
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
            own, given = parameter._data, gradient._data
            if given.shape != own.shape:
                raise ValueError(
                    f"For '{self.cls_name}', the gradient of '{parameter.name}' must be of its "
                    f"shape {own.shape}, but got {given.shape}."
                )
            if given.dtype != own.dtype:
                raise TypeError(
                    f"For '{self.cls_name}', the gradient of '{parameter.name}' must be of its "
                    f"type {parameter.dtype!r}, but got {gradient.dtype!r}."
                )


class _ListedLearningRate(LearningRateSchedule):
    """One rate for each step, from a list."""

    def __init__(self, rates: list[float], name: str) -> None:
        super().__init__()
        self.learning_rate = for_host(rates, float32, name)

    def construct(self, global_step: Tensor) -> Tensor:
        """The rate of the step.

        Raises:
            RuntimeError: The list is at its end.
        """
        step = int(number(global_step))
        if step >= len(self.learning_rate):
            raise RuntimeError(
                f"There is no learning rate for step {step}: '{self.learning_rate.name}' lists "
                f"{len(self.learning_rate)}."
            )
        return self.learning_rate[step]


class _FixedLearningRate(LearningRateSchedule):
    """A rate that stays the same, among others that do not."""

    def __init__(self, rate: Parameter) -> None:
        super().__init__()
        self.learning_rate = rate

    def construct(self, global_step: Tensor) -> Tensor:
        """The rate."""
        return self.learning_rate


def for_host(values: object, dtype: DType, name: str) -> Parameter:
    """A parameter that the host reads at every step: it is kept there, whatever the device."""
    return parameter_in(host_tensor(np.array(values, dtype.numpy_dtype)), name)


def number(x: Tensor) -> float:
    """The one element of `x`."""
    return cast("float", to_host(x._data).item())


def _combined(rates: list[Parameter | LearningRateSchedule]) -> ParameterTuple | Cell:
    fixed = [rate for rate in rates if isinstance(rate, Parameter)]
    if len(fixed) == len(rates):
        return ParameterTuple(fixed)
    return CellList(
        [_FixedLearningRate(rate) if isinstance(rate, Parameter) else rate for rate in rates],
        auto_prefix=False,
    )


def _as_given(rate: Parameter | LearningRateSchedule) -> object:
    own = rate.learning_rate if isinstance(rate, _ListedLearningRate) else rate
    return own.asnumpy().copy()[()] if isinstance(own, Parameter) else own


def _read_rate(value: object, name: str, owner: str) -> Parameter | LearningRateSchedule:
    """A learning rate as the user gave it, as what its value is read from at each step."""
    if isinstance(value, LearningRateSchedule):
        return value
    if isinstance(value, Tensor):
        if value.ndim > 1:
            raise ValueError(
                f"For '{owner}', a Tensor as 'learning_rate' must have at most 1 axis, "
                f"but got the shape {value.shape}."
            )
        if value.ndim == 1:
            return _listed(cast("list[float]", value.tolist()), name, owner)
        value = float(number(value))
    elif isinstance(value, Iterable) and not isinstance(value, str):
        return _listed(list(cast("Iterable[float]", value)), name, owner)
    elif not isinstance(value, int | float):
        raise TypeError(
            f"For '{owner}', the argument 'learning_rate' must be a number, a Tensor, a list or a "
            f"LearningRateSchedule, but got {described(value)}."
        )
    rate = check_number(value, "learning_rate", owner, low=0.0)
    return for_host(rate, float32, name)


def _listed(rates: list[float], name: str, owner: str) -> LearningRateSchedule:
    if not rates:
        raise ValueError(f"For '{owner}', the list 'learning_rate' must not be empty.")
    checked = [
        check_number(
            float(rate) if isinstance(rate, np.floating) else rate,
            f"learning_rate[{i}]",
            owner,
            low=0.0,
        )
        for i, rate in enumerate(rates)
    ]
    return _ListedLearningRate(checked, name)
