"""Cells around a network: with its loss, for evaluation, and one step of training.

They add no prefix: inside of them parameters are called what they are called in the network.
"""

from collections.abc import Callable, Sequence
from typing import cast

from minispore import ops
from minispore._checks import check_type, described
from minispore._warn import warn
from minispore.common.dtype import float32
from minispore.common.parameter import ParameterTuple
from minispore.common.tensor import Tensor
from minispore.nn._grad_reducer import DistributedGradReducer, begin_alike, reducer_of
from minispore.nn.cell import Cell
from minispore.nn.optim.optimizer import Optimizer, Spare


class WithLossCell(Cell):
    """A network and its loss in one: from the data and the label to the loss.

    >>> from minispore import Tensor, nn
    >>> net = nn.WithLossCell(nn.Dense(2, 1, "ones", "zeros"), nn.MSELoss())
    >>> net(Tensor([[1.0, 2.0]]), Tensor([[3.0]]))
    Tensor(shape=[], dtype=Float32, value= 0)

    Args:
        backbone: The network.
        loss_fn: A cell or a function from its output and the label to the loss.

    Raises:
        TypeError: `backbone` is no Cell, or `loss_fn` cannot be called.
    """

    def __init__(self, backbone: Cell, loss_fn: Callable[..., object]) -> None:
        super().__init__(auto_prefix=False)
        check_type(backbone, Cell, "backbone", "WithLossCell")
        _check_loss_fn(loss_fn, "WithLossCell")
        self._backbone = backbone
        self._loss_fn = loss_fn

    def construct(self, data: Tensor, label: Tensor) -> Tensor:
        """The loss of a batch."""
        return cast("Tensor", self._loss_fn(self._backbone(data), label))

    @property
    def backbone_network(self) -> Cell:
        """The network."""
        return self._backbone


class WithEvalCell(Cell):
    """A network and its loss for evaluation: from the data and the label to all that metrics want.

    Args:
        network: The network.
        loss_fn: A cell or a function from its output and the label to the loss.
        add_cast_fp32: Whether to turn the output into float32 first.

    Raises:
        TypeError: `network` is no Cell, `loss_fn` cannot be called, or `add_cast_fp32` is no bool.
    """

    def __init__(
        self, network: Cell, loss_fn: Callable[..., object], add_cast_fp32: bool = False
    ) -> None:
        super().__init__(auto_prefix=False)
        check_type(network, Cell, "network", "WithEvalCell")
        _check_loss_fn(loss_fn, "WithEvalCell")
        check_type(add_cast_fp32, bool, "add_cast_fp32", "WithEvalCell")
        self._network = network
        self._loss_fn = loss_fn
        self.add_cast_fp32 = add_cast_fp32

    def construct(self, data: Tensor, label: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The loss, the network's output and the label."""
        outputs = self._network(data)
        if self.add_cast_fp32:
            outputs = ops.cast(outputs, float32)
        return cast("Tensor", self._loss_fn(outputs, label)), outputs, label


class TrainOneStepCell(Cell):
    """One step of training: the loss, its gradients, and the optimiser's update.

    Where `set_auto_parallel_context` says so, the processes do their steps together: each has the
    reduced gradients of all, and the mean of their losses. In a mean every row counts once, and the
    rows are what the first axis of the first input counts.

    >>> from minispore import Tensor, nn
    >>> net = nn.Dense(1, 1, "ones", "zeros")
    >>> step = nn.TrainOneStepCell(
    ...     nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1)
    ... )
    >>> step(Tensor([[1.0]]), Tensor([[2.0]]))
    Tensor(shape=[], dtype=Float32, value= 1)
    >>> net.weight.asnumpy()
    array([[1.2]], dtype=float32)

    Args:
        network: From the inputs to the loss, such as a `WithLossCell`.
        optimizer: What updates the parameters: the network's, or some of them. A warning says how
            many are not the network's, if any.
        sens: What gradients are multiplied by; 1 if None.
        return_grad: Whether to return the gradients too.

    Raises:
        TypeError: An argument is of the wrong type.
    """

    def __init__(
        self,
        network: Cell,
        optimizer: Optimizer,
        sens: float | Tensor | None = None,
        return_grad: bool = False,
    ) -> None:
        super().__init__(auto_prefix=False)
        check_type(network, Cell, "network", "TrainOneStepCell")
        check_type(optimizer, Optimizer, "optimizer", "TrainOneStepCell")
        check_type(sens, (int, float, Tensor), "sens", "TrainOneStepCell", none=True)
        check_type(return_grad, bool, "return_grad", "TrainOneStepCell")
        self.network = network
        self.network.set_grad()
        self.optimizer = optimizer
        self.weights: ParameterTuple = optimizer.parameters
        self.sens: float | Tensor = 1.0 if sens is None else sens
        self.return_grad = return_grad
        _warn_of_others(network, optimizer)
        self.grad_reducer: DistributedGradReducer | None = reducer_of(self.weights)
        self.reducer_flag: bool = self.grad_reducer is not None
        if self.grad_reducer is not None:
            begin_alike(self)

    def construct(self, *inputs: Tensor) -> Tensor:
        """Do one step.

        Returns:
            What the network returned: the loss. With `return_grad`, in spite of the annotation, a
            tuple of that and a dictionary from the parameters' names to their gradients.

        Raises:
            ValueError: The loss is not a single number.
        """
        reducer = self.grad_reducer
        rows = 1 if reducer is None else rows_of(inputs)
        if not rows:
            # The others do this step; a mean over nothing would be NaN.
            gradients = tuple(ops.zeros_like(weight) for weight in self.weights)
            loss = Tensor(0.0)
        else:
            loss, gradients = ops.value_and_grad(self.network, None, self.weights)(*inputs)
        if isinstance(loss, Tensor) and loss.ndim and loss.shape != (1,):
            raise ValueError(
                "For 'TrainOneStepCell', the loss must be a single number, but it is of shape "
                f"{loss.shape}. A loss function with a 'reduction' makes it one with 'mean'."
            )
        if not isinstance(self.sens, float | int) or self.sens != 1:
            gradients = tuple(gradient * self.sens for gradient in gradients)
        if reducer is not None:
            loss, gradients = reducer.of_step(loss, gradients, rows)
        self.optimizer(gradients if self.return_grad else Spare(gradients))
        if self.return_grad:
            names = [parameter.name for parameter in self.weights]
            return cast("Tensor", (loss, dict(zip(names, gradients, strict=True))))
        return loss


def rows_of(inputs: Sequence[object]) -> int:
    """The rows of a batch: the length of its first input, or 1 if that is no batch."""
    first = inputs[0] if inputs else None
    return first.shape[0] if isinstance(first, Tensor) and first.ndim else 1


def _warn_of_others(network: Cell, optimizer: Optimizer) -> None:
    """Warn if the optimiser updates parameters that the network has not."""
    own = {id(parameter) for parameter in network.get_parameters()}
    others = [parameter for parameter in optimizer.parameters if id(parameter) not in own]
    if others:
        warn(
            f"For 'TrainOneStepCell', the optimizer updates {len(optimizer.parameters)} "
            f"parameters, of which {len(others)} are not parameters of the network, such as "
            f"'{others[0].name}'. Make the optimizer after the network, of its own "
            "'trainable_params()'."
        )


def _check_loss_fn(loss_fn: object, owner: str) -> None:
    if not callable(loss_fn):
        raise TypeError(
            f"For '{owner}', the argument 'loss_fn' must be a Cell or a function, "
            f"but got {described(loss_fn)}."
        )
