"""The functions of the protocol, in numpy's namespace and in that of tensors."""

from types import ModuleType

import pytest

from minispore.engine.array import DeviceNamespace, Namespace, protocol
from minispore.engine.array import _numpy as numpy_names
from minispore.ops import _namespace as tensor_names


def public(protocol: type) -> set[str]:
    return {name for name in vars(protocol) if not name.startswith("_")}


CONTRACT = public(Namespace)
DEVICE = public(DeviceNamespace)


@pytest.mark.parametrize(
    ("module", "contract"), [(numpy_names, CONTRACT | DEVICE), (tensor_names, CONTRACT)]
)
def test_namespace_has_all_functions_of_the_protocol(
    module: ModuleType, contract: set[str]
) -> None:
    assert contract <= set(dir(module))


def test_names_are_those_of_the_protocols() -> None:
    assert set(protocol.NAMES) == CONTRACT | DEVICE
