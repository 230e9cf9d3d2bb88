"""Every reader under the law: what was read wrongly once, cuts, mutants and any bytes."""

import secrets
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import settings

from .law import LawError, Reader, judge
from .mutation import Mutant, cuts, mutant, smallest
from .readers import READERS

NIGHTLY = settings().max_examples >= 1000
# Mutants of a reader; other ones each night.
COUNT = 5_000 if NIGHTLY else 100
SEED = secrets.randbits(32) if NIGHTLY else 0

each_reader = pytest.mark.parametrize("reader", READERS, ids=str)


@each_reader
def test_valid_files_are_read(reader: Reader, tmp_path: Path) -> None:
    outcomes = [judge(reader, seed, tmp_path) for seed in reader.seeds]
    assert "read" in outcomes


@each_reader
def test_what_was_read_wrongly_once(reader: Reader, tmp_path: Path) -> None:
    for example in reader.examples.values():
        judge(reader, example, tmp_path)


@each_reader
def test_every_cut(reader: Reader, tmp_path: Path) -> None:
    for seed in reader.seeds if NIGHTLY else reader.seeds[:1]:
        for data in cuts(seed, int(reader.share * (300 if NIGHTLY else 30)) + 1):
            judge(reader, data, tmp_path)


@each_reader
def test_mutants(reader: Reader, tmp_path: Path, outcomes: Counter[str]) -> None:
    for number in range(int(COUNT * reader.share)):
        made = mutant(reader.seeds, Random(f"{SEED} {number}"), text=reader.text)
        try:
            outcomes[judge(reader, made.data, tmp_path)] += 1
        except LawError as error:
            _fail(reader, made, tmp_path, number, error)


@each_reader
def test_any_bytes(reader: Reader, tmp_path: Path) -> None:
    for number in range(int(COUNT * reader.share) // 10):
        rng = Random(f"{SEED} {number}")
        judge(reader, rng.randbytes(rng.randrange(200)), tmp_path)


def _fail(reader: Reader, made: Mutant, folder: Path, number: int, error: LawError) -> None:
    def fails(data: bytes) -> bool:
        try:
            judge(reader, data, folder)
        except LawError:
            return True
        return False

    least = smallest(made, fails)
    changes = "\n    ".join(map(repr, least.changes))
    pytest.fail(
        f"{error}\nmutant {number} of seed {SEED}: file {reader.seeds.index(least.seed)} with\n"
        f"    {changes}\nas an example for the table: {least.data!r:.2000}"
    )
