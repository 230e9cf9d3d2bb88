"""Cells around a network: with its loss, for evaluation, and for one training step.

They add no prefix, so the names of parameters are those in the network.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeAlias, cast

from minispore import ops
from minispore.common.context import is_graph_mode, steps_of
from minispore.communication._group import is_data_parallel
from minispore.engine.array.capture_hooks import CapturedSteps
from minispore.engine.dtypes import float16, float32
from minispore.nn._hooks import HookHandle, RegisteredHook
from minispore.nn.cell import Cell, Constructs
from minispore.nn.optim.optimizer import DonatedGradients, Optimizer
from minispore.ops._differentiation import compute_gradients
from minispore.ops.parameter import ParameterTuple
from minispore.ops.tensors import Tensor
from minispore.utils.checks import as_items, check_arguments, check_function, check_type, type_error
from minispore.utils.warn import warn_at_caller

__all__ = ["TrainOneStepCell", "WithEvalCell", "WithLossCell"]

# A cell is callable as well, but ty does not find its call, whose type depends on its `construct`.
LossFunction: TypeAlias = Callable[..., Tensor] | Constructs[..., Tensor]
# Takes the gradients of a step, and returns those for the optimizer, or None for the same.
GradientHook: TypeAlias = Callable[[tuple[Tensor, ...]], Sequence[Tensor] | None]
_Step: TypeAlias = tuple[Tensor, tuple[Tensor, ...]]
# The method of a `DistributedGradReducer`: from loss and gradients to those of all processes.
_ReduceStep: TypeAlias = Callable[[Tensor, tuple[Tensor, ...], int], _Step]


class WithLossCell(Cell):
    """A network with its loss function: computes the loss from data and label.

    Args:
        backbone: The network.
        loss_fn: A cell or function that computes the loss from the network's output and the label.

    Raises:
        TypeError: `backbone` is not a Cell, or `loss_fn` is not callable.

    Examples:
        >>> from minispore import Tensor, nn
        >>> net = nn.WithLossCell(nn.Dense(2, 1, "ones", "zeros"), nn.MSELoss())
        >>> net(Tensor([[1.0, 2.0]]), Tensor([[5.0]])).item()
        4.0

    Source: MindSpore's `mindspore.nn.WithLossCell`.
    """

    def __init__(self, backbone: Cell, loss_fn: LossFunction) -> None:
        super().__init__(auto_prefix=False)
        self._backbone: Cell = check_type(backbone, Cell, "backbone")
        self._loss_fn = _as_function(loss_fn)

    def construct(self, data: Tensor, label: Tensor) -> Tensor:
        """Return the loss of a batch."""
        return self._loss_fn(self._backbone(data), label)

    @property
    def backbone_network(self) -> Cell:
        """The network."""
        return self._backbone


class WithEvalCell(Cell):
    """A network with its loss function for evaluation: returns loss, output and label.

    Args:
        network: The network.
        loss_fn: A cell or function that computes the loss from the network's output and the label.
        add_cast_fp32: Whether to cast the output to float32 first.

    Raises:
        TypeError: `network` is not a Cell, `loss_fn` is not callable, or `add_cast_fp32` is not a
            bool.

    Examples:
        >>> from minispore import Tensor, nn
        >>> net = nn.WithEvalCell(nn.Dense(2, 1, "ones", "zeros"), nn.MSELoss())
        >>> loss, output, label = net(Tensor([[1.0, 2.0]]), Tensor([[5.0]]))
        >>> loss.item(), output.tolist(), label.tolist()
        (4.0, [[3.0]], [[5.0]])

    Source: MindSpore's `mindspore.nn.WithEvalCell`.
    """

    def __init__(self, network: Cell, loss_fn: LossFunction, add_cast_fp32: bool = False) -> None:
        super().__init__(auto_prefix=False)
        self._network: Cell = check_type(network, Cell, "network")
        self.add_cast_fp32: bool = check_type(add_cast_fp32, bool, "add_cast_fp32")
        self._loss_fn = _as_function(loss_fn)
        self._captured_steps: CapturedSteps | None = None

    def construct(self, data: Tensor, label: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the loss, the network's output and the label."""
        if is_graph_mode():
            return steps_of(self).run(self._evaluate, (data, label))
        return self._evaluate(data, label)

    _transient = ("_captured_steps",)

    def _evaluate(self, data: Tensor, label: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        outputs = self._network(data)
        if self.add_cast_fp32:
            outputs = ops.cast(outputs, float32)
        return self._loss_fn(outputs, label), outputs, label


@check_arguments
class TrainOneStepCell(Cell):
    """One training step: compute the loss and its gradients, and call the optimizer.

    With data parallelism (see `set_auto_parallel_context`) all processes make their steps together:
    the gradients are reduced, and the loss is the mean over all processes. All rows have the same
    weight; the number of rows is the length of the first input's first axis.

    Args:
        network: A cell that computes the loss from the inputs, such as a `WithLossCell`.
        optimizer: The optimizer of the network's parameters. A warning says how many of its
            parameters are not the network's, if any.
        sens: The factor of the gradients; None for 1.
        return_grad: Whether to return the gradients too.

    Raises:
        TypeError: An argument is of the wrong type.

    Examples:
        >>> from minispore import Tensor, nn
        >>> net = nn.Dense(1, 1, "ones", "zeros")
        >>> step = nn.TrainOneStepCell(
        ...     nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.25)
        ... )
        >>> step(Tensor([[1.0]]), Tensor([[2.0]])).item()
        1.0
        >>> net.weight.tolist()
        [[1.5]]

    Source: MindSpore's `mindspore.nn.TrainOneStepCell`.
    """

    def __init__(
        self,
        network: Cell,
        optimizer: Optimizer,
        sens: float | Tensor | None = None,
        return_grad: bool = False,
    ) -> None:
        super().__init__(auto_prefix=False)
        self._captured_steps: CapturedSteps | None = None
        self.network = network
        self.network.set_grad()
        self.optimizer = optimizer
        self.weights: ParameterTuple = optimizer.parameters
        self.sens: float | Tensor = 1.0 if sens is None else sens
        self.return_grad = return_grad
        self._gradient_hooks: list[RegisteredHook] = []
        _warn_of_foreign_parameters(network, optimizer)
        self.reducer_flag: bool = is_data_parallel()
        # For a subclass with a `construct` of its own, as is `grad`.
        self.grad_reducer: Callable[[tuple[Tensor, ...]], tuple[Tensor, ...]] = _unreduced
        if self.reducer_flag:
            from minispore.nn.wrap.grad_reducer import DistributedGradReducer, broadcast_parameters

            self.grad_reducer = DistributedGradReducer(self.weights)
            broadcast_parameters(self)

    @cached_property
    def grad(self) -> "ops.GradOperation":
        """The transformation of the network to its gradients, for a `construct` of a subclass."""
        return ops.GradOperation(get_by_list=True, sens_param=True)

    def construct(self, *inputs: Tensor) -> Tensor:
        """Make one training step.

        Returns:
            The loss, which is the output of the network. With `return_grad`, despite the
            annotation, a tuple of the loss and a dictionary of the gradients by parameter names.

        Raises:
            ValueError: The loss is not a scalar.
        """
        if not is_graph_mode():
            return self._step(*inputs)
        steps = steps_of(self)
        if self.reducer_flag:
            reason = "its gradients are exchanged with other processes"
            return steps.run_eagerly(reason, lambda: self._step(*inputs))
        return steps.run(self._step, inputs)

    def register_gradient_hook(self, hook: GradientHook) -> HookHandle:
        """Register a function that is called in each step, between the gradients and the update.

        In one run only, a callback registers it by `RunContext.register_gradient_hook`. Steps whose
        gradients have overflowed do not call it.

        Args:
            hook: Takes the tuple of the gradients of `weights`: those of all processes, divided by
                the optimizer's `loss_scale`. It returns None to leave them, others of the same
                shapes and types, or () to leave out the update. Several hooks are called in the
                order of their registration, each with the gradients of the one before, until one
                leaves out the update.

        Returns:
            A handle with a method `remove`.

        Raises:
            TypeError: `hook` is not callable.

        Examples:
            >>> from minispore import Tensor, nn, ops
            >>> net = nn.Dense(1, 1, "zeros", has_bias=False)
            >>> optimizer = nn.SGD(net.trainable_params(), 1.0)
            >>> step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
            >>> handle = step.register_gradient_hook(
            ...     lambda gradients: ops.clip_by_global_norm(gradients, 0.5)
            ... )
            >>> loss = step(Tensor([[1.0]]), Tensor([[2.0]]))
            >>> net.weight.tolist()
            [[0.5]]
            >>> handle.remove()
        """
        check_function(hook, "hook")
        entry = RegisteredHook(hook, with_kwargs=False, always_call=False)
        self._gradient_hooks.append(entry)
        return HookHandle(self._gradient_hooks, entry)

    _transient = ("_captured_steps",)
    _not_compared = ("grad",)  # made when it is first used

    def _step(self, *inputs: Tensor) -> Tensor:
        loss, gradients = self._loss_and_gradients(inputs, self.sens)
        self._update(gradients, donates=not self.return_grad)
        if self.return_grad:
            names = [parameter.name for parameter in self.weights]
            return cast("Tensor", (loss, dict(zip(names, gradients, strict=True))))
        return loss

    def _update(self, gradients: tuple[Tensor, ...], *, donates: bool) -> None:
        """Call the gradient hooks, and the optimizer with their result.

        Args:
            gradients: The gradients of `weights`, with the optimizer's `loss_scale`.
            donates: Whether the optimizer may overwrite them, if no hook has seen them.
        """
        if not self._gradient_hooks:
            self.optimizer(DonatedGradients(gradients) if donates else gradients)
            return
        scale = self.optimizer.loss_scale
        if scale != 1:
            gradients = tuple(in_float32(lambda g: g / scale, g) for g in gradients)
        for entry in self._gradient_hooks:
            result = entry.hook(gradients)
            if result is None:
                continue
            check_type(result, (tuple, list), "the result of a gradient hook")
            gradients = tuple(cast("Sequence[Tensor]", result))
            if not gradients:
                return
        # Not donated: the hook may have stored them.
        if scale != 1:
            gradients = tuple(in_float32(lambda g: g * scale, g) for g in gradients)
        self.optimizer(gradients)

    def _loss_and_gradients(
        self, inputs: tuple[Tensor, ...], scale: float | Tensor
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the loss and the gradients of the loss times `scale`, of all processes.

        The backward pass starts from the scaled loss, so gradients in float16 do not underflow.
        """
        reduce: _ReduceStep | None = getattr(self.grad_reducer, "reduce_step", None)
        rows = 1 if reduce is None else batch_size_of(inputs)
        if not rows:
            # The other processes have data for this step; the mean over no rows would be NaN.
            gradients = tuple(ops.zeros_like(weight) for weight in self.weights)
            loss = Tensor(0.0)
        # What `value_and_grad` calls, without a new function in each step. None is stored,
        # since the network and the weights may be replaced.
        elif isinstance(scale, Tensor) or scale != 1:
            (_, loss), _, gradients = compute_gradients(
                self._scaled, (scale, *inputs), {}, (), self.weights, has_aux=True
            )
        else:
            loss, _, gradients = compute_gradients(self.network, inputs, {}, (), self.weights)
        if isinstance(loss, Tensor) and loss.ndim and loss.shape != (1,):
            raise ValueError(
                "For 'TrainOneStepCell', the loss must be a single number, but it is of shape "
                f"{loss.shape}. With reduction='sum', a loss function has the "
                "gradients that MindSpore computes of such a loss; 'mean' is usual."
            )
        return (loss, gradients) if reduce is None else reduce(loss, gradients, rows)

    def _scaled(self, scale: float | Tensor, *inputs: Tensor) -> tuple[object, Tensor]:
        """Return the outputs of the network times `scale`, and the outputs."""
        outputs = self.network(*inputs)
        items = cast("Sequence[Tensor]", as_items(outputs) or (outputs,))
        return [output * scale for output in items], outputs


def in_float32(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Return `function(x)` in the type of `x`.

    If that is float16, the function is computed in float32, since a loss scale may be larger than
    any number in float16.
    """
    return function(x.float()).half() if x.dtype is float16 else function(x)


def _unreduced(gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return the gradients of a single process."""
    return gradients


def batch_size_of(inputs: Sequence[object]) -> int:
    """Return the length of the first input's first axis, or 1 if it has none."""
    first = inputs[0] if inputs else None
    return first.shape[0] if isinstance(first, Tensor) and first.ndim else 1


def _warn_of_foreign_parameters(network: Cell, optimizer: Optimizer) -> None:
    """Warn if the optimizer updates parameters that the network does not have."""
    ids = {id(parameter) for parameter in network.get_parameters()}
    foreign = [parameter for parameter in optimizer.parameters if id(parameter) not in ids]
    if foreign:
        warn_at_caller(
            f"For 'TrainOneStepCell', the optimizer updates {len(optimizer.parameters)} "
            f"parameters, of which {len(foreign)} are not parameters of the network, such as "
            f"'{foreign[0].name}'. Make the optimizer after the network, of its own "
            "'trainable_params()'."
        )


def _as_function(loss_fn: LossFunction) -> Callable[..., Tensor]:
    if not callable(loss_fn):
        raise type_error(loss_fn, "loss_fn", "be a Cell or a function")
    return loss_fn
