"""WaitedDSCallback as a state machine: any order of a dataset's and a training's steps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.dataset import DSRunContext, WaitedDSCallback
from minispore.train import RunContext


class Counts(WaitedDSCallback):
    """How often it was told that both stand at the same place."""

    told = 0

    def sync_epoch_begin(self, train_run_context: RunContext, ds_run_context: DSRunContext) -> None:
        self.told += 1

    def sync_step_begin(self, train_run_context: RunContext, ds_run_context: DSRunContext) -> None:
        self.told += 1


@given(st.lists(st.sampled_from(["dataset", "training"]), max_size=12), st.integers(1, 3))
def test_the_dataset_begins_no_step_before_the_training_has_done_the_one_before(
    order: list[str], size: int
) -> None:
    waited, context = Counts(size), RunContext({})
    waited.on_train_begin(context)
    waited.on_train_epoch_begin(context)
    begun = trained = told = 0
    for who in order:
        if who == "training":
            waited.on_train_step_end(context)
            trained += 1
            continue
        row = begun * size + 1
        at = DSRunContext(cur_epoch_num=1, cur_step_num_in_epoch=row, cur_step_num=row)
        if begun > trained:
            with pytest.raises(RuntimeError, match="another step before the training has done the"):
                waited.ds_step_begin(at)
            return
        waited.ds_step_begin(at)
        told += begun > 0
        begun += 1
    assert waited.told == told


@given(st.lists(st.sampled_from(["dataset", "training"]), max_size=8))
def test_the_dataset_begins_no_epoch_before_the_training_has_begun_the_one_before(
    order: list[str],
) -> None:
    waited, context = Counts(), RunContext({})
    waited.on_train_begin(context)
    begun = opened = told = 0
    for who in order:
        if who == "training":
            waited.on_train_epoch_begin(context)
            opened += 1
            continue
        at = DSRunContext(cur_epoch_num=begun + 1, cur_step_num_in_epoch=0, cur_step_num=0)
        # Until the training has begun one, the dataset may be on its way to where it is resumed.
        if begun and opened and begun >= opened:
            with pytest.raises(
                RuntimeError, match="another epoch before the training has done the"
            ):
                waited.ds_epoch_begin(at)
            return
        waited.ds_epoch_begin(at)
        told += begun > 0 and opened > 0
        begun += 1
    assert waited.told == told
