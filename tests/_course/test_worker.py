"""The worker process: errors become verdicts, and memory is limited."""

import json
from io import StringIO
from pathlib import Path
from typing import NoReturn

import pytest

from minispore._course import CourseError, verdict, worker
from tests.helpers.lesson_solutions import BODY, solution


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (CourseError("A message."), "A message."),
        (MemoryError(), "more than 7 MB of memory"),
    ],
)
def test_worker_reports_errors_as_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    monkeypatch.setattr(verdict, "evaluate_submission", fail)
    monkeypatch.setattr(worker, "_limit_memory", lambda _: None)
    monkeypatch.setattr(worker, "_limit_time", lambda *_: None)
    results = StringIO()
    worker.main(1, None, solution(tmp_path, BODY), 60.0, 7, "secret", results)
    is_final, fields = json.loads(results.getvalue().removeprefix("secret"))
    assert is_final
    assert message in fields["lines"][0]
    assert fields["undecided"] == isinstance(error, MemoryError)


@pytest.mark.parametrize(("hard_limit", "count"), [(-1, 1), (2**60, 1), (2**20, 0)])
def test_limit_respects_lower_system_limit(
    hard_limit: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = pytest.importorskip("resource")
    assert resource.RLIM_INFINITY == -1
    limits: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (hard_limit, hard_limit))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limit: limits.append(limit))
    worker._limit_memory(7)
    assert len(limits) == count
    assert all(soft > 7 * 2**20 and hard == hard_limit for soft, hard in limits)
