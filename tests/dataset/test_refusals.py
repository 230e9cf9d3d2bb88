"""What is refused: a message names the function, the argument, and what was given."""
# The calls are wrong on purpose, so that type checkers would refuse them, too.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore.dataset
from minispore.dataset import digits
from minispore.utils.checks import as_items
from tests.helpers.dataset_rows import rows
from tests.helpers.refusals import Refusal, refusals

ds: Any = minispore.dataset
Bad = st.SearchStrategy[tuple[object, type[Exception]]]


def numbers(count: int = 10) -> Any:  # noqa: ANN401 (it is called wrongly)
    return ds.NumpySlicesDataset(list(range(count)), "a", shuffle=False)


def pairs(count: int = 3) -> Any:  # noqa: ANN401
    data = (list(range(count)), [i / 2 for i in range(count)])
    return ds.NumpySlicesDataset(data, ["a", "b"], shuffle=False)


def mixed_ranks() -> Any:  # noqa: ANN401
    return ds.GeneratorDataset([np.ones(2), np.ones((2, 1))], "a")


def wrong_types(*values: object) -> Bad:
    return st.sampled_from(values).map(lambda value: (value, TypeError))


def integers(low: int, high: int | None = None, *, also: int | None = None) -> Bad:
    """Return what is no int from `low` to `high`, and not `also`."""
    outside = st.integers(max_value=low - 1).filter(lambda value: value != also)
    if high is not None:
        outside |= st.integers(min_value=high + 1)
    return wrong_types(1.5, "a", True, [1]) | outside.map(lambda value: (value, ValueError))


def values(*wrong: object) -> Bad:
    return st.sampled_from(wrong).map(lambda value: (value, ValueError))


BOOLS = wrong_types(1, 0.0, "True")
NUMBERS = wrong_types("a", [1.0], None)
COUNT = {"count": integers(1, 2**31 - 1, also=-1)}
ITERATION = {"num_epochs": COUNT["count"], "output_numpy": BOOLS}
SAMPLES = {"num_samples": integers(0)}
WORKERS = {"num_parallel_workers": integers(1)}
PROCESSES = {"python_multiprocessing": BOOLS} | WORKERS
CALLABLE = wrong_types(3, "a")
SOURCE = {"shuffle": BOOLS, "sampler": wrong_types("41", b"41", 4, 1.5)} | SAMPLES | WORKERS
LENGTH = integers(1, 2**31 - 1)

# fmt: off
PAD_INFO = wrong_types(3, [], {"a": 3}, {"a": (1, 2)}, {"a": ([1], 2, 3)}, {"a": (["a"], 0)})
PROBABILITY = {"prob": NUMBERS | values(-0.1, 1.1)}
TRANSFORMS = {"transforms": wrong_types(3, [3], "a", [int])}
SIZE = {"size": wrong_types("a", 3.5, True, (1, 2, 3), (1, 2.5)) | values(0, (0, 3), 2**31)}
FILL = {"fill_value": wrong_types("a", 1.5, (1, 2), (1, 2, "a")) | values(-1, 256, (1, 2, 256))}
PADDING = {"padding": wrong_types("a", 1.5, (1, "a")) | values(-1, (1, -1), (1, 2, 3)),
           "padding_mode": wrong_types("edge", None)}
RESAMPLE = {"resample": wrong_types("linear", None, 0)}
FACTORS = wrong_types("a", (1, "a"), (1, 2, 3)) | values(-1, (2, 1))
RANGE = wrong_types("a", 3, (1, "a"), (1, 2, 3)) | values((2, 1), (-1, 2))
ROTATION = {"expand": BOOLS, "center": wrong_types(3, (1, "a"), (1, 2, 3))} | RESAMPLE | FILL
FOLDER = {"dataset_dir": wrong_types(3, None) | values("/dev/null/absent"),
          "cache": wrong_types(3, "a")} | SOURCE
USAGE = {"usage": wrong_types(3, True) | values("eval")} | FOLDER

# A function, arguments that it accepts, and arguments that it refuses.
FUNCTIONS: list[tuple[Callable[..., object], dict[str, object], dict[str, Bad]]] = [
    (numbers().batch, {"batch_size": 1},
     {"batch_size": integers(1), "drop_remainder": BOOLS, "per_batch_map": CALLABLE} | WORKERS),
    (numbers().padded_batch, {"batch_size": 1},
     {"batch_size": integers(1), "drop_remainder": BOOLS, "pad_info": PAD_INFO} | WORKERS),
    (numbers().bucket_batch_by_length, {"column_names": ["a"], "bucket_boundaries": [1],
                                        "bucket_batch_sizes": [1, 1]},
     {"column_names": wrong_types("a", 3, [3]), "element_length_function": CALLABLE,
      "bucket_boundaries": wrong_types(3, ["a"], [1.5]) | values([], [0], [-1]),
      "bucket_batch_sizes": wrong_types(3, ["a"], [1.5]) | values([], [0, 1], [1], [1, 2, 3]),
      "pad_info": PAD_INFO, "pad_to_bucket_boundary": BOOLS, "drop_remainder": BOOLS}),
    (numbers().output_shapes, {}, {"estimate": BOOLS}),
    (numbers().shuffle, {}, {"buffer_size": integers(2, 2**31 - 1)}),
    (numbers().repeat, {}, COUNT),
    (numbers().take, {}, COUNT),
    (numbers().skip, {}, {"count": integers(0)}),
    (numbers().map, {"operations": abs},
     {"operations": CALLABLE, "callbacks": wrong_types(3, [3], "a", [None])} | PROCESSES),
    (numbers().filter, {"predicate": abs}, {"predicate": CALLABLE} | WORKERS),
    (numbers().split, {"sizes": [5, 5]}, {"randomize": BOOLS, "sizes": wrong_types([0.7, "a"])}),
    (numbers().create_tuple_iterator, {}, ITERATION),
    (numbers().create_dict_iterator, {}, ITERATION),
    (ds.SequentialSampler, {}, {"start_index": wrong_types(1.5, "a")} | SAMPLES),
    (ds.RandomSampler, {}, {"replacement": BOOLS} | SAMPLES),
    (ds.SubsetSampler, {"indices": [1]}, {"indices": wrong_types([1.5], "a")} | SAMPLES),
    (ds.SubsetRandomSampler, {"indices": [1]}, {"indices": wrong_types([1.5], "a")} | SAMPLES),
    (ds.WeightedRandomSampler, {"weights": [1]},
     {"weights": values([0, 0], [1, -1], [1, np.nan], [np.inf], [], [[1]]), "replacement": BOOLS}
     | SAMPLES),
    (ds.DistributedSampler, {"num_shards": 3, "shard_id": 0},
     {"num_shards": integers(1), "shard_id": integers(0, 2), "shuffle": BOOLS,
      "offset": integers(-1, 2)} | SAMPLES),
    (ds.PKSampler, {"num_val": 1},
     {"num_val": integers(1), "shuffle": BOOLS, "class_column": wrong_types(3, None)} | SAMPLES),
    (ds.MnistDataset, {"dataset_dir": "."}, USAGE),
    (ds.FashionMnistDataset, {"dataset_dir": "."}, USAGE),
    (ds.Cifar10Dataset, {"dataset_dir": "."}, USAGE),
    (ds.Cifar100Dataset, {"dataset_dir": "."}, USAGE),
    (ds.ImageFolderDataset, {"dataset_dir": "."},
     {"extensions": wrong_types(3, "png", [3]), "decode": BOOLS, "decrypt": wrong_types(3),
      "class_indexing": wrong_types(3, ["a"])} | FOLDER),
    (ds.CSVDataset, {"dataset_files": __file__},
     {"dataset_files": wrong_types(3, None), "field_delim": wrong_types(3) | values("", ";;", '"'),
      "column_defaults": wrong_types(3, "a"), "shuffle": BOOLS} | SAMPLES | WORKERS),
    (ds.NumpySlicesDataset, {"data": [1]}, {"data": wrong_types(3, "a")} | SOURCE),
    (ds.GeneratorDataset, {"source": [1], "column_names": "x"},
     {"source": wrong_types(3, 1.5)} | SOURCE | PROCESSES),
    (ds.transforms.OneHot, {"num_classes": 2},
     {"num_classes": LENGTH, "smoothing_rate": NUMBERS | values(-0.01, 1.01)}),
    (ds.transforms.TypeCast, {}, {"data_type": wrong_types("no type", 3)}),
    (ds.transforms.Compose, {}, TRANSFORMS),
    (ds.transforms.RandomApply, {"transforms": [abs]}, TRANSFORMS | PROBABILITY),
    (ds.transforms.RandomChoice, {}, TRANSFORMS),
    (ds.transforms.RandomOrder, {}, TRANSFORMS),
    (ds.vision.Rescale, {"rescale": 1, "shift": 0}, {"rescale": NUMBERS, "shift": NUMBERS}),
    (ds.vision.Normalize, {"mean": (1.0,), "std": (1.0,)},
     {"mean": wrong_types(1.0, ["a"]) | values((-1.0,), (256.0,)),
      "std": wrong_types(1.0, ["a"]) | values((0.0,), (256.0,)), "is_hwc": BOOLS}),
    (ds.vision.Resize, {"size": 3}, {"interpolation": wrong_types("linear", None)} | SIZE),
    (ds.vision.CenterCrop, {}, SIZE),
    (ds.vision.Crop, {"coordinates": (0, 0), "size": 1},
     {"coordinates": wrong_types(3, (1, 2, 3), (1, 1.5)) | values((-1, 0), (0, 2**31))} | SIZE),
    (ds.vision.Pad, {"padding": 1}, PADDING | FILL),
    (ds.vision.Rotate, {"degrees": 1}, {"degrees": NUMBERS} | ROTATION),
    (ds.vision.Affine, {"degrees": 1, "translate": (0, 0), "scale": 1, "shear": 0},
     {"degrees": NUMBERS, "translate": wrong_types(1, (1, "a")) | values((1.1, 0), (0, -2)),
      "scale": NUMBERS | values(0, -1), "shear": wrong_types("a", (1, "a"), (1, 2, 3))}
     | RESAMPLE | FILL),
    (ds.vision.Decode, {}, {"to_pil": wrong_types(3, True)}),
    (ds.vision.RandomHorizontalFlip, {}, PROBABILITY),
    (ds.vision.RandomVerticalFlip, {}, PROBABILITY),
    (ds.vision.RandomCrop, {"size": 1}, {"pad_if_needed": BOOLS} | SIZE | PADDING | FILL),
    (ds.vision.RandomResizedCrop, {"size": 1},
     {"scale": RANGE, "ratio": RANGE | values((0, 1)), "max_attempts": integers(1),
      "interpolation": wrong_types("linear", None)} | SIZE),
    (ds.vision.RandomCropDecodeResize, {"size": 1},
     {"scale": RANGE, "ratio": RANGE | values((0, 1)), "max_attempts": integers(1),
      "interpolation": wrong_types("linear", None)} | SIZE),
    (ds.vision.RandomRotation, {"degrees": 1},
     {"degrees": wrong_types("a", (1, "a"), (1, 2, 3)) | values(-1, (2, 1))} | ROTATION),
    (ds.vision.AdjustBrightness, {}, {"brightness_factor": NUMBERS | values(-0.1)}),
    (ds.vision.AdjustContrast, {}, {"contrast_factor": NUMBERS | values(-0.1)}),
    (ds.vision.AdjustSaturation, {}, {"saturation_factor": NUMBERS | values(-0.1)}),
    (ds.vision.AdjustHue, {}, {"hue_factor": NUMBERS | values(-0.6, 0.6)}),
    (ds.vision.RandomColor, {}, {"degrees": RANGE}),
    (ds.vision.RandomColorAdjust, {},
     {"brightness": FACTORS, "contrast": FACTORS, "saturation": FACTORS,
      "hue": FACTORS | values(0.6, (-0.6, 0), (0, 0.6))}),
    (ds.vision.RandomAffine, {"degrees": 1},
     {"degrees": wrong_types("a", (1, "a"), (1, 2, 3)) | values(-1, (2, 1)),
      "translate": wrong_types(1, (1, "a"), (1, 2, 3)) | values((0, 1.1), (0, 0, 1, 0)),
      "scale": RANGE | values((0, 1)), "shear": wrong_types("a", (1, 2, 3)) | values(0, (2, 1))}
     | RESAMPLE | FILL),
    (ds.config.set_seed, {}, {"seed": integers(0, 2**32 - 1)}),
    (ds.config.set_num_parallel_workers, {}, {"num": integers(1)}),
    (ds.config.set_prefetch_size, {}, {"size": integers(1)}),
    (ds.config.set_enable_shared_mem, {}, {"enable": BOOLS}),
    (ds.DSCallback, {}, {"step_size": LENGTH}),
    (digits.generate, {"count": 1},
     {"count": integers(0, 2**31 - 1), "seed": integers(0), "usage": values("eval")}),
    (digits.write, {"directory": "/dev/null/absent"},
     {"directory": wrong_types(3, None), "train": LENGTH, "test": LENGTH, "seed": integers(0)}),
]
# fmt: on
ARGUMENTS = [(i, name) for i, (_, _, refused) in enumerate(FUNCTIONS) for name in refused]


@pytest.mark.parametrize(
    ("index", "argument"), ARGUMENTS, ids=[f"{FUNCTIONS[i][0].__name__}-{n}" for i, n in ARGUMENTS]
)
@given(data=st.data())
def test_message_names_function_argument_and_value(
    index: int, argument: str, data: st.DataObject
) -> None:
    function, accepted, refused = FUNCTIONS[index]
    value, error = data.draw(refused[argument])
    name = function.__name__
    with pytest.raises(error, match=f"^For '{name}', .*'{argument}'") as caught:
        function(**accepted | {argument: value})
    given_values = (value, *(as_items(value) or ()))
    assert any(repr(each) in str(caught.value) for each in given_values)


NAMES: dict[str, object] = {
    "ds": ds,
    "np": np,
    "numbers": numbers,
    "pairs": pairs,
    "mixed_ranks": mixed_ranks,
    "rows": rows,
}


@pytest.mark.parametrize(
    "refusal", refusals(Path(__file__).with_name("refusals.txt").read_text("utf-8"))
)
def test_message_names_what_is_wrong(refusal: Refusal) -> None:
    refusal.check(NAMES)


CONTRADICTIONS: list[tuple[dict[str, object], str]] = [
    ({"shuffle": False, "sampler": [1]}, "'sampler' and 'shuffle'"),
    ({"num_samples": 2, "sampler": ds.SubsetSampler([1])}, "'sampler' and 'num_samples'"),
    ({"num_shards": 2, "shard_id": 0, "sampler": [1]}, "'sampler' and 'num_shards'"),
    ({"num_shards": 2}, "'num_shards' and 'shard_id'"),
]


@pytest.mark.parametrize(("arguments", "names"), CONTRADICTIONS)
@pytest.mark.parametrize(
    ("make", "error"),
    [
        (partial(ds.GeneratorDataset, [1, 2], ["x"]), ValueError),
        (partial(ds.NumpySlicesDataset, [1]), ValueError),
        (partial(ds.MnistDataset, "."), RuntimeError),
        (partial(ds.ImageFolderDataset, "."), RuntimeError),
    ],
)
def test_contradictory_arguments_raise_mindspores_kind_of_error(
    make: Callable[..., object], error: type[Exception], arguments: dict[str, object], names: str
) -> None:
    with pytest.raises(error, match=names):
        make(**arguments)


def test_data_set_of_files_takes_no_num_samples_with_a_list_of_indices() -> None:
    with pytest.raises(RuntimeError, match="'sampler' and 'num_samples'"):
        ds.MnistDataset(".", sampler=[1], num_samples=2)
