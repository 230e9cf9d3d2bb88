"""Exact resume: interrupted anywhere and resumed, a training is the one that never stopped."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from minispore import Tensor, get_seed, nn
from minispore.common.seed import random_state, set_random_state
from minispore.train import Callback, CheckpointConfig, Model, ModelCheckpoint, RunContext

from .resuming import EVAL_EVENTS, OPTIMIZERS, PIPELINES, TRAIN_EVENTS, Training, Trouble, files_in
from .standins import Batches

trainings = st.builds(
    Training,
    pipeline=st.sampled_from(list(PIPELINES)),
    optimizer=st.sampled_from(list(OPTIMIZERS)),
    epochs=st.integers(1, 4),
    fit=st.booleans(),
    seed=st.sampled_from([1, 7]),
    trouble_first=st.booleans(),
)
troubles = st.builds(
    Trouble,
    event=st.sampled_from([*TRAIN_EVENTS, "on_train_step_end", *EVAL_EVENTS]),
    times=st.integers(1, 12),
    kind=st.sampled_from(["kill", "stop"]),
)
# Steps from one file to the next, and how many are kept.
policies = st.lists(st.tuples(st.integers(1, 7), st.integers(1, 3)), min_size=1, max_size=2)


def savers(folder: Path, policies: Sequence[tuple[int, int]], **options: object) -> list[Callback]:
    return [
        ModelCheckpoint(
            f"policy{i}",
            folder,
            CheckpointConfig(
                save_checkpoint_steps=steps,
                keep_checkpoint_max=most,
                append_info=["training_state", "step_num"],
                **options,  # type: ignore[arg-type]
            ),
        )
        for i, (steps, most) in enumerate(policies)
    ]


def newest(folder: Path) -> Path | None:
    """The file from which to resume: that of the latest step."""

    def place(path: Path) -> tuple[int, int]:
        found = re.search(r"-(\d+)_(\d+)\.", path.name)
        assert found
        return int(found[1]), int(found[2])

    found = [path for path in folder.iterdir() if path.suffix in {".ckpt", ".safetensors"}]
    return max(found, key=place, default=None)


@settings(max_examples=60)
@given(trainings, st.lists(troubles, min_size=1, max_size=2), policies)
@example(Training("noise in a buffer", "adam"), [Trouble("on_train_step_end", 7, "kill")], [(2, 2)])
@example(Training(epochs=2), [Trouble("on_eval_step_end", 2, "stop")], [(3, 1)])
@example(Training("foreign", epochs=2), [Trouble("on_eval_step_end", 2, "stop")], [(3, 1)])
@example(Training(epochs=1), [Trouble("on_train_end", 1, "kill")], [(5, 1)])
@example(
    Training(epochs=2),
    [Trouble("on_train_step_begin", 4, "stop"), Trouble("on_train_epoch_end", 1, "kill")],
    [(1, 1), (6, 1)],
)
@example(
    Training(epochs=2),
    [Trouble("on_train_step_begin", 9, "stop"), Trouble("on_train_epoch_end", 1, "kill")],
    [(1, 1), (4, 1)],
)
@example(Training(epochs=2), 2 * [Trouble("on_train_step_end", 1, "stop")], [(3, 1)])
def test_resumed_is_uninterrupted(
    training: Training, troubles: list[Trouble], policies: list[tuple[int, int]]
) -> None:
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        straight = training.go(savers(Path(one), policies), Trouble())
        part = straight
        for trouble in (*troubles, Trouble()):
            again = Trouble(trouble.event, trouble.times, trouble.kind)
            resume = newest(Path(other))
            disturb = 3 if resume else 0
            part = training.go(savers(Path(other), policies), again, resume, disturb)
        assert part.parameters == straight.parameters
        # What comes after the step of the file is printed once more, and nothing else.
        assert part.lines == straight.lines[len(straight.lines) - len(part.lines) :]
        assert files_in(Path(other)) == files_in(Path(one))


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("step", [1, 5])
def test_every_pipeline_goes_on_where_it_stood(tmp_path: Path, pipeline: str, step: int) -> None:
    training = Training(pipeline, epochs=2)
    straight = training.go(savers(tmp_path / "a", [(1, 1)]), Trouble())
    training.go(savers(tmp_path / "b", [(1, 1)]), Trouble("on_train_step_begin", step + 1, "kill"))
    resumed = training.go(
        savers(tmp_path / "b", [(1, 1)]), Trouble(), newest(tmp_path / "b"), disturb=1
    )
    assert resumed.parameters == straight.parameters
    assert files_in(tmp_path / "a") == files_in(tmp_path / "b")
    shutil.rmtree(tmp_path / "a")


def test_without_a_seed_chance_goes_on_as_well(tmp_path: Path) -> None:
    class Unseed(Trouble):
        """Make the program one that has no seed, from the same chance each time."""

        def __enter__(self) -> Self:
            state = random_state()
            program: dict[str, object] = {"seed": None, "entropy": self.entropy, "streams": {}}
            set_random_state(state | {"program": program})
            return self

        entropy = 5

    for pipeline in ("shuffled", "noise in a buffer"):
        training = Training(pipeline)
        one, other = tmp_path / pipeline / "a", tmp_path / pipeline / "b"
        straight = training.go(savers(one, [(4, 2)]), Unseed())
        training.go(savers(other, [(4, 2)]), Unseed("on_train_step_end", 9, "kill"))
        assert files_in(other)
        last = Unseed()
        last.entropy = 6
        resumed = training.go(savers(other, [(4, 2)]), last, newest(other), disturb=1)
        assert get_seed() is None
        assert resumed.parameters == straight.parameters
        assert files_in(other) == files_in(one)


@pytest.mark.parametrize("options", [{"format": "safetensors"}, {"crc_check": True}])
@pytest.mark.parametrize("async_save", [False, True])
def test_however_it_is_stored(tmp_path: Path, options: dict[str, object], async_save: bool) -> None:
    options["async_save"] = async_save
    training = Training("mapped", "adam", epochs=2)
    straight = training.go(savers(tmp_path / "a", [(2, 2)], **options), Trouble())
    killed = Trouble("on_train_step_begin", 8, "kill")
    training.go(savers(tmp_path / "b", [(2, 2)], **options), killed)
    resumed = training.go(
        savers(tmp_path / "b", [(2, 2)], **options), Trouble(), newest(tmp_path / "b"), disturb=1
    )
    assert resumed.parameters == straight.parameters
    assert files_in(tmp_path / "a") == files_in(tmp_path / "b")


def test_a_longer_training_goes_on_from_a_finished_one(tmp_path: Path) -> None:
    straight = Training(epochs=4).go(savers(tmp_path / "a", [(3, 2)]), Trouble())
    Training(epochs=2).go(savers(tmp_path / "b", [(3, 2)]), Trouble())
    again = newest(tmp_path / "b")
    assert again
    assert again.name == "policy0-2_5.ckpt"
    nothing = Training(epochs=2).go(savers(tmp_path / "b", [(3, 2)]), Trouble(), again)
    assert not nothing.lines
    longer = Training(epochs=4).go(savers(tmp_path / "b", [(3, 2)]), Trouble(), again)
    assert longer.parameters == straight.parameters
    assert newest(tmp_path / "b") == tmp_path / "b" / "policy0-4_5.ckpt"


def test_what_an_exception_leaves_is_not_to_be_resumed(tmp_path: Path) -> None:
    training = Training()
    policy = savers(tmp_path, [(4, 2)], exception_save=True)
    training.go(policy, Trouble("on_train_step_begin", 3, "kill"))
    with pytest.raises(ValueError, match="holds no training state"):
        training.go(policy, Trouble(), tmp_path / "policy0-1_3_breakpoint.ckpt")


def test_a_training_state_is_that_of_what_is_trained() -> None:
    with pytest.raises(ValueError, match="'saved_network' must be None"):
        CheckpointConfig(append_info=["training_state"], saved_network=nn.Dense(1, 1))
    config = CheckpointConfig(append_info=["training_state"])
    assert (config.training_state, config.append_dict) == (True, None)
    assert not CheckpointConfig().training_state


def test_an_output_that_no_file_can_hold_is_none_after_a_resume(tmp_path: Path) -> None:
    class Opaque(nn.Cell):
        def construct(self, *inputs: Tensor) -> object:
            return {"a", "set"}

    class Look(Callback):
        def on_train_begin(self, run_context: RunContext) -> None:
            self.epochs: list[int] = []

        def on_train_epoch_begin(self, run_context: RunContext) -> None:
            params = run_context.original_args()
            self.epochs.append(params.cur_epoch_num)
            assert params.get("net_outputs") in (None, {"a", "set"})

    look = Look()
    config = CheckpointConfig(3, append_info=["training_state"])
    Model(Opaque()).train(1, Batches(3), [look, ModelCheckpoint("m", tmp_path, config)])
    resumed = [look, ModelCheckpoint("m", tmp_path, config)]
    Model(Opaque()).train(2, Batches(3), resumed, resume=tmp_path / "m-1_3.ckpt")
    assert look.epochs[-1] == 2


def test_who_asks_twice_to_save_is_asked_once() -> None:
    context = RunContext({})
    saver = ModelCheckpoint()
    context.request_save(saver)
    context.request_save(saver)
    assert context.take_requests() == [saver]
    assert context.take_requests() == []
