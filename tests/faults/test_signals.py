"""SIGTERM and SIGINT, with and without `OnRequestExit`, once and twice, at any moment."""

import os
import random
import signal
from pathlib import Path

import pytest

from .killing import Blow, Nursery, left, look_at, story
from .test_kills import KILLS, SAVED, Unharmed, check, unharmed

pytestmark = pytest.mark.skipif(os.name == "nt", reason="these signals are POSIX's")
__all__ = ["unharmed"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("kind", ["background", "backup"])
def test_without_a_handler_a_signal_is_no_worse_than_a_kill(
    nursery: Nursery, tmp_path: Path, kind: str, number: int, unharmed: Unharmed
) -> None:
    seconds = unharmed.of(kind)[0].seconds
    told = story(nursery, kind, tmp_path, random.Random(1), 1, seconds, number)
    check(kind, tmp_path, told, unharmed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SAVED)
def test_many_interrupts(nursery: Nursery, tmp_path: Path, kind: str, unharmed: Unharmed) -> None:
    """Ctrl-C may come out anywhere in the code: between two statements of any function."""
    chance = random.Random()
    seconds = unharmed.of(kind)[0].seconds
    kills = trainings = litter = 0
    while kills < KILLS:
        folder = tmp_path / str(trainings)
        told = story(nursery, kind, folder, chance, KILLS - kills, seconds, signal.SIGINT)
        check(kind, folder, told, unharmed)
        trainings += 1
        kills += told.kills
        litter += told.litter
    print(f"{kind}: {kills} interrupts in {trainings} trainings; hidden files left: {litter}")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_request_ends_the_run_in_good_order(
    nursery: Nursery, tmp_path: Path, number: int, unharmed: Unharmed
) -> None:
    whole, _ = unharmed.of("request")
    stopped = nursery.run("request", tmp_path, Blow(0, number))
    assert (stopped.status, stopped.errors, stopped.end) == (0, "", "stopped")
    assert look_at(tmp_path) == (0, 0)
    assert list(left(tmp_path)) == ["rank_0/Net_train.ckpt"]
    rest = nursery.run("request", tmp_path)
    assert rest.end == whole.end
    assert stopped.lines + rest.lines == whole.lines
    assert left(tmp_path) == {}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_request_is_not_waited_with(
    nursery: Nursery, tmp_path: Path, number: int, unharmed: Unharmed
) -> None:
    twice = nursery.run("request", tmp_path, Blow(0.01, number), Blow(0, number))
    # Both may come before Python looks, or the second when all is done.
    if twice.status:
        assert twice.status == -number
        assert ("\nKeyboardInterrupt\n" in twice.errors) == (number == signal.SIGINT)
    rest = nursery.run("request", tmp_path)
    assert rest.end == unharmed.of("request")[0].end
