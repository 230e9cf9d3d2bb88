"""Which files are no tests, whose assertions pytest rewrites, and with which seeds a test begins.

`pytest FOLDER` may be called from any working directory.
"""

import pytest

collect_ignore = ["benchmarks", "conftest.py", "docs", "examples", "noxfile.py"]
# It needs a GPU, and is tested in tests/gpu.
collect_ignore += ["minispore/_array/_cupy.py"]
# What the tests share, too: `python -O` leaves out all other assertions.
pytest.register_assert_rewrite("tests")


STATE: dict[str, object] = {}


def pytest_sessionstart() -> None:
    """Save the random state before a test module is imported: no seed is set."""
    # Not imported above: tests/conftest.py sets environment variables before numpy is imported.
    from minispore.common.seed import random_state

    STATE.update(random_state())


@pytest.fixture(autouse=True)
def same_random_state() -> None:
    """Begin each test with the same random state, whichever tests ran before."""
    from minispore.common.seed import set_random_state

    set_random_state(STATE)
