"""The learner's framework: digits are learned with the solved functions in place of the package's.

`python -m minispore._course.framework FOLDER LANGUAGE` is the process of `minispore learn run`.
"""

import inspect
import operator
import os
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import update_wrapper
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType, ModuleType
from typing import NoReturn, Self, TypeAlias, cast

import numpy as np

from minispore import drawing, nn
from minispore._course import CourseError, lessons
from minispore._course.counterexamples import describe_error
from minispore._course.grading import align_columns
from minispore._course.places import PLACES, Called, Place
from minispore._course.proxy import Triggered
from minispore._course.solutions.periodic import Periodic
from minispore._course.translation import Language, translate
from minispore._course.verdict import load
from minispore._course.workspace import Workspace, variant_of
from minispore.common import Tensor, set_seed
from minispore.dataset import Dataset, NumpySlicesDataset, digits
from minispore.train import Callback, LambdaCallback, Model, RunContext
from minispore.train.summary import SummaryRecord, read_events
from minispore.utils.arrays import Float32Array, UInt8Array
from minispore.utils.progress import format_number

SECONDS = 120.0  # of wall time; with minispore's functions a run takes a few
OUTPUT = "run"  # the folder of the drawings in the learner's folder
_COMPARED_STEPS, _TOLERANCE = 10, 1e-3
_SLOW = 0.5  # the share of the run's time from which a learner's function is called slow
_SAMPLE_SECONDS = 0.01
_Labelled: TypeAlias = tuple[UInt8Array, UInt8Array]
_PACKAGE = str(Path(__file__).parents[1])
_TRAINING_IMAGES, _TEST_IMAGES, _EPOCHS, _BATCH = 6000, 1000, 4, 50
_LOGS = frozenset({9, 10, 11})  # each continues the class `RunLog` of the one before


@dataclass(frozen=True)
class Milestone:
    """A part of the framework, and the lessons in which it is written."""

    part: str
    lessons: tuple[int, ...]
    reached: str


MILESTONES = (
    Milestone("automatic differentiation", (1, 2, 3, 5), "Your code computes every gradient."),
    Milestone("modules", (6,), "Your code finds the parameters of every network."),
    Milestone("the optimizer", (7,), "Your formula takes every step."),
    Milestone("the training loop", (8,), "Your loop trains: it emits every event of this run."),
    Milestone("callbacks", (*sorted(_LOGS), 12), "Your callbacks see, decide and remember."),
    Milestone("event files", (13,), "The loss curve was written and read by your code."),
    Milestone("normalization", (15,), "Your rule would run on a GPU as it is."),
)
LESSONS = tuple(sorted(number for milestone in MILESTONES for number in milestone.lessons))


@dataclass
class Part:
    """A function or class of the framework.

    Attributes:
        lesson: The lesson in which it is written.
        name: Its name, such as "tanh" or "Cell.cells_and_names".
        is_yours: Whether the learner's takes the place of minispore's.
        calls: The calls that the learner's received; of a class, of its methods.
    """

    lesson: int
    name: str
    is_yours: bool = False
    calls: int = 0

    def counted(self, function: Called) -> Callable[..., object]:
        """Return the learner's function, which counts its calls."""

        def counting(*args: object, **kwargs: object) -> object:
            self.calls += 1
            return function(*args, **kwargs)

        update_wrapper(counting, function)
        return counting


@dataclass(frozen=True)
class Run:
    """A finished run.

    Attributes:
        lines: The report.
        drawings: The loss curve and the predictions, by the names of their files.
        is_good: Whether nothing of the learner's was wrong or slow.
    """

    lines: tuple[str, ...]
    drawings: dict[str, drawing.Drawing]
    is_good: bool


def solved_files(folder: Path) -> dict[int, Path]:
    """Return the file of each lesson that is solved and belongs to the framework.

    A variant has other names or another contract than the framework relies on.

    Raises:
        CourseError: The progress file is damaged.
    """
    workspace = Workspace(folder)
    files = {number: workspace.file(number).absolute() for number in LESSONS}
    return {
        number: file
        for number, file in files.items()
        if file.is_file() and workspace.progress(number).passed and variant_of(file) is None
    }


def _last_log(numbers: Collection[int]) -> int:
    """Return the highest of the lessons about `RunLog`, 0 if there is none."""
    return max(_LOGS.intersection(numbers), default=0)


def run(
    folder: Path,
    report: Callable[[str], object],
    expire: Callable[[str], object] | None = None,
    language: Language = "en",
) -> Run:
    """Train a network on digits with the learner's functions.

    Args:
        folder: The learner's folder.
        report: Receives a line after each epoch.
        expire: Called in another thread, with what is wrong, if the run takes too long; None to
            look neither for that nor for a function that takes most of the time.
        language: The language of the returned report.

    Returns:
        The report. An error or a slow function is in it, with its lesson.

    Raises:
        CourseError: The progress file is damaged.
    """
    solved = solved_files(folder)
    # A later `RunLog` contains the earlier ones.
    earlier = {number for number in _LOGS if number < _last_log(solved)}
    files = {number: file for number, file in solved.items() if number not in earlier}
    parts = [
        Part(number, name)
        for number in LESSONS
        if number not in earlier
        for name in lessons.lesson(number).exercise.tasks
    ]
    sampler = _Sampler(files, expire)
    outcome: _Outcome | None = None
    problems = list[str]()
    with TemporaryDirectory() as temporary:
        train = digits.generate(_TRAINING_IMAGES, seed=1)
        expected = _expected_losses(train, Path(temporary, "expected"))
        try:
            with substituted(files, parts) as works, sampler:
                outcome = _train(works, train, Path(temporary), report)
        except Exception as error:  # the learner's code may raise any
            problems.append(_blamed(error, files))
    if (slow := sampler.slowest()) is not None:
        problems.append(slow)
    lines = list[str]()
    if outcome is not None:
        lines.append(f"Accuracy on {_TEST_IMAGES} test images: {outcome.accuracy:.1%}")
        if not np.allclose(outcome.losses[:_COMPARED_STEPS], expected, rtol=_TOLERANCE):
            problems.append("The losses are not those with minispore's functions.")
    is_good = not problems
    lines += problems or _milestones(solved)
    drawings = {} if outcome is None else outcome.drawings
    translated = (translate(line, language) for line in lines)
    return Run((_table(parts, language), "", *translated), drawings, is_good)


@contextmanager
def substituted(files: dict[int, Path], parts: list[Part]) -> Generator[dict[int, ModuleType]]:
    """Let the learner's functions take the place of the package's during the block.

    A function is replaced in each module that has it under some name, a method in its class.

    Args:
        files: The learner's files by lesson.
        parts: The parts of the framework; they count the calls.

    Yields:
        The learner's modules by lesson.

    Raises:
        CourseError: A file cannot be imported, or does not define what its lesson asks for.
    """
    works = dict[int, ModuleType]()
    undo = list[Callable[[], None]]()
    try:
        for number, file in files.items():
            try:
                works[number] = load(file)
            except CourseError as error:
                raise CourseError(f"Lesson {number}: {error}") from None
        package = [module for name, module in sys.modules.items() if name.startswith("minispore")]
        for part in parts:
            if part.lesson in works:
                part.is_yours = True
                _substitute(part, works[part.lesson], [*package, *works.values()], undo)
        yield works
    finally:
        for restore in reversed(undo):
            restore()


def _substitute(
    part: Part, work: ModuleType, modules: list[ModuleType], undo: list[Callable[[], None]]
) -> None:
    """Replace what the package has by the learner's function."""

    def replace(owner: object, name: str, value: object) -> None:
        before: object = vars(owner)[name]
        setattr(owner, name, value)
        undo.append(lambda: setattr(owner, name, before))

    top, _, method = part.name.partition(".")
    theirs: object = vars(work).get(top)
    if inspect.isclass(theirs) and not method:  # a class that is new: its calls are its methods'
        for base in theirs.__mro__:
            if base.__module__ == work.__name__:
                for name, value in list(vars(base).items()):
                    if inspect.isfunction(value):
                        replace(base, name, part.counted(value))
        return
    function = _definition(part, work)
    counted = part.counted(function)
    shipped = import_module(lessons.lesson(part.lesson).exercise.module)
    same = Place(vars(shipped)[top] if method else shipped, method or top, lambda new: new)
    place = PLACES.get(part.name, same)
    adapted = place.adapt(counted)
    substitutes: dict[int, object] = {id(function): counted}
    if method:
        replace(theirs, method, counted)
    if inspect.isclass(place.owner):
        replace(place.owner, place.name, adapted)
    else:
        substitutes[id(vars(place.owner)[place.name])] = adapted
    for module in modules:
        for name, value in list(vars(module).items()):
            if id(value) in substitutes:
                replace(module, name, substitutes[id(value)])


def _definition(part: Part, work: ModuleType) -> Called:
    """Return the learner's function or method.

    Raises:
        CourseError: The file does not define it.
    """
    top, _, method = part.name.partition(".")
    found: object = vars(work).get(top)
    if method:
        found = vars(found).get(method) if inspect.isclass(found) else None
    if not callable(found):
        raise CourseError(f"Lesson {part.lesson}: the file does not define {part.name}.")
    return found


@dataclass(frozen=True)
class _Outcome:
    """The accuracy, the loss of each step and the drawings of a training."""

    accuracy: float
    losses: list[float]
    drawings: dict[str, drawing.Drawing]


class _Network(nn.Cell):
    """A network whose operations use each rule that the lessons ask for."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.SequentialCell(
            nn.Flatten(),
            nn.Dense(28 * 28, 64),
            nn.LayerNorm((64,)),
            nn.Mish(),
            nn.Dense(64, 32),
            nn.SiLU(),
            nn.Dense(32, 10),
            nn.LogSoftmax(),
        )

    def construct(self, x: Tensor) -> Tensor:
        return self.layers(x)


class _Losses(Callback):
    """Writes the loss of each step to an event file."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._record = SummaryRecord(str(folder), raise_exception=True)

    def on_train_step_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        loss: object = params.net_outputs
        self._record.add_value("scalar", "loss", loss)
        self._record.record(params.cur_step_num)

    def losses(self) -> list[float]:
        """Close the file; return the losses that are read from it."""
        self._record.close()
        events = read_events(self._record.log_dir)
        return [cast("float", value.content) for event in events for value in event.values]


class _Progress(Triggered):
    """Reports an epoch when it is triggered."""

    def __init__(self, report: Callable[[str], object]) -> None:
        super().__init__()
        self._report = report
        self._start = time.perf_counter()

    def trigger(self, run_context: RunContext) -> None:
        """Report the epoch."""
        params = run_context.original_args()
        metrics: Mapping[str, float] = params.get("metrics") or {}
        accuracy = f", accuracy {metrics['accuracy']:.1%}" if "accuracy" in metrics else ""
        seconds = time.perf_counter() - self._start
        loss = float(np.asarray(params.net_outputs))
        self._report(
            f"epoch {params.cur_epoch_num} of {params.epoch_num}: "
            f"loss {format_number(loss, 3)}{accuracy}, {seconds:.1f} s"
        )


def _train(
    works: dict[int, ModuleType],
    train: _Labelled,
    folder: Path,
    report: Callable[[str], object],
) -> _Outcome:
    """Train with the learner's functions, which have taken the package's place."""
    model = _model()
    images, labels = digits.generate(_TEST_IMAGES, seed=1, usage="test")
    losses = _Losses(folder)
    progress = _Progress(report)
    model.fit(
        _EPOCHS,
        _batches(*train),
        _batches(images, labels),
        callbacks=[losses, *_callbacks(works, folder, progress)],
    )
    guesses = model.predict(Tensor(_scaled(images))).asnumpy().argmax(1)
    shown = list(zip(labels[:16].tolist(), guesses[:16].tolist(), strict=True))
    drawings = {
        "loss.svg": drawing.draw_curves({"training": (values := losses.losses())}),
        "predictions.svg": drawing.draw_images(
            images[:16],
            [f"{digit} read {guess}" for digit, guess in shown],
            [i for i, (digit, guess) in enumerate(shown) if digit != guess],
        ),
    }
    correct = sum(map(operator.eq, guesses.tolist(), labels.tolist()))
    return _Outcome(correct / len(labels), values, drawings)


def _expected_losses(train: _Labelled, folder: Path) -> list[float]:
    """Return the first losses of the same training with the package's functions."""
    losses = _Losses(folder)

    def stop(run_context: RunContext) -> None:
        if run_context.original_args().cur_step_num == _COMPARED_STEPS:
            run_context.request_stop()

    _model().train(1, _batches(*train), [losses, LambdaCallback(on_train_step_end=stop)])
    return losses.losses()


def _model() -> Model:
    """Return an untrained network, always the same one, with its loss and optimizer."""
    set_seed(1)
    network = _Network()
    optimizer = nn.SGD(network.trainable_params(), 0.05, momentum=0.9)
    return Model(network, nn.NLLLoss(), optimizer, metrics={"accuracy"})


def _scaled(images: UInt8Array) -> Float32Array:
    return (images[:, None] / 255.0).astype(np.float32)


def _batches(images: UInt8Array, labels: UInt8Array) -> Dataset:
    columns = (_scaled(images), labels.astype(np.int32))
    return NumpySlicesDataset(columns, ["image", "label"]).batch(_BATCH)


def _callbacks(
    works: dict[int, ModuleType], folder: Path, progress: "_Progress"
) -> Iterator[Callback]:
    """Yield the learner's callbacks, and the one that reports the progress."""
    if number := _last_log(works):
        make: object = vars(works[number])["RunLog"]
        assert callable(make)
        arguments: dict[str, object] = {"patience": _EPOCHS} if number >= 10 else {}
        if number >= 11:
            arguments["path"] = str(folder / "losses.txt")
        yield _callback(make(**arguments))
    # The learner's methods decide when the progress is reported. They may call `super()`, so they
    # need an object of the learner's class.
    chosen: object = vars(works[12])["Periodic"] if 12 in works else Periodic
    assert callable(chosen)
    yield _callback(chosen(progress, every_k_epochs=1, at_end=True))


def _callback(value: object) -> Callback:
    if not isinstance(value, Callback):
        raise CourseError(f"RunLog and Periodic must be callbacks, but this is {value!r}.")
    return value


def _table(parts: list[Part], language: Language) -> str:
    heads = "lesson", "function", "whose", "calls"
    rows = [[translate(head, language) for head in heads]]
    for part in parts:
        whose = translate("yours" if part.is_yours else "not yet yours", language)
        calls = str(part.calls) if part.is_yours else ""
        rows.append([str(part.lesson), part.name, whose, calls])
    return align_columns(rows)


def _milestones(solved: dict[int, Path]) -> list[str]:
    """Return the milestones that are reached, and what is missing for the next one."""
    lines = list[str]()
    missing = list[str]()
    for milestone in MILESTONES:
        todo = [str(number) for number in milestone.lessons if number not in solved]
        if todo:
            missing.append(f"{milestone.part} (lesson{'s' * (len(todo) > 1)} {', '.join(todo)})")
        else:
            lines.append(f"Milestone: {milestone.part}. {milestone.reached}")
    if missing:
        return [*lines, f"The next milestone: {missing[0]}."]
    return [*lines, "The whole framework is yours."]


def _blamed(error: Exception, files: dict[int, Path]) -> str:
    """Return what is known of an exception: the lesson, the function and the line, if any."""
    if isinstance(error, CourseError):
        return str(error)
    numbers = {str(file): number for number, file in files.items()}
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename in numbers:
            return f"Lesson {numbers[frame.filename]}: {frame.name} raised {describe_error(error)}."
    return (
        f"The run ended with {describe_error(error)}. This is not in your code: probably one of "
        "your functions has returned a wrong value before."
    )


class _Sampler:
    """Looks in which of the learner's functions the time goes, from another thread.

    Args:
        files: The learner's files by lesson.
        expire: Called with a message if the block takes longer than `SECONDS`; None not to look.
    """

    def __init__(self, files: dict[int, Path], expire: Callable[[str], object] | None) -> None:
        self._numbers = {str(file): number for number, file in files.items()}
        self._expire = expire
        self._samples = Counter[str]()
        self._ended = threading.Event()
        self._thread = threading.Thread(
            target=self._look, args=(threading.get_ident(),), daemon=True
        )

    def __enter__(self) -> Self:
        if self._expire is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._expire is not None:
            self._thread.join()

    def slowest(self) -> str | None:
        """Return a sentence about a function that took most of the time; None if there is none."""
        ((where, count),) = self._samples.most_common(1) or [("", 0)]
        share = count / max(1, self._samples.total())
        if not where or share < _SLOW:
            return None
        return f"{where} took {share:.0%} of the time: is there a loop that numpy can do?"

    def _look(self, observed: int) -> None:
        end = time.perf_counter() + SECONDS
        while not self._ended.wait(_SAMPLE_SECONDS):
            self._samples[self._place(sys._current_frames().get(observed))] += 1
            if self._expire is not None and time.perf_counter() > end:
                reason = self.slowest() or "Is there a loop that does not end?"
                self._expire(f"The run was stopped after {SECONDS:g} seconds. {reason}")
                return

    def _place(self, frame: FrameType | None) -> str:
        """Return the learner's function that runs, "" if it is the package's."""
        while frame is not None:
            file = frame.f_code.co_filename
            if file in self._numbers:
                return f"Lesson {self._numbers[file]}: {frame.f_code.co_name}"
            if file.startswith(_PACKAGE):
                return ""
            frame = frame.f_back
        return ""


def main(folder: Path, language: Language) -> NoReturn:
    """Run, write the drawings into the folder `run` of the learner's folder, and end."""

    def report(line: str) -> None:
        print(translate(line, language), flush=True)

    def expire(reason: str) -> NoReturn:
        report(reason)
        os._exit(1)

    result = run(folder, report, expire, language)
    print("\n" + "\n".join(result.lines), flush=True)
    for name, picture in result.drawings.items():
        (folder / OUTPUT).mkdir(parents=True, exist_ok=True)
        picture.save(folder / OUTPUT / name)
    sys.exit(0 if result.is_good else 1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), "zh" if sys.argv[2:] == ["zh"] else "en")
