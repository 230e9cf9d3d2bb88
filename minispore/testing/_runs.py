"""Runs of a callback in an empty folder, and their results."""

import gc
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from itertools import zip_longest

from minispore.testing._instrumentation import instrument_runs
from minispore.testing._leaks import ProcessResources
from minispore.testing._observed_run import CallbackObserver, plain_attributes
from minispore.testing._scenario import Scenario, fixed_rng, small_model
from minispore.testing._snapshot import shared_state
from minispore.train.model import Model
from minispore.train.protocol import Callback

Factory = Callable[[], Callback]

# A printed number, such as a time, that may differ between equal runs.
_NUMBER = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?")


@dataclass(frozen=True)
class RunResult:
    """The result of a run.

    Attributes:
        scenario: The scenario.
        observer: The observer, with the events and calls.
        error: The exception that reached the caller, or None.
        text: The output until the end of the run.
        late_text: The output after it.
        leaks: Messages about leaked resources.
        parameters: The bytes of each parameter at the end.
        attributes: The callback's plain attributes and state at the end.
        files: The files in the current folder.
    """

    scenario: Scenario
    observer: CallbackObserver
    error: BaseException | None
    text: str
    late_text: str
    leaks: tuple[str, ...]
    parameters: dict[str, bytes]
    attributes: dict[str, object]
    files: tuple[str, ...]

    def describe_calls(self, *, exact: bool) -> list[str]:
        """Return each call with what it printed; numbers are replaced by "#" unless `exact`."""
        return [
            f"{f'printed {text!r}' if text else 'printed nothing'} at {call.position}"
            for call in self.observer.calls
            for text in [call.text if exact else _NUMBER.sub("#", call.text)]
        ]


def differences(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of items in which two lists differ.

    >>> list(differences(["a", "b"], ["a", "c", "d"]))
    [('b', 'c'), ('the end', 'd')]
    """
    for pair in zip_longest(old, new, fillvalue="the end"):
        if pair[0] != pair[1]:
            yield pair


def _shared_changes(before: Mapping[str, object], after: Mapping[str, object]) -> Iterator[str]:
    for name in {**before, **after}:
        if before.get(name) != after.get(name):
            yield f"{name} was changed, which all objects of the class share"


class Sandbox:
    """A folder that is the current folder during the runs in it.

    Args:
        folder: The folder; its content is removed.
        content: A folder whose content is copied to it, or None.
    """

    def __init__(self, folder: str, content: str | None = None) -> None:
        os.makedirs(folder, exist_ok=True)
        for entry in os.scandir(folder):  # to remove the folder itself would take longer
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry)
            else:
                os.remove(entry)
        if content is not None:
            shutil.copytree(content, folder, dirs_exist_ok=True)
        self._folder = folder

    def make(self, factory: Factory) -> Callback:
        """Return the callback that `factory` makes in this folder."""
        with chdir(self._folder):
            return factory()

    def run(
        self,
        scenario: Scenario,
        observer: CallbackObserver,
        others: Sequence[Callback] = (),
        resume: str | None = None,
    ) -> RunResult:
        """Run the scenario with the observed callback, and return the result.

        Args:
            scenario: The scenario.
            observer: The observer.
            others: Callbacks to add after the observed one.
            resume: The checkpoint to resume from, or None.
        """
        subject, output = observer.subject, observer.output
        with chdir(self._folder), redirect_stdout(output), redirect_stderr(output):
            before, shared = ProcessResources.capture(), shared_state(subject)
            try:
                model, error = run_observed(scenario, observer, [subject, *others], resume)
                text = output.getvalue()
                leaks = [*before.leaks(), *_shared_changes(shared, shared_state(subject))]
            finally:
                before.restore()
            if observer.thorough:
                gc.collect()
            return RunResult(
                scenario,
                observer,
                error,
                text,
                output.getvalue()[len(text) :],
                tuple(leaks),
                {p.name: p.asnumpy().tobytes() for p in model.train_network.get_parameters()},
                plain_attributes(subject),
                tuple(sorted(os.listdir())),
            )


def run_observed(
    scenario: Scenario,
    observer: CallbackObserver,
    callbacks: Sequence[Callback],
    resume: str | None = None,
) -> tuple[Model, BaseException | None]:
    """Run a scenario; return the model and the exception that reached the caller, or None."""
    with fixed_rng(), instrument_runs(observer):
        model = small_model()
        try:
            scenario.run_on(model, callbacks, resume)
        except BaseException as error:
            injected = scenario.fault is not None and scenario.fault.kind == "interrupt"
            if isinstance(error, KeyboardInterrupt) and not injected:
                raise
            return model, error
    return model, None
