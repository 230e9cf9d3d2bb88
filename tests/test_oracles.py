"""Expressions have the outcomes that MindSpore gives them, except where another is meant.

The expressions of each package and their outcomes are kept in an `oracle.txt`; the `oracle.py`
beside it says how they are worked out. Where MINISPORE_MINDSPORE_PYTHON names a Python that has
MindSpore, it is also asked whether it still gives these outcomes.
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

from minispore.common import context, seed

from .common.oracle import Entry, read
from .signatures import oracle as signatures

ROOT = Path(__file__).parents[1]
# Each package's oracle, and how far numbers may be from MindSpore's: it has kernels of its own, in
# float32, with approximations of tanh and log that leave five digits.
WITHIN = {"common": 0.0, "metrics": 0.0, "nn": 2e-5, "ops": 1e-5, "signatures": 0.0}
NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.?\d*(?:e[-+]\d+)?|inf|nan)(?![\w.])")


class Oracle(Protocol):
    """A module that works out expressions."""

    FILE: Path
    outcome: Callable[[str, str], str]


def oracle(name: str) -> Oracle:
    return cast("Oracle", import_module(f"{__package__}.{name}.oracle"))


def lines(name: str) -> list[str]:
    return oracle(name).FILE.read_text("utf-8").splitlines()


def alike(found: str, expected: str, within: float) -> bool:
    """Whether two outcomes are the same but for the last digits of their numbers."""
    if NUMBER.sub("0", found) != NUMBER.sub("0", expected):
        return False
    pairs = zip(NUMBER.findall(found), NUMBER.findall(expected), strict=True)
    return found == expected or all(
        x == y or math.isclose(float(x), float(y), rel_tol=within, abs_tol=within) for x, y in pairs
    )


ENTRIES = {name: list(read(lines(name))) for name in WITHIN}
EVERY = [
    pytest.param(name, entry, id=f"{name}: {entry.expression}")
    for name, entries in ENTRIES.items()
    for entry in entries
]
every_oracle = pytest.mark.parametrize("name", WITHIN)


@pytest.fixture(autouse=True)
def _own_context_and_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "_settings", dict(context._settings))
    monkeypatch.setattr(seed, "_seed", [None])
    monkeypatch.setattr(seed, "_streams", {})


@pytest.mark.parametrize(("name", "entry"), EVERY)
def test_outcome(name: str, entry: Entry) -> None:
    found = oracle(name).outcome("minispore", entry.expression)
    assert alike(found, entry.ours, WITHIN[name]), f"{found} is not {entry.ours}"


@every_oracle
def test_the_file_is_read_to_its_end(name: str) -> None:
    at_the_margin = [line for line in lines(name) if line and line[0] not in "# "]
    assert [entry.expression for entry in ENTRIES[name]] == at_the_margin
    assert len(set(at_the_margin)) == len(at_the_margin) > 100
    assert all(entry.theirs for entry in ENTRIES[name])


@every_oracle
def test_a_difference_is_written_down_only_where_there_is_one(name: str) -> None:
    differences = sum("    here: " in line for line in lines(name))
    different = [e for e in ENTRIES[name] if not alike(e.ours, e.theirs, WITHIN[name])]
    assert differences == len(different)


@every_oracle
@pytest.mark.skipif(
    "MINISPORE_MINDSPORE_PYTHON" not in os.environ, reason="no MINISPORE_MINDSPORE_PYTHON"
)
def test_mindspore_gives_these_outcomes(name: str) -> None:
    run = subprocess.run(
        [os.environ["MINISPORE_MINDSPORE_PYTHON"], "-m", f"tests.{name}.oracle", "mindspore"],
        input="\n".join(lines(name)),
        capture_output=True,
        encoding="utf-8",
        check=True,
        cwd=ROOT,
        env={**os.environ, "GLOG_v": "4"},
    )
    for now, kept in zip(run.stdout.splitlines(), lines(name), strict=True):
        assert alike(now, kept, WITHIN[name])


def test_each_public_name_has_its_signature_written_down() -> None:
    listed = [entry.expression for entry in ENTRIES["signatures"]]
    assert listed == list(signatures.expressions())


def test_numbers_are_alike_to_some_digits_and_all_else_in_each_letter() -> None:
    assert alike("float32[2] 1.000001 nan", "float32[2] 1 nan", 1e-5)
    assert not alike("float32[2] 1.0001 nan", "float32[2] 1 nan", 1e-5)
    assert not alike("float32[2] 1 nan", "float64[2] 1 nan", 1e-5)
    assert not alike("float32[2] 1 nan", "float32[2] 1 0", 1e-5)
    assert not alike("-inf", "inf", 1e-5)
    assert not alike("1", "1 1", 1e-5)
