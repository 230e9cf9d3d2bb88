"""The README of a distribution."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.helpers.scripts import load_script

ROOT = Path(__file__).parents[2]


def test_relative_links_become_absolute(monkeypatch: pytest.MonkeyPatch) -> None:
    interface = ModuleType("interface")
    interface.__dict__["MetadataHookInterface"] = object
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", interface)
    module = load_script(ROOT / "hatch_build.py")
    text = "![a](docs/a.svg) [b](docs/b.md) [c](https://c.org) [d](#d)"
    assert module.absolute_links(text, "https://x.org/o/r", "v1.0") == (
        "![a](https://x.org/o/r/raw/v1.0/docs/a.svg) [b](https://x.org/o/r/blob/v1.0/docs/b.md) "
        "[c](https://c.org) [d](#d)"
    )
