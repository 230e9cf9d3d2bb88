"""The mark of tests in which graph mode must replay steps."""

import sys

import pytest

# Coverage, for instance, traces.
needs_replays = pytest.mark.skipif(
    sys.gettrace() is not None, reason="steps run eagerly while a tracer is active"
)
