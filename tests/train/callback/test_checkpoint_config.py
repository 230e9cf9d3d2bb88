"""CheckpointConfig: the resolved options, as observed with MindSpore 2.10."""

import numpy as np
from hypothesis import assume, example, given
from hypothesis import strategies as st

from minispore.common import Tensor
from minispore.nn.cell import Cell
from minispore.train.callback._checkpoint import CheckpointConfig

COUNT = st.none() | st.integers(0, 3)
TENSOR = Tensor(np.ones(2, np.float32))
NAMED = st.dictionaries(
    st.sampled_from(["a", "epoch_num"]), st.sampled_from([1, 0.5, "text", True, TENSOR])
)


@given(COUNT, COUNT, COUNT, COUNT)
@example(None, 30, 5, 0)
@example(1, 0, 0, 5)
def test_first_of_each_pair_overrides_the_second(
    steps: int | None, seconds: int | None, most: int | None, minutes: int | None
) -> None:
    """With neither a maximum nor minutes, one file is kept."""
    assume(steps or seconds or most or minutes)
    config = CheckpointConfig(steps, seconds, most, minutes)
    assert config.get_checkpoint_policy() == {
        "save_checkpoint_steps": steps,
        "save_checkpoint_seconds": None if steps else seconds,
        "keep_checkpoint_max": most if most or minutes else 1,
        "keep_checkpoint_per_n_minutes": None if most else minutes,
        "saved_network": None,
    }


@given(
    st.none()
    | st.tuples(
        st.lists(st.sampled_from(["epoch_num", "step_num", "training_state"]), max_size=3),
        st.none() | NAMED,
        st.integers(0, 3),
    )
)
def test_append_info_becomes_append_dict(
    info: tuple[list[str], dict[str, object] | None, int] | None,
) -> None:
    """A given value is not replaced by that of the epoch, wherever it is in the list."""
    if info is None:
        assert CheckpointConfig().append_dict is None
        return
    names, values, position = info
    items: list[str | dict[str, object]] = [*names]
    items[position:position] = [] if values is None else [values]
    config = CheckpointConfig(append_info=items)
    numbers = {name: 0 for name in names if name != "training_state"}
    expected = {**numbers, **(values or {})}
    assert (config.append_dict or {}).items() == expected.items()
    assert (config.append_dict is None) == (not expected)
    assert config.training_state == ("training_state" in names)


def test_other_options_keep_their_values() -> None:
    cell = Cell()
    config = CheckpointConfig(
        saved_network=cell, exception_save=True, crc_check=True, integrated_save=False
    )
    assert config.saved_network is cell
    assert config.get_checkpoint_policy()["saved_network"] is cell
    assert (config.exception_save, config.crc_check, config.integrated_save) == (True, True, False)
    assert (config.format, config.enc_key, config.enc_mode) == ("ckpt", None, "AES-GCM")
    assert config.async_save is False
