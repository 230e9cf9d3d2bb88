"""Exact resume: a training interrupted anywhere and resumed equals an uninterrupted one."""

import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Tensor, get_seed, nn
from minispore.common.seed import get_rng_state, set_rng_state
from minispore.train import Callback, CheckpointConfig, Model, ModelCheckpoint, RunContext
from tests.helpers.resumable_training import (
    EVAL_EVENTS,
    OPTIMIZERS,
    PIPELINES,
    TRAIN_EVENTS,
    Fault,
    Training,
    files_in,
)
from tests.helpers.stub_models import Batches

trainings = st.builds(
    Training,
    pipeline=st.sampled_from(list(PIPELINES)),
    optimizer=st.sampled_from(list(OPTIMIZERS)),
    epochs=st.integers(1, 4),
    fit=st.booleans(),
    seed=st.sampled_from([1, 7]),
    fault_first=st.booleans(),
)
faults = st.builds(
    Fault,
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
                keep_checkpoint_max=maximum,
                append_info=["training_state", "step_num"],
                **options,  # type: ignore[arg-type]
            ),
        )
        for i, (steps, maximum) in enumerate(policies)
    ]


def newest(folder: Path) -> Path | None:
    """Return the file to resume from: that of the latest step."""

    def position(path: Path) -> tuple[int, int]:
        result = re.search(r"-(\d+)_(\d+)\.", path.name)
        assert result
        return int(result[1]), int(result[2])

    result = [path for path in folder.iterdir() if path.suffix in {".ckpt", ".safetensors"}]
    return max(result, key=position, default=None)


@given(trainings, st.lists(faults, min_size=1, max_size=2), policies, st.booleans())
@example(
    Training("noise in a buffer", "adam"), [Fault("on_train_step_end", 7, "kill")], [(2, 2)], False
)
@example(Training(epochs=2), [Fault("on_eval_step_end", 2, "stop")], [(3, 1)], False)
@example(Training("foreign", epochs=2), [Fault("on_eval_step_end", 2, "stop")], [(3, 1)], False)
@example(Training("random transform"), [Fault("on_train_step_end", 7, "kill")], [(2, 2)], False)
@example(Training("batched by length"), [Fault("on_train_step_end", 7, "kill")], [(2, 2)], False)
@example(Training(epochs=1), [Fault("on_train_end", 1, "kill")], [(5, 1)], False)
@example(
    Training(epochs=2),
    [Fault("on_train_step_begin", 4, "stop"), Fault("on_train_epoch_end", 1, "kill")],
    [(1, 1), (6, 1)],
    True,
)
@example(
    Training(epochs=2),
    [Fault("on_train_step_begin", 9, "stop"), Fault("on_train_epoch_end", 1, "kill")],
    [(1, 1), (4, 1)],
    False,
)
@example(Training(epochs=2), 2 * [Fault("on_train_step_end", 1, "stop")], [(3, 1)], False)
def test_resumed_training_equals_uninterrupted(
    training: Training, faults: list[Fault], policies: list[tuple[int, int]], of_folder: bool
) -> None:
    """From the newest file, or from the folder, which stands for it."""
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        uninterrupted = training.run(savers(Path(one), policies), Fault())
        part = uninterrupted
        for fault in (*faults, Fault()):
            again = Fault(fault.event, fault.times, fault.kind)
            resume = newest(Path(other))
            disturb = 3 if resume else 0
            if resume and of_folder:
                resume = Path(other)
            part = training.run(savers(Path(other), policies), again, resume, disturb)
        assert part.parameters == uninterrupted.parameters
        # What comes after the step of the file is printed once more, and nothing else.
        assert part.lines == uninterrupted.lines[len(uninterrupted.lines) - len(part.lines) :]
        assert files_in(Path(other)) == files_in(Path(one))


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_every_pipeline_resumes_at_its_position(tmp_path: Path, pipeline: str) -> None:
    """Of the first epoch's middle, and of its end, where what is drawn ahead counts."""
    training = Training(pipeline, epochs=2)
    uninterrupted = training.run(savers(tmp_path / "a", [(1, 1)]), Fault())
    for step in (1, 5):
        folder = tmp_path / f"{step}"
        killed = Fault("on_train_step_begin", step + 1, "kill")
        training.run(savers(folder, [(1, 1)]), killed)
        resumed = training.run(savers(folder, [(1, 1)]), Fault(), newest(folder), disturb=1)
        assert resumed.parameters == uninterrupted.parameters
        assert files_in(folder) == files_in(tmp_path / "a")


def test_random_state_resumes_without_seed(tmp_path: Path) -> None:
    class Unseed(Fault):
        """Run the program without a seed, but with the same default entropy each time."""

        def __enter__(self) -> Self:
            state = get_rng_state()
            program: dict[str, object] = {"seed": None, "entropy": self.entropy, "streams": {}}
            set_rng_state(state | {"program": program})
            return self

        entropy = 5

    for pipeline in ("shuffled", "noise in a buffer"):
        training = Training(pipeline)
        one, other = tmp_path / pipeline / "a", tmp_path / pipeline / "b"
        uninterrupted = training.run(savers(one, [(4, 2)]), Unseed())
        training.run(savers(other, [(4, 2)]), Unseed("on_train_step_end", 9, "kill"))
        assert files_in(other)
        last = Unseed()
        last.entropy = 6
        resumed = training.run(savers(other, [(4, 2)]), last, newest(other), disturb=1)
        assert get_seed() is None
        assert resumed.parameters == uninterrupted.parameters
        assert files_in(other) == files_in(one)


@pytest.mark.parametrize("options", [{"format": "safetensors"}, {"crc_check": True}])
@given(async_save=st.booleans(), step=st.integers(4, 9))
def test_resume_works_with_every_storage_option(
    options: dict[str, object], async_save: bool, step: int
) -> None:
    def policy(folder: str) -> list[Callback]:
        return savers(Path(folder), [(2, 2)], async_save=async_save, **options)

    training = Training("mapped", "adam", epochs=2)
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        uninterrupted = training.run(policy(one), Fault())
        training.run(policy(other), Fault("on_train_step_begin", step, "kill"))
        resumed = training.run(policy(other), Fault(), newest(Path(other)), disturb=1)
        assert resumed.parameters == uninterrupted.parameters
        assert files_in(Path(other)) == files_in(Path(one))


def test_longer_training_resumes_from_finished_one(tmp_path: Path) -> None:
    uninterrupted = Training(epochs=4).run(savers(tmp_path / "a", [(3, 2)]), Fault())
    Training(epochs=2).run(savers(tmp_path / "b", [(3, 2)]), Fault())
    again = newest(tmp_path / "b")
    assert again
    assert again.name == "policy0-2_5.ckpt"
    nothing = Training(epochs=2).run(savers(tmp_path / "b", [(3, 2)]), Fault(), again)
    assert not nothing.lines
    longer = Training(epochs=4).run(savers(tmp_path / "b", [(3, 2)]), Fault(), again)
    assert longer.parameters == uninterrupted.parameters
    assert newest(tmp_path / "b") == tmp_path / "b" / "policy0-4_5.ckpt"


def test_checkpoint_after_exception_cannot_be_resumed(tmp_path: Path) -> None:
    training = Training()
    policy = savers(tmp_path, [(4, 2)], exception_save=True)
    training.run(policy, Fault("on_train_step_begin", 3, "kill"))
    with pytest.raises(ValueError, match="holds no training state"):
        training.run(policy, Fault(), tmp_path / "policy0-1_3_breakpoint.ckpt")


def test_training_state_requires_trained_network() -> None:
    with pytest.raises(ValueError, match="'saved_network' must be None"):
        CheckpointConfig(append_info=["training_state"], saved_network=nn.Dense(1, 1))
    config = CheckpointConfig(append_info=["training_state"])
    assert (config.training_state, config.append_dict) == (True, None)
    assert not CheckpointConfig().training_state


def test_unserializable_output_is_dropped(tmp_path: Path) -> None:
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
