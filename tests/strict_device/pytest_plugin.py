"""A pytest plugin: tests create their tensors on the strict backend by default.

python -m pytest -W ignore::pytest.PytestAssertRewriteWarning \
    -p tests.strict_device.pytest_plugin tests/nn …
"""

from minispore import set_context
from minispore.engine.array import register_backend
from tests.strict_device.strict_backend import STRICT_BACKEND


def pytest_configure() -> None:
    """Set the device before the tests are imported."""
    register_backend("GPU", STRICT_BACKEND)
    set_context(device_target="GPU")


def pytest_runtest_setup() -> None:
    """Set the device again: the test before may have chosen another one."""
    set_context(device_target="GPU")
