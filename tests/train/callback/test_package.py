"""The packages of callbacks and of summaries: their public names."""

import pytest

from minispore.train import callback, summary


@pytest.mark.parametrize("package", [callback, summary])
def test_dir_lists_only_public_names(package: object) -> None:
    names = dir(package)
    assert names == sorted(name for name in vars(package)["__all__"] if not name.startswith("_"))
    assert {"EarlyStopping", "SummaryRecord"} & set(names)


def test_names_of_mindspore_1_can_be_imported() -> None:
    from minispore.train.callback import _CallbackManager, _InternalCallbackParam

    assert _CallbackManager.__name__ == "CallbackManager"
    assert _InternalCallbackParam.__name__ == "InternalCallbackParam"
