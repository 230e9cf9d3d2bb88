"""Callbacks of both APIs that record their hooks, and a model of tensorpack's loop."""

from collections.abc import Callable, Iterator
from contextlib import suppress

from minispore.tensorpack import Callback, RunValues, StopTraining
from minispore.train import Accuracy, Model, RunContext
from minispore.train import Callback as TrainCallback
from tests.helpers.stub_models import Batches, ConstantLoss, Outputs

HOOKS = (
    "setup_graph", "before_train", "before_epoch", "before_run", "after_run", "trigger_step",
    "after_epoch", "trigger_epoch", "after_train",
)  # fmt: skip
EVENTS = (
    *(f"on_train_{place}{end}" for place in ("", "epoch_", "step_") for end in ("begin", "end")),
    *("on_eval_begin", "on_eval_end", "on_exception"),
)
# The types of the arguments of hooks that receive others than their API's other hooks.
ARGUMENTS: dict[str, tuple[type, ...]] = {
    "before_run": (RunContext,),
    "after_run": (RunContext, RunValues),
    "on_exception": (RunContext, BaseException),
}
# The number of the callback, the hook, and the counters: epoch, global and local step.
Line = tuple[int, str, tuple[int, int, int]]
# The exception that this hook of this callback raises when it is called for the n-th time.
Failure = tuple[int, str, int, type[BaseException]]


class HookError(Exception):
    pass


class Log(list[Line]):
    def __init__(self, failure: Failure | None = None) -> None:
        super().__init__()
        self.failure = failure
        self.occurrences = 0

    def note(self, callback: int, hook: str, counters: tuple[int, int, int] = (0, 0, 0)) -> None:
        self.append((callback, hook, counters))
        if self.failure is not None and self.failure[:2] == (callback, hook):
            self.occurrences += 1
            if self.occurrences == self.failure[2]:
                raise self.failure[3]

    def of(self, *callback: int) -> list[Line]:
        return [line for line in self if line[0] in callback]


class Recorder:
    """A callback that notes its number and the name of each hook."""

    def __init__(self, log: Log, number: int) -> None:
        self.log = log
        self.number = number

    def note(self, hook: str) -> None:
        self.log.note(self.number, hook)


class Hooks(Recorder):
    """The hooks of tensorpack's callbacks."""


class Events(Recorder):
    """The events of MindSpore's callbacks."""


def _noting(name: str) -> Callable[..., None]:
    def hook(recorder: Recorder, *arguments: object) -> None:
        kinds = ARGUMENTS.get(name, (RunContext,) if name.startswith("on_") else ())
        if name != "exit":
            assert all(isinstance(x, kind) for x, kind in zip(arguments, kinds, strict=True))
        recorder.note(name)

    return hook


for _name in HOOKS:
    setattr(Hooks, f"_{_name}", _noting(_name))
for _name in EVENTS:
    setattr(Events, _name, _noting(_name))
setattr(Events, "__exit__", _noting("exit"))  # noqa: B010


class HookRecorder(Hooks, Callback):
    def note(self, hook: str) -> None:
        self.log.note(self.number, hook, (self.epoch_num, self.global_step, self.local_step))


class EventRecorder(Events, TrainCallback): ...


def stops_at(event: str, occurrence: int = 1, *, finished: bool = False) -> TrainCallback:
    """Return a callback that requests a stop when an event occurs for the n-th time."""
    callback, countdown = TrainCallback(), iter(range(occurrence - 1, -1, -1))

    def hook(run_context: RunContext) -> None:
        if next(countdown, None) == 0:
            run_context.request_stop(finished=finished)

    setattr(callback, event, hook)
    return callback


def train(
    log: Log,
    apis: str,
    epochs: int,
    steps: int,
    *more: TrainCallback,
    fit: bool,
    initial: int = 0,
    wrap: Callable[[TrainCallback], TrainCallback] = lambda callback: callback,
) -> None:
    """Run a `Model` with a callback for each letter, where "p" is one of tensorpack's."""
    kinds: dict[str, Callable[[Log, int], TrainCallback]] = {"p": HookRecorder, "m": EventRecorder}
    callbacks = [*(wrap(kinds[api](log, i)) for i, api in enumerate(apis)), *more]
    model = Model(
        ConstantLoss(),
        metrics={"accuracy": Accuracy()},
        eval_network=Outputs(),
        eval_indexes=[0, 1, 2],
    )
    if fit:
        last = initial + epochs
        model.fit(last, Batches(steps), Batches(2), 1, callbacks, initial_epoch=initial)
    else:
        model.train(initial + epochs, Batches(steps), callbacks, initial_epoch=initial)


def tensorpack(log: Log, numbers: list[int], epochs: int, steps: int, initial: int = 0) -> None:
    """Write the hooks that tensorpack's own loop calls, by its documentation, to `log`."""
    epoch, done, local = initial, initial * steps, -1

    def note(hook: str) -> None:
        for number in numbers:
            log.note(number, hook, (epoch, done, local))

    note("setup_graph")
    with suppress(StopTraining):
        try:
            note("before_train")
            for epoch in range(initial + 1, initial + epochs + 1):  # noqa: B007 (read by `note`)
                note("before_epoch")
                for local in range(steps):  # noqa: B007
                    note("before_run")
                    done += 1
                    note("after_run")
                    note("trigger_step")
                note("after_epoch")
                note("trigger_epoch")
        finally:
            interrupt = None
            for number in numbers:
                try:
                    log.note(number, "after_train", (epoch, done, local))
                except KeyboardInterrupt as error:  # here tensorpack skips the others
                    interrupt = error
                except Exception:  # tensorpack goes on
                    continue
            if interrupt is not None:
                raise interrupt


def outcome(run: Callable[[], None]) -> type[BaseException] | None:
    try:
        run()
    except (HookError, StopTraining, KeyboardInterrupt) as error:
        return type(error)
    return None


def failures(number: int) -> Iterator[Failure]:
    for hook in HOOKS:
        for kind in (HookError, StopTraining, KeyboardInterrupt):
            yield number, hook, 1, kind
            if hook not in {"setup_graph", "before_train", "after_train"}:
                yield number, hook, 2, kind
