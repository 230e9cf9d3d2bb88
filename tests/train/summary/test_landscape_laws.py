"""Laws of loss landscapes: what is refused, what is left alone, and where a landscape stands."""

import json
import os
from pathlib import Path
from shutil import rmtree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, nn
from minispore.train import (
    Callback,
    Model,
    RunContext,
    SummaryCollector,
    SummaryLandscape,
    save_checkpoint,
)
from minispore.train.callback._landscape_saver import LandscapeSaver
from minispore.train.callback._summary_landscape import _First
from minispore.train.callback._summary_options import LandscapeOptions
from minispore.train.summary import Landscape, read_events

from .test_landscape import collected, data, parts

METHOD = "For 'SummaryLandscape.gen_landscapes_with_multi_process', "
BAD: list[object] = [None, 3, 1.5, "steps", [3], [[1, 2]], [[1, 2, "3"]], {"train": 1}, {1: True}]
KINDS = {"histogram_regular": ["str", "NoneType"], "collect_landscape": ["dict", "NoneType"]}
LANDSCAPE = ("landscape_size", "unit", "num_samples", "create_landscape", "intervals")
SWITCHES = (
    "collect_metric", "collect_graph", "collect_train_lineage", "collect_eval_lineage",
    "collect_input_data", "collect_dataset_graph",
)  # fmt: skip
# What of BAD is no mistake.
GOOD: dict[str, list[object]] = {
    "num_samples": [3],
    "landscape_size": [3],
    "histogram_regular": [None, "steps"],
    "collect_landscape": [None],
}


def refusal(folder: Path, specified: object) -> str:
    with pytest.raises((TypeError, ValueError, NotImplementedError)) as raised:
        SummaryCollector(str(folder), collect_specified_data=specified)  # type: ignore[arg-type]
    assert not any(folder.iterdir())
    return str(raised.value)


@pytest.mark.parametrize("key", [*SWITCHES, "histogram_regular", "collect_landscape"])
def test_what_is_no_option_is_refused_by_its_key(tmp_path: Path, key: str) -> None:
    for bad in BAD:
        if bad in GOOD.get(key, []) or (key == "collect_landscape" and isinstance(bad, dict)):
            continue
        said = refusal(tmp_path, {key: bad})
        kinds = KINDS.get(key, ["bool"])
        wrong = type(bad).__name__
        assert said == f"For `{key}` the type should be a valid type of {kinds}, but got {wrong}."


@pytest.mark.parametrize("key", LANDSCAPE)
def test_what_is_no_option_of_a_landscape_is_refused_by_its_key(tmp_path: Path, key: str) -> None:
    for bad in BAD:
        if bad in GOOD.get(key, []):
            continue
        said = refusal(tmp_path, {"collect_landscape": {key: bad}})
        named = key
        if key == "unit":
            assert said.endswith(
                f"unit in collect_specified_data should be step or epoch, but got the: {bad}."
            )
            continue
        if key == "create_landscape" and isinstance(bad, dict):
            named = "train" if "train" in bad else "1"
        elif key == "intervals" and isinstance(bad, list):
            named = "each interval in intervals" if bad == [3] else "each value in intervals"
        if bad == [[1, 2]] and key == "intervals":
            assert said == (
                'For "SummaryCollector", the length of each list in "intervals" should not be less '
                "than three, but got the: [1, 2]"
            )
        else:
            assert said.startswith(f"For `{named}` the type should be a valid type of ['")


def test_unknown_keys_are_refused_with_all_that_there_are(tmp_path: Path) -> None:
    said = refusal(tmp_path, {"colect_metric": True})
    assert all(f"'{key}'" in said for key in (*SWITCHES, "histogram_regular", "collect_landscape"))
    assert "{'colect_metric'} of `collect_specified_data` are unsupported" in said
    said = refusal(tmp_path, {"collect_landscape": {"sise": 4}})
    assert all(f"'{key}'" in said for key in LANDSCAPE)
    assert "{'sise'} of `collect_landscape` are unsupported" in said
    said = refusal(tmp_path, {"collect_landscape": {"create_landscape": {"way": True}}})
    assert "{'way'} of `create_landscape` are unsupported" in said
    assert said.endswith("['train', 'result']")


@pytest.mark.parametrize(("size", "fits"), [(3, False), (4, True), (255, True), (256, False)])
def test_the_bounds_of_a_size(tmp_path: Path, size: int, fits: bool) -> None:
    specified: dict[str, object] = {"collect_landscape": {"landscape_size": size}}
    if fits:
        SummaryCollector(str(tmp_path), collect_specified_data=specified)
    else:
        said = refusal(tmp_path, specified)
        assert said.startswith('For "SummaryCollector", ')
        assert said.endswith(f"less than 256 and more than 3, but got the: {size}")


def made(folder: Path, **landscape: object) -> list[tuple[int, str, Landscape]]:
    """The landscapes of a training, each with the step that it is recorded for."""
    collected(folder, **landscape)
    SummaryLandscape(str(folder)).gen_landscapes_with_multi_process(parts)
    [path] = folder.glob("*.events.summary.*")
    return [
        (event.step, value.tag, value.content)
        for event in read_events(path)
        for value in event.values
        if isinstance(value.content, Landscape)
    ]


def test_each_landscape_is_recorded_at_the_end_of_its_interval(tmp_path: Path) -> None:
    both = {"train": True, "result": True}
    found = made(tmp_path, intervals=[[1, 2, 3], [1, 2, 9]], create_landscape=both)
    assert [(step, tag) for step, tag, _ in found] == [
        (3, "landscape_[1, 3]"),
        (9, "landscape_[1, 9]"),
        (3, "landscape_[3]"),
    ]
    first, second, result = (content for *_, content in found)
    # Of an interval counts what the training has come to; two make a way.
    assert (first.intervals, second.intervals) == ((1, 2, 3), (1, 2))
    for way in (first, second):
        assert way.path_x.shape == way.path_y.shape == way.path_z.shape == (len(way.intervals),)
        assert way.end == (0, 0, way.path_z[-1])
    assert result.path_x.shape == result.path_y.shape == result.path_z.shape == (0,)
    assert result.end == (0, 0, first.path_z[-1])


def test_a_way_needs_two_points(tmp_path: Path) -> None:
    said = r"of the epochs \[3, 8, 9\] only \[3\] were saved; a way needs two\.$"
    with pytest.raises(ValueError, match=said):
        made(tmp_path, intervals=[[3, 8, 9]])


def test_nothing_but_its_own_folder_is_removed_and_that_as_often_as_one_likes(
    tmp_path: Path,
) -> None:
    collected(tmp_path)
    (tmp_path / "mine.ckpt").write_bytes(b"mine")
    others = sorted(path for path in tmp_path.iterdir() if path.name != "ckpt_dir")
    for _ in range(2):
        SummaryLandscape(str(tmp_path)).clean_ckpt()
        assert sorted(tmp_path.iterdir()) == others


def test_a_checkpoint_of_another_network_is_refused_by_name(tmp_path: Path) -> None:
    collected(tmp_path)
    path = tmp_path / "ckpt_dir" / "Dense_2_epoch.ckpt"
    save_checkpoint([{"name": "weight", "data": Tensor(np.ones((1, 4), np.float32))}], str(path))
    with pytest.raises(
        ValueError, match=r"the checkpoint '.*Dense_2_epoch.ckpt' has no \['bias'\]"
    ):
        SummaryLandscape(str(tmp_path)).gen_landscapes_with_multi_process(parts)


def test_random_directions_follow_the_seed(tmp_path: Path) -> None:
    def heights(name: str, seed: int) -> object:
        ms.set_seed(seed)
        folder = tmp_path / name
        SummaryLandscape(str(tmp_path)).gen_landscapes_with_multi_process(
            parts, {"create_landscape": {"train": False, "result": True}}, output=str(folder)
        )
        [path] = folder.glob("*.events.summary.*")
        values = [value for event in read_events(path) for value in event.values]
        [content] = [v.content for v in values if isinstance(v.content, Landscape)]
        return content.z.tolist()

    collected(tmp_path)
    assert heights("a", 5) == heights("b", 5) != heights("c", 6)


@pytest.mark.parametrize("unit", ["step", "epoch"])
@pytest.mark.parametrize("first", [0, 1])
def test_without_intervals_all_of_the_run_is_one(tmp_path: Path, unit: str, first: int) -> None:
    net = nn.Dense(4, 1)
    model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    specified: dict[str, object] = {"collect_landscape": {"unit": unit}}
    collector = SummaryCollector(str(tmp_path), collect_specified_data=specified)
    model.train(3, data(), collector, initial_epoch=first)
    found = json.loads((tmp_path / "ckpt_dir" / "train_metadata.json").read_text("utf-8"))
    steps = {"step": range(1, 5 * (3 - first) + 1), "epoch": range(first + 1, 4)}[unit]
    assert found["epoch_group"] == {"0": list(steps)}
    assert found["model_params_file_map"].keys() == {str(number) for number in steps}


def test_a_loop_by_hand_need_not_say_with_which_epoch_it_begins(tmp_path: Path) -> None:
    saver = LandscapeSaver(str(tmp_path), LandscapeOptions(unit="epoch"))
    params = RunContext({"epoch_num": 2, "batch_num": 3}).original_args()
    saver.begin(params)
    saver.end(params)
    found = json.loads((tmp_path / "ckpt_dir" / "train_metadata.json").read_text("utf-8"))
    assert found["epoch_group"] == {"0": [1, 2]}


@given(st.integers(0, 5), st.integers(1, 12), st.integers(1, 12))
def test_the_first_samples_are_no_more_batches_than_it_takes(
    size: int, batches: int, samples: int
) -> None:
    """Rows that are not batched, as by a size of 0, count one by one."""
    rows = [(Tensor(np.zeros((size, 2) if size else (), np.float32)),) for _ in range(batches)]
    asked: list[int] = []

    class Rows:
        def get_dataset_size(self) -> int:
            return batches

        def create_tuple_iterator(self, *, num_epochs: int) -> list[tuple[Tensor]]:
            asked.append(num_epochs)
            return rows

    first = _First(Rows(), samples)
    enough = min(batches, -(-samples // max(1, size)))
    assert first.get_dataset_size() == enough
    assert list(first.create_tuple_iterator(num_epochs=1)) == rows[:enough]
    assert asked == [1]


def test_before_a_run_no_checkpoint_is_remembered(tmp_path: Path) -> None:
    specified: dict[str, object] = {"collect_landscape": {}}
    collector = SummaryCollector(str(tmp_path), collect_specified_data=specified)
    assert collector.state_dict() == {"landscape_files": {}}


def test_device_ids_are_a_list_of_int(tmp_path: Path) -> None:
    make = SummaryLandscape(str(tmp_path)).gen_landscapes_with_multi_process
    for bad in (3, "0", (0,), ["0"], [True]):
        with pytest.raises(TypeError, match=f"^{METHOD}the type of 'device_ids' must be one of"):
            make(parts, device_ids=bad)  # type: ignore[arg-type]


def test_a_graph_of_the_dataset_is_refused_by_name(tmp_path: Path) -> None:
    said = refusal(tmp_path, {"collect_dataset_graph": True})
    assert said.startswith("For 'SummaryCollector', 'collect_dataset_graph' is not covered: ")


def test_what_is_no_pattern_is_refused(tmp_path: Path) -> None:
    said = refusal(tmp_path, {"histogram_regular": "("})
    start = "For `collect_specified_data`, the value of `histogram_regular` is not a valid regular "
    assert said.startswith(start + "expression. Detail: ")


def test_where_nothing_was_saved_there_is_no_result(tmp_path: Path) -> None:
    collected(tmp_path, intervals=[[7, 8, 9]], create_landscape={"train": False, "result": True})
    with pytest.raises(ValueError, match=r"^For '.*', no parameters were saved\.$"):
        SummaryLandscape(str(tmp_path)).gen_landscapes_with_multi_process(parts)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_what_is_collected_is_for_nobody_elses_eyes(tmp_path: Path) -> None:
    specified: dict[str, object] = {"collect_landscape": {"unit": "epoch"}}
    collector = SummaryCollector(str(tmp_path / "run"), collect_specified_data=specified)

    class Removed(Callback):
        def on_train_epoch_begin(self, run_context: RunContext) -> None:
            folders = [tmp_path / "run", tmp_path / "run" / "ckpt_dir"]
            assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700, 0o700]
            rmtree(folders[1])

    net = nn.Dense(4, 1)
    model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    model.train(2, data(), [collector, Removed()])


def test_each_point_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    collected(tmp_path, landscape_size=4, create_landscape={"train": False, "result": True})
    capsys.readouterr()
    SummaryLandscape(str(tmp_path)).gen_landscapes_with_multi_process(parts)
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(", landscape loss is")[0] for line in lines] == [
        line
        for row in range(1, 5)
        for line in (
            f"Drawing landscape total progress: {row}/4.",
            *(f"Current local landscape progress is {column}/4" for column in range(1, 5)),
        )
    ]


def test_what_the_function_returns_is_refused_by_its_place(tmp_path: Path) -> None:
    collected(tmp_path)
    make = SummaryLandscape(str(tmp_path)).gen_landscapes_with_multi_process
    for place, name in ((1, "network"), (2, "dataset"), (3, "metrics")):
        wrong: list[object] = [*parts()]
        wrong[place] = 3
        with pytest.raises(TypeError, match=f"^{METHOD}.*'{name}'"):
            make(lambda wrong=wrong: tuple(wrong))  # type: ignore[misc]


@pytest.mark.parametrize(
    "name", ["collect_freq", "num_process", "collect_tensor_freq", "max_file_size"]
)
def test_numbers_are_positive(tmp_path: Path, name: str) -> None:
    said = f'^For "SummaryCollector", the value of `{name}` should be greater than 0, but got `0`'
    with pytest.raises(ValueError, match=said):
        SummaryCollector(str(tmp_path), **{name: 0})  # type: ignore[arg-type]


def test_there_is_at_least_one_sample(tmp_path: Path) -> None:
    said = refusal(tmp_path, {"collect_landscape": {"num_samples": 0}})
    assert "the value of `num_samples` should be greater than 0, but got `0`" in said
