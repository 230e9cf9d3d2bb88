"""What is refused is refused in one sentence, which stands in `refusals.txt`; nothing is changed.

In that file an expression stands at the margin, and below it the error that it raises.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

import minispore as ms
from minispore import _array, common
from minispore._array import device
from minispore.common import context, parallel, seed
from minispore.common import initializer as init

from .oracle import Entry, read

LINES = Path(__file__).with_name("refusals.txt").read_text("utf-8").splitlines()
NAMES: dict[str, object] = {
    **{name: getattr(module, name) for module in (common, context) for name in module.__all__},
    "init": init,
    "initializer": init.initializer,
    "ms": ms,
    "np": np,
}


def state() -> str:
    """What a program has set."""
    options = dict(context._settings), dict(parallel._settings), set(parallel._chosen)
    return repr((options, seed.get_seed(), ms.get_context("device_target")))


@pytest.fixture(autouse=True)
def _without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.delitem(sys.modules, "minispore._array._cupy", raising=False)
    monkeypatch.delattr(_array, "_cupy", raising=False)
    monkeypatch.delitem(device._libraries, "GPU", raising=False)


@pytest.mark.parametrize("entry", list(read(LINES)), ids=lambda entry: entry.expression)
def test_it_is_refused_in_one_sentence(entry: Entry) -> None:
    before = state()
    with pytest.raises((TypeError, ValueError, RuntimeError)) as raised:
        eval(entry.expression, dict(NAMES))
    assert f"{raised.type.__name__}: {raised.value}" == entry.ours
    assert state() == before
