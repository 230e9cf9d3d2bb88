"""Callbacks that decide by a monitored value: against naive ones, and interrupted anywhere."""

import math
import os
from collections.abc import Callable, Sequence
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minispore.train import BestCheckpoint, Callback, EarlyStopping, ReduceLROnPlateau, RunContext

from .deciding import decisions, learning_rate, weight

# Few different values, so that ties and small differences are frequent; None is no evaluation.
value = st.sampled_from([0.0, -0.0, 0.25, 0.5, 0.75, 1.0, 2.0, -1.0, math.nan, math.inf, -math.inf])
values = st.lists(value | st.none(), max_size=12)
modes = st.sampled_from(["min", "max"])
deltas = st.sampled_from([0.0, 0.25, 0.5])


def better(a: float, b: float, mode: str, delta: float) -> bool:
    return a < b - delta if mode == "min" else a > b + delta


@settings(max_examples=300)
@given(values, modes, deltas, st.integers(0, 4), st.none() | st.sampled_from([0.0, 0.5]))
def test_early_stopping_is_ten_lines(
    sequence: list[float | None], mode: str, delta: float, patience: int, baseline: float | None
) -> None:
    best, wait, kept = math.inf if mode == "min" else -math.inf, 0, 0
    expected: list[object] = []
    stopped, last = 0, 0
    for last, now in enumerate(sequence, start=1):
        if now is not None:
            wait += 1
            if better(now, best, mode, delta):
                best, kept = now, last
                if baseline is None or better(now, baseline, mode, delta):
                    wait = 0
            stopped = last if wait >= max(1, patience) else 0
        expected.append((best, wait, stopped, float(kept or last) if stopped else float(last)))
        if stopped:
            break
    expected.append((best, wait, stopped, float(kept or last)))

    def make() -> EarlyStopping:
        return EarlyStopping("value", delta, patience, False, mode, baseline, True)

    found = decisions(
        make, sequence, lambda cb, run: (cb.best, cb.wait, cb.stopped_epoch, weight(run))
    )
    assert found == expected


@settings(max_examples=300)
@given(values, modes, deltas, st.integers(0, 3), st.integers(0, 3), st.sampled_from([0.0, 0.1, 1]))
def test_reduce_lr_on_plateau_is_ten_lines(
    sequence: list[float | None],
    mode: str,
    delta: float,
    patience: int,
    cooldown: int,
    min_lr: float,
) -> None:
    rate, best = np.float32(0.5), math.inf if mode == "min" else -math.inf
    wait = resting = 0
    expected: list[object] = []
    for now in sequence:
        if now is not None:
            if resting:
                resting, wait = resting - 1, 0
            if better(now, best, mode, delta):
                best, wait = now, 0
            elif not resting:
                wait += 1
                if wait >= patience:
                    if rate > np.float32(min_lr):
                        rate = max(rate * np.float32(0.1), np.float32(min_lr))
                    wait, resting = 0, cooldown
        expected.append((best, wait, resting, float(rate)))
    expected.append(expected[-1] if expected else (best, 0, 0, 0.5))

    def make() -> ReduceLROnPlateau:
        return ReduceLROnPlateau("value", 0.1, patience, False, mode, delta, cooldown, min_lr)

    found = decisions(
        make, sequence, lambda cb, run: (cb.best, cb.wait, cb.cooldown_counter, learning_rate(run))
    )
    assert found == expected


def files_and_values(callback: BestCheckpoint, folder: str) -> object:
    there = {name for name in os.listdir(folder) if name.endswith(".ckpt")}
    named = [(os.path.basename(path), value) for path, value in callback.files.items()]
    assert there == {name for name, _ in named}
    return named


@settings(max_examples=60)
@given(values, modes, st.integers(1, 3), st.sets(st.integers(1, 12), max_size=3))
def test_best_checkpoint_is_a_sorted_list_wherever_it_is_interrupted(
    sequence: list[float | None], mode: str, top_k: int, cuts: set[int]
) -> None:
    ranked: list[tuple[float, int]] = []
    expected: list[object] = []
    for number, now in enumerate(sequence, start=1):
        if now is not None and not math.isnan(now):
            ranked.append((now if mode == "min" else -now, number))
        ranked = sorted(ranked, key=lambda pair: pair[0])[:top_k]
        sign = 1 if mode == "min" else -1
        expected.append([(f"best-{epoch}_1.ckpt", sign * key) for key, epoch in ranked])
    expected.append(expected[-1] if expected else [])
    with TemporaryDirectory() as folder:
        found = decisions(
            lambda: BestCheckpoint("value", mode, top_k, directory=folder),
            sequence,
            lambda cb, _: files_and_values(cb, folder),
            sorted(cuts),
        )
    assert found == expected


# What each of them has decided, beside what it prints.
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
@settings(max_examples=60)
def test_interrupted_anywhere_the_decisions_are_the_same(name: str, data: st.DataObject) -> None:
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
