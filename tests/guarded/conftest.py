"""The guarded library in the place of a GPU."""

from collections.abc import Iterator

import pytest

from minispore import set_context
from minispore._array import device, plug_in

from .library import GUARDED, Traffic, traffic


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Traffic]:
    """Let "GPU" be the guarded library, and make new tensors there; what went in and out."""
    monkeypatch.setattr(device, "_libraries", dict(device._libraries))
    plug_in("GPU", GUARDED)
    set_context(device_target="GPU")
    traffic.clear()
    yield traffic
    set_context(device_target="CPU")
