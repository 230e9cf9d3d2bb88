"""Events of a trace."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Event:
    """An event of a trace: a run, an event of the loop, or a call of a callback's method.

    The times are not compared: two events are equal if the same happened.

    Attributes:
        name: "run", the name of the loop's event, or the name of the method.
        source: The class name of the called callback, numbered from the second of a class on; ""
            for the run and the loop's events.
        depth: The nesting depth.
        epoch: The epoch at its end; None before the first, and in `Model.eval`.
        step: The step at its end, counted as in `cur_step_num`, in an evaluation its own; None
            before the first.
        stop: Whether a stop was requested during it.
        raised: The type of the exception that it raised, or "".
        start: The time since the start of the trace, in seconds.
        duration: The duration in seconds.
        changed: The changes that a call made: parameters by their names, with both values if there
            is one element ("learning_rate from 0.1 to 0.05"), and entries of the run's
            `original_args` as "cb_params.name".
        position: The index of the called callback in the run's list; None for the run and the
            loop's events. Like the times, it is not compared.

    Examples:
        >>> Event("on_train_begin", start=0.25) == Event("on_train_begin", start=0.5)
        True
    """

    name: str
    source: str = ""
    depth: int = 0
    epoch: int | None = None
    step: int | None = None
    stop: bool = False
    raised: str = ""
    start: float = field(default=0.0, compare=False)
    duration: float = field(default=0.0, compare=False)
    changed: tuple[str, ...] = ()
    position: int | None = field(default=None, compare=False)
