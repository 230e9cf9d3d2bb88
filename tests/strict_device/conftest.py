"""The strict backend as the device "GPU"."""

from collections.abc import Iterator

import pytest

from minispore import set_context
from minispore.engine.array import device, register_backend
from tests.strict_device.strict_backend import STRICT_BACKEND, TransferCounter, transfers


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[TransferCounter]:
    """Register the strict backend as "GPU", set that device, and return the transfer counter."""
    monkeypatch.setattr(device, "_backends", dict(device._backends))
    register_backend("GPU", STRICT_BACKEND)
    set_context(device_target="GPU")
    transfers.clear()
    yield transfers
    set_context(device_target="CPU")
