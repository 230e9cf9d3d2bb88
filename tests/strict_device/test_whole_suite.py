"""The other tests, unchanged, on the strict backend."""

import pytest

from tests.helpers.whole_suite import left_out, missing_tests, run_folder

FOLDERS = ("_metrics", "common", "engine", "nn", "ops", "tensorpack", "train")

# What is about the CPU alone, and why.
OF_THE_CPU = {
    "chooses the device itself": (
        "common/test_context.py::test_set_device",
        "common/test_error_messages.py",
        "engine/array/test_device.py",
    ),
    "has arrays of the host": (
        "common/test_tensor.py::test_constant_operand_may_be_any_tensor_argument",
        "engine/rules/test_rules.py::test_pullbacks_of_recorded_tensors_give_second_derivatives",
        "engine/test_graph.py::test_gradient_that_a_users_rule_keeps_is_not_returned",
        "train/callback/test_flops_collector.py::test_higher_order_products_are_counted_once",
    ),
    "shares memory with numpy": (
        "ops/test_indexing.py::test_basic_indices_share_memory",
        "common/test_parameter.py::test_parameter_from_memory_does_not_copy",
        "common/test_tensor.py::test_dlpack_errors",
        "common/test_tensor.py::test_dlpack_shares_memory_both_ways",
        "common/test_tensor.py::test_from_numpy_shares_memory_both_ways",
        "common/test_tensor.py::test_in_place_method_writes_into_the_memory",
        "common/test_tensor.py::test_ndarray_subclass_is_accepted",
        "common/test_tensor.py::test_numpy_functions_accept_tensors",
        "common/test_tensor.py::test_views_share_memory",
        "engine/test_variable_in_place_writes.py::test_parameter_keeps_its_memory_outside_of_record",
        "nn/optim/test_optimizer.py::test_updates_are_in_place_without_large_allocations",
        "ops/test_assign.py::test_assign_keeps_dtype_and_memory",
    ),
    "writes to parts of tensors, which is refused on a GPU": (
        "engine/test_writes_through_views.py",
    ),
    "measures the CPU, or the host's memory": (
        "train/callback/test_flops_collector.py::test_default_computility_is_measured",
        "train/callback/test_flops_collector.py::test_peak_is_that_of_fastest_product",
        "train/callback/test_flops_collector.py::test_peak_measurement_defaults",
        "train/checkpoint/test_saving.py::test_non_contiguous_arrays_are_copied_one_by_one",
        "train/checkpoint/test_saving.py::test_saving_and_loading_make_no_second_copy",
    ),
    # Where looking at values is waiting, none is checked beforehand.
    "looks at labels and integers": (
        "ops/test_integers.py::test_an_integer_type_holds_a_number_or_refuses_it",
        "ops/test_integers.py::test_quotients_of_integers_are_those_of_python",
        "ops/test_losses.py::test_cross_entropy_of_labels_records_one_node",
        "nn/test_error_messages.py::test_errors_name_the_argument_what_is_expected_and_what_was_given",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_other_tests_pass_on_a_device(folder: str) -> None:
    run_folder(folder, "tests.strict_device.pytest_plugin", left_out(OF_THE_CPU))


def test_left_out_tests_exist() -> None:
    assert missing_tests(left_out(OF_THE_CPU)) == []
