"""The mark of tests in which graph mode must replay steps."""

import sys

import pytest

# Coverage, for instance, traces; and mutmut's own functions are in between the package's.
needs_replays = pytest.mark.skipif(
    sys.gettrace() is not None or "mutmut" in sys.modules,
    reason="steps run eagerly while a tracer is active",
)
