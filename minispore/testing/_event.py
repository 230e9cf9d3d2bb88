"""An event: one thing that happened in a run, as data."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Event:
    """One thing that happened: a run, an event of the loop, or a call of a callback's method.

    Two are equal if the same happened; when, and how long it took, does not matter.

    Attributes:
        name: "run", the event's name, or the method's.
        source: Whose method was called: the class's name, with a number from the second callback of
            a class on; "" for the run and the loop.
        depth: How deep it is nested.
        epoch: The epoch at its end, None before the first and in an evaluation of its own.
        step: The step at its end, counted as `cur_step_num` is; None before the first.
        stop: Whether a stop was requested in it.
        raised: The type of the exception that came out of it, "" for none.
        start: Seconds from the beginning of the trace.
        duration: Seconds.
        changed: What the callback's method changed in the run: a parameter by its name, with both
            values where it is one number ("learning_rate from 0.1 to 0.05"), and what the run's
            `original_args` give as "cb_params.name".
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
