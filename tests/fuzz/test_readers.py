"""Every reader satisfies the contract: with earlier failures, cut files, mutants, random bytes."""

import secrets
from pathlib import Path
from random import Random

import pytest
from hypothesis import settings

from tests.fuzz.mutation import cuts, mutant
from tests.fuzz.reader_contract import ContractError, Reader, check_contract
from tests.fuzz.reader_registry import READERS

NIGHTLY = settings().max_examples >= 1000
# The number of mutants of a reader; each nightly run has another seed.
COUNT = 5_000 if NIGHTLY else min(100, 4 * settings().max_examples)
SEED = secrets.randbits(32) if NIGHTLY else 0

each_reader = pytest.mark.parametrize("reader", READERS, ids=str)


@each_reader
def test_valid_files_are_read(reader: Reader, tmp_path: Path) -> None:
    assert "read" in [check_contract(reader, seed, tmp_path) for seed in reader.seeds]


@each_reader
def test_other_files_are_read_or_refused(reader: Reader, tmp_path: Path) -> None:
    """Earlier failures, truncated files, mutants and random bytes."""
    files = list(reader.examples.values())
    for seed in reader.seeds if NIGHTLY else reader.seeds[:1]:
        files += cuts(seed, int(reader.share * (300 if NIGHTLY else 30)) + 1)
    for number in range(int(COUNT * reader.share)):
        rng = Random(f"{SEED} {number}")
        files.append(mutant(reader.seeds, rng, text=reader.text))
        if number % 10 == 0:
            files.append(rng.randbytes(rng.randrange(200)))
    for file in files:
        try:
            check_contract(reader, file, tmp_path)
        except ContractError as error:
            error.add_note(f"As an example for the registry: {file!r:.2000}")
            raise
