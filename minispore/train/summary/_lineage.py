"""Lineage: with what a run was trained and what came out, as MindSpore writes it for MindInsight.

    LineageEvent { double wall_time = 1; train 6; evaluation 7; user_defined 10 }
    train        { hyper_parameters 1 {optimizer 1, learning_rate 2, loss_function 3, epoch 4,
                   parallel_mode 5, device_num 6, batch_size 8}; train_dataset 2 {path 1, size 2};
                   algorithm 3 {network 1, loss 2}; model 4 {path 3, size 4} }
    evaluation   { metric 2, a JSON object; valid_dataset 3 {path 1, size 2} }
    user_defined { one user_defined 1 for each entry, of
                   {key 1, value 2} as an int32 3, a string 4 or a double 5 }

TensorBoard knows nothing of it.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple, cast

from minispore.train._files import protobuf as wire

_INT32: Final = 2**31


class TrainLineage(NamedTuple):
    """With what a network was trained; empty and 0 for what is not known."""

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
    """What an evaluation found.

    Attributes:
        metrics: The results by metric.
        dataset_size: The samples it went through.
    """

    metrics: Mapping[str, object]
    dataset_size: int = 0


Lineage = TrainLineage | EvaluationLineage | Mapping[str, int | float | str]


def check_custom(value: object, name: str) -> dict[str, int | float | str]:
    """Return `value` if it is a dict that can be written; TypeError or ValueError otherwise."""
    if not isinstance(value, dict):
        raise TypeError(
            f"For `{name}` the type should be a valid type of ['dict', 'NoneType'], "
            f"but got {type(value).__name__}."
        )
    checked: dict[str, int | float | str] = {}
    for key, item in cast("dict[object, object]", value).items():
        if not isinstance(key, str):
            raise TypeError(f"For `{name} -> {key}` the type should be a valid type of ['str'].")
        if isinstance(item, bool) or not isinstance(item, int | float | str):
            raise TypeError(
                f"For `the value of {name} -> {key}` the type should be a valid type of "
                f"['int', 'str', 'float'], but got {type(item).__name__}."
            )
        if isinstance(item, int) and not -_INT32 <= item < _INT32:
            raise ValueError(
                f"For `the value of {name} -> {key}`, an int must fit in 32 bits, but got {item}."
            )
        checked[key] = item
    return checked


def encode(lineage: Lineage, wall_time: float) -> bytes:
    """A lineage event."""
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

    # What is no number or text is written as it prints.
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
