"""What MindSpore has and this package has not says what to use instead, however it is asked for."""

from importlib import import_module

import pytest

import minispore
from minispore import train
from minispore._metrics._left_out import LEFT_OUT as METRICS_LEFT_OUT
from minispore.train._left_out import LEFT_OUT


@pytest.mark.parametrize("name", LEFT_OUT)
@pytest.mark.parametrize("module", ["minispore.train", "minispore.train.callback"])
def test_asking_for_it_says_what_to_use(module: str, name: str) -> None:
    with pytest.raises(ImportError, match=f"'{module}.{name}' is left out of minispore") as caught:
        exec(f"from {module} import {name}")
    assert LEFT_OUT[name] in str(caught.value)
    with pytest.raises(ImportError, match="is left out"):
        getattr(import_module(module), name)
    assert name not in train.__all__


@pytest.mark.parametrize("name", [*LEFT_OUT, *METRICS_LEFT_OUT])
def test_asking_the_package_itself_says_the_same(name: str) -> None:
    with pytest.raises(ImportError, match=f"'minispore.train.{name}' is left out of minispore"):
        exec(f"from minispore import {name}")
    with pytest.raises(ImportError, match="is left out"):
        getattr(minispore, name)


def test_what_nobody_has_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'EarlyStoping'"):
        getattr(train, "EarlyStoping")  # noqa: B009 (type checkers would see it)
