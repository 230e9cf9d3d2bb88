"""Each public name of MindSpore exists here, or an error says what to use instead."""

from minispore.utils.unsupported import find_advice, is_supported
from tests.oracles.names import recorded


def test_every_name_of_mindspore_is_supported_or_has_advice() -> None:
    paths = [
        f"minispore.{module.removeprefix('mindspore').lstrip('.')}.{name}".replace("..", ".")
        for module, names in recorded().items()
        for name in names
    ]
    assert [path for path in paths if not is_supported(path) and not find_advice(path)] == []
    assert sum(map(is_supported, paths)) > 400
