"""What is refused: a message names the function, the argument, and what was given."""
# The calls are wrong on purpose, so that type checkers would refuse them, too.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore.dataset
from minispore.dataset import digits
from minispore.utils.checks import as_items
from tests.helpers.dataset_rows import rows

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


# fmt: off
REFUSED: list[tuple[type[Exception], str, tuple[Callable[[], object], ...]]] = [
    (RuntimeError, "no column 'z' in the dataset; it has 'a', 'b'", (
        lambda: pairs().map(abs, "z"),
        lambda: pairs().rename("z", "x"),
        lambda: pairs().project("z"),
        lambda: pairs().create_tuple_iterator(columns=["z"]),
    )),
    (RuntimeError, "column 'b' would occur twice", (
        lambda: pairs().map(abs, "a", "b"),
        lambda: pairs().rename("a", "b"),
        lambda: numbers().rename("a", "b").zip(pairs()),
    )),
    (ValueError, "different names", (
        lambda: pairs().project(["a", "a"]),
        lambda: ds.NumpySlicesDataset(([1], [2]), ["a", "a"]),
    )),
    (TypeError, "'batch_sampler' must be an iterable of lists of row indices, but got 3", (
        lambda: ds.GeneratorDataset([1, 2], ["a"], batch_sampler=3),
    )),
    (ValueError, "'PKSampler', the argument 'class_column' must be a column of labels", (
        lambda: list(ds.GeneratorDataset([1, 2], ["a"], sampler=ds.PKSampler(1))),
    )),
    (ValueError, "must not be empty", (
        lambda: pairs().project([]),
        lambda: pairs().map([]),
        lambda: numbers().split([]),
        lambda: ds.transforms.Compose([]),
        lambda: ds.transforms.RandomChoice([]),
    )),
    (ValueError, "same length", (
        lambda: pairs().rename(["a", "b"], "x"),
        lambda: ds.NumpySlicesDataset(([1, 2], [3])),
        lambda: ds.vision.Normalize((1.0,), (1.0, 2.0)),
    )),
    (RuntimeError, "same columns in the same order", (lambda: numbers() + pairs(),)),
    (TypeError, "must be a Dataset", (lambda: numbers() + 3, lambda: numbers().zip(3))),
    (ValueError, "need 'per_batch_map'", (lambda: numbers().batch(2, input_columns="a"),)),
    (TypeError, "'apply_func' must return a dataset", (lambda: numbers().apply(lambda d: 3),)),
    (TypeError, "must be a number, a string, an array", (
        lambda: rows(pairs().map(lambda a: None)),
        lambda: rows(pairs().map(lambda a: [[1], [1, 2]])),
        lambda: ds.NumpySlicesDataset([None, object()]),
        lambda: rows(ds.GeneratorDataset([object()], "x")),
    )),
    (RuntimeError, "must return 1 columns, .* but returned 2", (
        lambda: rows(pairs().map(lambda a: (a, a))),
    )),
    (RuntimeError, "must return 2 columns, but returned 1", (
        lambda: rows(pairs().batch(2, per_batch_map=lambda a, _, __: (a,))),
    )),
    (RuntimeError, "'TypeCast' takes one column", (
        lambda: rows(pairs().map(ds.transforms.TypeCast(np.int8), ["a", "b"])),
        lambda: rows(ds.NumpySlicesDataset(["a"]).map(ds.transforms.TypeCast(np.int8))),
        lambda: rows(ds.GeneratorDataset([{"a": 1}], "x").map(ds.transforms.TypeCast(np.int8))),
    )),
    (RuntimeError, "must return one bool", (
        lambda: rows(numbers(3).filter(lambda a: [True, False])),
        lambda: rows(numbers(3).filter(lambda a: [])),
    )),
    (RuntimeError, "must have the same types", (
        lambda: rows(numbers(2) + ds.NumpySlicesDataset([1.0], "a")),
    )),
    (RuntimeError, "got int64 of 0 axes and int64 of 1 axes", (
        lambda: rows(numbers(2) + numbers(2).batch(2)),
    )),
    (RuntimeError, "must have the same keys", (
        lambda: rows(ds.GeneratorDataset([{"a": 1}, {"b": 1}], "x", shuffle=False).batch(2)),
    )),
    (RuntimeError, "the key 'a' must have the same shape", (
        lambda: rows(ds.GeneratorDataset([{"a": 1}, {"a": [1]}], "x").batch(2)),
    )),
    (RuntimeError, "must have the same number of axes", (
        lambda: rows(numbers().padded_batch(2, pad_info={"a": ([2], 0)})),
        lambda: rows(mixed_ranks().padded_batch(2, pad_info={})),
        lambda: mixed_ranks().output_shapes(True),
    )),
    (RuntimeError, "'pad_to_bucket_boundary' needs rows shorter than", (
        lambda: rows(numbers().batch(3).bucket_batch_by_length(
            ["a"], [2], [1, 1], None, {"a": ([None], 0)}, True)),
    )),
    (ValueError, "'column_names' must be one column unless", (
        lambda: pairs().bucket_batch_by_length(["a", "b"], [2], [1, 1]),
    )),
    (RuntimeError, "'collate_fn' must return 1 columns, but returned 2", (
        lambda: rows(ds.GeneratorDataset(
            [1], "x", batch_sampler=[[0]], collate_fn=lambda x: (x, x))),
    )),
    (ValueError, "'collate_fn' needs 'batch_sampler'", (
        lambda: ds.GeneratorDataset([1], "x", collate_fn=abs),
    )),
    (ValueError, "'batch_sampler' needs", (
        lambda: ds.GeneratorDataset(iter([1]), "x", batch_sampler=[[0]]),
        lambda: ds.GeneratorDataset([1], "x", batch_sampler=[[0]], num_samples=1),
    )),
    (TypeError, "'batch_sampler' must be an iterable", (
        lambda: ds.GeneratorDataset([1], "x", batch_sampler=3),
    )),
    (ValueError, "'class_column' must be a column of labels", (
        lambda: ds.NumpySlicesDataset({"label": [1]}, sampler=ds.PKSampler(1)),
    )),
    (RuntimeError, r"same shapes and types, .* 'a' .* int64\((0,)?\) and \w+64\((1,)?\)", (
        lambda: rows(numbers(4).map(lambda a: np.arange(a // 2)).batch(3)),
        lambda: rows(numbers(4).map(lambda a: a / 2 if a % 2 else a).batch(3)),
    )),
    (RuntimeError, "has no rows", (
        lambda: numbers().skip(10).output_types(),
        lambda: numbers().skip(10).output_shapes(),
    )),
    (RuntimeError, "an endless 'repeat' comes before it", (
        lambda: len(numbers().repeat().filter(lambda x: x > 1)),
        lambda: len(numbers().repeat().batch(lambda info: info.get_batch_num() + 1)),
    )),
    (RuntimeError, "sum to the dataset's 10 rows, but sum to 11", (
        lambda: numbers().split([7, 4]),
    )),
    (ValueError, "fractions must sum to 1", (
        lambda: numbers().split([0.7, 0.31]),
        lambda: numbers().split([0.7, 0.29]),
    )),
    (RuntimeError, "leave a part without a row", (lambda: numbers(3).split([0.05, 0.95]),)),
    (ValueError, "above 0", (lambda: numbers().split([0, 10]),)),
    (RuntimeError, "there is no row (10|-1) in a source of 10 rows", (
        lambda: rows(ds.NumpySlicesDataset([*range(10)], sampler=[0, 10])),
        lambda: rows(ds.NumpySlicesDataset([*range(10)], sampler=[0, -1])),
        lambda: rows(ds.NumpySlicesDataset([*range(10)], sampler=ds.SubsetRandomSampler(10))),
        lambda: rows(ds.NumpySlicesDataset([*range(10)], sampler=ds.SequentialSampler(10))),
    )),
    (RuntimeError, "3 weights for a source of 2 rows", (
        lambda: rows(ds.NumpySlicesDataset([1, 2], sampler=ds.WeightedRandomSampler([1, 1, 1]))),
    )),
    (ValueError, "must have rows", (
        lambda: ds.NumpySlicesDataset([]),
        lambda: ds.NumpySlicesDataset({}),
        lambda: ds.NumpySlicesDataset(()),
    )),
    (ValueError, "must be 1 names, but got 2", (lambda: ds.NumpySlicesDataset([1], ["a", "b"]),)),
    (IndexError, "there is no row -?1[01]; it has 10 rows", (
        lambda: numbers()[10],
        lambda: numbers()[-11],
    )),
    (TypeError, "'index'", (lambda: numbers()["a"],)),
    (TypeError, "cannot be chosen by index", (lambda: ds.GeneratorDataset(iter([1]), "x")[0],)),
    (RuntimeError, "must give 2 values a row", (
        lambda: rows(ds.GeneratorDataset([1], ["x", "y"])),
    )),
    (ValueError, "'column_names' must name the columns", (lambda: ds.GeneratorDataset([1]),)),
    (ValueError, "' needs a 'source' with '__getitem__'", (
        lambda: ds.GeneratorDataset(iter([1]), "x", num_shards=2, shard_id=0),
        lambda: ds.GeneratorDataset(iter([1]), "x", sampler=[0]),
    )),
    (RuntimeError, r"column 'x' must be of type \w+32 .* gave int64", (
        lambda: rows(ds.GeneratorDataset([1], "x", ["float32"])),
        lambda: rows(ds.GeneratorDataset([1], "x", ["int32"])),
    )),
    (ValueError, "must be 1 types", (lambda: ds.GeneratorDataset([1], "x", ["int8", "int8"]),)),
    (RuntimeError, r"'OneHot', the input must be (in \[0, 3\]|of int type)", (
        lambda: ds.transforms.OneHot(4)(np.array(4)),
        lambda: ds.transforms.OneHot(4)(np.array(-1)),
        lambda: ds.transforms.OneHot(4)(np.array(1.0)),
    )),
    (RuntimeError, "'Crop', the part of size .* must be inside of the image", (
        lambda: ds.vision.Crop((1, 0), 2)(np.zeros((2, 3))),
        lambda: ds.vision.Crop((0, 2), 2)(np.zeros((2, 3))),
    )),
    (RuntimeError, "'size' .* must be at most the height and width of the padded image", (
        lambda: ds.vision.RandomCrop(4, (1, 0))(np.zeros((4, 1))),
    )),
    (RuntimeError, "must be of uint8, float32 or float64", (
        lambda: ds.vision.Rotate(1, ds.vision.Inter.LINEAR)(np.zeros((1, 1), np.int32)),
    )),
    (RuntimeError, "must be the bytes of a file", (lambda: ds.vision.Decode()(np.zeros(3)),)),
    (RuntimeError, "^For '(HWC2CHW|ToTensor|Normalize|Resize|Pad|Random.*)', .*image ", (
        lambda: ds.vision.Pad(1)(np.zeros(3)),
        lambda: ds.vision.RandomHorizontalFlip()(np.zeros(3)),
        lambda: ds.vision.HWC2CHW()(np.zeros(3)),
        lambda: ds.vision.ToTensor()(np.zeros((1, 1, 1, 1))),
        lambda: ds.vision.Normalize((1.0, 2.0), (1.0, 1.0))(np.zeros((2, 2, 3))),
        lambda: ds.vision.Normalize((1.0,), (1.0,))(np.zeros(3)),
        lambda: ds.vision.Resize(2)(np.zeros(3, np.uint8)),
        lambda: ds.vision.Resize(2)(np.zeros((2, 2), np.int32)),
        lambda: ds.vision.Resize(2)(np.zeros((0, 2), np.uint8)),
    )),
]
# fmt: on


@pytest.mark.parametrize(("error", "message", "calls"), REFUSED)
def test_message_names_what_is_wrong(
    error: type[Exception], message: str, calls: tuple[Callable[[], object], ...]
) -> None:
    for call in calls:
        with pytest.raises(error, match=message):
            call()


CONTRADICTIONS: list[tuple[dict[str, object], str]] = [
    ({"shuffle": False, "sampler": [1]}, "'sampler' and 'shuffle'"),
    ({"num_samples": 2, "sampler": [1]}, "'sampler' and 'num_samples'"),
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
