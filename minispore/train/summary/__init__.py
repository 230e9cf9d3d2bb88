"""Summaries: what happened in a training, in event files that TensorBoard and MindInsight show."""

from minispore.train.summary._decode import read_events
from minispore.train.summary._event import Event, Histogram, Image, Landscape, Value
from minispore.train.summary._lineage import EvaluationLineage, TrainLineage
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
