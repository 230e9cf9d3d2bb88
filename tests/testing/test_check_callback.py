"""Public callbacks satisfy all invariants, and each kind of violation is reported."""

import gc
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from typing import Literal, Never, Self

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tqdm import tqdm

import minispore.dataset
import minispore.train
from minispore import Tensor, nn, set_seed, train
from minispore.common.seed import get_rng_state, set_rng_state
from minispore.dataset import WaitedDSCallback
from minispore.testing import INVARIANTS, CallbackError, Fault, Scenario, check_callback
from minispore.testing import strategies as mst
from minispore.testing._invariants import baseline_run
from minispore.testing._sampling import sample_scenarios
from minispore.testing._scenario import Kind
from minispore.train import callback as cb
from minispore.train.protocol import EVENTS
from tests.testing.faulty_callbacks import (
    BAD,
    BAD_AVERAGING,
    OPENED,
    TOUCHES,
    VIOLATIONS,
    Borrows,
    Forgets,
    Keeps,
    Late,
)
from tests.testing.small_training import ROWS

QUICK_AVERAGING = {"StaysAfterEvaluation", "StaysAfterStop", "IsNotReset"}


class Louder(WaitedDSCallback):
    """A callback with a state, as in the intended use."""

    def __init__(self) -> None:
        super().__init__()
        self.volume = 1.0

    def on_train_epoch_end(self, run_context: train.RunContext) -> None:
        self.volume /= 2

    def on_train_begin(self, run_context: train.RunContext) -> None:
        super().on_train_begin(run_context)
        self.volume = 1.0

    def state_dict(self) -> dict[str, object]:
        return {"volume": self.volume}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        volume = state["volume"]
        assert isinstance(volume, float)
        self.volume = volume


Case = tuple[Callable[[], train.Callback], dict[str, list[str]]]


FIT = {"modes": ["fit"]}
SWAPS = {"may_change": ["eval", "on_train_end"]}


# Every public callback, and options of check_callback. A test fails if a new one is missing.
OURS: dict[str, list[Case]] = {
    "BackupAndRestore": [
        (lambda: cb.BackupAndRestore("backup"), {}),
        (lambda: cb.BackupAndRestore("backup", 2), {}),
        (lambda: cb.BackupAndRestore("backup", save_steps=3), {}),
    ],
    "BestCheckpoint": [
        # A second run compares with the files of the first, and has another prefix.
        (lambda: cb.BestCheckpoint(top_k=2), {**FIT, "keeps": ["prefix", "values"]}),
        (
            lambda: cb.BestCheckpoint("accuracy", value_in_name=True, save_last=True),
            {**FIT, "keeps": ["prefix", "values"]},
        ),
    ],
    "Callback": [(train.Callback, {})],
    "EarlyStopping": [
        (lambda: cb.EarlyStopping(patience=1), FIT),
        # It restores the best weights.
        (
            lambda: cb.EarlyStopping("accuracy", restore_best_weights=True),
            {**FIT, "may_change": ["on_train_epoch_end", "on_train_end"]},
        ),
        (lambda: cb.EarlyStopping(start_from_epoch=1, check_finite=True, verbose=True), FIT),
    ],
    "FlopsUtilizationCollector": [(lambda: cb.FlopsUtilizationCollector(2, 10**9), {})],
    "History": [(cb.History, {"keeps": ["history", "learning_rate"]})],
    "CSVLogger": [
        (lambda: cb.CSVLogger("run.csv"), {}),
        (lambda: cb.CSVLogger("run.csv", 1, ";"), {}),
    ],
    "ProgressBar": [(cb.ProgressBar, {})],
    "LambdaCallback": [
        (lambda: train.LambdaCallback(on_train_epoch_end=lambda _: print("done")), {})
    ],
    "LearningRateScheduler": [
        (lambda: cb.LearningRateScheduler(lambda rate, step: rate * 0.9), {})
    ],
    "LossMonitor": [(lambda: cb.LossMonitor(2), {})],
    "ModelCheckpoint": [
        (lambda: cb.ModelCheckpoint("net"), {}),
        (lambda: cb.ModelCheckpoint("net", "files", train.CheckpointConfig(1, None, 2)), {}),
        (lambda: cb.ModelCheckpoint("net", config=train.CheckpointConfig(async_save=True)), {}),
    ],
    "OnRequestExit": [(cb.OnRequestExit, {})],
    "ReduceLROnPlateau": [(lambda: cb.ReduceLROnPlateau(patience=1), FIT)],
    "SummaryCollector": [(lambda: cb.SummaryCollector("summary"), {})],
    "TerminateOnNaN": [(cb.TerminateOnNaN, {})],
    "TimeLimit": [
        (lambda: cb.TimeLimit(3600), {}),
        (lambda: cb.TimeLimit(1e-9), {}),  # every run is stopped after its first step
    ],
    "TimeMonitor": [(cb.TimeMonitor, {})],
    "WeightAveraging": [
        (lambda: cb.WeightAveraging(0.5), SWAPS),
        (lambda: cb.WeightAveraging(None, 2, 3), SWAPS),
    ],
    "WaitedDSCallback": [(Louder, {})],
}


def public_callbacks() -> set[str]:
    """Return the names of all callbacks in the public modules."""
    names: set[str] = set()
    for module in (cb, minispore.train, minispore.dataset):
        for name in module.__all__:
            value: object = getattr(module, name)
            if (
                isinstance(value, type)
                and issubclass(value, train.Callback)
                and value.__name__ != "CallbackManager"
            ):
                names.add(name)
    return names


def test_table_contains_every_public_callback() -> None:
    assert public_callbacks() == OURS.keys()


# Of the others the complete check suffices, which takes seconds.
QUICK = {"LossMonitor", "OnRequestExit"}


@pytest.mark.parametrize(
    ("factory", "options"),
    [
        pytest.param(*cases[0], id=name, marks=[] if name in QUICK else [pytest.mark.full])
        for name, cases in OURS.items()
    ],
)
def test_public_callbacks_satisfy_all_invariants_in_one_kind_of_run(
    factory: Callable[[], train.Callback], options: dict[str, list[str]]
) -> None:
    check_callback(factory, **({"modes": ["train"]} | options), samples=0)  # type: ignore[arg-type]


@pytest.mark.full
@pytest.mark.parametrize(
    ("factory", "options"),
    [
        # All but the first form of each callback are slow tests.
        pytest.param(*case, id=f"{name}-{i}", marks=[pytest.mark.slow] if i else [])
        for name, cases in OURS.items()
        for i, case in enumerate(cases)
    ],
)
def test_public_callbacks_satisfy_all_invariants(
    factory: Callable[[], train.Callback], options: dict[str, list[str]]
) -> None:
    check_callback(factory, **options)  # type: ignore[arg-type]


IGNORABLE = INVARIANTS.keys() - {"parameters"}
HOOKS = [event for event in EVENTS if event.startswith("on_train_")]


def mode_of(factory: Callable[[], train.Callback]) -> Literal["train", "eval"]:
    """Return the kind of run in which a faulty callback violates its invariant."""
    return "eval" if any(name.startswith("on_eval") for name in vars(factory)) else "train"


def process_state() -> list[object]:
    """Return the state of the process that a check must not change."""
    handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    settings = [np.geterr(), np.get_printoptions(), [*warnings.filters], [*sys.path]]
    return [repr(get_rng_state()), os.getcwd(), dict(os.environ), sys.stdout, handlers, *settings]


@cache
def error_report(factory: Callable[[], train.Callback], invariant: str) -> CallbackError:
    """Return the error of a faulty callback, after checking that the process state is unchanged.

    The runs that this invariant does not need are left out.
    """
    before = process_state()
    others = IGNORABLE - {invariant}
    changes = () if invariant == "parameters" else HOOKS
    with pytest.raises(CallbackError) as raised:
        check_callback(
            factory, modes=[mode_of(factory)], ignore=others, may_change=changes, samples=0
        )
    while OPENED:
        OPENED.pop().close()
    gc.collect()  # some callbacks print when they are collected
    assert process_state() == before
    return raised.value


@pytest.mark.parametrize(
    ("invariant", "factory", "message"),
    [
        # All but the first violation of each invariant are in the full run only.
        pytest.param(*case, marks=[pytest.mark.full] if case[0] in earlier else [])
        for case, earlier in ((case, {bad[0] for bad in BAD[:i]}) for i, case in enumerate(BAD))
    ],
)
def test_violations_are_reported(
    invariant: str, factory: Callable[[], train.Callback], message: str
) -> None:
    error = error_report(factory, invariant)
    assert {violation.invariant for violation in error.violations} == {invariant}
    assert any(message in violation.message for violation in error.violations), error
    assert INVARIANTS[invariant] in str(error)


@pytest.mark.parametrize("name", TOUCHES)
def test_what_belongs_to_all_must_not_change(name: str) -> None:
    factory, invariant, message = TOUCHES[name]
    before = process_state()
    with pytest.raises(CallbackError) as raised:
        unrelated = IGNORABLE - {invariant}
        check_callback(factory, modes=[mode_of(factory)], ignore=unrelated, samples=0)
    assert process_state() == before
    of_it = [v.message for v in raised.value.violations if v.invariant == invariant]
    assert any(message in text for text in of_it), raised.value


@pytest.mark.parametrize(
    ("factory", "invariant", "message"),
    [
        pytest.param(*case, marks=[] if case[0].__name__ in QUICK_AVERAGING else [pytest.mark.full])
        for case in BAD_AVERAGING
    ],
)
def test_averages_must_be_restored_reset_and_resumed(
    factory: Callable[[], train.Callback], invariant: str, message: str
) -> None:
    with pytest.raises(CallbackError) as raised:
        check_callback(factory, modes=["fit"], samples=0, may_change=SWAPS["may_change"])
    assert any(message in violation.message for violation in raised.value.violations), raised.value
    assert {violation.invariant for violation in raised.value.violations} == {invariant}


def test_parameters_may_change_only_where_they_are_named() -> None:
    def check(factory: Callable[[], train.Callback], where: str) -> None:
        ignore = ["exceptions", "resume"]
        check_callback(factory, modes=["train"], samples=0, ignore=ignore, may_change=[where])

    check(Borrows, "run")
    for factory, where, message in (
        (Keeps, "run", "At the end of the run '0.weight' was not that of its begin."),
        (Borrows, "on_train_end", "on_train_begin changed the parameter '0.weight'."),
        (Borrows, "on_train_begin", "__exit__ changed the parameter '0.weight'."),
        (Borrows, "eval", "on_train_begin changed the parameter '0.weight'."),
    ):
        with pytest.raises(CallbackError, match=message):
            check(factory, where)


@pytest.mark.full
@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_report_does_not_depend_on_earlier_random_state(seed: int, dataset_seed: int) -> None:
    expected = error_report(Forgets, "resume")
    state = get_rng_state()
    try:
        set_seed(seed)
        minispore.dataset.config.set_seed(dataset_seed)
        actual = error_report.__wrapped__(Forgets, "resume")
    finally:
        set_rng_state(state)
    assert actual.violations == expected.violations


class FailsInOneShape(train.Callback):
    def __init__(self, epochs: int, steps: int) -> None:
        self._size = (epochs, steps)

    def on_train_end(self, run_context: train.RunContext) -> None:
        params = run_context.original_args()
        if (params.epoch_num, params.batch_num) == self._size:
            raise ZeroDivisionError


@pytest.mark.full
@settings(max_examples=5)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 99))
def test_an_error_in_trainings_of_one_size_is_found(epochs: int, steps: int, seed: int) -> None:
    unrelated = IGNORABLE - {"errors"}
    with pytest.raises(CallbackError) as raised:
        check_callback(
            lambda: FailsInOneShape(epochs, steps),
            modes=["train"],
            ignore=unrelated,
            samples=9,
            seed=seed,
        )
    scenario = Scenario("train", epochs, steps)
    assert scenario in raised.value.scenarios
    assert str(scenario) in {violation.where for violation in raised.value.violations}
    assert f"{epochs}×{steps}" in str(raised.value).splitlines()[-1]


KINDS: list[Kind] = ["train", "fit", "eval"]
kinds = st.lists(st.sampled_from(KINDS), min_size=1, unique=True)


@given(kinds, st.integers(0, 60), st.integers(0, 99))
def test_sampled_scenarios_include_every_size_without_a_fault(
    kinds: list[Kind], count: int, seed: int
) -> None:
    sampled = sample_scenarios(kinds, count, seed)
    assert sampled == sample_scenarios(kinds, count, seed)
    assert len(set(sampled)) == len(sampled) <= count
    without_fault = [scenario for scenario in sampled if scenario.fault is None]
    assert sampled[: len(without_fault)] == without_fault
    for i, kind in enumerate(kinds):
        share = count // len(kinds) + (i < count % len(kinds))
        of_kind = [scenario for scenario in without_fault if scenario.kind == kind]
        if kind == "eval":
            assert len({scenario.valid_batches for scenario in of_kind}) == min(share, 3)
        else:
            sizes = {(scenario.epochs, scenario.batches) for scenario in of_kind}
            assert len(sizes) == min(share, 9)
            assert sizes <= {(e, s) for e in (1, 2, 3) for s in (1, 2, 3)}


def test_sampled_scenarios_have_all_kinds_of_faults_and_validation() -> None:
    sampled = sample_scenarios(KINDS, 600, seed=0)
    faults = [scenario.fault for scenario in sampled if scenario.fault]
    assert {fault.event for fault in faults} == set(EVENTS)
    assert {fault.kind for fault in faults} == {"stop", "exception", "interrupt", "kill"}
    assert {fault.times for fault in faults} == {1, 2, 3, 4}
    assert {fault.first for fault in faults} == {False, True}
    for kind in KINDS:
        of_kind = [scenario.fault for scenario in sampled if scenario.kind == kind]
        assert of_kind.count(None) == (3 if kind == "eval" else 9)  # each size once
        events = {fault.event for fault in of_kind if fault}
        assert events == {e for e in EVENTS if kind == "fit" or e.startswith(f"on_{kind}_")}
    fits = [scenario for scenario in sampled if scenario.kind == "fit"]
    assert {fit.valid_batches for fit in fits} == {None, 1, 2, 3}
    assert {True, False} == {bool(fit.validated_epochs) for fit in fits}
    assert sampled != sample_scenarios(KINDS, 600, seed=1)


@pytest.mark.parametrize(
    ("scenario", "text"),
    [
        (Scenario(epochs=1), "train with 1 epoch of 2 steps"),
        (Scenario("eval", valid_batches=1), "eval with 1 step"),
        (
            Scenario("fit", valid_batches=None),
            "fit with 2 epochs of 2 steps, without validation data",
        ),
        (
            Scenario("fit", batches=1),
            "fit with 2 epochs of 1 step, validated with 2 steps after each epoch",
        ),
        (
            Scenario("fit", 3, 2, 1, 2),
            "fit with 3 epochs of 2 steps, validated with 1 step every 2 epochs",
        ),
        (
            Scenario("fit", 3, 2, 1, (1, 3)),
            "fit with 3 epochs of 2 steps, validated with 1 step after the epochs [1, 3]",
        ),
        (Fault("on_train_begin"), "a stop requested at on_train_begin"),
        (
            Fault("on_eval_end", 2, "kill", first=True),
            "a kill at on_eval_end number 2, by an earlier callback",
        ),
    ],
)
def test_scenario_describes_itself(scenario: Scenario | Fault, text: str) -> None:
    assert str(scenario) == text
    if isinstance(scenario, Scenario):
        fault = Fault("on_eval_end", kind="exception")
        assert str(replace(scenario, fault=fault)) == f"{text}, an exception at on_eval_end"


@given(mst.scenarios(faults=()))
def test_validated_epochs_are_those_with_an_evaluation(scenario: Scenario) -> None:
    events = [event for event in baseline_run(scenario).events if "on_eval_begin" in event]
    expected = 0 if scenario.kind != "fit" else len(events)
    assert len(scenario.validated_epochs) == expected


def test_output_of_collected_garbage_is_not_attributed() -> None:
    gc.disable()  # so that only the check collects
    try:
        Late()
        check_callback(train.Callback, modes=["eval"])
    finally:
        gc.enable()


def test_every_invariant_has_a_violating_callback() -> None:
    assert VIOLATIONS.keys() == INVARIANTS.keys()


class Evaluates(train.Callback):
    """A callback that starts another run during the run."""

    def on_train_epoch_end(self, run_context: train.RunContext) -> None:
        model = train.Model(
            run_context.original_args().network, nn.CrossEntropyLoss(), metrics={"loss"}
        )
        print(model.eval(ROWS, callbacks=train.History()))


class Writes(train.Callback):
    """A callback that keeps a file open during the run, and prints times."""

    def __enter__(self) -> Self:
        self.file = open("log.txt", "a", encoding="utf-8")
        return self

    def on_train_step_end(self, run_context: train.RunContext) -> None:
        self.file.write(f"{run_context.original_args().net_outputs}\n")

    def on_eval_step_end(self, run_context: train.RunContext) -> None:
        print(f"{time.perf_counter():.3f} s")

    def __exit__(self, *error: object) -> None:
        self.file.close()


class TakesTurns(train.Callback):
    """A callback with a state, and with attributes that are no part of it or that appear later."""

    def __init__(self) -> None:
        self._calls = 0
        self._on = False

    def on_train_begin(self, run_context: train.RunContext) -> None:
        self._on = False

    def on_train_step_end(self, run_context: train.RunContext) -> None:
        self._names = ["loss"]
        self._calls += 1
        self._on = not self._on
        print("on" if self._on else "off")

    def state_dict(self) -> dict[str, object]:
        return {"on": self._on}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        self._on = bool(state["on"])


class Careful(train.Callback):
    """A callback that reads what belongs to all, and restores what it sets."""

    NAMES = ["loss", "rate"]

    def on_train_step_end(self, run_context: train.RunContext) -> None:
        params = run_context.original_args()
        with np.errstate(all="ignore"), np.printoptions(precision=2), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            batch = [column.asnumpy().copy() for column in params.train_dataset_element or ()]
            batch[0][...] = 0
            print(*self.NAMES, len(batch))

    def on_train_epoch_end(self, run_context: train.RunContext) -> None:
        data = run_context.original_args().train_dataset
        x, _ = next(iter(data.create_tuple_iterator(num_epochs=1)))
        assert isinstance(x, Tensor)
        x[...] = x * 0


class Measures(train.Callback):
    """A callback whose attributes, printed numbers and file names are times, with a bar."""

    def __init__(self) -> None:
        self.bar: tqdm[Never] | None = None

    def on_train_begin(self, run_context: train.RunContext) -> None:
        self.started = time.perf_counter_ns()

    def on_train_epoch_begin(self, run_context: train.RunContext) -> None:
        self.bar = tqdm(total=run_context.original_args().batch_num, mininterval=0)

    def on_train_step_end(self, run_context: train.RunContext) -> None:
        assert self.bar is not None
        self.bar.update()

    def on_train_epoch_end(self, run_context: train.RunContext) -> None:
        self.__exit__()

    def on_train_end(self, run_context: train.RunContext) -> None:
        print(f"{time.perf_counter_ns() - self.started} ns")
        open(f"{time.perf_counter_ns()}.txt", "w", encoding="utf-8").close()

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.close()
        self.bar = None


@pytest.mark.parametrize(
    "factory",
    [
        *(pytest.param(cls, marks=pytest.mark.full) for cls in (Evaluates, Measures)),
        Careful,
        TakesTurns,
        Writes,
    ],
)
def test_valid_callbacks_pass(factory: Callable[[], train.Callback]) -> None:
    check_callback(factory, modes=["train"] if factory is not Writes else ["fit"], samples=0)


class Interrupts(train.Callback):
    """A callback during which the user presses Ctrl-C."""

    def on_train_step_end(self, run_context: train.RunContext) -> None:
        raise KeyboardInterrupt


def test_keyboard_interrupt_ends_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = Scenario("train", epochs=1, batches=1)
    before = process_state()
    for check in (lambda: check_callback(Interrupts), lambda: scenario.run([Interrupts()])):
        with pytest.raises(KeyboardInterrupt):
            check()
        assert process_state() == before
    monkeypatch.setattr(Scenario, "run_on", lambda *_: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        baseline_run.__wrapped__(scenario)


def test_check_runs_in_a_thread() -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(check_callback, train.LossMonitor, modes=["eval"]).result()


@pytest.mark.full
@settings(max_examples=min(10, settings().max_examples))
@given(st.sets(st.sampled_from(sorted(IGNORABLE))))
@example({*IGNORABLE})
def test_runs_for_ignored_invariants_are_left_out(ignored: set[str]) -> None:
    tried = check_callback(train.Callback, modes=["eval"], ignore=ignored, samples=0)
    assert any(str(run).endswith("number 1000") for run in tried) == ("reuse" not in ignored)


def test_rejecting_a_supported_mode_is_a_violation() -> None:
    with pytest.raises(CallbackError, match="errors: .*\n  In train with 2 epochs of 2 steps:"):
        check_callback(lambda: train.EarlyStopping(patience=1), modes=["train"], samples=0)


def test_report_shows_the_simplest_run_per_invariant() -> None:
    with pytest.raises(CallbackError) as raised:
        check_callback(BAD[0][1], modes=["train", "fit"], ignore=["resume"], samples=2)
    lines = str(raised.value).splitlines()
    assert lines[:3] == [
        "The callback Faulty violates 1 of 10 invariants.",
        "",
        "errors: It raises no exception in a run in which nothing else fails.",
    ]
    assert lines[3].startswith("  In train with 2 epochs of 2 steps (and ")
    assert lines[-1].startswith(f"Tried: {len(raised.value.scenarios)} scenarios: train (epochs × ")
    assert raised.value.violations[0].where == "train with 2 epochs of 2 steps"
