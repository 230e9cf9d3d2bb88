"""The metadata of landscapes: valid files are read, errors name the invalid value."""

import copy
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from minispore import nn
from minispore.train import SummaryLandscape
from minispore.train.callback._summary_landscape import LandscapeOptions, read_metadata

WRITTEN: dict[str, object] = {
    "epoch_group": {"0": [0, 1, 2], "1": [3, 4, 2**63 - 1]},
    "model_params_file_map": {"0": "a.ckpt", "4": "b.ckpt"},
    "step_per_epoch": 0,
    "landscape_size": 5,
    "unit": "epoch",
    "num_samples": 16,
    "create_landscape": {"train": False, "result": True},
}
Place = Sequence[str | int]
START = "For 'SummaryLandscape.gen_landscapes_with_multi_process'"


def wrong() -> Iterator[tuple[Place, object, str]]:
    """Yield positions in the file, an invalid value, and the expected message."""
    none: list[object] = [None, [], {}, 3, "3", 1.0, True, -1]
    for key in ("epoch_group", "model_params_file_map"):
        yield from (
            ([key], wrong_value, f"the type of '{key}' must be one of dict")
            for wrong_value in none
            if wrong_value != {}
        )
    yield from (
        (["epoch_group", "1"], wrong_value, "the type of 'epoch_group' must be one of list")
        for wrong_value in none
        if wrong_value != []
    )
    positions: list[Place] = [["epoch_group", "1", 2], ["step_per_epoch"]]
    start = "For 'train_metadata.json', the "
    for position in positions:
        for wrong_value in none:
            if type(wrong_value) is not int or wrong_value < 0:
                kind = "argument" if wrong_value == -1 else "type of"
                yield position, wrong_value, f"{start}{kind} '{position[0]}' must be "
    for name in ("", "-2", "+1", "01", "1.0", "one", "²"):
        reason = f"{start}type of 'model_params_file_map' must be one of int, but got {name!r}"
        yield ["model_params_file_map", name], "c.ckpt", reason
    for wrong_value in ("", 3, None, "a\0"):
        yield ["model_params_file_map", "0"], wrong_value, f"{wrong_value!r} is not a file name"
    start = f"{START}, the "
    yield ["landscape_size"], 3, f"{start}argument 'landscape_size' must be in [4, 255]"
    yield ["unit"], "hour", f"{start}argument 'unit' must be one of 'step', 'epoch'"
    yield ["create_landscape", "way"], True, f"{start}keys ['way'] of 'create_landscape'"
    yield ["num_samples"], 0, f"{start}argument 'num_samples' must be at least 1"
    yield ["create_landscape", "train"], 1, f"{start}type of 'train' must be one of bool"


def put(folder: Path, content: object) -> str:
    path = folder / "ckpt_dir" / "train_metadata.json"
    path.parent.mkdir()
    path.write_text(json.dumps(content), "utf-8")
    return str(path)


def read(folder: Path) -> None:
    network = nn.Cell()
    SummaryLandscape(str(folder)).gen_landscapes_with_multi_process(lambda: network)


def test_written_metadata_is_read(tmp_path: Path) -> None:
    actual = read_metadata(put(tmp_path, WRITTEN))
    assert actual.intervals == [[0, 1, 2], [3, 4, 2**63 - 1]]
    assert actual.files == {0: "a.ckpt", 4: "b.ckpt"}
    assert actual.step_per_epoch == 0
    assert actual.options == LandscapeOptions(5, "epoch", 16, False, True)
    assert actual.collected.items() <= WRITTEN.items()


@pytest.mark.parametrize(("position", "wrong_value", "reason"), list(wrong()))
def test_invalid_metadata_error_names_the_value(
    tmp_path: Path, position: Place, wrong_value: object, reason: str
) -> None:
    content = copy.deepcopy(WRITTEN)
    inner: Any = content
    for key in position[:-1]:
        inner = inner[key]
    inner[position[-1]] = wrong_value
    path = put(tmp_path, content)
    with pytest.raises(ValueError, match=f"^{START}, the file '.*' is invalid: ") as it:
        read(tmp_path)
    assert path in str(it.value)
    assert str(it.value).endswith(".")
    assert reason in str(it.value)


def test_error_message_quotes_500_characters(tmp_path: Path) -> None:
    path = put(tmp_path, {**WRITTEN, "model_params_file_map": {"0": "x" * 10_000 + "\0"}})
    with pytest.raises(ValueError, match="is invalid: 'xxx") as raised:
        read(tmp_path)
    reason = str(raised.value).removeprefix(f"{START}, the file '{path}' is invalid: ")
    assert reason == f"'{'x' * 499}."


def test_metadata_must_be_an_object(tmp_path: Path) -> None:
    put(tmp_path, [WRITTEN])
    with pytest.raises(ValueError, match="the type of 'content' must be one of dict"):
        read(tmp_path)
