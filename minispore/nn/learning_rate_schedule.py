"""Learning rates as cells: from the number of the step to its rate, worked out as training goes."""

import numpy as np

from minispore._checks import check_int, check_type, described
from minispore.common.tensor import Tensor, host_tensor
from minispore.nn import _rates
from minispore.nn._rates import check_bounds, check_rate
from minispore.nn.cell import Cell


class LearningRateSchedule(Cell):
    """The base of schedules; a subclass defines `construct(global_step)`.

    >>> from minispore import Tensor, nn
    >>> class Halved(nn.LearningRateSchedule):
    ...     def construct(self, global_step: Tensor) -> Tensor:
    ...         return 0.5 ** (global_step + 1.0)
    >>> optimizer = nn.SGD(nn.Dense(1, 1).trainable_params(), learning_rate=Halved())
    """

    def construct(self, global_step: Tensor) -> Tensor:
        """The learning rate of step `global_step`, which counts from 0."""
        raise NotImplementedError(
            f"For '{type(self).__name__}', the method 'construct' is not defined."
        )


class _Formula(LearningRateSchedule):
    """A schedule given by a formula in plain numbers."""

    def construct(self, global_step: Tensor | int) -> Tensor:
        """The learning rate at `global_step`, in float32 and of its shape.

        Raises:
            TypeError: `global_step` is neither a Tensor nor an int.
            ValueError: It is infinite or no number.
        """
        owner = self.cls_name
        check_type(global_step, (Tensor, int, np.integer), "global_step", owner)
        steps = (
            global_step.asnumpy() if isinstance(global_step, Tensor) else np.asarray(global_step)
        )
        if steps.dtype.kind == "f" and not np.isfinite(steps).all():
            raise ValueError(
                f"For '{owner}', the argument 'global_step' must be finite, "
                f"but got {described(global_step)}."
            )
        rates = [self._rate(int(step)) for step in steps.flat]
        return host_tensor(np.array(rates, np.float32).reshape(steps.shape))

    def _rate(self, step: int) -> float:
        raise NotImplementedError


class _Decay(_Formula):
    """What the three decays without an end have in common: their settings."""

    def __init__(
        self, learning_rate: float, decay_rate: float, decay_steps: int, is_stair: bool = False
    ) -> None:
        super().__init__()
        owner = self.cls_name
        check_rate(learning_rate, "learning_rate", owner)
        check_rate(decay_rate, "decay_rate", owner)
        check_type(is_stair, bool, "is_stair", owner)
        self.learning_rate = learning_rate
        self.decay_rate = decay_rate
        self.decay_steps: int = check_int(decay_steps, "decay_steps", owner, low=1)
        self.is_stair = is_stair


class ExponentialDecayLR(_Decay):
    """`learning_rate * decay_rate ** (step / decay_steps)`.

    >>> from minispore import Tensor, nn
    >>> nn.ExponentialDecayLR(0.1, 0.5, decay_steps=2)(Tensor(4))
    Tensor(shape=[], dtype=Float32, value= 0.025)

    Args:
        learning_rate: The rate of step 0.
        decay_rate: The factor for each `decay_steps` steps.
        decay_steps: In how many steps the rate falls by the factor once.
        is_stair: Let it fall all at once at their end.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is not above 0.
    """

    def _rate(self, step: int) -> float:
        passed = _rates.position(step, self.decay_steps, self.is_stair)
        return _rates.exponential(self.learning_rate, self.decay_rate, passed)


class NaturalExpDecayLR(_Decay):
    """`learning_rate * exp(-decay_rate * step)`; arguments as for `ExponentialDecayLR`.

    With `is_stair` the step is rounded down to a multiple of `decay_steps`, which has no effect
    otherwise.
    """

    def _rate(self, step: int) -> float:
        time = step - step % self.decay_steps if self.is_stair else step
        return _rates.natural_exponential(self.learning_rate, self.decay_rate, time)


class InverseDecayLR(_Decay):
    """`learning_rate / (1 + decay_rate * step / decay_steps)`; as for `ExponentialDecayLR`."""

    def _rate(self, step: int) -> float:
        passed = _rates.position(step, self.decay_steps, self.is_stair)
        return _rates.inverse(self.learning_rate, self.decay_rate, passed)


class CosineDecayLR(_Formula):
    """From `max_lr` to `min_lr` along half a cosine in `decay_steps` steps, then `min_lr`.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range, or `max_lr` not above `min_lr`.
    """

    def __init__(self, min_lr: float, max_lr: float, decay_steps: int) -> None:
        super().__init__()
        check_bounds(min_lr, max_lr, "CosineDecayLR")
        self.min_lr = min_lr
        self.max_lr = max_lr
        self.decay_steps: int = check_int(decay_steps, "decay_steps", "CosineDecayLR", low=1)

    def _rate(self, step: int) -> float:
        return _rates.cosine(self.min_lr, self.max_lr, step, self.decay_steps)


class PolynomialDecayLR(_Formula):
    """From `learning_rate` to `end_learning_rate` along `(1 - step / decay_steps) ** power`.

    Args:
        learning_rate: The rate of step 0.
        end_learning_rate: The rate from step `decay_steps` on.
        decay_steps: The length of the descent.
        power: 1 for a straight line.
        update_decay_steps: Start a new, longer descent instead of staying at the end: `decay_steps`
            is replaced by its smallest multiple that is not below the step.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range.
    """

    def __init__(
        self,
        learning_rate: float,
        end_learning_rate: float,
        decay_steps: int,
        power: float,
        update_decay_steps: bool = False,
    ) -> None:
        super().__init__()
        check_rate(learning_rate, "learning_rate", "PolynomialDecayLR")
        check_rate(end_learning_rate, "end_learning_rate", "PolynomialDecayLR", zero=True)
        check_rate(power, "power", "PolynomialDecayLR")
        check_type(update_decay_steps, bool, "update_decay_steps", "PolynomialDecayLR")
        self.start_learning_rate = learning_rate
        self.end_learning_rate = end_learning_rate
        self.decay_steps: int = check_int(decay_steps, "decay_steps", "PolynomialDecayLR", low=1)
        self.power = power
        self.update_decay_steps = update_decay_steps

    def _rate(self, step: int) -> float:
        return _rates.polynomial(
            self.start_learning_rate,
            self.end_learning_rate,
            step,
            self.decay_steps,
            self.power,
            self.update_decay_steps,
        )


class WarmUpLR(_Formula):
    """From 0 to `learning_rate` in a straight line of `warmup_steps` steps, then the same.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range.
    """

    def __init__(self, learning_rate: float, warmup_steps: int) -> None:
        super().__init__()
        check_rate(learning_rate, "learning_rate", "WarmUpLR", zero=True)
        self.learning_rate = learning_rate
        self.warmup_steps: int = check_int(warmup_steps, "warmup_steps", "WarmUpLR", low=1)

    def _rate(self, step: int) -> float:
        return _rates.warm_up(self.learning_rate, step, self.warmup_steps)
