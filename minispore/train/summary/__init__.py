"""Summaries: values of a training in event files, which TensorBoard and MindInsight show."""

from minispore.train.summary.decode import read_events
from minispore.train.summary.event import Event, Histogram, Image, Landscape, Value
from minispore.train.summary.lineage import EvaluationLineage, TrainLineage
from minispore.train.summary.summary_record import SummaryRecord

__all__ = [
    "EvaluationLineage",
    "Event",
    "Histogram",
    "Image",
    "Landscape",
    "SummaryRecord",
    "TrainLineage",
    "Value",
    "read_events",
]


def __dir__() -> list[str]:
    return sorted(__all__)
