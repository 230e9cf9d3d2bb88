"""MindSpore reads the event files of minispore, and minispore those of MindSpore.

This test needs the path of a Python that has MindSpore:

    MINISPORE_MINDSPORE_PYTHON=path/to/python pytest tests/oracles/test_mindspore_summary.py
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from minispore import Tensor
from minispore.train import SummaryRecord
from minispore.train.summary import Histogram, Landscape, TrainLineage, read_events
from tests.helpers.processes import run

PYTHON = os.environ.get("MINISPORE_MINDSPORE_PYTHON")
pytestmark = pytest.mark.skipif(not PYTHON, reason="MINISPORE_MINDSPORE_PYTHON is not set")

# Parses an event file with MindSpore's own classes, and prints the parsed messages.
READ = """
import json, struct, sys, importlib
import mindspore
module, name, path = sys.argv[1:]
cls = getattr(importlib.import_module("mindspore.train." + module), name)
data, start = open(path, "rb").read(), 0
from google.protobuf.json_format import MessageToDict
messages = []
while start < len(data):
    length, = struct.unpack_from("<Q", data, start)
    messages.append(MessageToDict(cls.FromString(data[start + 12 : start + 12 + length])))
    start += 16 + length
print(json.dumps(messages))
"""


def read(path: Path | str, module: str, name: str) -> list[dict[str, object]]:
    done = run(PYTHON, "-c", READ, module, name, path)
    result: list[dict[str, object]] = json.loads(done.stdout.splitlines()[-1])
    return result


def test_mindspore_reads_every_kind_of_value(tmp_path: Path) -> None:
    x = np.array([0.0, 0.5])
    one = np.zeros(1)
    landscape = Landscape(x, x, np.eye(2), one, one, one, (3,), (0.0, 0.0, 1.0), "PCA", "epoch", 7)
    with SummaryRecord(str(tmp_path)) as record:
        record.add_value("scalar", "s", Tensor(0.5))
        record.add_value("tensor", "t", Tensor([[1, 2]]))
        record.add_value("image", "i", Tensor(np.zeros((1, 1, 2, 2), np.float32)))
        record.add_value("histogram", "h", Tensor([1.0, 2.0, np.nan]))
        record.add_value("landscape", "l", landscape)
        record.add_value("train_lineage", "x", TrainLineage("Net"))
        record.record(3)
    version, event = read(record.log_dir, "summary_pb2", "Event")
    assert version["version"] == "MindSpore.Event:1"
    assert event["step"] == "3"
    text = json.dumps(event)
    parts = ['"scalarValue": 0.5', '"dims": ["1", "2"]', '"floatData": [1.0, 2.0]']
    parts += ['"nanCount": "1"', '"left": 1.0', '"height": 2', '"decomposition": "PCA"']
    for part in parts:
        assert part in text
    [path] = tmp_path.glob("*_lineage")
    assert '"network": "Net"' in json.dumps(read(path, "lineage_pb2", "LineageEvent"))


def test_mindspore_file_is_read_equally(tmp_path: Path) -> None:
    """minispore reads the same values from MindSpore's file as MindSpore's own classes."""
    path = Path(__file__).parents[1] / "train" / "summary" / "fixtures" / "mindspore.events"
    theirs = read(path, "summary_pb2", "Event")[1:]
    for event, ours in zip(theirs, list(read_events(path))[1:], strict=True):
        summary = json.loads(json.dumps(event["summary"]))["value"]
        for value, mine in zip(summary, ours.values, strict=True):
            assert value["tag"] == mine.tag
            if "scalarValue" in value:
                assert value["scalarValue"] == mine.content
            elif "histogram" in value:
                assert isinstance(mine.content, Histogram)
                counts = [int(bucket["count"]) for bucket in value["histogram"]["buckets"]]
                assert counts == mine.content.counts.tolist()
