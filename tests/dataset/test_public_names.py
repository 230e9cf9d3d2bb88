"""The public names of the package."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

from minispore import dataset as ds


def test_stub_has_the_names_of_the_package() -> None:
    stub = ast.parse(Path(ds.__file__).with_suffix(".pyi").read_text("utf-8"))
    imported: dict[str, object] = {}
    for node in stub.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                home = import_module(str(node.module))
                imported[alias.asname or alias.name] = getattr(home, alias.name)
    for name in (
        "_description",
        "_instances",
        "_operations",
        "_pipeline_table",
        "_tables",
    ):  # for the package itself
        assert imported.pop(name) is import_module(f"minispore.dataset.{name}")
    assert imported == {name: getattr(ds, name) for name in ds.__all__}
    with pytest.raises(AttributeError, match="no attribute 'WaitedCallback'"):
        getattr(ds, "WaitedCallback")  # noqa: B009 (type checkers would see it)
