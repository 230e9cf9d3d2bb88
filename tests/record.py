"""Record what the tests compare with: what errors say, signatures, help texts and pictures.

After an addition or an intended change,

    python -m tests.record

writes all tables that minispore alone determines, and `git diff` shows what is different. What
other libraries return is recorded with those libraries: see `tests/oracles`.
"""

from contextlib import redirect_stdout
from io import StringIO

from tests._cli import test_arguments
from tests.drawing import test_recorded
from tests.oracles import signatures
from tests.properties import test_wrong_arguments


def main() -> None:
    signatures.record()
    with redirect_stdout(StringIO()):  # of the functions that print
        test_wrong_arguments.record()
    test_arguments.record()
    test_recorded.record()


if __name__ == "__main__":
    main()
