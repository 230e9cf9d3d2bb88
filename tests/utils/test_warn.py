"""Warnings at the line of the user's program."""

import warnings

from minispore.utils.warn import warn_at_caller


def test_warning_names_the_file_outside_of_minispore() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_at_caller("careful")
    assert [(w.filename, str(w.message)) for w in caught] == [(__file__, "careful")]
