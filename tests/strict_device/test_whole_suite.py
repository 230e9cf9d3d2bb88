"""The other tests, unchanged, on the strict backend."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("autograd", "common", "metrics", "nn", "ops", "tensorpack", "train")

# What is about the CPU alone, and why.
OF_THE_CPU = {
    "chooses the device itself": ("common/test_context.py",),
    "shares memory with numpy": (
        "common/test_indexing.py::test_basic_indices_share_memory",
        "common/test_tensor.py::test_ndarray_subclass_is_accepted",
        "common/test_tensor.py::test_from_numpy_shares_memory_both_ways",
        "common/test_tensor.py::test_in_place_method_writes_into_the_memory",
        "common/test_tensor.py::test_numpy_functions_accept_tensors",
        "common/test_tensor.py::test_views_share_memory",
    ),
    "looks into arrays of numpy itself": (
        "nn/test_conv.py::test_products_of_a_convolution_are_counted",
        "nn/test_spare_gradients.py::test_what_the_users_backward_code_keeps_is_not_written_into",
        "train/test_flops_collector.py::test_higher_order_products_are_counted_once",
    ),
    "measures the CPU, or the host's memory": (
        "nn/test_optim.py::test_updates_are_in_place_and_allocate_nothing_large",
        "train/test_flops_collector.py::test_default_computility_is_measured",
        "train/test_whole_saves.py",
    ),
    "is checked later, or shows as NaN, where looking is waiting": (
        "nn/test_loss.py::test_errors",
        "train/test_monitors.py::test_a_loss_that_is_no_number_ends_training",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_other_tests_pass_on_a_device(folder: str) -> None:
    left_out = [
        f"--deselect=tests/{name}"
        for names in OF_THE_CPU.values()
        for name in names
        if name.startswith(f"{folder}/")
    ]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.strict_device.pytest_plugin"]
    done = subprocess.run(
        [*command, *left_out, "-p", "no:cacheprovider", f"tests/{folder}"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout[-20_000:]
