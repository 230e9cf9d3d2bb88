"""Coverage-guided fuzzing of a reader, with atheris.

    python -m tests.fuzz.coverage_guided                      # lists the readers
    python -m tests.fuzz.coverage_guided ckpt -max_total_time=60

The options after the name are libFuzzer's. An input that violates the contract is saved as
`crash-…` in the current folder; `python -m tests.fuzz.coverage_guided ckpt crash-…` repeats it.

Source: https://github.com/google/atheris
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, redirect_stderr, redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Protocol, cast


class _Atheris(Protocol):
    """The part of atheris, which has no types, that is used here."""

    def instrument_imports(self, include: Sequence[str]) -> AbstractContextManager[None]: ...

    def Setup(
        self,
        args: Sequence[str],
        test_one_input: Callable[[bytes], None],
        *,
        custom_mutator: Callable[[bytes, int, int], bytes],
    ) -> object: ...

    def Mutate(self, data: bytes, max_size: int) -> bytes: ...

    def Fuzz(self) -> None: ...


def _atheris() -> _Atheris:
    try:
        return cast("_Atheris", import_module("atheris"))
    except ImportError:
        print("Skipped: atheris is not installed (pip install atheris).")
        raise SystemExit(0) from None


def main(arguments: Sequence[str]) -> None:
    """Fuzz the reader with the name in `arguments`."""
    atheris = _atheris()
    with atheris.instrument_imports(include=["minispore"]):
        from tests.fuzz.mutation import mutant
        from tests.fuzz.reader_contract import check_contract
        from tests.fuzz.reader_registry import READERS
    by_name = {reader.name: reader for reader in READERS}
    if len(arguments) < 2 or arguments[1] not in by_name:
        raise SystemExit("Name one of: " + ", ".join(map(repr, by_name)))
    reader = by_name[arguments[1]]

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        """Apply a change of `mutation` or of libFuzzer, at random."""
        rng = Random(seed)
        if rng.random() < 0.5:
            return atheris.Mutate(data, max_size)
        return mutant([data, *reader.seeds], rng, text=reader.text)[:max_size]

    with TemporaryDirectory() as name:
        folder, corpus = Path(name, "files"), Path(name, "corpus")
        folder.mkdir()
        corpus.mkdir()
        for number, seed in enumerate((*reader.seeds, *reader.examples.values())):
            (corpus / str(number)).write_bytes(seed)

        def test(data: bytes) -> None:
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                check_contract(reader, data, folder)

        options = arguments[2:]
        repeats = any(not option.startswith("-") for option in options)
        corpora = [] if repeats else [str(corpus)]
        arguments = [arguments[0], "-max_len=65536", *options, *corpora]
        atheris.Setup(arguments, test, custom_mutator=mutate)
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv)
