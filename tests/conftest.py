"""Settings of hypothesis, fixtures of all tests, and the folder with the real MNIST files."""

import os
import signal
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import Phase, settings

# What must not pass a type checker may not even be imported. The others need mutmut.
collect_ignore = [f"helpers/{name}.py" for name in ("mutants", "mutant_sample", "mutant_stats")]
# The files with "torch" in their names need PyTorch: the comparisons and what they share.
WITH_TORCH = find_spec("torch") is not None
collect_ignore_glob = [] if WITH_TORCH else ["*torch*.py"]

ROOT = Path(__file__).parents[1]
MNIST_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)

_base = settings.get_profile("base")
settings.register_profile("fast", _base, max_examples=5, derandomize=True, database=None)
settings.register_profile("dev", _base, max_examples=25)
settings.register_profile("ci", _base, max_examples=50, derandomize=True, database=None)
settings.register_profile("nightly", _base, max_examples=1000, print_blob=True)
# The first failure kills a mutant: no example is shrunk.
settings.register_profile(
    "mutants",
    _base,
    max_examples=25,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
)


def pytest_configure(config: pytest.Config) -> None:
    full = "ci" if os.environ.get("CI") == "true" else "dev"
    profile = full if config.getoption("full") else "fast"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", profile))


def mnist_folder() -> Path | None:
    """The folder with the four real MNIST files, plain or gzipped, or None where there is none."""
    folder = Path(os.environ.get("MINISPORE_MNIST", ROOT.parent / "shared" / "mnist"))
    found = all((folder / f).is_file() or (folder / f"{f}.gz").is_file() for f in MNIST_FILES)
    return folder if found else None


def pytest_report_header() -> str | None:
    return None if WITH_TORCH else "PyTorch is not installed: tests/**/*torch*.py are left out"


def pytest_sessionfinish() -> None:
    """Save the measured coverage: a worker that is slow to end is killed."""
    if "PYTEST_XDIST_WORKER" in os.environ and "coverage" in sys.modules:
        from coverage import Coverage

        if (measured := Coverage.current()) is not None:
            measured.save()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that need the real MNIST files if there are none."""
    if mnist_folder() is None:
        absent = pytest.mark.skip(reason="no MNIST in ../shared/mnist or MINISPORE_MNIST")
        for item in items:
            if item.get_closest_marker("mnist"):
                item.add_marker(absent)


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> Iterator[None]:
    """Let SIGINT interrupt, even if the tests run in the background, where shells ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def no_fsync() -> Iterator[None]:
    """Do not wait for the disk: no test simulates a power failure."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="session")
def mnist() -> Path:
    """The folder with the real MNIST; a test that asks for it carries the mark `mnist`."""
    folder = mnist_folder()
    if folder is None:
        pytest.skip("no MNIST in ../shared/mnist or MINISPORE_MNIST")
    return folder


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 2,000 generated training images and 500 test images in MNIST's files."""
    from minispore.dataset.digits import write

    return write(tmp_path_factory.mktemp("digits"), train=2000, test=500)
