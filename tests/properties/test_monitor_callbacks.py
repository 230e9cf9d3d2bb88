"""Callbacks with a monitored metric, compared with simple models, also when interrupted."""

import math
import os
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from minispore.train import BestCheckpoint, Callback, EarlyStopping, ReduceLROnPlateau, RunContext
from tests.helpers.callback_driver import decisions, learning_rate, weight

# Few different values, so that ties and small differences are frequent; None is no evaluation.
value = st.sampled_from([0.0, -0.0, 0.25, 0.5, 0.75, 1.0, 2.0, -1.0, math.nan, math.inf, -math.inf])
values = st.lists(value | st.none(), max_size=12)
modes = st.sampled_from(["min", "max", "auto"])  # of the name "mse"
deltas = st.sampled_from([0.0, 0.25, 0.5])


def better(a: float, b: float, mode: str, delta: float) -> bool:
    return a > b + delta if mode == "max" else a < b - delta


@settings(max_examples=4 * settings().max_examples)
@given(
    values,
    modes,
    deltas,
    st.integers(0, 4),
    st.none() | st.sampled_from([0.0, 0.5]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 3),
    st.booleans(),
)
@example([1.0, 0.0, 0.5, 0.5], "min", 0.0, 2, None, True, True, 0, True)  # zero is a value
@example([1.0, 0.5, 0.25, 0.25, 0.25, 0.25], "min", 0.25, 3, 0.5, True, True, 0, False)
@example([1.0, 0.5, 0.5, 0.5], "auto", 0.0, 2, None, True, False, 0, False)
@example([0.5, 1.0, 1.0, 1.0], "min", 0.0, 1, None, True, True, 1, False)
@example([math.nan, 1.0, math.inf], "max", 0.0, 2, None, True, True, 1, True)
@example([1.0, math.nan, math.nan], "min", 0.0, 2, None, True, True, 0, False)
def test_early_stopping_matches_model(
    sequence: list[float | None],
    mode: str,
    delta: float,
    patience: int,
    baseline: float | None,
    verbose: bool,
    restores: bool,
    start: int,
    finite: bool,
) -> None:
    best, wait, best_at = math.inf if mode != "max" else -math.inf, 0, 0
    expected: list[object] = []
    stopped, last = 0, 0
    reason = ""
    for last, now in enumerate(sequence, start=1):
        if now is not None and last > start and finite and not math.isfinite(now):
            stopped, reason = last, f"'mse' is {now}"
        elif now is not None and last > start:
            wait += 1
            if better(now, best, mode, delta):
                best, best_at = now, last if restores else 0
                if baseline is None or better(now, baseline, mode, delta):
                    wait = 0
            stopped = last if wait >= max(1, patience) else 0
            if stopped:
                reached = baseline is None or better(best, baseline, mode, delta)
                bound = f"{best:g}" if reached else f"the baseline {baseline:g}"
                epochs = f"{wait} epoch{'s' * (wait > 1)}"
                reason = f"'mse' was not better than {bound} for {epochs}"
        expected.append((best, wait, stopped, float(best_at or last) if stopped else float(last)))
        if stopped:
            break
    expected.append((best, wait, stopped, float(best_at or last)))
    lines = [f"Epoch {stopped:05d}: {reason}"] * (" is " in reason)
    lines += ["Restoring model weights from the end of the best epoch."] * (best_at > 0)
    lines += [f"Epoch {stopped:05d}: early stopping"] * (stopped > 0)

    def make() -> EarlyStopping:
        return EarlyStopping(
            "mse", delta, patience, verbose, mode, baseline, restores, start, finite
        )

    def observe(callback: EarlyStopping, run: RunContext) -> object:
        assert not run.is_interrupted()  # a stopped training has finished
        assert run.get_stop_requested() == bool(callback.stopped_epoch)
        assert callback.stopping_reason == (reason if run.get_stop_requested() else "")
        return callback.best, callback.wait, callback.stopped_epoch, weight(run)

    with redirect_stdout(StringIO()) as screen:
        actual = decisions(make, sequence, observe, name="mse")
    assert actual == expected
    assert screen.getvalue().splitlines() == (lines if verbose else [])


@settings(max_examples=4 * settings().max_examples)
@given(
    values,
    modes,
    deltas,
    st.integers(0, 3),
    st.integers(0, 3),
    st.sampled_from([0.0, 0.1, 1]),
    st.booleans(),
    st.sampled_from([0.1, 0.5, 0.9]),
)
@example([1.0, 0.0, 0.0], "min", 0.0, 1, 0, 0.0, True, 0.1)  # zero is a value
@example([1.0] * 8, "min", 0.25, 2, 3, 0.0, True, 0.5)
@example([1.0, 2.0] * 3, "auto", 0.0, 1, 0, 0.1, True, 0.1)  # the bound is between two rates
@example([1.0, 0.75, 0.5], "auto", 0.25, 1, 0, 0.0, True, 0.9)  # an improvement by the minimum
def test_reduce_lr_on_plateau_matches_model(
    sequence: list[float | None],
    mode: str,
    delta: float,
    patience: int,
    cooldown: int,
    min_lr: float,
    verbose: bool,
    factor: float,
) -> None:
    rate, best = np.float32(0.5), math.inf if mode != "max" else -math.inf
    wait = resting = 0
    expected: list[object] = []
    lines: list[str] = []
    for number, now in enumerate(sequence, start=1):
        if now is not None:
            if resting:
                resting, wait = resting - 1, 0
            if better(now, best, mode, delta):
                best, wait = now, 0
            elif not resting:
                wait += 1
                if wait >= patience:
                    if rate > np.float32(min_lr):
                        rate = max(rate * np.float32(factor), np.float32(min_lr))
                        line = "ReduceLROnPlateau reducing learning rate to"
                        lines.append(f"Epoch {number:05d}: {line} {rate!s}.")
                    wait, resting = 0, cooldown
        expected.append((best, wait, resting, float(rate)))
    expected.append(expected[-1] if expected else (best, 0, 0, 0.5))

    def make() -> ReduceLROnPlateau:
        return ReduceLROnPlateau("mse", factor, patience, verbose, mode, delta, cooldown, min_lr)

    def observe(callback: ReduceLROnPlateau, run: RunContext) -> object:
        return callback.best, callback.wait, callback.cooldown_counter, learning_rate(run)

    with redirect_stdout(StringIO()) as screen:
        actual = decisions(make, sequence, observe, name="mse")
    assert actual == expected
    assert screen.getvalue().splitlines() == (lines if verbose else [])


def files_and_values(callback: BestCheckpoint, folder: str) -> object:
    there = set(os.listdir(folder))
    named = [(os.path.basename(path), value) for path, value in callback.files.items()]
    assert there == {name for name, _ in named}
    return named


@settings(max_examples=2 * settings().max_examples)
@given(
    values,
    modes,
    st.integers(1, 3),
    st.sets(st.integers(1, 12), max_size=3),
    st.sampled_from(["ckpt", "safetensors"]),
)
@example([2.0, 1.0, 0.5, 1.0, None, 0.0, 3.0], "min", 2, {3, 6}, "ckpt")
@example([2.0, 1.0, 0.5, 1.0, None, 0.0, 3.0], "auto", 2, {3, 6}, "safetensors")
def test_best_checkpoint_matches_sorted_list(
    sequence: list[float | None], mode: str, top_k: int, cuts: set[int], format: str
) -> None:
    ranked: list[tuple[float, int]] = []
    expected: list[object] = []
    for number, now in enumerate(sequence, start=1):
        if now is not None and not math.isnan(now):
            ranked.append((-now if mode == "max" else now, number))
        ranked = sorted(ranked, key=lambda pair: pair[0])[:top_k]
        sign = -1 if mode == "max" else 1
        expected.append([(f"a-{epoch}_1.{format}", sign * key) for key, epoch in ranked])
    expected.append(expected[-1] if expected else [])
    with TemporaryDirectory() as folder:
        actual = decisions(
            lambda: BestCheckpoint("mse", mode, top_k, "a", folder, format),
            sequence,
            lambda cb, _: files_and_values(cb, folder),
            sorted(cuts),
            "mse",
        )
    assert actual == expected


# The decisions of each of them, apart from its output.
DECIDERS: dict[str, tuple[Callable[[str], Callback], Callable[[Callback, RunContext], object]]] = {
    "EarlyStopping": (
        lambda _: EarlyStopping("value", 0.25, 2, True, "min", 0.75, True),
        lambda cb, run: (run.get_stop_requested(), weight(run)),
    ),
    "ReduceLROnPlateau": (
        lambda _: ReduceLROnPlateau("value", 0.5, 2, True, "max", 0.25, 2),
        lambda cb, run: learning_rate(run),
    ),
    "BestCheckpoint": (
        lambda folder: BestCheckpoint("value", "max", 2, directory=folder),
        lambda cb, run: sorted(os.listdir(run.original_args().folder)),
    ),
}


@pytest.mark.parametrize("name", DECIDERS)
@given(data=st.data())
def test_interruption_does_not_change_decisions(name: str, data: st.DataObject) -> None:
    sequence = data.draw(values)
    cuts = data.draw(st.sets(st.integers(1, 12)))
    make, observe = DECIDERS[name]

    def decided(cuts: Sequence[int]) -> list[object]:
        with TemporaryDirectory() as folder:

            def observe_here(callback: Callback, context: RunContext) -> object:
                context.original_args().folder = folder
                return observe(callback, context)

            return decisions(lambda: make(folder), sequence, observe_here, cuts)

    assert decided(sorted(cuts)) == decided([])


@pytest.mark.parametrize("name", ["EarlyStopping", "ReduceLROnPlateau"])
@given(earlier=values, later=values)
def test_reused_callback_decides_like_a_new_one(
    name: str, earlier: list[float | None], later: list[float | None]
) -> None:
    make, observe = DECIDERS[name]
    reused = make("")
    decisions(lambda: reused, earlier, observe)
    assert decisions(lambda: reused, later, observe) == decisions(lambda: make(""), later, observe)
