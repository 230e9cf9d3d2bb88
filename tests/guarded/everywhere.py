"""A plugin of pytest: every test makes its tensors on the guarded device, if it does not say where.

python -m pytest -p tests.guarded.everywhere tests/nn …
"""

from minispore import set_context
from minispore._array import plug_in

from .library import GUARDED


def pytest_configure() -> None:
    """Before the tests are imported, which may make tensors then."""
    plug_in("GPU", GUARDED)
    set_context(device_target="GPU")
