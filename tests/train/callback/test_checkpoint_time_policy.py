"""ModelCheckpoint with time policies, which exclude the time between two processes."""

import os
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from minispore import Tensor, nn
from minispore.train import Callback, CheckpointConfig, Model, ModelCheckpoint, RunContext
from minispore.train.callback import _checkpoint
from minispore.train.protocol.callback import InternalCallbackParam
from minispore.train.serialization import load_checkpoint, wait_for_saves
from tests.helpers.callback_driver import saved
from tests.helpers.stub_models import Batches, ConstantLoss


def test_run_without_steps_writes_no_file(tmp_path: Path) -> None:
    saver = ModelCheckpoint("net", tmp_path, CheckpointConfig(exception_save=True))
    saver.on_train_begin(RunContext({}))
    saver.on_exception(RunContext({}), KeyboardInterrupt())
    saver.on_train_end(RunContext({}))
    assert not list(tmp_path.iterdir())


class Hand:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def retained(
    times: list[int], steps: int, seconds: int, most: int, minutes: int
) -> list[list[int]]:
    """Return the steps whose files exist after each step, and at the end."""
    saved: list[int] = []
    result: list[list[int]] = []
    last = 0
    for step, now in enumerate(times, start=1):
        if step % steps == 0 if steps else seconds and now - last > seconds:
            saved.append(step)
            last = now
        result.append([*saved])
    end = bool(times and (steps or seconds) and saved[-1:] != [len(times)])
    result.append([*saved, *[len(times)] * end])
    return [newest_and_spaced(steps_saved, times, most, minutes) for steps_saved in result]


def newest_and_spaced(saved: list[int], times: list[int], most: int, minutes: int) -> list[int]:
    """Return the steps whose files are retained of those that were saved."""
    if most or not minutes:
        return saved[-(most or 1) :]
    first: list[int] = []
    for step in saved:
        if not first or times[step - 1] - times[first[-1] - 1] >= 60 * minutes:
            first.append(step)
    return sorted({*first, *saved[-1:]})


GAPS = st.tuples(st.sampled_from([0, 1, 29, 30, 31, 60]), st.booleans())


@given(
    gaps=st.lists(GAPS, max_size=12),
    when=st.sampled_from([(1, 0), (3, 0), (100, 0), (2, 30), (0, 30), (0, 60), (0, 1000), (0, 0)]),
    keep=st.sampled_from([(1, 0), (3, 0), (0, 0), (2, 1), (0, 1), (0, 2)]),
    size=st.integers(1, 5),
    by_function=st.booleans(),
    in_background=st.sampled_from([False, False, False, True]),
)
@example([(1, False), (0, False), (0, True), (1, False)], (1, 0), (0, 1), 4, False, False)
@example([(1, False), (0, True), (1, False)], (1, 0), (0, 1), 4, True, True)
@example([(30, True), (30, True), (1, False)], (0, 30), (0, 1), 2, False, False)
@example([(20, True), (20, False), (1, False)], (0, 30), (2, 0), 2, False, False)
@example([(15, step == 3) for step in range(1, 8)], (2, 0), (0, 1), 4, False, True)
def test_interrupted_run_keeps_the_files_of_the_model(
    gaps: list[tuple[int, bool]],
    when: tuple[int, int],
    keep: tuple[int, int],
    size: int,
    by_function: bool,
    in_background: bool,
) -> None:
    assume(any(when) or any(keep))
    clock = Hand()
    network = nn.Dense(1, 1, weight_init="zeros")
    context = RunContext({"train_network": network, "batch_num": size, "where": "here"})
    params = context.original_args()
    expected = retained([*accumulate(gap for gap, _ in gaps)], *when, *keep)
    with TemporaryDirectory() as root, pytest.MonkeyPatch.context() as patch:
        folder = Path(root, "here")

        def named(params: InternalCallbackParam) -> str:
            return os.path.join(root, str(params.get("where")))

        def make() -> ModelCheckpoint:
            config = CheckpointConfig(*when, *keep, async_save=in_background)
            made = ModelCheckpoint("net", named if by_function else folder, config)
            made.on_train_begin(context)
            return made

        def names_of(steps: list[int]) -> list[str]:
            return [f"net-{(step - 1) // size + 1}_{(step - 1) % size + 1}.ckpt" for step in steps]

        def check(steps: list[int]) -> None:
            names = names_of(steps)
            assert {path.name for path in folder.glob("*.ckpt")} == {*names}
            assert Path(checkpoint.latest_ckpt_file_name).name == "".join(names[-1:])
            if steps and not in_background:
                loaded = load_checkpoint(checkpoint.latest_ckpt_file_name)
                assert np.asarray(loaded["weight"]).item() == steps[-1]

        patch.setattr(_checkpoint, "time", clock)
        checkpoint = make()
        for step, (gap, cut) in enumerate(gaps, start=1):
            clock.now += gap
            network.weight.set_data(Tensor([[float(step)]]))
            params.update(cur_step_num=step, cur_epoch_num=(step - 1) // size + 1)
            checkpoint.on_train_step_end(context)
            if not in_background:
                check(expected[step - 1])
            elif step > 1:  # what a file replaces is removed only when that is written
                wait_for_saves()
                assert {*names_of(expected[step - 2])} <= {p.name for p in folder.glob("*.ckpt")}
            if cut:
                state = saved(checkpoint)
                if when[0] and keep[0]:
                    assert (state["since_saved"], state["since_kept"]) == (0, None)
                checkpoint.__exit__(None, None, None)
                clock.now += 1000  # another process, another clock
                checkpoint = make()
                checkpoint.load_state_dict(state)
        checkpoint.on_train_end(context)
        check(expected[-1])
        checkpoint.__exit__(None, None, None)


def test_graph_file_is_written_once_per_run(tmp_path: Path) -> None:
    saver = ModelCheckpoint("net", lambda params: str(tmp_path / str(params.batch_num)))
    tree = tmp_path / "7" / "net-graph.meta"

    class Removed(Callback):
        def on_train_step_end(self, run_context: RunContext) -> None:
            if run_context.original_args().cur_step_num == 1:
                tree.unlink()

    Model(ConstantLoss()).train(1, Batches(7), [saver, Removed()])
    assert not tree.exists()


def test_config_options_are_passed_to_save_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    Model(ConstantLoss()).train(1, Batches(1), saver := ModelCheckpoint("net", tmp_path, config))
    assert with_.items() >= settings.items()
    assert saver.latest_ckpt_file_name == str(tmp_path / "net-1_1.safetensors")  # not yet written


def test_time_retention_is_idempotent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_checkpoint, "time", Hand())
    context = RunContext(
        {"train_network": nn.Dense(1, 1), "batch_num": 9, "cur_epoch_num": 1, "cur_step_num": 1}
    )
    config = CheckpointConfig(1, keep_checkpoint_max=0, keep_checkpoint_per_n_minutes=1)
    checkpoint = ModelCheckpoint("net", tmp_path, config)
    checkpoint.on_train_begin(context)
    checkpoint.on_train_step_end(context)
    state = checkpoint.state_dict()
    assert (state["latest"], state["provisional"]) == ("net-1_1.ckpt", "")
    checkpoint.on_train_end(context)
    assert checkpoint.state_dict() == state
    for invalid in ("a", True, [1.0]):
        with pytest.raises(ValueError, match="^For 'ModelCheckpoint', .*'since_kept'"):
            checkpoint.load_state_dict({**state, "since_kept": invalid})
