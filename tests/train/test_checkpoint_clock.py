"""ModelCheckpoint by the clock, which does not count the break between two processes."""

from itertools import accumulate, pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from minispore import nn
from minispore.train import Callback, CheckpointConfig, Model, ModelCheckpoint, RunContext
from minispore.train._protocol.run_context import InternalCallbackParam
from minispore.train.callback import _checkpoint

from .deciding import saved
from .standins import Batches, ConstantLoss


@pytest.mark.parametrize("seconds", [0, 5])
def test_what_a_state_says_of_time_is_what_was_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    now = [1000.0]

    class Clock:
        @staticmethod
        def monotonic() -> float:
            now[0] += 0.25
            return now[0]

    config = CheckpointConfig(
        None if seconds else 2, seconds, keep_checkpoint_max=0, keep_checkpoint_per_n_minutes=1
    )

    def make() -> ModelCheckpoint:
        return ModelCheckpoint("net", tmp_path, config)

    monkeypatch.setattr(_checkpoint, "time", Clock)
    first = make()
    Model(ConstantLoss()).train(2, Batches(7), first)
    states = [first.state_dict()]
    for break_ in (0.0, 500.0):
        now[0] += break_
        other = make()
        other.load_state_dict(states[-1])
        states.append(other.state_dict())
    assert isinstance(states[0]["since_kept"], float)
    since_saved = states[0]["since_saved"]
    assert isinstance(since_saved, float)
    assert since_saved > 0
    for bad in ("a", True, [1.0]):
        with pytest.raises(ValueError, match="^For 'ModelCheckpoint', .*'since_kept'"):
            make().load_state_dict({**states[0], "since_kept": bad})
    # What it calls its newest files is there.
    for name in ("latest", "newest_only"):
        assert states[0][name] == "" or (tmp_path / str(states[0][name])).is_file()
    for before, after in pairwise(states):
        for name, value in before.items():
            if isinstance(value, float):
                later = after[name]
                assert isinstance(later, float)
                # Only what it takes to ask the clock.
                assert value <= later <= value + 1
            else:
                assert after[name] == value


def test_a_run_without_steps_leaves_no_file(tmp_path: Path) -> None:
    saver = ModelCheckpoint("net", tmp_path, CheckpointConfig(exception_save=True))
    saver.on_train_begin(RunContext({}))
    saver.on_exception(RunContext({}), KeyboardInterrupt())
    saver.on_train_end(RunContext({}))
    assert not list(tmp_path.iterdir())


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def ten_lines(times: list[int], steps: int, seconds: int, most: int, minutes: int) -> set[int]:
    """The steps of which there is a file at the end."""
    saved: list[int] = []
    last = 0
    for step, now in enumerate(times, start=1):
        if step == len(times) or (step % steps == 0 if steps else now - last > seconds):
            saved.append(step)
            last = now
    if most:
        return set(saved[-most:])
    kept: list[int] = []
    for step in saved:
        if not kept or times[step - 1] - times[kept[-1] - 1] >= 60 * minutes:
            kept.append(step)
    return {*kept, saved[-1]}


@settings(max_examples=40)
@given(
    gaps=st.lists(
        st.tuples(st.sampled_from([0, 1, 29, 30, 31, 60]), st.booleans()), min_size=1, max_size=12
    ),
    when=st.sampled_from([(1, 0), (3, 0), (0, 30), (0, 60)]),
    keep=st.sampled_from([(1, 0), (3, 0), (0, 1), (0, 2)]),
    by_function=st.booleans(),
    in_background=st.sampled_from([False, False, False, True]),
)
@example([(1, False), (0, False), (0, True), (1, False)], (1, 0), (0, 1), False, False)
@example([(1, False), (0, True), (1, False)], (1, 0), (0, 1), True, True)
def test_interrupted_anywhere_the_files_are_those_of_ten_lines(
    tmp_path_factory: pytest.TempPathFactory,
    gaps: list[tuple[int, bool]],
    when: tuple[int, int],
    keep: tuple[int, int],
    by_function: bool,
    in_background: bool,
) -> None:
    folder, clock = tmp_path_factory.mktemp("clock"), Hand()

    def named(params: InternalCallbackParam) -> str:
        return str(folder / str(params.get("where")))

    directory = named if by_function else folder / "here"
    network = nn.Dense(1, 1)
    context = RunContext({"train_network": network, "batch_num": 100, "where": "here"})
    params = context.original_args()

    def make() -> ModelCheckpoint:
        config = CheckpointConfig(*when, *keep, async_save=in_background)
        made = ModelCheckpoint("net", directory, config)
        made.on_train_begin(context)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_checkpoint, "time", clock)
        checkpoint = make()
        for step, (gap, cut) in enumerate(gaps, start=1):
            clock.now += gap
            params.update(cur_step_num=step, cur_epoch_num=1)
            checkpoint.on_train_step_end(context)
            if cut:
                state = saved(checkpoint)
                if when[0] and keep[0]:
                    assert (state["since_saved"], state["since_kept"]) == (0, None)
                checkpoint.__exit__(None, None, None)
                clock.now += 1000  # another process, another clock
                checkpoint = make()
                checkpoint.load_state_dict(state)
        checkpoint.on_train_end(context)
        checkpoint.__exit__(None, None, None)
    steps = ten_lines(list(accumulate(gap for gap, _ in gaps)), *when, *keep)
    files = {path.name for path in (folder / "here").iterdir() if path.suffix == ".ckpt"}
    assert files == {f"net-1_{step}.ckpt" for step in steps}
    assert Path(checkpoint.latest_ckpt_file_name).name == f"net-1_{max(steps)}.ckpt"


def test_the_tree_of_cells_is_written_once_a_run(tmp_path: Path) -> None:
    saver = ModelCheckpoint("net", lambda params: str(tmp_path / str(params.batch_num)))
    tree = tmp_path / "7" / "net-graph.meta"

    class Removed(Callback):
        def on_train_step_end(self, run_context: RunContext) -> None:
            if run_context.original_args().cur_step_num == 1:
                tree.unlink()

    Model(ConstantLoss()).train(1, Batches(7), [saver, Removed()])
    assert not tree.exists()


def test_what_is_set_is_what_is_saved_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_: dict[str, object] = {}
    monkeypatch.setattr(_checkpoint, "save_checkpoint", lambda *_, **given: with_.update(given))
    settings: dict[str, object] = {
        "integrated_save": False,
        "async_save": "thread",
        "crc_check": True,
        "format": "safetensors",
        "remove_redundancy": True,
    }
    config = CheckpointConfig(**settings)  # type: ignore[arg-type]
    Model(ConstantLoss()).train(1, Batches(1), ModelCheckpoint("net", tmp_path, config))
    assert with_.items() >= settings.items()


def test_looking_again_at_what_is_kept_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_checkpoint, "time", Hand())
    context = RunContext(
        {"train_network": nn.Dense(1, 1), "batch_num": 9, "cur_epoch_num": 1, "cur_step_num": 1}
    )
    config = CheckpointConfig(1, keep_checkpoint_max=0, keep_checkpoint_per_n_minutes=1)
    checkpoint = ModelCheckpoint("net", tmp_path, config)
    checkpoint.on_train_begin(context)
    checkpoint.on_train_step_end(context)
    kept = checkpoint.state_dict()
    assert (kept["latest"], kept["newest_only"]) == ("net-1_1.ckpt", "")
    checkpoint.on_train_end(context)
    assert checkpoint.state_dict() == kept
