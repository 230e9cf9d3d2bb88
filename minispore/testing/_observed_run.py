"""Observation of one callback in one run: its calls, its output, and what it changes."""

import io
import re
from collections.abc import Collection, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from zlib import crc32

from minispore.common import Tensor
from minispore.common.seed import get_rng_state
from minispore.engine.array import is_ndarray
from minispore.testing._instrumentation import Span
from minispore.testing._snapshot import StateKey, StateSnapshot, StateSnapshotter, changed_keys
from minispore.train.protocol import Callback, RunContext, SupportsState
from minispore.train.resume.fingerprint import fingerprint
from minispore.utils.checks import is_mapping, is_sequence

# The run's parameters that belong to the loop; callbacks may change and add others.
_BOOKKEEPING = {
    "mode", "epoch_num", "initial_epoch", "batch_num", "cur_epoch_num", "cur_step_num", "network",
    "train_network", "eval_network", "loss_fn", "optimizer", "train_dataset", "valid_dataset",
    "list_callback", "train_dataset_element", "eval_dataset_element",
}  # fmt: skip
# For each kind of a state key: the invariant that a change violates, and the noun for the message.
_KINDS = {
    "entry": ("bookkeeping", "the run's parameter"),
    "parameter": ("parameters", "the parameter"),
}
_RNG_NAMES = {
    "program": "minispore's random streams",
    "numpy": "numpy's global random numbers",
    "python": "the random numbers of 'random'",
}
# The parts of a run in which a callback may set other parameters if it restores those of before.
SPANS = {"eval": "the evaluation", "run": "the run"}
# A progress bar, which is redrawn at times that differ between runs.
_BAR = re.compile(r"\r[^\n]*\n?")


def describe_position(name: str, epoch: object, step: object) -> str:
    """Return an event or hook with its epoch and step, as text.

    >>> describe_position("on_eval_end", None, 3), describe_position("on_train_begin", None, 0)
    ('on_eval_end in step 3', 'on_train_begin')
    """
    parts = [f"{unit} {n}" for unit, n in (("epoch", epoch), ("step", step)) if n]
    return f"{name} in {', '.join(parts)}" if parts else name


@dataclass(frozen=True)
class Call:
    """A call of one of the callback's methods: its position in the run, and what it printed."""

    position: str
    text: str


class CallbackObserver:
    """The instrument that observes one callback in one run.

    Args:
        subject: The callback.
        thorough: Whether to make the slow checks as well, which compare the random streams.
        may_change: The hooks whose changes of parameters last, and the `SPANS` at whose end the
            parameters are those of before.

    Attributes:
        subject: The argument.
        thorough: The argument.
        may_change: The argument.
        output: The stream that receives what is printed in the run.
        events: The loop's events, with epoch and step.
        calls: The calls of the callback's methods.
        rates: The learning rates at the end of each step.
        results: The results of each evaluation.
        stopped_at: The number of events before the callback requested a stop.
        violations: The violations of invariants, each with a message.
        resumes: Whether the run was resumed from a file.
    """

    def __init__(
        self, subject: Callback, *, thorough: bool = False, may_change: Collection[str] = ()
    ) -> None:
        self.subject, self.thorough, self.may_change = subject, thorough, may_change
        self.output = io.StringIO()
        self.events: list[str] = []
        self.calls: list[Call] = []
        self.rates: list[list[float]] = []
        self.results: list[str] = []
        self.stopped_at: int | None = None
        self.violations: list[tuple[str, str]] = []
        self.resumes = False
        self._inside_call = False
        self._to_restore: dict[str, StateSnapshot] = {}  # by span, from its begin to its end
        self._snapshotter = StateSnapshotter()

    @property
    def began(self) -> bool:
        """Whether the run has reached a step."""
        return any("_step_" in event for event in self.events)

    @contextmanager
    def span(self, span: Span) -> Generator[None, None, None]:
        """Observe a span of the run."""
        # A run that the callback itself starts is not observed.
        if self._inside_call or (span.kind == "call" and span.callback is not self.subject):
            yield
        elif span.kind == "call":
            self._inside_call = True
            try:
                yield from self._observe_call(span)
            finally:
                self._inside_call = False
        else:
            if span.kind == "event":
                self._observe_event(span)
            begun = {"run": "run", "on_eval_begin": "eval"}.get(span.name, "")
            if begun in self.may_change:
                self._to_restore[begun] = self._snapshotter.snapshot(span.context)
            try:
                yield
                if span.name == "on_eval_end":
                    self._check_restored(span, "eval")
            finally:
                self.resumes |= span.context.get_resume_requested() is not None
                if span.name == "run":
                    for name in [*self._to_restore]:
                        self._check_restored(span, name)

    def _observe_event(self, span: Span) -> None:
        self.events.append(_position(span))
        if span.name == "on_train_step_end":
            self.rates.append(_learning_rates(span.context))
        if span.name == "on_eval_end":
            results = span.context.original_args().get("eval_results")
            self.results.append(f"The result of an evaluation was {_plain(results)}")

    def _check_restored(self, span: Span, name: str) -> None:
        """Compare the parameters with those at the begin of a span of `SPANS`."""
        before = self._to_restore.pop(name, {})  # nothing if the exemption is not used
        for key in changed_keys(before, self._snapshotter.snapshot(span.context)):
            if key in before and key.kind == "parameter":
                message = f"At the end of {SPANS[name]} '{key.name}' was not that of its begin."
                self._add_violation("parameters", message)

    def _observe_call(self, span: Span) -> Generator[None, None, None]:
        context, printed = span.context, self.output.tell()
        stopped = context.get_stop_requested()
        before, rng_states = self._snapshotter.snapshot(context), self._rng_states()
        settings = self._settings(context)
        try:
            yield
        finally:
            for key in changed_keys(before, self._snapshotter.snapshot(context)):
                if key in before and not self._is_allowed(span.name, key):
                    invariant, noun = _KINDS[key.kind]
                    self._add_violation(invariant, f"{span.name} changed {noun} '{key.name}'.")
            after = self._settings(context)
            changed = (
                path for path in {**settings, **after} if settings.get(path) != after.get(path)
            )
            if path := next(changed, None):  # the others are often parts of it
                self._add_violation("bookkeeping", f"{span.name} changed {path!r}.")
            for stream, state in self._rng_states().items():
                if state != rng_states[stream]:
                    self._add_violation("random", f"{span.name} drew from {_RNG_NAMES[stream]}.")
            if context.get_stop_requested() and not stopped:
                self.stopped_at = len(self.events)
            elif stopped and not context.get_stop_requested():
                self._add_violation("bookkeeping", f"{span.name} cancelled a requested stop.")
            text = _BAR.sub("", self.output.getvalue()[printed:])
            self.calls.append(Call(_position(span), text))

    def _is_allowed(self, hook: str, key: StateKey) -> bool:
        """Return whether a hook may change it: a learning rate, or an entry of its own."""
        if key.kind == "entry":
            return key.name not in _BOOKKEEPING
        if key.name.startswith("learning_rate"):
            return True
        return bool(self._to_restore) or hook in self.may_change

    def _add_violation(self, invariant: str, message: str) -> None:
        self.violations.append((invariant, message))

    def _settings(self, context: RunContext) -> dict[str, str]:
        """Return what the datasets consist of, and the seeds, by path."""
        if not self.thorough:
            return {}
        params = context.original_args()
        roots = ("train_dataset", "valid_dataset")
        return fingerprint(**{name: params.get(name) for name in roots})

    def _rng_states(self) -> dict[str, object]:
        if not self.thorough:
            return {}
        state = get_rng_state()
        return {stream: _hashable(state[stream]) for stream in _RNG_NAMES}


def _position(span: Span) -> str:
    params = span.context.original_args()
    return describe_position(span.name, params.get("cur_epoch_num"), params.get("cur_step_num"))


def plain_attributes(callback: Callback) -> dict[str, object]:
    """Return the attributes and the state of a callback that consist of plain values.

    Of a callback with `state_dict`, private attributes are ignored.
    """
    stateful = isinstance(callback, SupportsState)
    values = {
        f"its attribute '{name}'": _plain(value)
        for name, value in vars(callback).items()
        if not (stateful and name.startswith("_"))
    }
    if isinstance(callback, SupportsState):
        with suppress(Exception):  # reported when a run is resumed
            for name, value in callback.state_dict().items():
                values[f"the entry '{name}' of its state"] = _plain(value)
    return {name: value for name, value in values.items() if value != _OTHER}


_OTHER = "…"


def _plain(value: object) -> object:
    """Return a value that can be compared and printed; `_OTHER` if there is none."""
    if isinstance(value, Tensor):
        value = value.asnumpy()
    if is_ndarray(value):
        large = f"an array {value.dtype} {value.shape} with the checksum {crc32(value.tobytes())}"
        return value.tolist() if value.size < 10 else large
    if isinstance(value, float):
        return repr(value)  # the representation of NaN is equal to itself
    if value is None or isinstance(value, bool | int | str):
        return value
    if is_mapping(value):
        entries = {key: _plain(item) for key, item in value.items()}
        return _OTHER if _OTHER in entries.values() else entries
    if is_sequence(value):
        items = [_plain(item) for item in value]
        return _OTHER if _OTHER in items else items
    return _OTHER


def _hashable(state: object) -> object:
    """Return the state of a random stream as a value that can be compared."""
    if is_mapping(state):
        return tuple((key, _hashable(value)) for key, value in state.items())
    if is_ndarray(state):
        return state.tobytes()
    return state


def _learning_rates(context: RunContext) -> list[float]:
    optimizer = context.original_args().optimizer
    assert optimizer is not None, "it is the small model's run"
    rates = optimizer.get_lr()
    all_rates = (rates,) if isinstance(rates, Tensor) else rates
    return [float(rate.asnumpy().reshape(-1)[0]) for rate in all_rates]
