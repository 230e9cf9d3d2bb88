"""Which files are no tests, whose assertions pytest rewrites, and with which seeds a test begins.

`pytest FOLDER` may be called from any working directory.
"""

import gc
import os
import sys
from collections.abc import Generator
from importlib import import_module
from pathlib import Path

# Before hypothesis imports numpy. On a busy machine the threads of a matrix product wait for
# each other, and a test takes twenty times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

collect_ignore = ["benchmarks", "conftest.py", "docs", "examples", "hatch_build.py", "noxfile.py"]
# It needs a GPU, and is tested in tests/gpu.
collect_ignore += ["minispore/engine/array/_cupy.py"]
# What the tests share, too: `python -O` leaves out all other assertions.
pytest.register_assert_rewrite("tests")
if "mutmut" in sys.modules:
    import_module("tests.helpers.mutants")

# No deadlines: the machines are shared, and a slow example is not an error. For doctests;
# tests/conftest.py loads a profile of its own.
settings.register_profile("base", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("base")

ROOT = Path(__file__).parent
# Tests of the exercises, of processes and damaged files, with MPI, other libraries and the pages.
FULL_ONLY = {
    ROOT / "tests" / name
    for name in (
        "_course",
        "distributed",
        "docs",
        "faults",
        "fuzz",
        "gpu",
        "strict_device",
    )
}
# Of the comparisons with other libraries, only one reads nothing but a file.
FULL_ONLY.update((ROOT / "tests" / "oracles").glob("test_*.py"))
FULL_ONLY.remove(ROOT / "tests" / "oracles" / "test_mindspore.py")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Define `--full` and `--tests-of`."""
    parser.addoption(
        "--full",
        action="store_true",
        help="run all tests, with more random examples; implied by a path",
    )
    parser.addoption("--tests-of", metavar="NAME", help="print the tests that call a function")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Run everything in the given paths. Workers of xdist take over the option."""
    if config.args_source is config.ArgsSource.ARGS and not hasattr(config, "workerinput"):
        config.option.full = True
    if name := config.getoption("tests_of"):
        config.pluginmanager.register(import_module("tests.helpers.tests_of").TestsOf(name))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import what only the full run needs."""
    return True if collection_path in FULL_ONLY and not config.getoption("full") else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that are marked `full`."""
    if not config.getoption("full"):
        fast, full = [], []
        for item in items:
            (full if item.get_closest_marker("full") else fast).append(item)
        config.hook.pytest_deselected(items=full)
        items[:] = fast


STATE: dict[str, object] = {}


def pytest_sessionstart() -> None:
    """Save the random state before a test module is imported: no seed is set."""
    from minispore.common.seed import get_rng_state

    STATE.update(get_rng_state())


@pytest.fixture(autouse=True)
def same_random_state() -> None:
    """Begin each test with the same random state, whichever tests ran before."""
    from minispore.common.seed import set_rng_state

    set_rng_state(STATE)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None]:
    """Let the garbage collector skip modules and tests, which it would visit again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
