"""Lineage: the settings and results of a run in MindSpore's format for MindInsight.

    LineageEvent { double wall_time = 1; train 6; evaluation 7; user_defined 10 }
    train        { hyper_parameters 1 {optimizer 1, learning_rate 2, loss_function 3, epoch 4,
                   parallel_mode 5, device_num 6, batch_size 8}; train_dataset 2 {path 1, size 2};
                   algorithm 3 {network 1, loss 2}; model 4 {path 3, size 4} }
    evaluation   { metric 2, a JSON object; valid_dataset 3 {path 1, size 2} }
    user_defined { one user_defined 1 for each entry, of
                   {key 1, value 2} as an int32 3, a string 4 or a double 5 }

TensorBoard does not read it.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple, cast

from minispore.train.checkpoint import protobuf as wire
from minispore.utils.checks import check_int, check_type

_INT32: Final = 2**31


class TrainLineage(NamedTuple):
    """The settings of a training; empty or 0 where unknown.

    Attributes:
        network: The class of the network.
        loss_function: The class of the loss function.
        optimizer: The class of the optimizer.
        learning_rate: The last learning rate.
        loss: The last loss.
        epoch: The number of epochs.
        batch_size: The number of samples in a batch.
        dataset_size: The number of samples in an epoch.
        model_path: The path of the last checkpoint as a JSON object.
        model_size: The size of the last checkpoint in bytes.
        parallel_mode: "stand_alone" or "data_parallel".
        device_num: The number of processes.

    Examples:
        >>> TrainLineage("LeNet5", optimizer="Momentum", epoch=10).epoch
        10
    """

    network: str
    loss_function: str = ""
    optimizer: str = ""
    learning_rate: float = 0.0
    loss: float = 0.0
    epoch: int = 0
    batch_size: int = 0
    dataset_size: int = 0
    model_path: str = '{"ckpt": null}'
    model_size: int = 0
    parallel_mode: str = "stand_alone"
    device_num: int = 1


class EvaluationLineage(NamedTuple):
    """The results of an evaluation.

    Attributes:
        metrics: The results by metric.
        dataset_size: The number of samples.

    Examples:
        >>> EvaluationLineage({"accuracy": 0.75}, 1000).metrics
        {'accuracy': 0.75}
    """

    metrics: Mapping[str, object]
    dataset_size: int = 0


Lineage = TrainLineage | EvaluationLineage | Mapping[str, int | float | str]


def check_custom(value: object) -> dict[str, int | float | str]:
    """Return custom lineage data; raise TypeError or ValueError if they cannot be written."""
    name = "custom_lineage_data"
    for key, item in check_type(value, dict[object, object], name).items():
        check_type(key, str, f"key of {name}")
        check_type(item, (int, float, str), f"{name}.{key}")
        if isinstance(item, int):
            check_int(item, f"{name}.{key}", low=-_INT32, high=_INT32 - 1)
    return dict(cast("dict[str, int | float | str]", value))


def encode(lineage: Lineage, wall_time: float) -> bytes:
    """Return a lineage event."""
    match lineage:
        case TrainLineage():
            number, content = 6, _train(lineage)
        case EvaluationLineage():
            number, content = 7, _evaluation(lineage)
        case _:
            entries = (_entry(key, item) for key, item in lineage.items())
            number, content = 10, b"".join(wire.bytes_field(1, entry) for entry in entries)
    return wire.double_field(1, wall_time) + wire.bytes_field(number, content)


def _train(lineage: TrainLineage) -> bytes:
    hyper_parameters = (
        wire.text_field(1, lineage.optimizer)
        + wire.float_field(2, lineage.learning_rate)
        + wire.text_field(3, lineage.loss_function)
        + wire.varint_field(4, lineage.epoch)
        + wire.text_field(5, lineage.parallel_mode)
        + wire.varint_field(6, lineage.device_num)
        + wire.varint_field(8, lineage.batch_size)
    )
    algorithm = wire.text_field(1, lineage.network) + wire.float_field(2, lineage.loss)
    model = wire.text_field(3, lineage.model_path) + wire.varint_field(4, lineage.model_size)
    return (
        wire.bytes_field(1, hyper_parameters)
        + wire.bytes_field(2, wire.varint_field(2, lineage.dataset_size))
        + wire.bytes_field(3, algorithm)
        + wire.bytes_field(4, model)
    )


def _evaluation(lineage: EvaluationLineage) -> bytes:
    import json

    # Values that JSON cannot represent are written as text.
    metrics = json.dumps(dict(lineage.metrics), default=str)
    size = wire.varint_field(2, lineage.dataset_size)
    return wire.text_field(2, metrics) + wire.bytes_field(3, size)


def _entry(key: str, item: float | str) -> bytes:
    name = wire.text_field(1, key)
    if isinstance(item, str):
        return wire.bytes_field(4, name + wire.text_field(2, item))
    if isinstance(item, int):
        return wire.bytes_field(3, name + wire.varint_field(2, item))
    return wire.bytes_field(5, name + wire.double_field(2, item))
