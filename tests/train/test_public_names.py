"""The public names of the training packages."""

from importlib import import_module

import pytest

PACKAGES = ["", ".callback", ".protocol", ".resume", ".serialization", ".summary"]


@pytest.mark.parametrize("name", PACKAGES)
def test_dir_lists_public_names_only(name: str) -> None:
    module = import_module(f"minispore.train{name}")
    assert dir(module) == sorted(public for public in module.__all__ if not public.startswith("_"))
    assert all(hasattr(module, public) for public in module.__all__)


def test_names_of_mindspore_1_can_be_imported() -> None:
    from minispore.train.callback import _CallbackManager, _InternalCallbackParam

    assert _CallbackManager.__name__ == "CallbackManager"
    assert _InternalCallbackParam.__name__ == "InternalCallbackParam"
