"""The other tests, unchanged, in graph mode."""

import pytest

from tests.helpers.whole_suite import left_out, missing_tests, run_folder

FOLDERS = ("integration", "nn", "tensorpack", "testing", "train")

OF_PYNATIVE = left_out(
    {
        "counts warnings, to which graph mode adds that nothing was replayed": (
            "integration/test_probable_mistakes.py::test_loss_warning_in_training_appears_once_at_caller",
        ),
        "prints seconds, which are more where a step is captured": (
            "testing/test_check_callback.py::test_public_callbacks_satisfy_all_invariants[ProgressBar-0]",
            "testing/test_check_callback.py::test_public_callbacks_satisfy_all_invariants_in_one_kind_of_run[ProgressBar]",
        ),
    }
)


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_other_tests_pass_in_graph_mode(folder: str) -> None:
    run_folder(folder, "tests.helpers.graph_mode_plugin", OF_PYNATIVE)


def test_left_out_tests_exist() -> None:
    assert missing_tests(OF_PYNATIVE) == []
