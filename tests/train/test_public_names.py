"""The public names of the training packages."""

from importlib import import_module

import pytest


@pytest.mark.parametrize(
    "name", ["train", "train.protocol", "train.resume", "train.serialization", "train.strategy"]
)
def test_dir_lists_public_names_only(name: str) -> None:
    module = import_module(f"minispore.{name}")
    assert dir(module) == sorted(module.__all__)
    assert all(hasattr(module, each) for each in module.__all__)
