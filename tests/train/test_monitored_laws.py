"""Where a monitored value is looked for, and what a stop by it means."""

import pytest

from minispore.train import BestCheckpoint, Callback, EarlyStopping, Model, ReduceLROnPlateau
from minispore.train.callback import _CallbackManager

from .deciding import run_context
from .standins import Batches, ConstantLoss


@pytest.mark.parametrize("places", [["metrics"], ["eval_results"], ["eval_results", "metrics"]])
def test_either_name_of_the_results_will_do(places: list[str]) -> None:
    """`fit` has both; a loop of one's own, as MindSpore's documents have it, perhaps one."""
    results: dict[str, object] = {place: {"value": 0.25} for place in places}
    if len(places) == 2:
        results["metrics"] = {"value": 0.75}
    stopping = EarlyStopping("value", mode="min")
    context = run_context(cur_epoch_num=1)
    context.original_args().update(results)
    stopping.on_train_epoch_end(context)
    assert stopping.best == 0.25


def test_an_early_stop_is_the_end_and_no_interruption() -> None:
    context = run_context(cur_epoch_num=1, metrics={"value": float("nan")})
    EarlyStopping("value", patience=1).on_train_epoch_end(context)
    assert context.get_stop_requested()
    assert not context.is_interrupted()


@pytest.mark.parametrize("make", [EarlyStopping, ReduceLROnPlateau, BestCheckpoint])
def test_who_misses_a_value_says_who_it_is(make: type[EarlyStopping]) -> None:
    callback = make("value")
    with pytest.raises(ValueError, match=f"^For '{make.__name__}', the argument 'monitor' must be"):
        callback.on_train_epoch_end(run_context(cur_epoch_num=1, metrics={"other": 1.0}))
    with pytest.raises(ValueError, match=f"^For '{make.__name__}', what 'monitor' names must be"):
        callback.on_train_epoch_end(run_context(cur_epoch_num=1, metrics={"value": "1"}))


@pytest.mark.parametrize("wrong", [3, "LossMonitor", [Callback(), None]])
def test_what_is_no_callback_is_told(wrong: object) -> None:
    said = "^The argument 'callbacks' must be a Callback or a list of Callback, but got .* in it"
    with pytest.raises(TypeError, match=said):
        _CallbackManager(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=said):
        Model(ConstantLoss()).train(1, Batches(1), wrong)  # type: ignore[arg-type]


def test_what_is_not_there_is_told_with_what_is() -> None:
    params = run_context(cur_epoch_num=1).original_args()
    with pytest.raises(AttributeError) as raised:
        params.metrics  # noqa: B018
    assert str(raised.value) == (
        "The callback parameters hold no 'metrics' at this point; they hold "
        f"{', '.join(sorted(params))}."
    )
