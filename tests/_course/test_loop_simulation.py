"""The simulation of a training loop: its expected events."""

from minispore._course.loop_simulation import Run


def test_late_stop_changes_no_event() -> None:
    run = Run(2, 1)
    last = sum(event.name.startswith("on_") for event in run.uninterrupted_events()) - 1
    assert Run(2, 1, stop_at=last).expected_events() == run.uninterrupted_events()
    assert Run(2, 1, stop_at=last - 1).expected_events() == run.uninterrupted_events()
    assert Run(2, 1, stop_at=1).expected_events() != run.uninterrupted_events()
