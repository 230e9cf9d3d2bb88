"""Every reader satisfies the contract: with earlier failures, cut files, mutants, random bytes."""

import secrets
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import settings

from tests.fuzz.mutation import Mutant, cuts, mutant, smallest
from tests.fuzz.reader_contract import ContractError, Reader, check_contract
from tests.fuzz.reader_registry import READERS

NIGHTLY = settings().max_examples >= 1000
# The number of mutants of a reader; each nightly run has another seed.
COUNT = 5_000 if NIGHTLY else 100
SEED = secrets.randbits(32) if NIGHTLY else 0

each_reader = pytest.mark.parametrize("reader", READERS, ids=str)


@each_reader
def test_valid_files_are_read(reader: Reader, tmp_path: Path) -> None:
    outcomes = [check_contract(reader, seed, tmp_path) for seed in reader.seeds]
    assert "read" in outcomes


@each_reader
def test_examples_of_earlier_failures(reader: Reader, tmp_path: Path) -> None:
    for example in reader.examples.values():
        check_contract(reader, example, tmp_path)


@each_reader
def test_truncated_files(reader: Reader, tmp_path: Path) -> None:
    for seed in reader.seeds if NIGHTLY else reader.seeds[:1]:
        for data in cuts(seed, int(reader.share * (300 if NIGHTLY else 30)) + 1):
            check_contract(reader, data, tmp_path)


@each_reader
def test_mutated_files(reader: Reader, tmp_path: Path, outcomes: Counter[str]) -> None:
    for number in range(int(COUNT * reader.share)):
        made = mutant(reader.seeds, Random(f"{SEED} {number}"), text=reader.text)
        try:
            outcomes[check_contract(reader, made.data, tmp_path)] += 1
        except ContractError as error:
            _fail(reader, made, tmp_path, number, error)


@each_reader
def test_random_bytes(reader: Reader, tmp_path: Path) -> None:
    for number in range(int(COUNT * reader.share) // 10):
        rng = Random(f"{SEED} {number}")
        check_contract(reader, rng.randbytes(rng.randrange(200)), tmp_path)


def _fail(reader: Reader, made: Mutant, folder: Path, number: int, error: ContractError) -> None:
    def fails(data: bytes) -> bool:
        try:
            check_contract(reader, data, folder)
        except ContractError:
            return True
        return False

    minimal = smallest(made, fails)
    changes = "\n    ".join(map(repr, minimal.changes))
    pytest.fail(
        f"{error}\nmutant {number} of seed {SEED}: file {reader.seeds.index(minimal.seed)} with\n"
        f"    {changes}\nas an example for the registry: {minimal.data!r:.2000}"
    )
