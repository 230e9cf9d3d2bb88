"""Every reader under the law: what was read wrongly once, cuts, mutants and any bytes."""

import secrets
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import settings

from .law import LawError, Reader, judge
from .mutation import Mutant, cuts, mutant, smallest
from .readers import READERS

# Mutants of a reader: 200 by day, 8,000 in the nightly profile; other ones each night.
COUNT = 8 * settings().max_examples
NIGHTLY = settings().max_examples >= 1000
SEED = secrets.randbits(32) if NIGHTLY else 0

each_reader = pytest.mark.parametrize("reader", READERS, ids=str)


@pytest.fixture(scope="module")
def told() -> Iterator[dict[str, Counter[str]]]:
    """What came of each reader's mutants, printed at the end (`-s` shows it)."""
    found: dict[str, Counter[str]] = {}
    yield found
    print(f"\nmutants from seed {SEED}:")
    for name, outcomes in found.items():
        print(f"{name:32} {outcomes.total():7}  {dict(sorted(outcomes.items()))}")
    print(f"{'in all':32} {sum(outcomes.total() for outcomes in found.values()):7}")


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
    seeds = reader.seeds if NIGHTLY else reader.seeds[:1]
    for seed in seeds:
        for data in cuts(seed) if NIGHTLY or reader.share == 1 else list(cuts(seed))[-5:]:
            judge(reader, data, tmp_path)


@each_reader
def test_mutants(reader: Reader, tmp_path: Path, told: dict[str, Counter[str]]) -> None:
    outcomes = told.setdefault(reader.name, Counter())
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
