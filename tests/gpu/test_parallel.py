"""Gradients from card to card where MPI takes them there; the two processes may share one card."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ..parallel.launching import HERE, launch, needs_mpi

pytestmark = [pytest.mark.gpu, needs_mpi]


def test_both_ways_train_the_same(card: str, tmp_path: Path) -> None:
    done = launch(2, HERE / "scenes.py", tmp_path, "card", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    seen = [json.loads((tmp_path / f"card-{i}.json").read_text("utf-8")) for i in range(2)]
    if not seen[0]:
        pytest.skip("this MPI says that it does not take a card's arrays")
    for over_host, direct in seen:
        assert direct["devices"] == over_host["devices"]
        for mine, theirs in zip(direct["bits"], over_host["bits"], strict=True):
            np.testing.assert_allclose(values(mine), values(theirs), rtol=1e-5, atol=1e-7)


def values(bits: list[Any]) -> npt.NDArray[np.float64]:
    kind, shape, text = bits
    return np.frombuffer(bytes.fromhex(text), kind).reshape(shape).astype(np.float64)
