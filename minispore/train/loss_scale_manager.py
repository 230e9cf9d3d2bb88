"""Managers of the loss scale, for `Model`; see `minispore.nn.wrap.loss_scale`."""

from abc import ABC, abstractmethod

from minispore.nn import Cell, DynamicLossScaleUpdateCell, FixedLossScaleUpdateCell
from minispore.nn.wrap.loss_scale import check_loss_scale, next_loss_scale
from minispore.utils.checks import check_int, check_number, check_type

__all__: list[str] = ["DynamicLossScaleManager", "FixedLossScaleManager", "LossScaleManager"]


class LossScaleManager(ABC):
    """Base class of managers of the loss scale.

    Source: MindSpore's `mindspore.train.LossScaleManager`.
    """

    @abstractmethod
    def get_loss_scale(self) -> float:
        """Return the loss scale."""

    @abstractmethod
    def update_loss_scale(self, overflow: bool) -> None:
        """Adjust the loss scale after a step.

        Args:
            overflow: Whether a gradient of the step has overflowed.
        """

    @abstractmethod
    def get_update_cell(self) -> Cell | None:
        """Return the cell by which `TrainOneStepWithLossScaleCell` adjusts the loss scale.

        None for steps that are made whether gradients overflow or not.
        """


class FixedLossScaleManager(LossScaleManager):
    """A loss scale that does not change.

    Args:
        loss_scale: The loss scale, at least 1. Without `drop_overflow_update`, give it to the
            optimizer as well, which divides the gradients.
        drop_overflow_update: Whether a step whose gradients overflow is not made.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: `loss_scale` is below 1.

    Examples:
        >>> from minispore.train import FixedLossScaleManager
        >>> FixedLossScaleManager(1024.0).get_loss_scale()
        1024.0

    Source: MindSpore's `mindspore.train.FixedLossScaleManager`.
    """

    def __init__(self, loss_scale: float = 128.0, drop_overflow_update: bool = True) -> None:
        check_loss_scale(loss_scale, "loss_scale")
        self._loss_scale = loss_scale
        check_type(drop_overflow_update, bool, "drop_overflow_update")
        self._drop_overflow_update = drop_overflow_update

    def get_loss_scale(self) -> float:
        """Return the loss scale."""
        return self._loss_scale

    def get_drop_overflow_update(self) -> bool:
        """Return whether a step whose gradients overflow is not made."""
        return self._drop_overflow_update

    def update_loss_scale(self, overflow: bool) -> None:
        """Do nothing."""

    def get_update_cell(self) -> Cell | None:
        """Return a `FixedLossScaleUpdateCell`; None without `drop_overflow_update`."""
        return FixedLossScaleUpdateCell(self._loss_scale) if self._drop_overflow_update else None


class DynamicLossScaleManager(LossScaleManager):
    """A loss scale that is divided after an overflow, and multiplied after a number of good steps.

    Args:
        init_loss_scale: The loss scale to begin with, at least 1.
        scale_factor: The divisor and factor, a number of at least 1.
        scale_window: The number of consecutive steps without overflow after which it grows.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range.

    Examples:
        >>> from minispore.train import DynamicLossScaleManager
        >>> manager = DynamicLossScaleManager(16, scale_factor=2, scale_window=1000)
        >>> manager.update_loss_scale(overflow=True)
        >>> manager.get_loss_scale()
        8.0

    Source: MindSpore's `mindspore.train.DynamicLossScaleManager`.
    """

    def __init__(
        self, init_loss_scale: float = 2**24, scale_factor: float = 2, scale_window: int = 2000
    ) -> None:
        check_loss_scale(init_loss_scale, "init_loss_scale")
        self.loss_scale: float = init_loss_scale
        self.scale_factor: float = check_number(scale_factor, "scale_factor", low=1)
        self.scale_window: int = check_int(scale_window, "scale_window", low=1)
        self._good_steps = 0

    def get_loss_scale(self) -> float:
        """Return the loss scale."""
        return self.loss_scale

    def get_drop_overflow_update(self) -> bool:
        """Return True: a step whose gradients overflow is not made."""
        return True

    def update_loss_scale(self, overflow: bool) -> None:
        """Adjust the loss scale after a step.

        Args:
            overflow: Whether a gradient of the step has overflowed.
        """
        self.loss_scale, self._good_steps = next_loss_scale(
            self.loss_scale,
            self.scale_factor,
            self.scale_window,
            self._good_steps,
            overflow=overflow,
        )

    def get_update_cell(self) -> Cell:
        """Return a `DynamicLossScaleUpdateCell` with the settings of this manager."""
        return DynamicLossScaleUpdateCell(self.loss_scale, self.scale_factor, self.scale_window)
