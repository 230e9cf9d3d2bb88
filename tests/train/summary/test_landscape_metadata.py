"""The file that a landscape is made from: read as it was written, or refused by its place."""

import copy
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from minispore.train.callback._landscape_metadata import read_metadata
from minispore.train.callback._summary_options import LandscapeOptions

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


def wrong() -> Iterator[tuple[Place, object, str]]:
    """A place in the file, what stands there instead, and why that is refused."""
    none: list[object] = [None, [], {}, 3, "3", 1.0, True, -1]
    for key in ("epoch_group", "model_params_file_map"):
        yield from (([key], bad, f"{key} is no object") for bad in none if bad != {})
    yield from ((["epoch_group", "1"], bad, "a group is no list") for bad in none if bad != [])
    places: list[Place] = [["epoch_group", "1", 2], ["step_per_epoch"]]
    for place in places:
        for bad in none:
            if type(bad) is not int or bad < 0:
                yield place, bad, f"{bad!r} is no number of a step or epoch"
    for name in ("", "-2", "+1", "01", "1.0", "one", "²"):
        why = f"{name!r} is no number of a step or epoch"
        yield ["model_params_file_map", name], "c.ckpt", why
    for bad in ("", 3, None, "a\0"):
        yield ["model_params_file_map", "0"], bad, f"{bad!r} is no file's name"
    owner = 'For "SummaryLandscape", '
    yield ["landscape_size"], 3, f'{owner}the "landscape_size"'
    yield ["unit"], "hour", f"{owner}unit"
    yield ["create_landscape", "way"], True, f"{owner}the keys {{'way'}} of `create_landscape`"
    yield ["num_samples"], 0, "greater than 0"
    yield ["create_landscape", "train"], 1, "valid type of ['bool']"


def put(folder: Path, content: object) -> str:
    path = folder / "train_metadata.json"
    path.write_text(json.dumps(content), "utf-8")
    return str(path)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    found = read_metadata(put(tmp_path, WRITTEN), "For me")
    assert found.intervals == [[0, 1, 2], [3, 4, 2**63 - 1]]
    assert found.files == {0: "a.ckpt", 4: "b.ckpt"}
    assert found.step_per_epoch == 0
    assert found.options == LandscapeOptions(5, "epoch", 16, False, True)
    assert found.collected.items() <= WRITTEN.items()


@pytest.mark.parametrize(("place", "bad", "why"), list(wrong()))
def test_what_was_not_is_refused_by_its_place(
    tmp_path: Path, place: Place, bad: object, why: str
) -> None:
    content = copy.deepcopy(WRITTEN)
    inner: Any = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = bad
    path = put(tmp_path, content)
    with pytest.raises(ValueError, match="^For me, the file '.*' is not as it was written: ") as it:
        read_metadata(path, "For me")
    assert path in str(it.value)
    assert str(it.value).endswith(".")
    assert why in str(it.value)


def test_a_wrong_value_is_told_in_500_letters(tmp_path: Path) -> None:
    path = put(tmp_path, {**WRITTEN, "step_per_epoch": "x" * 10_000})
    with pytest.raises(ValueError, match="is not as it was written: 'xxx") as raised:
        read_metadata(path, "")
    why = str(raised.value).removeprefix(f", the file '{path}' is not as it was written: ")
    assert why == f"'{'x' * 499}."


def test_the_whole_is_an_object(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the whole is no object"):
        read_metadata(put(tmp_path, [WRITTEN]), "For me")
