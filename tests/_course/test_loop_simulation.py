"""The simulation of a training loop: its expected events and its dataset."""

from hypothesis import given
from hypothesis import strategies as st

from minispore._course.loop_simulation import Run, _Batches


@given(st.integers(0, 9))
def test_batches_have_requested_size(size: int) -> None:
    data = _Batches(size)
    assert len(data.create_tuple_iterator(num_epochs=1)) == data.get_dataset_size() == size


def test_late_stop_changes_no_event() -> None:
    run = Run(2, 1)
    last = sum(event.name.startswith("on_") for event in run.uninterrupted_events()) - 1
    assert Run(2, 1, at=last, action="stop").expected_events() == run.uninterrupted_events()
    assert Run(2, 1, at=last - 1, action="stop").expected_events() == run.uninterrupted_events()
    assert Run(2, 1, at=1, action="stop").expected_events() != run.uninterrupted_events()
