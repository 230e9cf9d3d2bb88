"""Valid arguments of the public functions and classes, and the values for wrong ones."""

from collections.abc import Callable
from functools import partial
from inspect import signature
from threading import Thread

import numpy as np

import minispore as ms
from minispore import Parameter, ParameterTuple, Tensor, nn, ops
from minispore import dataset as ds
from minispore import tensorpack as tp
from minispore.common.initializer import initializer
from minispore.ops import elementwise, former_names, operations
from minispore.tensorpack.inference import Inferencer
from minispore.train import Accuracy, Model
from tests.helpers.random_op_calls import PRIMITIVES
from tests.helpers.refusals import Thing
from tests.helpers.stub_models import Rows, make

HUGE = 2**100
# A value of each kind that an annotation may name, and numbers out of most ranges.
VALUES: list[object] = [
    None, "a", "", "a/b", b"a", 3, -7, 2.5, True, float("nan"), 1e400, HUGE, 1j, Thing(), int,
    print, [], (), {}, {1}, ["a"], {"a": 2}, [[1], [1, 2]], (9, 9), (0, 0), [None], [1.5], range(3),
    slice(1), np.ones(3), np.array(["a"]), Tensor([1.0, 2.0]), Tensor([True]), ms.float32,
    nn.ReLU(),
]  # fmt: skip


def x() -> Tensor:
    return Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))


def images() -> Tensor:
    return Tensor(np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4))


def symmetric() -> Tensor:
    return Tensor([[4.0, 1.0], [1.0, 2.0]])


def total(values: Tensor) -> Tensor:
    return values.sum()


UNARY = {
    name: [*signature(getattr(ops, name)).parameters]
    for name in ("neg", "logical_not", *elementwise.__all__)
    if name.islower() and name != "stop_gradient"
}
BINARY = [
    "add", "sub", "mul", "floor_divide", "remainder", "maximum", "minimum", "equal", "greater",
    "greater_equal", "less", "less_equal", "not_equal", "logical_and", "logical_or", "logical_xor",
]  # fmt: skip
# A valid call of each operation, under one of its names.
OPERATIONS: dict[str, dict[str, object]] = {
    **{name: {"input": x(), "other": x()} for name in BINARY},
    **{
        name: {"input": Tensor([6, 7]), "other": 3}
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor")
    },
    **{name: {names[0]: x()} for name, names in UNARY.items() if len(names) == 1},
    **{name: {"input_x": x()} for name in ("rank", "shape", "size")},
    "GradOperation": {"get_all": True, "get_by_list": False, "sens_param": False},
    "all": {"input": x(), "axis": 0, "keep_dims": True},
    "amax": {
        "input": x(), "axis": (0, 1), "keepdims": True, "initial": 1.5,
        "where": Tensor([True, False, True]),
    },
    "amin": {
        "input": x(), "axis": 0, "keepdims": True, "initial": 1.5,
        "where": Tensor([True, False, True]),
    },
    "any": {"input": x(), "axis": 0, "keep_dims": True},
    "argsort": {"input": x(), "axis": 0, "descending": True},
    "avg_pool2d": {
        "input_x": images(), "kernel_size": 2, "stride": 1, "padding": 1, "ceil_mode": True,
        "count_include_pad": False, "divisor_override": 0,
    },
    "arange": {"start": 0, "end": 3, "step": 1, "dtype": ms.int32},
    "addmm": {
        "input": x(), "mat1": ops.ones((2, 2)), "mat2": x(), "beta": 2, "alpha": 0.5
    },
    "addmv": {
        "input": ops.ones(2), "mat": x(), "vec": ops.ones(3), "beta": 2, "alpha": 0.5
    },
    "argmax": {"input": x(), "dim": 1, "keepdim": True},
    "argmin": {"input": x(), "axis": 1, "keepdims": True},
    "baddbmm": {
        "input": x(), "batch1": ops.ones((1, 2, 2)), "batch2": ops.ones((1, 2, 3)), "beta": 2,
        "alpha": 0.5,
    },
    "batch_norm": {
        "input_x": images(), "running_mean": ops.zeros(2), "running_var": ops.ones(2),
        "weight": ops.ones(2), "bias": ops.zeros(2), "training": False,
        # With momentum 0, training does not change the running statistics.
        "momentum": 0.0,
        "eps": 1e-5,
    },
    "binary_cross_entropy_with_logits": {
        "input": x(), "target": x(), "weight": x(), "pos_weight": x(), "reduction": "sum",
    },
    "binary_cross_entropy": {
        "logits": ops.ones(3) / 4, "labels": ops.ones(3), "weight": ops.ones(3), "reduction": "sum",
    },
    "bias_add": {"input_x": x(), "bias": ops.ones(3)},
    "bitwise_not": {"input": Tensor([6, 7])},
    "bmm": {"input_x": ops.ones((2, 2, 3)), "mat2": ops.ones((2, 3, 2))},
    "broadcast_to": {"input": x(), "shape": (4, 2, 3)},
    "cast": {"input": x(), "dtype": ms.int32},
    "celu": {"x": x(), "alpha": 0.5},
    "chunk": {"input": x(), "chunks": 2, "axis": 1},
    "clip": {"input": x(), "min": 1, "max": x()},
    "concat": {"tensors": [x(), x()], "axis": 1},
    "count_nonzero": {"x": x(), "axis": 0, "keep_dims": True, "dtype": ms.int64},
    "diagonal": {"input": x(), "offset": 1, "dim1": 0, "dim2": 1},
    "dot": {"input": x(), "other": ops.ones((3, 2))},
    "index_select": {"input": x(), "axis": 1, "index": Tensor([0, 2])},
    "masked_select": {"input": x(), "mask": Tensor([True, False, True])},
    "interpolate": {
        "input": images(), "size": 2, "scale_factor": None, "mode": "bilinear",
        "align_corners": True, "recompute_scale_factor": False,
    },
    "mm": {"input": x(), "mat2": ops.ones((3, 2))},
    "movedim": {"x": x(), "source": 0, "destination": 1},
    "mv": {"mat": x(), "vec": ops.ones(3)},
    "nonzero": {"input": x(), "as_tuple": True},
    "outer": {"input": x(), "vec2": x()},
    "prod": {"input": x(), "axis": (0, 1), "keep_dims": True, "dtype": ms.float64},
    "roll": {"input": x(), "shifts": 1, "dims": 1},
    "scatter": {"input": x(), "axis": 1, "index": Tensor([[0], [1]]), "src": ops.ones((2, 1))},
    "trace": {"input": x()},
    "unbind": {"input": x(), "dim": 1},
    "cross_entropy": {
        "input": x(), "target": Tensor([2, 0]), "weight": ops.ones(3), "ignore_index": 0,
        "reduction": "sum", "label_smoothing": 0.25,
    },
    "cumprod": {"input": x(), "dim": 1, "dtype": ms.float64},
    "cumsum": {"x": x(), "axis": 1, "dtype": ms.float64},
    "dropout": {"input": x(), "p": 0.5, "training": True, "seed": 3},
    "dropout2d": {"input": images(), "p": 0.5, "training": True},
    "flip": {"input": x(), "dims": (0, 1)},
    "l1_loss": {"input": x(), "target": x(), "reduction": "sum"},
    "linspace": {"start": 0, "end": 1.5, "steps": 4},
    "masked_fill": {"input_x": x(), "mask": Tensor([True, False, True]), "value": 0.5},
    "mse_loss": {"input": x(), "target": x(), "reduction": "sum"},
    "nll_loss": {
        "inputs": x(), "target": Tensor([2, 0]), "weight": ops.ones(3), "ignore_index": 0,
        "reduction": "sum", "label_smoothing": 0.25,
    },
    "normal": {"shape": (2, 3), "mean": ops.ones(3), "stddev": 0.5, "seed": 3},
    "norm": {"A": x(), "ord": 1, "dim": 1, "keepdim": True, "dtype": ms.float64},
    "randint": {"low": 0, "high": 9, "size": (2, 3), "seed": 3, "dtype": ms.int32},
    "randperm": {"n": 4, "seed": 3, "offset": 0, "dtype": ms.int32},
    "repeat_elements": {"x": x(), "rep": 2, "axis": 1},
    "repeat_interleave": {"input": x(), "repeats": 2, "axis": 1},
    "scalar_to_tensor": {"input_x": 7, "dtype": ms.int32},
    "standard_normal": {"shape": (2, 3), "seed": 3},
    "subtract": {"input": x(), "other": x(), "alpha": 0.5},
    "sort": {"input_x": x(), "axis": 0, "descending": True},
    "std": {"input": x(), "axis": (0, 1), "ddof": 1, "keepdims": True},
    "tile": {"input": x(), "dims": (2, 2)},
    "topk": {"input": x(), "k": 2, "dim": 1, "largest": False, "sorted": True},
    "tril": {"input": x(), "diagonal": 1},
    "triu": {"input": x(), "diagonal": 1},
    "var": {"input": x(), "axis": 0, "ddof": 1, "keepdims": True},
    "conv2d": {
        "input": images(), "weight": ops.ones((4, 1, 2, 2)), "bias": ops.ones(4), "stride": 1,
        "pad_mode": "pad", "padding": 1, "dilation": 1, "groups": 2,
    },
    "dtype": {"x": x()},
    "elu": {"input_x": x(), "alpha": 0.5},
    "gelu": {"input": x(), "approximate": "tanh"},
    "hardshrink": {"input": x(), "lambd": 0.5},
    "hardtanh": {"input": x(), "min_val": -1.0, "max_val": 1.0},
    "leaky_relu": {"input": x(), "alpha": 0.1},
    "prelu": {"input": x(), "weight": Tensor([0.5])},
    "dense": {"input": x(), "weight": Tensor(np.ones((4, 3))), "bias": Tensor(np.ones(4))},
    "div": {"input": x(), "other": x(), "rounding_mode": "floor"},
    "expand_dims": {"input_x": x(), "axis": 0},
    "eye": {"n": 2, "m": 3, "dtype": ms.int32},
    "flatten": {"input": x(), "order": "C", "start_dim": 0, "end_dim": 1},
    "fill": {"type": ms.int32, "shape": (2, 3), "value": 7},
    "full": {"size": (2, 3), "fill_value": 7, "dtype": ms.int32},
    "full_like": {"input": x(), "fill_value": 7, "dtype": ms.int32},
    "gather": {"input_params": x(), "input_indices": Tensor([1]), "axis": 1, "batch_dims": 0},
    "gather_nd": {"input_x": x(), "indices": Tensor([[0, 1]])},
    "gather_elements": {"input": x(), "dim": 1, "index": Tensor([[0], [1]])},
    "grad": {
        "fn": total, "grad_position": 0, "weights": None, "has_aux": False, "return_ids": False,
        "sens_param": False,
    },
    "layer_norm": {
        "input": x(), "normalized_shape": (3,), "weight": ops.ones(3), "bias": ops.ones(3),
        "eps": 1e-5,
    },
    "kl_div": {"logits": x(), "labels": x(), "reduction": "sum"},
    "log_softmax": {"logits": x(), "axis": 1},
    "logsumexp": {"input": x(), "dim": 1, "keepdim": True},
    "matmul": {"input": x(), "other": Tensor(np.ones((3, 4)))},
    "max": {
        "input": x(), "axis": 1, "keepdims": True, "initial": 1.5,
        "where": Tensor([True, False, True]),
    },
    "max_pool2d": {
        "x": images(), "kernel_size": 2, "stride": 1, "padding": 1, "dilation": 1,
        "return_indices": False, "ceil_mode": True,
    },
    "mean": {"x": x(), "axis": 1, "keep_dims": True},
    "min": {
        "input": x(), "axis": 1, "keepdims": True, "initial": 1.5,
        "where": Tensor([True, False, True]),
    },
    "one_hot": {
        "indices": Tensor([0, 2]), "depth": 3, "on_value": 1, "off_value": 0, "axis": -1
    },
    "ones": {"shape": (2, 3), "dtype": ms.int32},
    "ones_like": {"input": x(), "dtype": ms.int32},
    "pad": {"input_x": x(), "padding": (1, 2), "mode": "constant", "value": 3},
    "permute": {"input": x(), "axis": (1, 0)},
    "pow": {"input": x(), "exponent": x()},
    "reshape": {"input": x(), "shape": (3, -1)},
    "softmax": {"input": x(), "axis": 1, "dtype": ms.float16},
    "softplus": {"input": x(), "beta": 2, "threshold": 5},
    "softshrink": {"input": x(), "lambd": 0.5},
    "tuple_to_array": {"input_x": (1, 2)},
    "uniform": {
        "shape": (2, 3), "minval": ops.zeros(3), "maxval": ops.ones(3), "seed": 3,
        "dtype": ms.float32,
    },
    "unique": {"input": x()},
    "unsqueeze": {"input": x(), "dim": 0},
    "unsorted_segment_sum": {
        "input_x": x(), "segment_ids": Tensor([0, 1]), "num_segments": 3
    },
    "unstack": {"input_x": x(), "axis": 1},
    "softmax_cross_entropy": {"logits": x(), "targets": x()},
    "split": {"tensor": x(), "split_size_or_sections": [1, 2], "axis": 1},
    "squeeze": {"input": Tensor(np.ones((1, 3))), "axis": 0},
    "stack": {"tensors": [x(), x()], "axis": 1},
    "sum": {"input": x(), "dim": (0, 1), "keepdim": True, "dtype": ms.float32},
    "swapaxes": {"input": x(), "axis0": 0, "axis1": 1},
    "value_and_grad": {
        "fn": total, "grad_position": 0, "weights": None, "has_aux": False, "return_ids": False,
        "sens_param": False,
    },
    "where": {"condition": Tensor([True, False, True]), "input": x(), "other": 0.0},
    "atan2": {"input": x(), "other": x()},
    "bincount": {"input": Tensor([2, 0, 0]), "weights": ops.ones(3), "minlength": 2},
    "cholesky": {"input_x": symmetric(), "upper": True},
    "column_stack": {"tensors": [x(), x()]},
    "conv_transpose2d": {
        "input": images(), "weight": ops.ones((2, 1, 2, 2)), "bias": ops.ones(2), "stride": 2,
        "padding": 1, "output_padding": 1, "groups": 2, "dilation": 1,
    },
    "cross": {"input": x(), "other": x(), "dim": 1},
    "cummax": {"input": x(), "axis": 1},
    "cummin": {"input": x(), "axis": 1},
    "det": {"input": symmetric()},
    "diag": {"input": x()},
    "diag_embed": {"input": x(), "offset": 1, "dim1": 0, "dim2": 2},
    "diagflat": {"input": x(), "offset": 1},
    "dstack": {"tensors": [x(), x()]},
    "fmod": {"input": x(), "other": x()},
    "fold": {
        "input": ops.ones((1, 4, 6)), "output_size": (3, 4), "kernel_size": 2, "dilation": 1,
        "padding": 0, "stride": 1,
    },
    "hstack": {"tensors": [x(), x()]},
    "inverse": {"input": symmetric()},
    "isclose": {"input": x(), "other": x(), "rtol": 0.5, "atol": 0.5, "equal_nan": True},
    "kron": {"input": x(), "other": x()},
    "logdet": {"input": symmetric()},
    "median": {"input": x(), "axis": 0, "keepdims": True},
    "multinomial": {"input": x() + 1, "num_samples": 2, "replacement": False, "seed": 3},
    "nan_to_num": {"input": x(), "nan": 1, "posinf": 2.5, "neginf": 0},
    "pixel_shuffle": {"input": ops.ones((1, 4, 2, 3)), "upscale_factor": 2},
    "pixel_unshuffle": {"input": ops.ones((1, 2, 4, 2)), "downscale_factor": 2},
    "qr": {"input": symmetric(), "mode": "complete"},
    "rms_norm": {"x": x(), "gamma": ops.ones(3), "epsilon": 1e-5},
    "row_stack": {"tensors": [x(), x()]},
    "scatter_nd": {"indices": Tensor([[0], [1]]), "updates": x(), "shape": (4, 3)},
    "searchsorted": {
        "sorted_sequence": x(), "values": x(), "out_int32": True, "right": True, "side": "right",
        "sorter": Tensor([[0, 1, 2], [0, 1, 2]]),
    },
    "slogdet": {"input": symmetric()},
    "svd": {"input": symmetric(), "full_matrices": True, "compute_uv": False},
    "tensor_scatter_add": {"input_x": x(), "indices": Tensor([[0], [1]]), "updates": x()},
    "tensor_scatter_elements": {
        "input_x": x(), "indices": Tensor([[0], [1]]), "updates": ops.ones((2, 1)), "axis": 1,
        "reduction": "add",
    },
    "unfold": {"input": images(), "kernel_size": 2, "dilation": 1, "padding": 1, "stride": 2},
    "vstack": {"inputs": [x(), x()]},
    "xlogy": {"input": x(), "other": x() + 1},
    "zeros": {"size": (2, 3), "dtype": ms.int32},
    "zeros_like": {"input": x(), "dtype": ms.int32},
}  # fmt: skip


def weight() -> Parameter:
    return Parameter(Tensor(np.ones((2, 3), np.float32)), name="w")


def rows(count: int = 10) -> ds.NumpySlicesDataset:
    return ds.NumpySlicesDataset(list(range(count)), "a", shuffle=False)


NETWORK = nn.Dense(2, 2)
DATA = ds.NumpySlicesDataset({"x": np.ones((4, 3), np.float32), "label": [0, 1, 2, 0]}).batch(2)
MODEL = make({"acc"})
# For arguments without a default, by name.
BY_NAME: dict[str, object] = {
    "backbone": nn.Dense(2, 2), "network": NETWORK, "loss_fn": nn.MSELoss(),
    "optimizer": nn.SGD(NETWORK.trainable_params()), "in_channels": 2, "out_channels": 2,
    "input_size": 2, "hidden_size": 2,
    "momentum": 0.9, "learning_rate": 0.1, "decay_rate": 0.9, "min_lr": 0.01, "max_lr": 0.1,
    "end_learning_rate": 0.01, "power": 0.5, "decay_steps": 4, "warmup_steps": 4,
    "total_step": 4, "step_per_epoch": 2, "decay_epoch": 2, "warmup_epoch": 2,
    "loss_scale_value": 16, "scale_factor": 2, "scale_window": 2, "scale_sense": Tensor(2.0),
    "milestone": [1, 2], "learning_rates": [0.1, 0.2], "value": 1.0, "kernel_size": 2,
    "parameters": nn.Dense(2, 2).trainable_params(), "params": [weight()],
    "num_features": 2, "num_groups": 1, "num_channels": 2, "output_size": 2,
    "normalized_shape": (2,), "vocab_size": 4, "embedding_size": 2,
    "padding": 1, "paddings": ((1, 1),), "axis": 1, "unflattened_size": (1, -1),
    "learning_rate_function": lambda rate, step: rate, "data_size": 3, "backup_dir": "backup",
    "duration": 3600,
    "summary_dir": "summary", "log_dir": "summary", "filename": "run.csv", "monitor_stat": "loss",
    "ckpt_file_name": "net.ckpt", "file_path": "net.ckpt", "save_obj": NETWORK, "net": NETWORK,
    "parameter_dict": {}, "scale_value": 16, "inputs": [Tensor([1.0])],
    "num_classes": 2, "size": 1, "degrees": 1, "translate": (0, 0), "scale": 1, "shear": 0,
    "coordinates": (0, 0), "rescale": 1, "shift": 0, "mean": (1.0,), "std": (1.0,),
    "transforms": [abs], "indices": [1], "weights": [1], "num_shards": 3, "shard_id": 0,
    "num_val": 1, "dataset_dir": ".", "dataset_files": "rows.csv", "data": [1], "source": [1],
    "num": 1, "seed": 1, "enable": True, "count": 1, "directory": "digits",
    "brightness_factor": 1, "contrast_factor": 1, "saturation_factor": 1, "hue_factor": 0,
    "callback": tp.ScalarPrinter(), "cb": tp.ScalarPrinter(), "triggerable": tp.ScalarPrinter(),
    "names": "loss", "tensor_name": "weight", "tensors": "loss", "command": "true",
    "param": "learning_rate", "pred": callable, "op": print, "fn": print, "func": max,
    "metric": Accuracy(), "summary_name": "accuracy", "obj": tp, "attrname": "x", "name": "a",
    "pred_tensor_name": "a", "label_tensor_name": "b", "window_size": 2, "startable": Thread(),
    "schedule": [(1, 0.5)], "stat_name": "loss", "value_func": abs, "threshold": 0.1, "last_k": 2,
    "input": DATA, "infs": Inferencer(), "epoch": 1, "train_dataset": Rows(4),
    "valid_dataset": Rows(4), "batch_size": 1, "predicate": abs, "operations": abs,
    "column_names": ["a"], "bucket_boundaries": [1], "bucket_batch_sizes": [1, 1],
    "buffer_size": 2, "sizes": [5, 5], "dataset": DATA, "x": np.ones(2), "y": np.ones(2),
    "datasets": (rows(), rows().rename("a", "b")), "data_type": ms.float32, "beta": 0.5, "k": 1,
}  # fmt: skip
# Instead of those, and of defaults with which another argument would have no effect.
BY_CALLABLE: dict[str, dict[str, object]] = {
    "safetensors_to_ckpt": {"file_path": "net.safetensors"},
    "DatasetHelper": {"dataset_sink_mode": False},
    "write": {"train": 1, "test": 1, "progress": None},
    "generate": {"progress": None},
    "get_metric_fn": {"name": "loss"},
    "custom_mixed_precision": {"white_list": [nn.Dense]},
    "GeneratorDataset": {"column_names": "a"},
    "BestCheckpoint": {"monitor": "loss"},
    "Every": {"steps": 2},
    "GraphVarParam": {"name": "learning_rate"},
    "PeriodicCallback": {"every_k_steps": 2},
    "PeriodicTrigger": {"every_k_steps": 2},
    "TrainConfig": {"dataflow": DATA, "model": Model(nn.Dense(3, 1))},
}
# Further callables, by package: methods, and what takes one of several sets of arguments.
FURTHER: dict[str, dict[str, tuple[Callable[..., object], dict[str, object]]]] = {
    "nn": {
        "initializer": (initializer, {"init": "one", "shape": 2, "dtype": ms.float32}),
        "Tensor": (Tensor, {"input_data": [1], "dtype": ms.float32}),
        "Tensor of a shape": (Tensor, {"dtype": ms.float32, "shape": 2, "init": None}),
        "from_numpy": (ms.from_numpy, {"array": np.ones(2)}),
        "Parameter": (Parameter, {"default_input": 1.0, "name": "a", "requires_grad": True}),
        "clone": (weight().clone, {"init": "same"}),
        "set_data": (weight().set_data, {"data": Tensor([1.0])}),
        "ParameterTuple": (ParameterTuple, {"iterable": [weight()]}),
        "ParameterTuple.clone": (
            ParameterTuple([weight()]).clone,
            {"prefix": "a", "init": "same"},
        ),
        "get_activation": (nn.get_activation, {"name": "relu"}),
        "set_train": (nn.Dense(1, 1).set_train, {"mode": True}),
        "set_grad": (nn.Dense(1, 1).set_grad, {"requires_grad": True}),
        "apply": (nn.Dense(1, 1).apply, {"fn": print}),
    },
    "ops": {
        name: (partial(primitive), {p.name: p.default for p in parameters})
        for name in sorted(PRIMITIVES)
        if isinstance(primitive := getattr(operations, name), type)
        and (parameters := signature(primitive).parameters.values())
        and all(p.default is not p.empty for p in parameters)
    },
    "train": {
        f"Model.{method}": (getattr(MODEL, method), {})
        for method in ("train", "fit", "eval", "build")
    },
    "dataset": {
        method: (getattr(rows(), method), {})
        for method in (
            "batch", "padded_batch", "bucket_batch_by_length", "output_shapes", "shuffle", "repeat",
            "take", "skip", "map", "filter", "split", "create_tuple_iterator",
            "create_dict_iterator",
        )
    },
    "tensorpack": {},
}  # fmt: skip
# Bases of other classes, results of other functions, what takes any value, and what writes into an
# argument, sets something for the process or has no named arguments.
NOT_CALLED: dict[str, set[str]] = {
    "nn": {"Cell", "Initializer", "LearningRateSchedule", "LossBase", "Optimizer"},
    "ops": {
        *("apply_rule", "assign", "assign_add", "assign_sub", "clip_by_global_norm", "constexpr"),
        *("clip_by_value", "depend", "einsum", "get_grad", "identity", "index_add", "meshgrid"),
        *("partial", "rand", "randn", "scatter_add", "stop_gradient", "vmap"),
        *(name for name in dir(operations) if name != "GradOperation"),
        *former_names.__all__,
    },
    "train": {
        "CallbackManager",
        "InternalCallbackParam",
        "RunContext",
        "TrainingState",
        "LossScaler",
    },
    "dataset": {
        *("BatchInfo", "BuiltinSampler", "DSRunContext", "Dataset", "IterSampler"),
        *("MappableDataset", "Sampler"),
    },
    "tensorpack": {
        *("Callback", "HyperParam", "HyperParamSetter", "Monitors", "RunValues", "Trainer"),
        "launch_train_with_config",
    },
}
