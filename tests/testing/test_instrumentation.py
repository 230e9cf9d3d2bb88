"""Instrumentation is used only within recordings."""

from minispore.testing import record_events
from minispore.train import Model
from minispore.train.protocol.callback import CallbackManager, make_callback_manager
from tests.testing.small_training import make


def test_models_without_recording_use_no_instrumentation() -> None:
    assert type(make_callback_manager(None)) is CallbackManager
    with record_events():
        assert type(make_callback_manager(None)) is not CallbackManager
    assert isinstance(make(), Model)
