"""Errors of invalid calls, which change nothing.

`error_messages.txt` contains expressions and, indented below each, the error that it raises.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

import minispore as ms
from minispore import common
from minispore.common import context, parallel
from minispore.common import initializer as init
from minispore.engine import array
from minispore.engine.array import device
from minispore.ops import seed
from tests.oracles.common import Entry, read

LINES = Path(__file__).with_name("error_messages.txt").read_text("utf-8").splitlines()
NAMES: dict[str, object] = {
    **{name: getattr(module, name) for module in (common, context) for name in module.__all__},
    "init": init,
    "initializer": init.initializer,
    "ms": ms,
    "np": np,
}


def state() -> str:
    """Return the settings of the program."""
    options = dict(context._settings), dict(parallel._settings), set(parallel._explicit)
    return repr((options, seed.get_seed(), ms.get_context("device_target")))


@pytest.fixture(autouse=True)
def _without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.delitem(sys.modules, "minispore.engine.array._cupy", raising=False)
    monkeypatch.delattr(array, "_cupy", raising=False)
    monkeypatch.delitem(device._backends, "GPU", raising=False)


@pytest.mark.parametrize("entry", list(read(LINES)), ids=lambda entry: entry.expression)
def test_invalid_call_raises_the_expected_error(entry: Entry) -> None:
    before = state()
    with pytest.raises((TypeError, ValueError, RuntimeError)) as raised:
        eval(entry.expression, dict(NAMES))
    assert f"{raised.type.__name__}: {raised.value}" == entry.ours
    assert state() == before
