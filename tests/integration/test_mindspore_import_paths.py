"""Names in the modules of MindSpore and of MindSpore 1.x."""

import os
from importlib import import_module

import pytest

from tests.helpers.processes import run

# Each module, and the module of minispore with the same names.
PATHS = {
    "common.api": "",
    "dataset.callback": "dataset",
    "dataset.engine": "dataset",
    "dataset.transforms.c_transforms": "dataset.transforms",
    "dataset.transforms.py_transforms": "dataset.transforms",
    "dataset.transforms.transforms": "dataset.transforms",
    "dataset.vision.c_transforms": "dataset.vision",
    "dataset.vision.py_transforms": "dataset.vision",
    "dataset.vision.transforms": "dataset.vision",
    "dataset.vision.utils": "dataset.vision",
    "nn.layer": "nn",
    "nn.layer.activation": "nn",
    "nn.layer.basic": "nn",
    "nn.layer.container": "nn",
    "nn.layer.conv": "nn",
    "nn.layer.embedding": "nn",
    "nn.layer.normalization": "nn",
    "nn.layer.pooling": "nn",
    "nn.loss": "nn",
    "nn.loss.loss": "nn",
    "nn.wrap": "nn",
    "nn.wrap.cell_wrapper": "nn",
    "nn.wrap.grad_reducer": "nn",
    "ops.composite": "ops",
}
# Only in MindSpore 1.x.
OLDER = {
    "common.api": {"ms_function"},
    "dataset.transforms.c_transforms": None,
    "dataset.transforms.py_transforms": None,
    "dataset.vision.c_transforms": None,
    "dataset.vision.py_transforms": None,
}
PYTHON = os.environ.get("MINISPORE_MINDSPORE_PYTHON", "")


def names_of(module: str) -> list[str]:
    found = import_module(f"minispore.{module}")
    named: list[str] = getattr(found, "__all__", [])
    return named or [
        name
        for name, value in vars(found).items()
        if getattr(value, "__module__", "") == found.__name__
        and name[0] != "_"
        # Only useful for a training loop that counts rows.
        and name != "batch_size_of"
    ]


@pytest.mark.parametrize("module", PATHS)
def test_legacy_module_has_names_of_the_package(module: str) -> None:
    home = import_module(f"minispore.{PATHS[module]}".rstrip("."))
    found = import_module(f"minispore.{module}")
    names = set(names_of(module)) - (OLDER.get(module) or set())
    assert names
    assert {name for name in names if getattr(found, name) is not getattr(home, name)} == set()


def test_jit_is_one_function() -> None:
    from minispore.common import api

    assert api.ms_function is api.jit is import_module("minispore.common").jit


def test_unsupported_module_error_names_alternative() -> None:
    with pytest.raises(NotImplementedError, match=r"sink' is left out.* Data are not sunk"):
        exec("from minispore.train.data_sink import data_sink; data_sink()", {})
    with pytest.raises(ImportError, match="cannot import name 'Nothing'"):
        exec("from minispore.train.loss_scale_manager import Nothing")


def test_log_uses_python_logging(caplog: pytest.LogCaptureFixture) -> None:
    from minispore import log as logger

    for number, level in enumerate(("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")):
        with caplog.at_level(level, "minispore"):
            assert logger.get_log_config()["GLOG_v"] == logger.get_level() == str(number)
    with caplog.at_level("INFO", "minispore"):
        logger.warning("step %d is slow", 3)
        logger.info("done")
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("WARNING", "step 3 is slow"),
        ("INFO", "done"),
    ]


@pytest.mark.skipif(not PYTHON, reason="no MINISPORE_MINDSPORE_PYTHON")
def test_mindspore_has_these_names_there() -> None:
    lines = ["from importlib import import_module as find"]
    for module in PATHS:
        gone = OLDER.get(module, set())
        if gone is None:
            continue
        wanted = sorted(set(names_of(module)) - gone)
        lines.append(f"module, wanted = find('mindspore.{module}'), {wanted}")
        lines.append("print([module.__name__, *(n for n in wanted if not hasattr(module, n))])")
    completed = run(PYTHON, "-c", "\n".join(lines), environment={"GLOG_v": "4"})
    assert [line for line in completed.stdout.splitlines() if "," in line] == []
