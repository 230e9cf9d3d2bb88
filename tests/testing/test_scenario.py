"""Scenarios and the faults that are injected into them."""

import pytest

from minispore.testing import Fault


def test_fault_checks_its_arguments() -> None:
    with pytest.raises(ValueError, match="'event' must be one of"):
        Fault("on_batch_end")
    with pytest.raises(ValueError, match="'kind' must be one of"):
        Fault("on_train_end", kind="sleep")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'times'"):
        Fault("on_train_end", 0)
