"""The examples of docstrings print the same on a device."""

import doctest
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import minispore
from tests.strict_device.strict_backend import TransferCounter

# Who shares memory with numpy, chooses a device or measures the CPU does so on the CPU.
ON_THE_CPU = {
    "minispore.common.context.set_context",
    "minispore.graph.jit.jit",
    "minispore.ops.tensors.Tensor.from_numpy",
    "minispore.train.callback._flops_collector.FlopsUtilizationCollector",
    "minispore.train.protocol.outputs.is_on_device",
}
PACKAGES = ("_metrics", "common", "nn", "ops", "tensorpack", "train")


def examples() -> Iterator[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for module in walk_packages(minispore.__path__, "minispore."):
        if module.name.split(".")[1] in PACKAGES:
            for test in finder.find(import_module(module.name)):
                if test.examples and test.name not in ON_THE_CPU:
                    yield test


@pytest.mark.parametrize("test", list(examples()), ids=lambda test: test.name)
def test_example_prints_the_same_on_a_device(
    gpu: TransferCounter, test: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    printed: list[str] = []
    runner.run(test, out=printed.append)
    assert not printed, "".join(printed)
