"""Differential tests against MindSpore: expressions have MindSpore's recorded outcomes.

The expressions of each package and their outcomes are recorded in `<package>.txt`, with each
intended difference; `<package>.py` evaluates them. If the environment variable
MINISPORE_MINDSPORE_PYTHON names a Python that has MindSpore, they are compared with the outcomes
of that MindSpore as well.
"""

import math
import os
import re
import subprocess
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

import pytest

from minispore.common import context
from minispore.common.seed import get_rng_state, set_rng_state
from minispore.ops import seed
from tests.oracles import signatures
from tests.oracles.common import Entry, read

ROOT = Path(__file__).parents[2]
# The tolerance of each package's numbers: MindSpore's float32 kernels approximate tanh and log to
# about five digits.
TOLERANCES = {
    "common": 0.0,
    "dataset": 1e-5,
    "metrics": 0.0,
    "nn": 2e-5,
    "ops": 1e-5,
    "signatures": 0.0,
    "train": 0.0,
}
NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.?\d*(?:e[-+]\d+)?|inf|nan)(?![\w.])")


class Oracle(Protocol):
    """A module that evaluates expressions."""

    FILE: Path
    outcome: Callable[[str, str], str]


def oracle(name: str) -> Oracle:
    return cast("Oracle", import_module(f"tests.oracles.{name}"))


def lines(name: str) -> list[str]:
    return oracle(name).FILE.read_text("utf-8").splitlines()


def agree(result: str, expected: str, tolerance: float) -> bool:
    """Return whether two outcomes are equal up to rounding errors of their numbers."""
    if NUMBER.sub("0", result) != NUMBER.sub("0", expected):
        return False
    pairs = zip(NUMBER.findall(result), NUMBER.findall(expected), strict=True)
    return result == expected or all(
        x == y or math.isclose(float(x), float(y), rel_tol=tolerance, abs_tol=tolerance)
        for x, y in pairs
    )


ENTRIES = {name: list(read(lines(name))) for name in TOLERANCES}
full = pytest.mark.full
every_oracle = pytest.mark.parametrize("name", TOLERANCES)


STATE = get_rng_state()


def isolate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy the context's settings and forget the seed."""
    monkeypatch.setattr(context, "_settings", dict(context._settings))
    monkeypatch.setattr(seed, "_seeds", dict.fromkeys(seed._seeds))
    monkeypatch.setattr(seed, "_streams", {})


def differs(name: str, entry: Entry, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return how an outcome differs from the recorded one, or "". Each starts in a fresh state."""
    isolate(monkeypatch)
    set_rng_state(STATE)
    result = oracle(name).outcome("minispore", entry.expression)
    if agree(result, entry.ours, TOLERANCES[name]):
        return ""
    return f"{entry.expression}: {result} is not {entry.ours}"


@every_oracle
def test_outcomes_are_the_recorded_ones(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    differences = [differs(name, entry, monkeypatch) for entry in ENTRIES[name]]
    assert [difference for difference in differences if difference] == []


@every_oracle
def test_every_expression_of_a_file_is_read(name: str) -> None:
    unindented = [line for line in lines(name) if line and line[0] not in "# "]
    assert [entry.expression for entry in ENTRIES[name]] == unindented
    assert len(set(unindented)) == len(unindented) > 100
    assert all(entry.theirs for entry in ENTRIES[name])


@every_oracle
def test_recorded_differences_are_real(name: str) -> None:
    recorded = sum("    here: " in line for line in lines(name))
    different = [e for e in ENTRIES[name] if not agree(e.ours, e.theirs, TOLERANCES[name])]
    assert recorded == len(different)


@full
@every_oracle
@pytest.mark.skipif(
    "MINISPORE_MINDSPORE_PYTHON" not in os.environ, reason="no MINISPORE_MINDSPORE_PYTHON"
)
def test_mindspore_gives_the_recorded_outcomes(name: str) -> None:
    run = subprocess.run(
        [os.environ["MINISPORE_MINDSPORE_PYTHON"], "-m", f"tests.oracles.{name}", "mindspore"],
        input="\n".join(lines(name)),
        capture_output=True,
        encoding="utf-8",
        check=True,
        cwd=ROOT,
        env={**os.environ, "GLOG_v": "4"},
    )
    for actual, recorded in zip(run.stdout.splitlines(), lines(name), strict=True):
        assert agree(actual, recorded, TOLERANCES[name])


@full
def test_every_public_name_has_a_recorded_signature() -> None:
    listed = [entry.expression for entry in ENTRIES["signatures"]]
    assert listed == list(signatures.expressions())


def test_outcomes_agree_up_to_rounding_of_numbers() -> None:
    assert agree("float32[2] 1.000001 nan", "float32[2] 1 nan", 1e-5)
    assert not agree("float32[2] 1.0001 nan", "float32[2] 1 nan", 1e-5)
    assert not agree("float32[2] 1 nan", "float64[2] 1 nan", 1e-5)
    assert not agree("float32[2] 1 nan", "float32[2] 1 0", 1e-5)
    assert not agree("-inf", "inf", 1e-5)
    assert not agree("1", "1 1", 1e-5)
