"""The search for counterexamples: shrinking, errors and time limits."""

import signal
from time import process_time

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from minispore._course import counterexamples
from minispore._course.counterexamples import (
    TimeLimitExceeded,
    describe_error,
    minimal_counterexample,
    time_limit,
)
from minispore._course.feedback import WrongResult

# The search for a counterexample runs hypothesis itself.
nested = settings(suppress_health_check=[HealthCheck.nested_given, HealthCheck.too_slow])


@nested
@given(st.integers(-50, 50), st.booleans())
def test_counterexample_is_the_smallest_that_meets_the_assumptions(limit: int, even: bool) -> None:
    def check(number: int) -> None:
        assume(not even or number % 2 == 0)
        if number >= limit:
            raise WrongResult("it is wrong")

    smallest = max(limit, 0) + (even and max(limit, 0) % 2)
    assert minimal_counterexample(st.integers(), check) == f"For {smallest}, it is wrong."


@nested
@given(st.integers(1, 60), st.integers(1, 9))
def test_speedup_divides_the_number_of_cases(examples: int, speedup: int) -> None:
    cases = list[int]()
    assert (
        minimal_counterexample(st.integers(), cases.append, examples=examples, speedup=speedup)
        is None
    )
    assert len(cases) == -(-examples // speedup)


def test_speedup_stops_at_the_first_counterexample() -> None:
    cases = list[int]()

    def check(number: int) -> None:
        cases.append(number)
        if abs(number) > 100:
            raise WrongResult("it is wrong")

    report = minimal_counterexample(st.integers(), check, speedup=2)
    first = next(number for number in cases if abs(number) > 100)
    assert report == f"For {first}, it is wrong."


def test_cases_are_the_same_in_each_search() -> None:
    """The same submission always gets the same verdict."""
    runs: list[list[float]] = [[], []]
    for cases in runs:
        minimal_counterexample(st.floats(0, 1), cases.append, examples=30)
    assert runs[0] == runs[1]
    assert len(set(runs[0])) > 10


def test_different_results_for_the_same_input_are_reported() -> None:
    calls = list[int]()

    def fails_once(number: int) -> None:
        calls.append(number)
        assert len(calls) > 1

    report = minimal_counterexample(st.integers(), fails_once)
    assert report is not None
    assert report.startswith("For 0, your code gave different results for the same input")


def spin(seconds: float) -> None:
    end = process_time() + seconds
    while process_time() < end:
        pass


@pytest.mark.parametrize("limit", [0.02, 0.1])
def test_time_limit_stops_after_so_much_cpu_time(limit: float) -> None:
    start = process_time()
    with pytest.raises(TimeLimitExceeded), time_limit(limit, "it"):
        spin(limit + 0.3)
    # The timer counts CPU time in user mode, in units of up to 10 ms.
    assert limit - 0.01 <= process_time() - start < limit + 0.3


def test_time_limit_of_a_case_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counterexamples, "CASE_SECONDS", 0.02)
    message = r"^For 0, your code did not finish within 0.02 seconds of CPU time\.$"
    with pytest.raises(TimeLimitExceeded, match=message):
        minimal_counterexample(st.integers(), lambda _: spin(1))


@pytest.mark.parametrize("raises", [False, True])
def test_time_limit_leaves_no_timer_and_no_handler(raises: bool) -> None:
    before = signal.getsignal(signal.SIGVTALRM)
    try:
        with time_limit(100.0, "it"):
            assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] > 0
            if raises:
                raise KeyError
    except KeyError:
        pass
    assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] == 0
    assert signal.getsignal(signal.SIGVTALRM) is before


def test_time_limit_without_timer_support(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(signal, "setitimer", raising=False)
    with time_limit(0.0, "it"):
        assert sum(range(100_000)) > 0


@given(st.lists(st.sampled_from(["lesson_01_a.py", "lessons/lesson_01_a.py", "other.py"])))
def test_error_names_the_innermost_line_of_the_learners_file(files: list[str]) -> None:
    def call(index: int) -> None:
        if index == len(files):
            raise KeyError(3)
        scope = {"call": call}
        lines = "\n" * index + f"call({index + 1})"
        exec(compile(lines, f"/minispore/{files[index]}", "exec"), scope)

    with pytest.raises(KeyError) as caught:
        call(0)
    positions = [index for index, file in enumerate(files) if file == "lesson_01_a.py"]
    expected = f" (line {positions[-1] + 1}: ``)" if positions else ""
    assert describe_error(caught.value) == f"KeyError: 3{expected}"
    assert describe_error(ValueError()) == "ValueError"
