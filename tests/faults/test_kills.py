"""Killed at any moment with `kill -9`: nothing is torn, and the training goes on as if unharmed.

    pytest -m slow tests/faults/test_kills.py

kills each kind of training a hundred times; MINISPORE_KILLS says how often else.
"""

import os
import random
import signal
from functools import cache
from pathlib import Path

import pytest

from .killing import Blow, Nursery, Run, Story, check_lines, left, look_at, story
from .training import KINDS

pytestmark = pytest.mark.skipif(os.name == "nt", reason="kills are POSIX's")

KILLS = int(os.environ.get("MINISPORE_KILLS", "100"))
# That which saves only on request has nothing to go on from after a kill.
SAVED = [kind for kind in KINDS if kind != "request"]


@pytest.fixture(scope="module")
def unharmed(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> "Unharmed":
    return Unharmed(nursery, tmp_path_factory)


class Unharmed:
    """The trainings that nobody kills: what they print, and what they leave."""

    def __init__(self, nursery: Nursery, factory: pytest.TempPathFactory) -> None:
        @cache
        def of(kind: str) -> tuple[Run, dict[str, bytes]]:
            folder = factory.mktemp(kind)
            whole = nursery.run(kind, folder)
            assert (whole.status, whole.errors) == (0, "")
            assert whole.end.startswith("end ")
            assert look_at(folder) == (0, 0)
            return whole, left(folder)

        self.of = of


def check(kind: str, folder: Path, told: Story, unharmed: Unharmed) -> None:
    whole, files = unharmed.of(kind)
    assert told.runs[-1].end == whole.end
    check_lines(told, whole.lines)
    assert left(folder) == files


@pytest.mark.parametrize("kind", SAVED)
def test_a_kill(nursery: Nursery, tmp_path: Path, kind: str, unharmed: Unharmed) -> None:
    seconds = unharmed.of(kind)[0].seconds
    told = story(nursery, kind, tmp_path, random.Random(kind), 1, seconds)
    check(kind, tmp_path, told, unharmed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SAVED)
def test_many_kills(nursery: Nursery, tmp_path: Path, kind: str, unharmed: Unharmed) -> None:
    chance = random.Random()
    seconds = unharmed.of(kind)[0].seconds
    kills = trainings = litter = torn = 0
    while kills < KILLS:
        folder = tmp_path / str(trainings)
        told = story(
            nursery, kind, folder, chance, KILLS - kills, seconds * chance.choice((0.1, 0.3, 1))
        )
        check(kind, folder, told, unharmed)
        trainings += 1
        kills += told.kills
        litter += told.litter
        torn += told.torn
    print(
        f"{kind}: {kills} kills in {trainings} trainings, all of which ended as if unharmed; "
        f"hidden files left by kills: {litter}, event files and lines cut short: {torn}"
    )


@pytest.mark.slow
def test_requests_and_then_kills(nursery: Nursery, tmp_path: Path, unharmed: Unharmed) -> None:
    """A cluster's way: SIGTERM at any moment, and soon after it SIGKILL."""
    chance = random.Random()
    whole, _ = unharmed.of("request")
    stopped = killed = 0
    told = Story()
    while stopped + killed < KILLS:
        blows = [
            Blow(chance.uniform(0, whole.seconds / 2), signal.SIGTERM),
            Blow(chance.uniform(0, 0.05)),
        ]
        part = nursery.run("request", tmp_path, *blows[: chance.choice((1, 2))])
        assert part.errors == ""
        told.runs.append(part)
        look_at(tmp_path)
        stopped += part.end == "stopped"
        killed += part.status == -signal.SIGKILL
        if part.end.startswith("end"):
            assert part.end == whole.end
            check_lines(told, whole.lines)
            assert left(tmp_path) == {}
            told = Story()
    print(f"request: {stopped} stops on request, {killed} kills")
